/* SPDX-License-Identifier: Apache-2.0 */
/* What errors of Metal mean for submissions. */
#import "hal/drivers/metal/queue.h"

#include <inttypes.h>

/* The faulting encoder, " (encoder 2 of 3, 'name')", as far as Metal reports it. */
static void name_encoder(NSError *error, char *out_text, size_t bytes)
{
    NSArray<id<MTLCommandBufferEncoderInfo>> *infos =
        [error.userInfo objectForKey:MTLCommandBufferEncoderInfoErrorKey];
    out_text[0] = '\0';
    for (NSUInteger i = 0; i < infos.count; i++) {
        id<MTLCommandBufferEncoderInfo> info = [infos objectAtIndex:i];
        if (info.errorState != MTLCommandEncoderErrorStateFaulted)
            continue;
        snprintf(out_text, bytes, " (encoder %" PRIu64 " of %" PRIu64 ", '%s')", (uint64_t)i + 1,
                 (uint64_t)infos.count, info.label ? info.label.UTF8String : "");
        return;
    }
}

enum hal_status metal_part_status(const struct metal_submission *submission, enum metal_part which,
                                  size_t index, id<MTLCommandBuffer> part)
{
    static const char *const names[] = {"the wait for its semaphores", "its commands",
                                        "the signals of its semaphores"};
    const bool labelled = part.label.length > 0;
    char encoder[192];
    if (part.status != MTLCommandBufferStatusCompleted) {
        name_encoder(part.error, encoder, sizeof encoder);
        return hal_fail(metal_error_status(part.error),
                        "submission %" PRIu64 ": %s failed on the device%s%s%s: %s",
                        submission->work.id, names[which], labelled ? ", " : "",
                        labelled ? part.label.UTF8String : "", encoder,
                        metal_error_text(part.error));
    }
    if (which != METAL_PART_COMMANDS)
        return HAL_OK;
    return metal_program_check_counts(submission->work.commands[index]->driver_data,
                                      metal_counts_of(submission)[index]);
}
