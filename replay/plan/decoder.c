/* SPDX-License-Identifier: Apache-2.0 */
/* The state of decoding, and what all checks share: ids become indices, operations are added. */
#include "replay/plan/decode.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <inttypes.h>

void replay_decoder_finish(struct replay_decoder *decoder)
{
    hal_idmap_finish(&decoder->objects);
    hal_idmap_finish(&decoder->contents);
    hal_idmap_finish(&decoder->submissions);
    hal_idmap_finish(&decoder->left_out);
    hal_idmap_finish(&decoder->done_ids);
    hal_idmap_finish(&decoder->begun_ids);
    hal_idmap_finish(&decoder->calling_ids);
    free(decoder->calling);
    free(decoder->done);
    free(decoder->unawaited);
    free(decoder->lost);
    *decoder = (struct replay_decoder){0};
}

enum hal_status replay_decode_no_memory(const char *what)
{
    return hal_fail(HAL_NO_MEMORY, "no memory for the plan's %s", what);
}

enum hal_status replay_decode_done(struct replay_decoder *decoder,
                                   const struct trace_submission_done *done)
{
    uint32_t index;
    if (hal_idmap_find(&decoder->done_ids, done->submission, &index))
        return hal_fail(HAL_CORRUPT, "submission #s%" PRIu64 " ended twice", done->submission);
    if (decoder->done_count >= UINT32_MAX - 1 ||
        !HAL_GROW(decoder->done, &decoder->done_capacity, decoder->done_count + 1))
        return replay_decode_no_memory("submissions");
    decoder->done[decoder->done_count] = (struct replay_done){
        .end_ns = done->head.end_ns, .status = done->head.status, .message = done->message};
    if (!hal_idmap_add(&decoder->done_ids, done->submission, (uint32_t)decoder->done_count, &index))
        return replay_decode_no_memory("submissions");
    decoder->done_count++;
    return HAL_OK;
}

enum hal_status replay_decode_begun(struct replay_decoder *decoder,
                                    const struct trace_host_call *begin)
{
    uint32_t unused;
    return hal_idmap_add(&decoder->begun_ids, begin->submission, 0, &unused)
               ? HAL_OK
               : replay_decode_no_memory("host calls");
}

const struct replay_done *replay_decode_find_done(const struct replay_decoder *decoder,
                                                  uint64_t submission)
{
    uint32_t index;
    if (!hal_idmap_find(&decoder->done_ids, submission, &index))
        return NULL;
    return &decoder->done[index];
}

enum hal_status replay_decode_push(struct replay_decoder *decoder, enum replay_action action,
                                   uint64_t object, const struct trace_event *event)
{
    struct replay_plan *plan = decoder->plan;
    if (!HAL_GROW(plan->ops, &plan->op_capacity, plan->op_count + 1))
        return replay_decode_no_memory("operations");
    plan->ops[plan->op_count++] =
        (struct replay_op){.action = action, .object = (uint32_t)object, .event = event};
    return HAL_OK;
}

enum hal_status replay_decode_add(struct replay_decoder *decoder, enum replay_kind kind,
                                  uint64_t *id, const struct trace_event *created)
{
    struct replay_plan *plan = decoder->plan;
    uint32_t index;
    if (*id == 0)
        return hal_fail(HAL_CORRUPT, "the new object has no id");
    if (hal_idmap_find(&decoder->objects, *id, &index))
        return hal_fail(HAL_CORRUPT, "object %" PRIu64 " is created twice", *id);
    HAL_TRY(replay_plan_object(plan, kind, created, &index));
    plan->objects[index].id = *id;
    if (!hal_idmap_add(&decoder->objects, *id, index, &index))
        return replay_decode_no_memory("objects");
    *id = index;
    return HAL_OK;
}

enum hal_status replay_decode_use(struct replay_decoder *decoder, enum replay_kind kind,
                                  uint64_t *id, struct replay_object **out_object)
{
    struct replay_plan *plan = decoder->plan;
    char name[REPLAY_NAME_BYTES];
    uint32_t index;
    if (!hal_idmap_find(&decoder->objects, *id, &index))
        return hal_fail(HAL_CORRUPT, "%s %" PRIu64 " does not exist", replay_kind_name(kind), *id);
    struct replay_object *object = &plan->objects[index];
    if (object->kind != kind)
        return hal_fail(HAL_CORRUPT, "%s is no %s", replay_object_name(plan, index, name),
                        replay_kind_name(kind));
    if (object->destroyed)
        return hal_fail(HAL_CORRUPT, "%s has already been destroyed",
                        replay_object_name(plan, index, name));
    *id = index;
    *out_object = object;
    return HAL_OK;
}

enum hal_status replay_decode_range(struct replay_decoder *decoder, uint64_t *buffer,
                                    uint64_t offset, uint64_t size,
                                    struct replay_object **out_buffer)
{
    struct replay_object *object;
    HAL_TRY(replay_decode_use(decoder, REPLAY_BUFFER, buffer, &object));
    const struct trace_buffer_create *created = (const void *)object->created;
    char name[REPLAY_NAME_BYTES];
    if (!hal_range_fits(offset, size, created->size))
        return hal_fail(HAL_CORRUPT, "%s from %" PRIu64 " exceed %s, which has %" PRIu64,
                        hal_count(size, "byte", "bytes").text, offset,
                        replay_object_name(decoder->plan, (uint32_t)*buffer, name), created->size);
    *out_buffer = object;
    return HAL_OK;
}

/* The content exists and has `size` bytes. HAL_NOT_FOUND when the file lost it. */
enum hal_status replay_decode_content(struct replay_decoder *decoder, uint64_t *content,
                                      uint64_t size)
{
    struct replay_plan *plan = decoder->plan;
    uint64_t bytes = 0;
    uint32_t index;
    HAL_TRY(trace_reader_content_size(plan->reader, *content, &bytes));
    if (bytes != size)
        return hal_fail(HAL_CORRUPT, "content %" PRIu64 " has %s, not %" PRIu64, *content,
                        hal_count(bytes, "byte", "bytes").text, size);
    if (!hal_idmap_find(&decoder->contents, *content, &index)) {
        if (plan->content_count >= UINT32_MAX - 1 ||
            !HAL_GROW(plan->contents, &plan->content_capacity, plan->content_count + 1))
            return replay_decode_no_memory("contents");
        index = (uint32_t)plan->content_count;
        if (!hal_idmap_add(&decoder->contents, *content, index, &index))
            return replay_decode_no_memory("contents");
        plan->contents[plan->content_count++] =
            (struct replay_content){.number = *content, .bytes = bytes};
        plan->info.content_bytes += bytes;
    }
    *content = index;
    return HAL_OK;
}
