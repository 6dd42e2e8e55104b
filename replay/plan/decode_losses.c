/* SPDX-License-Identifier: Apache-2.0 */
/* Work that a lost device did not complete. Work that could have run runs again, and its waits show
 * whether the device is lost again. But some of it was waiting, when the device was lost, for a
 * value that nothing sets any more: here it would wait forever. Its signals fail instead, where
 * they did in the recording. So does a host call that failed before it began. */
#include "replay/plan/decode.h"

#include "hal/base/mem.h"

void replay_decode_note_loss(struct replay_decoder *decoder, uint64_t submission)
{
    struct replay_plan_info *info = &decoder->plan->info;
    if (!info->lost || submission < info->lost_submission)
        info->lost_submission = submission;
    info->lost = true;
}

enum hal_status replay_decode_lost(struct replay_decoder *decoder, uint64_t submission,
                                   const struct replay_done *done)
{
    if (!HAL_GROW(decoder->lost, &decoder->lost_capacity, decoder->lost_count + 1))
        return replay_decode_no_memory("lost submissions");
    decoder->lost[decoder->lost_count++] = (struct replay_lost){decoder->plan->op_count - 1, *done};
    if (done->status == HAL_DEVICE_LOST) {
        decoder->plan->all_submissions_end = false;
        replay_decode_note_loss(decoder, submission);
    }
    return HAL_OK;
}

/* Whether the event destroys a semaphore of the submission: a failure is awaited before that. */
static bool destroys_signal(const struct replay_decoder *decoder, const struct replay_lost *lost,
                            const struct trace_event *event)
{
    const struct trace_submit *submit = (const void *)decoder->plan->ops[lost->op].event;
    const struct trace_object_event *destroy = (const void *)event;
    uint32_t index;
    bool signals = false;
    if (event->kind != TRACE_SEMAPHORE_DESTROY ||
        !hal_idmap_find(&decoder->objects, destroy->object, &index))
        return false;
    for (uint32_t i = 0; i < submit->signal_count; i++)
        signals |= submit->values[submit->wait_count + i].semaphore == index;
    return signals;
}

/* Nothing shows that it had not ended before the event began, or the event shows it. A host call
 * is waited for also by what failed, and by a wait for all work. */
static bool is_over(const struct replay_decoder *decoder, const struct replay_lost *lost,
                    const struct trace_event *event)
{
    const int64_t end_ns = lost->done.end_ns;
    if (!event || event->status == HAL_DEVICE_LOST || (end_ns && end_ns <= event->begin_ns))
        return true;
    if (lost->done.status == HAL_DEVICE_LOST)
        return false;
    if (event->status != HAL_OK || event->kind == TRACE_WAIT_IDLE)
        return end_ns <= event->end_ns;
    return destroys_signal(decoder, lost, event);
}

static bool will_run(const struct replay_decoder *decoder, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        const struct trace_semaphore_value *wait = &submit->values[i];
        if (decoder->plan->objects[wait->semaphore].semaphore.comes < wait->value)
            return false;
    }
    return true;
}

/* What came before the loss comes before the failure here, too: others may wait for it. */
static enum hal_status fail_one(struct replay_decoder *decoder, uint64_t semaphore,
                                const struct trace_event *head, uint32_t message)
{
    struct replay_object *object = &decoder->plan->objects[semaphore];
    void *room;
    if (object->destroyed)
        return HAL_OK;
    HAL_TRY(replay_plan_room(decoder->plan, sizeof(struct trace_semaphore_event), &room));
    struct trace_semaphore_event *fail = room;
    *fail = (struct trace_semaphore_event){.head = *head,
                                           .semaphore = semaphore,
                                           .value = object->semaphore.comes,
                                           .message = message};
    fail->head.bytes = sizeof *fail;
    fail->head.kind = TRACE_SEMAPHORE_FAIL;
    fail->head.status = HAL_DEVICE_LOST;
    object->semaphore.outcome = REPLAY_FAILS;
    object->semaphore.comes = 0;
    return replay_decode_push(decoder, REPLAY_FAIL, semaphore, &fail->head);
}

/* In call order: a later submission may wait for what an earlier one sets. */
static enum hal_status resolve(struct replay_decoder *decoder, const struct replay_lost *lost)
{
    const struct trace_submit *submit = (const void *)decoder->plan->ops[lost->op].event;
    if (lost->done.status != HAL_DEVICE_LOST)
        return replay_decode_uncalled(decoder, submit, &lost->done);
    const bool runs = will_run(decoder, submit);
    for (uint32_t i = 0; i < submit->wait_count && !runs; i++)
        decoder->plan->objects[submit->values[i].semaphore].semaphore.keeps_work = true;
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
        uint64_t *comes = &decoder->plan->objects[signal->semaphore].semaphore.comes;
        if (!runs)
            HAL_TRY(fail_one(decoder, signal->semaphore, &submit->head, lost->done.message));
        else if (*comes < signal->value)
            *comes = signal->value;
    }
    return HAL_OK;
}

enum hal_status replay_decode_losses(struct replay_decoder *decoder,
                                     const struct trace_event *event)
{
    static const uint64_t work_limit = 1u << 28;
    size_t kept = 0;
    decoder->loss_work += decoder->lost_count;
    const bool all = decoder->loss_work > work_limit; /* rather too early than for hours */
    for (size_t i = 0; i < decoder->lost_count; i++) {
        const struct replay_lost lost = decoder->lost[i];
        if (all || is_over(decoder, &lost, event))
            HAL_TRY(resolve(decoder, &lost));
        else
            decoder->lost[kept++] = lost;
    }
    decoder->lost_count = kept;
    return HAL_OK;
}

enum hal_status replay_decode_refused(struct replay_decoder *decoder,
                                      const struct trace_submit *event)
{
    replay_decode_note_loss(decoder, UINT64_MAX);
    for (uint32_t i = 0; i < event->signal_count; i++) {
        uint32_t index;
        if (hal_idmap_find(&decoder->objects, event->values[event->wait_count + i].semaphore,
                           &index) &&
            decoder->plan->objects[index].kind == REPLAY_SEMAPHORE)
            HAL_TRY(fail_one(decoder, index, &event->head, 0));
    }
    return HAL_OK;
}
