/* SPDX-License-Identifier: Apache-2.0 */
/* What errors of Metal mean for submissions, and devices that are lost: one that was removed, or
 * that this process may not use any more, stays so. */
#import "hal/drivers/metal/queue.h"

#include <inttypes.h>

/* ---- Errors ------------------------------------------------------------------------------- */

enum hal_status metal_error_status(NSError *error)
{
    switch ((MTLCommandBufferError)error.code) {
    case MTLCommandBufferErrorOutOfMemory: return HAL_NO_MEMORY;
    case MTLCommandBufferErrorDeviceRemoved:
    case MTLCommandBufferErrorAccessRevoked: return HAL_DEVICE_LOST;
    case MTLCommandBufferErrorNone:
    case MTLCommandBufferErrorInternal:
    case MTLCommandBufferErrorTimeout:
    case MTLCommandBufferErrorPageFault:
    case MTLCommandBufferErrorNotPermitted:
    case MTLCommandBufferErrorInvalidResource:
    case MTLCommandBufferErrorMemoryless:
    case MTLCommandBufferErrorStackOverflow: break;
    }
    return HAL_FAILED;
}

/* The encoder that faulted, " (encoder 2 of 3, 'name')", as far as Metal knows it. */
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

enum hal_status metal_part_judge(const struct metal_submission *submission, enum metal_part which,
                                 size_t index, id<MTLCommandBuffer> part)
{
    static const char *const names[] = {"the wait for its semaphores", "its commands",
                                        "the signals of its semaphores"};
    const bool labelled = part.label.length > 0;
    char encoder[192];
    if (part.status != MTLCommandBufferStatusCompleted) {
        name_encoder(part.error, encoder, sizeof encoder);
        return hal_fail(metal_error_status(part.error),
                        "submission %" PRIu64 ": %s failed on the device%s%s%s: %s", submission->id,
                        names[which], labelled ? ", " : "", labelled ? part.label.UTF8String : "",
                        encoder, metal_error_text(part.error));
    }
    if (which != METAL_PART_COMMANDS)
        return HAL_OK;
    return metal_program_check_counts(submission->commands[index]->driver_data,
                                      submission->counts[index]);
}

/* ---- Loss --------------------------------------------------------------------------------- */

void metal_device_judge_locked(struct metal_device *device, enum hal_status status, const char *why)
{
    if (status != HAL_DEVICE_LOST || device->is_lost)
        return;
    device->is_lost = true;
    snprintf(device->why_lost, sizeof device->why_lost, "%s", why);
    for (struct metal_submission *submission = device->first_in_flight; submission;
         submission = submission->next_in_flight)
        metal_submission_abandon_locked(submission, HAL_DEVICE_LOST, device->why_lost);
}

enum hal_status metal_device_judge(struct metal_device *device, enum hal_status status)
{
    char why[sizeof device->why_lost];
    if (status != HAL_DEVICE_LOST)
        return status;
    snprintf(why, sizeof why, "%s", hal_message());
    pthread_mutex_lock(&metal_shared.lock);
    metal_device_judge_locked(device, status, why);
    metal_queue_unlock(); /* what ends by that may leave other messages */
    return hal_fail(status, "%s", why);
}

enum hal_status metal_device_check_locked(const struct metal_device *device)
{
    return device->is_lost ? hal_fail(HAL_DEVICE_LOST, "the device is lost: %s", device->why_lost)
                           : HAL_OK;
}

enum hal_status metal_queue_refuse_lost(struct metal_device *device,
                                        const struct hal_submission *source)
{
    @autoreleasepool {
        pthread_mutex_lock(&metal_shared.lock);
        for (size_t i = 0; i < source->signal_count; i++)
            metal_semaphore_fail_locked(to_metal_semaphore(source->signals[i].semaphore),
                                        HAL_DEVICE_LOST, device->why_lost);
        metal_queue_unlock(); /* what ends by that may leave other messages */
    }
    return hal_fail(HAL_DEVICE_LOST, "submission %" PRIu64 ": the device is lost: %s", source->id,
                    device->why_lost);
}
