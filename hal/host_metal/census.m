/* SPDX-License-Identifier: Apache-2.0 */
/* The census at exit: what was never finished, and what was never released. */
#import "hal/host_metal/metal.h"

/* After everything that was linked against this library: nothing can be released any more. */
__attribute__((destructor)) static void take_census(void)
{
    if (hm_modes()->no_census)
        return;
    hm_send_late_completions();
    if (!host_metal_wait_until_idle(hm_modes()->timeout))
        host_metal_broken("unfinished-at-exit",
                          "command buffers or blocks were not finished %" PRIu64 " s after exit",
                          hm_modes()->timeout);
    if (host_metal_object_count(NULL) == 0)
        return;
    fprintf(stderr, "Metal (host emulation): objects that live at exit:\n");
    const size_t count = host_metal_print_census(stderr);
    host_metal_broken("leaked-objects", "%zu objects were never released", count);
}
