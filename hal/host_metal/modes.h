/* SPDX-License-Identifier: Apache-2.0 */
/* HOST_METAL: how the host Metal behaves, a list of words with commas between them.
 *
 *   shuffle[=SEED]    what nothing orders runs in random order: dispatches between barriers of a
 *                     concurrent encoder, blits of untracked buffers, encoders without fences,
 *                     those of command buffers that are committed one after the other, too
 *   managed           no unified memory; managed buffers are two copies
 *   useresource       kernels reach only what was bound or named by useResource/useHeap, and
 *                     write only what was named for writing
 *   nolisteners       values that the host sets on shared events call no listeners
 *   latehandlers      completion handlers of command buffers that only signal events come at exit
 *   dirty             new memory has a pattern instead of zeros
 *   slow[=MS]         every encoder takes MS milliseconds more (5)
 *   gpuclock          device timestamps tick at 24 MHz from an origin of their own
 *   dispatchcounters  counters are sampled between commands, as on GPUs of others than Apple, not
 *                     at the ends of encoders
 *   nocounters        counters are not sampled at all, as on a virtual device
 *   stopped-clock     the device's clock stands still where the host looks at it
 *   lost-samples=N    every Nth sample is MTLCounterErrorValue
 *   system=N          another build of the system (1)
 *   fail-archives=N   every Nth call about binary archives fails
 *   fail-command-buffers=N  every Nth command buffer fails; its events are not signalled
 *   fail-code=N       with this MTLCommandBufferError (2); one that says that the device is gone,
 *                     or that access was revoked, is followed by nothing but failures on it
 *   fail-with-signal  failing command buffers signal their events none the less
 *   fail-allocations=N      every Nth buffer or heap cannot be had
 *   pipelines-meet=N  a pipeline of a library with N kernels or more is made when another one of
 *                     that library is being made, too
 *   memory=MIB        devices have so much memory (default: half of the system's)
 *   devices=N         so many devices (1, at most 8)
 *   patience=SECONDS  how long to wait for command buffers at exit, for room in a queue, and for
 *                     pipelines to meet, before that is an error (20)
 *   nocensus          objects that live at exit are no error */
#ifndef HOST_METAL_MODES_H
#define HOST_METAL_MODES_H

#include <stdbool.h>
#include <stdint.h>

struct hm_modes {
    bool shuffle, managed, use_resource, no_listeners, late_handlers, dirty, gpu_clock,
        fail_with_signal, no_census, dispatch_counters, no_counters, stopped_clock;
    uint64_t seed, slow_ms, fail_command_buffers, fail_allocations, memory_mib, devices, patience,
        lost_samples, system, fail_archives, fail_code, pipelines_meet;
};

/* Read from the environment once. */
const struct hm_modes *hm_modes(void);

/* A random number below `limit`, of the seed's sequence; any thread. */
uint64_t hm_random_below(uint64_t limit);

/* True for every Nth call with one counter; false always where N is 0. */
bool hm_every_nth(_Atomic uint64_t *counter, uint64_t n);

#endif
