/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a plan: one thread, one operation after the other, waits under a watchdog. */
#include "replay/player/remote.h"

#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <inttypes.h>
#include <limits.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

enum {
    MS = 1000 * 1000,
    DEFAULT_TIMEOUT_S = 60,
    /* Released work must end by then, or by the player's limit; but a limit of a few milliseconds
     * does not allow for how long a busy machine takes to end it. */
    GIVING_UP_MS = 5 * 1000,
    LEAST_GIVING_UP_MS = 1000 /* and if the limit has already passed, only this remains */
};

void replay_keep_memory(void)
{
#if defined(__GLIBC__)
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* where it would end up by itself, but for the former */
#endif
}

int64_t replay_timeout_ns(const struct replay_options *options)
{
    return options->timeout_ns ? options->timeout_ns : (int64_t)DEFAULT_TIMEOUT_S * 1000 * MS;
}

/* ---- Operations ---------------------------------------------------------------------------- */

/* The same range of what the buffer was given in place of its recorded contents. */
static enum hal_status substitute_bytes(const struct replay_player *player,
                                        const struct trace_content_event *event,
                                        const uint8_t **data)
{
    const struct replay_options *options = &player->options;
    for (size_t i = 0; i < options->buffer_count; i++) {
        const struct replay_buffer_substitute *given = &options->buffers[i];
        char name[REPLAY_NAME_BYTES];
        if (!replay_buffer_is_called(player->plan, (uint32_t)event->buffer, given->buffer))
            continue;
        if (!hal_range_fits(event->offset, event->size, given->bytes))
            return hal_fail(HAL_UNSUPPORTED,
                            "the file in place of %s has %s, and the host writes %" PRIu64
                            " from offset %" PRIu64,
                            replay_object_name(player->plan, (uint32_t)event->buffer, name),
                            hal_count(given->bytes, "byte", "bytes").text, event->size,
                            event->offset);
        *data = given->data + event->offset;
        return HAL_OK;
    }
    return HAL_OK;
}

static enum hal_status play_write(struct replay_player *player,
                                  const struct trace_content_event *event)
{
    const uint8_t *data;
    if (event->head.kind == TRACE_MAPPED_CHANGE)
        return replay_doubt_change(player, (const void *)event);
    HAL_TRY(replay_doubt_write(player, event));
    HAL_TRY(replay_plan_content(player->plan, event->content, &player->content,
                                &player->content_bytes, &data));
    if (event->flags & TRACE_FLAG_DIGEST)
        HAL_TRY(replay_file_read(player, event, data, &data));
    HAL_TRY(substitute_bytes(player, event, &data));
    return replay_memory_write(player, (uint32_t)event->buffer, event->offset, data, event->size);
}

/* To the parent, which compares: what is in doubt first, where anything is. */
static enum hal_status tell_read(struct replay_player *player, size_t op, const uint8_t *actual)
{
    const struct trace_content_event *event = (const void *)player->plan->ops[op].event;
    struct replay_accesses doubt;
    HAL_TRY(replay_doubt_find(player, event, &doubt));
    enum hal_status status = HAL_OK;
    if (doubt.count > REPLAY_MOST_DOUBTS) { /* all, in place of a list without end */
        doubt.list[0] =
            (struct replay_touch){event->buffer, event->offset, event->offset + event->size};
        doubt.count = 1;
    }
    if (doubt.count)
        status = replay_channel_tell_doubt(player->channel, op, doubt.list,
                                           doubt.count * sizeof *doubt.list);
    replay_accesses_finish(&doubt);
    if (status != HAL_OK)
        return status;
    return replay_channel_tell(player->channel, op, actual, (size_t)event->size);
}

static enum hal_status play_read(struct replay_player *player, size_t op)
{
    const struct trace_content_event *event = (const void *)player->plan->ops[op].event;
    const uint8_t *expected = NULL, *actual;
    bool compare;
    if (player->mute)
        return HAL_OK;
    if (!player->channel)
        HAL_TRY(replay_plan_content(player->plan, event->content, &player->content,
                                    &player->content_bytes, &expected));
    HAL_TRY(
        replay_memory_read(player, (uint32_t)event->buffer, event->offset, event->size, &actual));
    if (player->channel) {
        HAL_TRY(tell_read(player, op, actual));
        return replay_memory_read_end(player);
    }
    HAL_TRY(replay_doubt_read(player, event, expected, &actual, &compare));
    if (compare)
        replay_verify_read(player->plan, &player->options, op, expected, actual, player->report);
    return replay_memory_read_end(player);
}

/* A submission that runs later than recorded, because others run one by one (serialized.h), may
 * find that the host has overtaken its signals: the device would have failed these semaphores at
 * its end. Removes them from the list and fails them. False: there are none. */
static bool fail_overtaken(struct replay_player *player, const struct trace_submit *event,
                           struct hal_submit_desc *desc)
{
    struct hal_semaphore_value *signals = player->values + event->wait_count;
    uint64_t value;
    desc->signal_count = 0;
    for (uint32_t i = 0; i < event->signal_count; i++) {
        const struct hal_semaphore_value signal = signals[i];
        if (hal_semaphore_query(signal.semaphore, &value) == HAL_OK && value >= signal.value)
            hal_semaphore_fail(signal.semaphore, HAL_INVALID, "the host was earlier");
        else
            signals[desc->signal_count++] = signal;
    }
    return desc->signal_count < event->signal_count;
}

static enum hal_status play_submit(struct replay_player *player, const struct trace_submit *event)
{
    const uint32_t value_count = event->wait_count + event->signal_count;
    HAL_TRY(replay_doubt_submit(player, event));
    for (uint32_t i = 0; i < value_count; i++)
        player->values[i] = (struct hal_semaphore_value){
            player->live[event->values[i].semaphore].semaphore, event->values[i].value};
    const uint64_t *commands = trace_submit_command_buffers(event);
    for (uint32_t i = 0; i < event->command_buffer_count; i++)
        player->command_list[i] = player->live[commands[i]].commands;
    struct hal_submit_desc desc = {
        .queues = 1ull << event->queue,
        .waits = player->values,
        .wait_count = event->wait_count,
        .signals = player->values + event->wait_count,
        .signal_count = event->signal_count,
        .commands = player->command_list,
        .command_count = event->command_buffer_count,
    };
    const enum hal_status status = hal_queue_submit(player->device, &desc);
    if (status != HAL_INVALID || !fail_overtaken(player, event, &desc))
        return status;
    return hal_queue_submit(player->device, &desc);
}

static enum hal_status create_event(struct replay_player *player, uint32_t object)
{
    return hal_event_create(player->device, replay_object_label(player->plan, object),
                            &player->live[object].event);
}

static void destroy_event(struct replay_player *player, uint32_t object)
{
    hal_event_release(player->live[object].event);
    player->live[object].event = NULL;
}

static void destroy_commands(struct replay_player *player, uint32_t object)
{
    hal_command_buffer_release(player->live[object].commands);
    player->live[object].commands = NULL;
}

/* ---- A run --------------------------------------------------------------------------------- */

static enum hal_status play(struct replay_player *player, const struct replay_op *op)
{
    const void *event = op->event;
    switch (op->action) {
    case REPLAY_CREATE_BUFFER: return replay_memory_create(player, op->object);
    case REPLAY_DESTROY_BUFFER: replay_memory_destroy(player, op->object); return HAL_OK;
    case REPLAY_WRITE: return play_write(player, event);
    case REPLAY_READ: return play_read(player, player->op);
    case REPLAY_CREATE_EXECUTABLE:
    case REPLAY_DESTROY_EXECUTABLE: return HAL_OK;
    case REPLAY_RECORD_COMMANDS:
        return replay_record_commands(player, op->object, &player->live[op->object].commands);
    case REPLAY_DESTROY_COMMANDS: destroy_commands(player, op->object); return HAL_OK;
    case REPLAY_CREATE_SEMAPHORE: return replay_semaphore_create(player, op->object);
    case REPLAY_DESTROY_SEMAPHORE: return replay_semaphore_end(player, op->object);
    case REPLAY_CREATE_EVENT: return create_event(player, op->object);
    case REPLAY_DESTROY_EVENT: destroy_event(player, op->object); return HAL_OK;
    case REPLAY_SIGNAL: return replay_semaphore_signal(player, event);
    case REPLAY_FAIL: return replay_semaphore_fail(player, op->object, event);
    case REPLAY_WAIT: return replay_play_wait(player, event);
    case REPLAY_WAIT_IDLE: return replay_await(player, HAL_WAIT_ALL, NULL, 0);
    case REPLAY_SUBMIT: return play_submit(player, event);
    case REPLAY_FLUSH: return hal_queue_flush(player->device, 0);
    case REPLAY_STEP: return HAL_OK;
    }
    return HAL_OK;
}

static void fail_semaphores(struct replay_player *player, const char *why)
{
    for (uint32_t i = 1; i < player->plan->object_count; i++) {
        if (replay_is_live(player, i, REPLAY_SEMAPHORE))
            hal_semaphore_fail(player->live[i].semaphore, HAL_FAILED, why);
    }
}

/* The end of all work: of what ended in the recording, then of the rest, whose waits fail. */
static enum hal_status drain(struct replay_player *player)
{
    const struct replay_plan *plan = player->plan;
    if (plan->all_submissions_end)
        HAL_TRY(replay_await(player, HAL_WAIT_ALL, NULL, 0));
    for (uint32_t i = 1; i < plan->object_count; i++) {
        if (!replay_is_live(player, i, REPLAY_SEMAPHORE))
            continue;
        if (!plan->all_submissions_end)
            HAL_TRY(replay_semaphore_await(player, i));
        replay_semaphore_check(player, i);
    }
    if (plan->all_submissions_end)
        return HAL_OK;
    fail_semaphores(player, "the recording ends here");
    return replay_await(player, HAL_WAIT_ALL, NULL, 0);
}

static bool is_own_semaphore(const struct replay_plan *plan, uint32_t object)
{
    return plan->objects[object].kind == REPLAY_SEMAPHORE && plan->objects[object].id == 0;
}

static enum hal_status begin_run(struct replay_player *player)
{
    const struct replay_plan *plan = player->plan;
    for (uint32_t i = 1; player->has_own_semaphores && i < plan->object_count; i++) {
        if (is_own_semaphore(plan, i))
            HAL_TRY(replay_semaphore_create(player, i));
    }
    return HAL_OK;
}

/* Nothing may use the objects any more before they go. */
static void give_up(struct replay_player *player, enum hal_status status)
{
    const struct hal_kept_message kept = hal_keep_message();
    const int64_t most_ns = (int64_t)GIVING_UP_MS * MS, least_ns = (int64_t)LEAST_GIVING_UP_MS * MS;
    const int64_t limit_ns = player->timeout_ns < most_ns ? player->timeout_ns : most_ns;
    const int64_t wait_ns = limit_ns > least_ns && status != HAL_TIMEOUT ? limit_ns : least_ns;
    (void)!replay_memory_read_end(player);
    fail_semaphores(player, status != HAL_OK ? "the replay was abandoned" : "the replay ends here");
    player->abandoned = hal_device_wait_idle(player->device, wait_ns) == HAL_TIMEOUT;
    hal_restore_message(&kept, HAL_FAILED);
}

static void end_run(struct replay_player *player)
{
    for (uint32_t i = 1; i < player->plan->object_count; i++) {
        if (!player->live[i].any)
            continue;
        switch (player->plan->objects[i].kind) {
        case REPLAY_BUFFER: replay_memory_destroy(player, i); break;
        case REPLAY_COMMANDS: destroy_commands(player, i); break;
        case REPLAY_SEMAPHORE: replay_semaphore_destroy(player, i); break;
        case REPLAY_EVENT: destroy_event(player, i); break;
        case REPLAY_EXECUTABLE:
        case REPLAY_SET_LAYOUT:
        case REPLAY_PIPELINE_LAYOUT: break;
        }
    }
    replay_memory_finish(player);
}

/* What was loaded has left the caches long ago: this far before an operation comes, it is fetched.
 * A command buffer's creation lies before its end. No function: GCC takes one that does nothing
 * else for one that does nothing, and leaves out its calls. */
enum { AHEAD = 6, LINE_BYTES = 64, OPS_PER_SIGN = 64 };
#define FETCH_OP(objects, op)                                                                      \
    do {                                                                                           \
        const uint8_t *const event_ = (const uint8_t *)(op)->event;                                \
        __builtin_prefetch(event_ - LINE_BYTES);                                                   \
        __builtin_prefetch(event_);                                                                \
        __builtin_prefetch(event_ + LINE_BYTES);                                                   \
        __builtin_prefetch(&(objects)[(op)->object]);                                              \
    } while (0)

void replay_player_begin(struct replay_player *player, struct replay_report *report)
{
    *report = (struct replay_report){0};
    player->report = report;
    player->op = 0;
    player->begun = false;
    player->paced_from_ns = 0;
    player->progress = (struct replay_progress){0};
    replay_doubt_reset(player);
    player->begin_ns = hal_clock_ns();
}

enum hal_status replay_player_until(struct replay_player *player, size_t op)
{
    const struct replay_plan *const plan = player->plan;
    const size_t end = op < plan->op_count ? op : plan->op_count;
    if (player->remote)
        return replay_remote_until(player, op);
    const int64_t part_begin_ns = hal_clock_ns();
    const bool timed = player->options.pace > 0 || player->shuffle || player->op_ends_ns;
    char name[REPLAY_NAME_BYTES];
    if (!player->begun) {
        HAL_TRY(begin_run(player));
        player->begun = true;
        player->begin_ns = hal_clock_ns();
    }
    const struct replay_op *const ops = plan->ops;
    const struct replay_object *const objects = plan->objects;
    const size_t fetched_end = plan->op_count > AHEAD ? plan->op_count - AHEAD : 0;
    for (size_t i = player->op; i < end; player->op = ++i) {
        const struct replay_op *const now = &ops[i];
        if (i < fetched_end)
            FETCH_OP(objects, now + AHEAD);
        if (timed)
            replay_pace_wait(player, now);
        if (player->channel && i % OPS_PER_SIGN == 0)
            replay_channel_alive(player->channel, i, player->progress.moves, hal_clock_ns());
        const enum hal_status status = play(player, now);
        if (timed && player->op_ends_ns)
            player->op_ends_ns[i] = hal_clock_ns();
        if (status != HAL_OK)
            return hal_add_context(status, "%s", replay_event_name(now->event, name));
    }
    player->took_ns = hal_clock_ns() - part_begin_ns;
    return HAL_OK;
}

enum hal_status replay_player_end(struct replay_player *player, enum hal_status status, bool whole)
{
    if (player->remote)
        return replay_remote_end(player, status, whole);
    if (status == HAL_OK && whole)
        status = hal_add_context(drain(player), "after the last call");
    player->report->total_ns = hal_clock_ns() - player->begin_ns;
    if (status == HAL_TIMEOUT && player->channel)
        player->abandoned = true; /* the parent ends this process */
    else if (status != HAL_OK || !whole)
        give_up(player, status);
    player->report->abandoned = player->abandoned;
    if (!player->abandoned)
        end_run(player);
    return status;
}

enum hal_status replay_player_run(struct replay_player *player, struct replay_report *out_report)
{
    replay_player_begin(player, out_report);
    if (player->remote)
        return replay_remote_run(player);
    const enum hal_status status = replay_player_until(player, player->plan->op_count);
    return replay_player_end(player, status, true);
}

static enum hal_status submit_alone(struct replay_player *player, uint32_t object, int64_t *out_ns)
{
    struct hal_command_buffer *const commands = object ? player->live[object].commands : NULL;
    if (!player->alone)
        HAL_TRY(hal_semaphore_create(player->device, "replay alone", 0, &player->alone));
    const struct hal_semaphore_value done = {player->alone, ++player->alone_value};
    const struct hal_submit_desc submit = {.signals = &done,
                                           .signal_count = 1,
                                           .commands = &commands,
                                           .command_count = commands != NULL};
    const int64_t begin_ns = hal_clock_ns();
    HAL_TRY(hal_queue_submit(player->device, &submit));
    HAL_TRY(replay_await(player, HAL_WAIT_ALL, &done, 1));
    *out_ns = hal_clock_ns() - begin_ns;
    return HAL_OK;
}

enum hal_status replay_player_submit_alone(struct replay_player *player, uint32_t object,
                                           int64_t *out_ns)
{
    return player->remote ? replay_remote_submit_alone(player, object, out_ns)
                          : submit_alone(player, object, out_ns);
}

/* ---- Making a player ----------------------------------------------------------------------- */

/* What executables are described by. */
static enum hal_status prepare_layouts(struct replay_player *player)
{
    const struct replay_plan *plan = player->plan;
    player->live = hal_alloc(plan->object_count, sizeof *player->live);
    if (!player->live)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", plan->object_count);
    for (uint32_t i = 1; i < plan->object_count; i++) {
        if (plan->objects[i].kind == REPLAY_SET_LAYOUT)
            HAL_TRY(replay_set_layout_create(player, i));
        else if (plan->objects[i].kind == REPLAY_PIPELINE_LAYOUT)
            HAL_TRY(replay_pipeline_layout_create(player, i));
    }
    return HAL_OK;
}

static enum hal_status prepare(struct replay_player *player)
{
    const struct replay_plan *plan = player->plan;
    const struct hal_device_info *info = hal_device_get_info(player->device);
    HAL_TRY(replay_target_check(&plan->info, info));
    player->values = hal_alloc(plan->max_list, sizeof *player->values);
    player->command_list = hal_alloc(plan->max_list, sizeof *player->command_list);
    player->barriers = hal_alloc(plan->max_list, sizeof *player->barriers);
    player->events = hal_alloc(plan->max_list, sizeof *player->events);
    if (!player->values || !player->command_list || !player->barriers || !player->events)
        return hal_fail(HAL_NO_MEMORY, "no memory for lists of %u objects", plan->max_list);
    HAL_TRY(prepare_layouts(player));
    for (uint32_t i = 1; i < plan->object_count; i++)
        player->has_own_semaphores |= is_own_semaphore(plan, i);
    return replay_executables_create(player);
}

static struct replay_player *begin_player(struct replay_plan *plan, struct hal_device *device,
                                          const struct replay_options *options)
{
    struct replay_player *player = hal_alloc(1, sizeof *player);
    if (!player)
        return NULL;
    player->plan = plan;
    player->device = device;
    player->timeout_ns = replay_timeout_ns(options);
    player->fill = options->fill;
    player->options = *options;
    player->report = &player->no_report;
    player->remote = options->remote;
    hal_device_retain(device);
    return player;
}

enum hal_status replay_player_compile(struct replay_plan *plan, struct hal_device *device,
                                      const struct replay_options *options)
{
    if (options->remote)
        return replay_remote_compile(options->remote, plan, options);
    struct replay_player *player = begin_player(plan, device, options);
    if (!player)
        return hal_fail(HAL_NO_MEMORY, "no memory for a player");
    enum hal_status status = prepare_layouts(player);
    if (status == HAL_OK)
        status = replay_executables_compile(player);
    replay_player_destroy(player);
    return status;
}

enum hal_status replay_player_create(struct replay_plan *plan, struct hal_device *device,
                                     const struct replay_options *options,
                                     struct replay_player **out_player)
{
    struct replay_player *player = begin_player(plan, device, options);
    if (!player)
        return hal_fail(HAL_NO_MEMORY, "no memory for a player");
    enum hal_status status = player->remote ? replay_remote_create(player) : prepare(player);
    if (status == HAL_OK && options->mark && !player->remote)
        status = replay_breadcrumbs_create(player, options->mark_submission);
    if (status != HAL_OK) {
        replay_player_destroy(player);
        return status;
    }
    *out_player = player;
    return HAL_OK;
}

static void release_prepared(struct replay_player *player)
{
    for (uint32_t i = 1; player->live && i < player->plan->object_count; i++) {
        const enum replay_kind kind = player->plan->objects[i].kind;
        if (kind == REPLAY_EXECUTABLE)
            hal_executable_release(player->live[i].executable);
        else if (kind == REPLAY_SET_LAYOUT)
            hal_set_layout_release(player->live[i].set_layout);
        else if (kind == REPLAY_PIPELINE_LAYOUT)
            hal_pipeline_layout_release(player->live[i].pipeline_layout);
    }
    replay_breadcrumbs_destroy(player->breadcrumbs);
    replay_doubt_finish(player);
    hal_semaphore_release(player->alone);
}

void replay_player_destroy(struct replay_player *player)
{
    if (!player || player->abandoned)
        return;
    if (player->remote)
        replay_remote_destroy(player);
    else
        release_prepared(player);
    free(player->live);
    free(player->values);
    free(player->command_list);
    free(player->barriers);
    free(player->events);
    free(player->content);
    free(player->file_bytes);
    free(player->received);
    hal_device_release(player->device);
    free(player);
}
