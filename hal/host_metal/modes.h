/* SPDX-License-Identifier: Apache-2.0 */
/* HOST_METAL: options for the host Metal's behaviour, a comma-separated list.
 *
 *   shuffle[=SEED]    unordered work runs in random order: dispatches between barriers of a
 *                     concurrent encoder, blits of untracked buffers, encoders without fences,
 *                     also across consecutively committed command buffers
 *   managed           no unified memory; managed buffers have two copies
 *   useresource       kernels can access only resources that are bound or declared with
 *                     useResource/useHeap, and write only those declared for writing
 *   nolisteners       values that the host sets on shared events call no listeners
 *   latehandlers      completion handlers of command buffers that only signal events run at exit
 *   dirty             new memory holds a pattern instead of zeros
 *   slow[=MS]         every encoder takes MS more milliseconds (5)
 *   gpuclock          device timestamps tick at 24 MHz from their own origin
 *   dispatchcounters  counters are sampled between commands, as on GPUs of other vendors, not at
 *                     the ends of encoders
 *   nocounters        counters are not sampled at all, as on a virtual device
 *   stopped-clock     the device's clock stands still when the host reads it
 *   lost-samples=N    every Nth sample is MTLCounterErrorValue
 *   system=N          build number of the system (1)
 *   fail-archives=N   every Nth call for binary archives fails
 *   fail-command-buffers=N  every Nth command buffer fails; its events are not signalled
 *   fail-code=N       with this MTLCommandBufferError (2); after a code for a removed device or
 *                     revoked access, everything on the device fails
 *   fail-with-signal  failing command buffers signal their events nevertheless
 *   fail-allocations=N      every Nth buffer or heap allocation fails
 *   pipelines-meet=N  a pipeline of a library with at least N kernels is created only while another
 *                     one of that library is being created
 *   memory=MIB        memory size of devices (default: half of the system's)
 *   devices=N         number of devices (1, at most 8)
 *   timeout=SECONDS  timeout for command buffers at exit, for space in a queue, and for pipelines
 *                     to meet (20)
 *   nocensus          live objects at exit are no error */
#ifndef HOST_METAL_MODES_H
#define HOST_METAL_MODES_H

#include <stdbool.h>
#include <stdint.h>

struct hm_modes {
    bool shuffle, managed, use_resource, no_listeners, late_handlers, dirty, gpu_clock,
        fail_with_signal, no_census, dispatch_counters, no_counters, stopped_clock;
    uint64_t seed, slow_ms, fail_command_buffers, fail_allocations, memory_mib, devices, timeout,
        lost_samples, system, fail_archives, fail_code, pipelines_meet;
};

/* Read from the environment once. */
const struct hm_modes *hm_modes(void);

/* A random number below `limit` from the seed's sequence; any thread. */
uint64_t hm_random_below(uint64_t limit);

/* True for every Nth call with the same counter; always false if N is 0. */
bool hm_every_nth(_Atomic uint64_t *counter, uint64_t n);

#endif
