/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of mapped memory for which the trace does not know whether the host or the device made
 * them. Once the work that may have made one has ended here, each byte shows the cause: the device
 * made the change here as well, or made another one, which read-backs show; or nothing happened.
 * Then it was a store of the host, or a kernel fails to write it here: the byte is stored, and it
 * is *in doubt*, as is everything that commands may compute from it. If the same kernels run as in
 * the recording, on the same data and the same driver, the host stored what they leave alone. In
 * that case read-backs of bytes in doubt agree with the recording, and count as the same. In all
 * other cases they are not compared: the same byte may be missing because of a wrong kernel, and a
 * byte that the device wrote temporarily looks like a store, too. */
#include "hal/base/digest.h"
#include "hal/base/mem.h"
#include "replay/player/remote.h"

enum { MOST_PASSES = 64, WORD_BYTES = 4 };

void replay_doubt_finish(struct replay_player *player)
{
    struct replay_doubt *doubt = &player->doubt;
    replay_accesses_finish(&doubt->bytes);
    trace_reflection_finish(&doubt->reflection);
    free(doubt->comes);
    free(doubt->before);
    free(doubt->now);
    *doubt = (struct replay_doubt){0};
}

void replay_doubt_reset(struct replay_player *player)
{
    player->doubt.bytes.count = 0;
    player->doubt.unfinished = 0;
}

static enum hal_status prepare(struct replay_player *player)
{
    struct replay_doubt *doubt = &player->doubt;
    if (doubt->comes)
        return HAL_OK;
    doubt->comes = hal_alloc(player->plan->object_count, sizeof *doubt->comes);
    if (!doubt->comes)
        return hal_fail(HAL_NO_MEMORY, "no memory for the values of semaphores");
    return replay_reflect(player->plan, NULL, &doubt->reflection);
}

/* Kernels define which bytes they write; only the CPU's are taken at their word. Changes without
 * the bytes before replace more than the host can have stored. */
static bool runs_as_recorded(const struct replay_player *player)
{
    const struct replay_options *options = &player->options;
    const struct replay_plan *plan = player->plan;
    const struct hal_device_info *device =
        player->remote ? &player->remote->info : hal_device_get_info(player->device);
    const bool is_changed = options->substitute_count || options->buffer_count || player->fill ||
                            player->shuffle || plan->borrows || plan->info.left_out_commands ||
                            plan->info.unknown_changes || plan->info.lost;
    return !is_changed && strcmp(device->driver, "cpu") == 0 &&
           strcmp(plan->info.header->device.driver, "cpu") == 0;
}

/* ---- Work that can end --------------------------------------------------------------------- */

static const struct trace_submit *submission_at(const struct replay_player *player, size_t op)
{
    const struct replay_op *at = &player->plan->ops[op];
    return at->action == REPLAY_SUBMIT ? (const void *)at->event : NULL;
}

/* A semaphore that is gone or has failed holds nothing up. */
static bool is_reached(const struct replay_player *player, const struct trace_semaphore_value *at)
{
    struct hal_semaphore *semaphore = player->live[at->semaphore].semaphore;
    uint64_t value;
    return !semaphore || hal_semaphore_query(semaphore, &value) != HAL_OK || value >= at->value;
}

static bool has_ended(const struct replay_player *player, const struct trace_submit *submit)
{
    const struct trace_semaphore_value *signals = submit->values + submit->wait_count;
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        if (!is_reached(player, &signals[i]))
            return false;
    }
    return submit->signal_count > 0;
}

static bool can_run(const struct replay_player *player, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        const struct trace_semaphore_value *wait = &submit->values[i];
        if (player->doubt.comes[wait->semaphore] < wait->value && !is_reached(player, wait))
            return false;
    }
    return true;
}

/* Adds what submissions that can run set; true: that was news. */
static bool spread(struct replay_player *player, bool *out_all)
{
    uint64_t *comes = player->doubt.comes;
    bool any = false;
    *out_all = true;
    for (size_t op = player->doubt.unfinished; op < player->op; op++) {
        const struct trace_submit *submit = submission_at(player, op);
        if (!submit)
            continue;
        if (!can_run(player, submit)) {
            *out_all = false;
            continue;
        }
        for (uint32_t i = 0; i < submit->signal_count; i++) {
            const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
            if (comes[signal->semaphore] < signal->value) {
                comes[signal->semaphore] = signal->value;
                any = true;
            }
        }
    }
    return any;
}

static enum hal_status await_signals(struct replay_player *player,
                                     const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
        const struct hal_semaphore_value value = {player->live[signal->semaphore].semaphore,
                                                  signal->value};
        if (!is_reached(player, signal) &&
            replay_await(player, HAL_WAIT_ALL, &value, 1) == HAL_TIMEOUT)
            return HAL_TIMEOUT;
    }
    return HAL_OK;
}

static void skip_ended(struct replay_player *player)
{
    struct replay_doubt *doubt = &player->doubt;
    const struct trace_submit *submit;
    while (doubt->unfinished < player->op &&
           (!(submit = submission_at(player, doubt->unfinished)) || has_ended(player, submit)))
        doubt->unfinished++;
}

/* Waits for all work that can end by now: what had started at this point of the recording can. */
static enum hal_status finish_work(struct replay_player *player)
{
    struct replay_doubt *doubt = &player->doubt;
    const struct trace_submit *submit;
    bool all = true, any = true;
    skip_ended(player);
    memset(doubt->comes, 0, player->plan->object_count * sizeof *doubt->comes);
    for (int pass = 0; any && pass < MOST_PASSES; pass++)
        any = spread(player, &all);
    if (all && !any) {
        HAL_TRY(replay_await(player, HAL_WAIT_ALL, NULL, 0));
        doubt->unfinished = player->op;
        return HAL_OK;
    }
    for (size_t op = doubt->unfinished; op < player->op; op++) {
        submit = submission_at(player, op);
        if (submit && can_run(player, submit))
            HAL_TRY(await_signals(player, submit));
    }
    return HAL_OK;
}

/* ---- Bytes in doubt ------------------------------------------------------------------------ */

/* What commands of the submission may compute from bytes in doubt is in doubt. */
static enum hal_status follow(struct replay_player *player, const struct trace_submit *submit)
{
    const uint64_t *commands = trace_submit_command_buffers(submit);
    struct replay_doubt *doubt = &player->doubt;
    enum hal_status status = HAL_OK;
    for (uint32_t i = 0; status == HAL_OK && i < submit->command_buffer_count; i++) {
        const struct replay_object *object = &player->plan->objects[commands[i]];
        struct replay_accesses reads = {0};
        bool meets = false;
        status = replay_accesses_add(&reads, &doubt->reflection, object, REPLAY_READS);
        for (size_t k = 0; status == HAL_OK && !meets && k < reads.count; k++)
            meets = replay_accesses_meet(&doubt->bytes, &reads.list[k]);
        replay_accesses_finish(&reads);
        if (status == HAL_OK && meets) {
            status = replay_accesses_add(&doubt->bytes, &doubt->reflection, object, REPLAY_WRITES);
            replay_accesses_merge(&doubt->bytes);
        }
    }
    return status;
}

static uint64_t count_bytes(const struct replay_accesses *accesses)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < accesses->count; i++)
        sum += accesses->list[i].end - accesses->list[i].begin;
    return sum;
}

static enum hal_status doubt_everything(struct replay_player *player)
{
    for (uint32_t i = 1; i < player->plan->object_count; i++) {
        const struct replay_object *object = &player->plan->objects[i];
        const struct trace_buffer_create *created = (const void *)object->created;
        if (object->kind == REPLAY_BUFFER)
            HAL_TRY(replay_accesses_append(&player->doubt.bytes,
                                           (struct replay_touch){i, 0, created->size}));
    }
    replay_accesses_merge(&player->doubt.bytes);
    return HAL_OK;
}

enum whom { ALL_UNFINISHED, STILL_RUNNING };

/* Work that has not ended may read what is in doubt now. Long chains of it, of which the last comes
 * first, are not followed to their ends. */
static enum hal_status follow_unfinished(struct replay_player *player, enum whom whom)
{
    struct replay_doubt *doubt = &player->doubt;
    uint64_t before = UINT64_MAX, after = 0;
    replay_accesses_merge(&doubt->bytes);
    for (int pass = 0; pass < MOST_PASSES && after != before; pass++) {
        before = count_bytes(&doubt->bytes);
        for (size_t op = doubt->unfinished; op < player->op; op++) {
            const struct trace_submit *submit = submission_at(player, op);
            if (submit && (whom == ALL_UNFINISHED || !has_ended(player, submit)))
                HAL_TRY(follow(player, submit));
        }
        after = count_bytes(&doubt->bytes);
    }
    return after == before ? HAL_OK : doubt_everything(player);
}

enum hal_status replay_doubt_submit(struct replay_player *player, const struct trace_submit *submit)
{
    return player->doubt.bytes.count ? follow(player, submit) : HAL_OK;
}

/* Submitted work that a later event lets go puts what it computes over the host's bytes. */
enum hal_status replay_doubt_write(struct replay_player *player,
                                   const struct trace_content_event *event)
{
    struct replay_doubt *doubt = &player->doubt;
    const struct replay_touch written = {event->buffer, event->offset, event->offset + event->size};
    if (!replay_accesses_meet(&doubt->bytes, &written))
        return HAL_OK;
    HAL_TRY(replay_accesses_subtract(&doubt->bytes, written));
    skip_ended(player);
    return follow_unfinished(player, STILL_RUNNING);
}

/* ---- A change ------------------------------------------------------------------------------ */

static enum hal_status copy_memory(struct replay_player *player,
                                   const struct trace_content_event *event)
{
    struct replay_doubt *doubt = &player->doubt;
    const uint8_t *actual;
    if (!HAL_GROW(doubt->now, &doubt->now_capacity, event->size))
        return hal_fail(HAL_NO_MEMORY, "no memory for a change of %llu bytes",
                        (unsigned long long)event->size);
    HAL_TRY(
        replay_memory_read(player, (uint32_t)event->buffer, event->offset, event->size, &actual));
    memcpy(doubt->now, actual, event->size);
    return replay_memory_read_end(player);
}

/* A change, and what memory has now. */
struct change {
    const struct trace_content_event *event;
    const uint8_t *before, *after, *now;
    uint8_t fill;
};

/* Unwritten bytes were 0 in the recording. */
static bool is_old(const struct change *change, uint64_t at)
{
    return change->now[at] == change->before[at] ||
           (change->fill && change->now[at] == change->fill);
}

/* For the word around `at`: the recording may have seen a value that the device then changed again,
 * as it has here; one of its bytes may equal the old one by chance. */
static bool is_word_ahead(const struct change *change, uint64_t at)
{
    const uint64_t offset = change->event->offset, size = change->event->size;
    const uint64_t word = (offset + at) / WORD_BYTES * WORD_BYTES;
    bool any = false;
    for (uint64_t i = 0; i < WORD_BYTES; i++) {
        const uint64_t byte = word + i - offset; /* wraps around before the range */
        any |= byte < size && !is_old(change, byte) && change->now[byte] != change->after[byte];
    }
    return any;
}

/* Up to where nothing here has made the change. */
static uint64_t missing_end(const struct change *change, uint64_t at)
{
    while (at < change->event->size && change->after[at] != change->before[at] &&
           change->after[at] != change->now[at] && is_old(change, at) && !is_word_ahead(change, at))
        at++;
    return at;
}

static enum hal_status put(struct replay_player *player, const struct change *change)
{
    const struct trace_content_event *event = change->event;
    const bool as_recorded = runs_as_recorded(player);
    for (uint64_t at = 0, end; at < event->size; at = end) {
        end = missing_end(change, at);
        if (end == at) {
            end++;
            continue;
        }
        HAL_TRY(replay_memory_write(player, (uint32_t)event->buffer, event->offset + at,
                                    change->after + at, end - at));
        HAL_TRY(replay_accesses_append(
            &player->doubt.bytes,
            (struct replay_touch){event->buffer, event->offset + at, event->offset + end}));
        if (as_recorded)
            player->report->host_bytes += end - at;
    }
    return HAL_OK;
}

/* It is unknown which of the bytes have changed. The host's stores must reach kernels there. */
static enum hal_status doubt_all(struct replay_player *player,
                                 const struct trace_content_event *event, const uint8_t *after)
{
    const struct replay_touch all = {event->buffer, event->offset, event->offset + event->size};
    if (after)
        HAL_TRY(replay_memory_write(player, (uint32_t)event->buffer, event->offset, after,
                                    event->size));
    HAL_TRY(replay_accesses_append(&player->doubt.bytes, all));
    return follow_unfinished(player, ALL_UNFINISHED);
}

enum hal_status replay_doubt_change(struct replay_player *player,
                                    const struct trace_mapped_change *change)
{
    struct replay_doubt *doubt = &player->doubt;
    const struct trace_content_event *event = &change->part;
    struct change here = {.event = event, .fill = player->fill};
    HAL_TRY(prepare(player));
    HAL_TRY(finish_work(player));
    if (event->content)
        HAL_TRY(replay_plan_content(player->plan, event->content, &player->content,
                                    &player->content_bytes, &here.after));
    if (!change->before)
        return doubt_all(player, event, here.after);
    HAL_TRY(replay_plan_content(player->plan, change->before, &doubt->before, &doubt->before_bytes,
                                &here.before));
    HAL_TRY(copy_memory(player, event));
    here.now = doubt->now;
    HAL_TRY(put(player, &here));
    return doubt->bytes.count ? follow_unfinished(player, ALL_UNFINISHED) : HAL_OK;
}

/* ---- Read-backs ---------------------------------------------------------------------------- */

enum hal_status replay_doubt_find(const struct replay_player *player,
                                  const struct trace_content_event *event,
                                  struct replay_accesses *out_ranges)
{
    const struct replay_accesses *bytes = &player->doubt.bytes;
    const uint64_t begin = event->offset, end = event->offset + event->size;
    enum hal_status status = HAL_OK;
    *out_ranges = (struct replay_accesses){0};
    for (size_t i = 0; i < bytes->count && status == HAL_OK; i++) {
        const struct replay_touch *touch = &bytes->list[i];
        const uint64_t from = touch->begin > begin ? touch->begin : begin;
        const uint64_t to = touch->end < end ? touch->end : end;
        if (touch->buffer == event->buffer && from < to)
            status =
                replay_accesses_append(out_ranges, (struct replay_touch){event->buffer, from, to});
    }
    replay_accesses_merge(out_ranges); /* they are in the order of doubt, and may overlap */
    return status;
}

/* With a digest, the whole read-back must agree. */
static bool agree(const struct trace_content_event *event, const struct replay_accesses *ranges,
                  const uint8_t *expected, const uint8_t *actual)
{
    uint8_t digest[TRACE_DIGEST_BYTES];
    if (event->flags & TRACE_FLAG_DIGEST)
        return hal_sha256(actual, (size_t)event->size, digest) == HAL_OK &&
               memcmp(expected, digest, sizeof digest) == 0;
    for (size_t i = 0; i < ranges->count; i++) {
        const uint64_t from = ranges->list[i].begin - event->offset;
        if (memcmp(actual + from, expected + from, ranges->list[i].end - ranges->list[i].begin) !=
            0)
            return false;
    }
    return true;
}

bool replay_doubt_decide(const struct replay_player *player,
                         const struct trace_content_event *event,
                         const struct replay_accesses *ranges, const uint8_t *expected,
                         uint8_t *actual)
{
    if (runs_as_recorded(player) && agree(event, ranges, expected, actual))
        return true;
    player->report->doubtful_reads++;
    if (event->flags & TRACE_FLAG_DIGEST)
        return false;
    for (size_t i = 0; i < ranges->count; i++) {
        const uint64_t from = ranges->list[i].begin - event->offset;
        memcpy(actual + from, expected + from, ranges->list[i].end - ranges->list[i].begin);
    }
    return true;
}

static enum hal_status compare_copy(struct replay_player *player,
                                    const struct trace_content_event *event,
                                    const struct replay_accesses *ranges, const uint8_t *expected,
                                    const uint8_t **actual, bool *out_compare)
{
    struct replay_doubt *doubt = &player->doubt;
    if (!HAL_GROW(doubt->now, &doubt->now_capacity, event->size))
        return hal_fail(HAL_NO_MEMORY, "no memory for a read-back of %llu bytes",
                        (unsigned long long)event->size);
    memcpy(doubt->now, *actual, event->size);
    *actual = doubt->now;
    *out_compare = replay_doubt_decide(player, event, ranges, expected, doubt->now);
    return HAL_OK;
}

enum hal_status replay_doubt_read(struct replay_player *player,
                                  const struct trace_content_event *event, const uint8_t *expected,
                                  const uint8_t **actual, bool *out_compare)
{
    struct replay_accesses ranges;
    *out_compare = true;
    if (!player->doubt.bytes.count)
        return HAL_OK;
    enum hal_status status = replay_doubt_find(player, event, &ranges);
    if (status == HAL_OK && ranges.count)
        status = compare_copy(player, event, &ranges, expected, actual, out_compare);
    replay_accesses_finish(&ranges);
    return status;
}
