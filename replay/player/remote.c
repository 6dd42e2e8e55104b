/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/player/remote.h"

#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/os.h"

#include <inttypes.h>
#include <stdio.h>

enum { PIECE_BYTES = 256 << 10 };

/* ---- Asking -------------------------------------------------------------------------------- */

/* What a child that is not to be trusted any more has done; it ends. */
static enum hal_status refuse(struct replay_sandbox *sandbox, const char *what, uint64_t number)
{
    replay_sandbox_stop(sandbox);
    return hal_fail(HAL_FAILED,
                    "the sandboxed process %s %" PRIu64 ": it no longer runs the replay", what,
                    number);
}

static enum hal_status ask(struct replay_sandbox *sandbox, const struct replay_request *request,
                           const void *data, size_t bytes)
{
    struct replay_channel *channel = replay_sandbox_channel(sandbox);
    HAL_TRY(replay_channel_send(channel, request, sizeof *request, data, bytes));
    return replay_channel_flush(channel);
}

/* Bytes that are due: there is an end to them. */
static enum hal_status receive(struct replay_sandbox *sandbox, void *out, size_t bytes)
{
    uint8_t *to = out;
    while (bytes) {
        const size_t part = bytes < PIECE_BYTES ? bytes : PIECE_BYTES;
        HAL_TRY(replay_channel_receive(replay_sandbox_channel(sandbox), to, part));
        replay_sandbox_heard(sandbox);
        to += part;
        bytes -= part;
    }
    return HAL_OK;
}

/* `player`: whose run continues, or NULL. All but progress is an answer, or ends the replay. */
static enum hal_status next_tell(struct replay_sandbox *sandbox, struct replay_player *player,
                                 struct replay_tell *out_tell)
{
    for (;;) {
        HAL_TRY(
            replay_channel_receive(replay_sandbox_channel(sandbox), out_tell, sizeof *out_tell));
        const bool is_answer = out_tell->kind != REPLAY_TELL_ALIVE;
        if (is_answer ||
            (player && replay_progress_claim(player, out_tell->subject, out_tell->bytes)))
            replay_sandbox_heard(sandbox);
        if (is_answer)
            return HAL_OK;
    }
}

/* The rest of an answer, whose head is there. Its message is put where it belongs. */
static enum hal_status take_done(struct replay_sandbox *sandbox, const struct replay_tell *tell,
                                 struct replay_answer *out_done)
{
    if (tell->kind != REPLAY_TELL_DONE || tell->bytes != sizeof *out_done)
        return refuse(sandbox, "sent a message of kind", tell->kind);
    HAL_TRY(receive(sandbox, out_done, sizeof *out_done));
    out_done->message[sizeof out_done->message - 1] = '\0';
    out_done->outcome[sizeof out_done->outcome - 1] = '\0';
    if (out_done->status > (uint32_t)HAL_FAILED)
        return refuse(sandbox, "sent a status", out_done->status);
    const enum hal_status status = (enum hal_status)out_done->status;
    return status == HAL_OK ? HAL_OK : hal_fail(status, "%s", out_done->message);
}

static enum hal_status await_done(struct replay_sandbox *sandbox, struct replay_player *player,
                                  struct replay_answer *out_done)
{
    struct replay_tell tell;
    HAL_TRY(next_tell(sandbox, player, &tell));
    return take_done(sandbox, &tell, out_done);
}

/* Whether `tell` is the head for that many bytes of the subject. *out_ended: the answer ended
 * before, with *out_done. */
static enum hal_status check_head(struct replay_sandbox *sandbox, const struct replay_tell *head,
                                  uint64_t subject, uint64_t bytes, struct replay_answer *out_done,
                                  bool *out_ended)
{
    const struct replay_tell tell = *head;
    if (tell.kind == REPLAY_TELL_BYTES && tell.subject == subject && tell.bytes == bytes)
        return HAL_OK;
    if (tell.kind == REPLAY_TELL_BYTES && tell.subject != subject)
        return refuse(sandbox, "sent something other than read-back", subject);
    if (tell.kind == REPLAY_TELL_BYTES)
        return refuse(sandbox, "sent the wrong number of bytes for read-back", subject);
    *out_ended = true;
    HAL_TRY(take_done(sandbox, &tell, out_done));
    return refuse(sandbox, "did not send read-back", subject);
}

static enum hal_status ask_simply(struct replay_sandbox *sandbox,
                                  const struct replay_request *request)
{
    struct replay_answer done = {0};
    HAL_TRY(ask(sandbox, request, NULL, 0));
    return await_done(sandbox, NULL, &done);
}

static enum hal_status expect(struct replay_sandbox *sandbox, uint64_t subject, uint64_t bytes,
                              struct replay_answer *out_done, bool *out_ended)
{
    struct replay_tell tell;
    *out_ended = false;
    HAL_TRY(next_tell(sandbox, NULL, &tell));
    return check_head(sandbox, &tell, subject, bytes, out_done, out_ended);
}

/* ---- Devices ------------------------------------------------------------------------------- */

/* Texts end; numbers are used for nothing but limits, which only that process could be hurt by. */
static bool check_info(struct hal_device_info *info)
{
    info->uri[sizeof info->uri - 1] = '\0';
    info->driver[sizeof info->driver - 1] = '\0';
    info->name[sizeof info->name - 1] = '\0';
    info->architecture[sizeof info->architecture - 1] = '\0';
    info->features[sizeof info->features - 1] = '\0';
    return info->format_count <= HAL_MAX_FORMATS;
}

enum hal_status replay_remote_open(struct replay_remote *remote, const char *uri)
{
    struct replay_request request = {.ask = REPLAY_ASK_OPEN, .device = remote->number};
    struct replay_answer done = {0};
    bool ended;
    if ((size_t)snprintf(request.uri, sizeof request.uri, "%s", uri) >= sizeof request.uri)
        return hal_fail(HAL_INVALID, "device '%s': the URI is longer than %zu bytes", uri,
                        sizeof request.uri - 1);
    HAL_TRY(ask(remote->sandbox, &request, NULL, 0));
    HAL_TRY(expect(remote->sandbox, REPLAY_SUBJECT_DEVICE, sizeof remote->info, &done, &ended));
    HAL_TRY(receive(remote->sandbox, &remote->info, sizeof remote->info));
    if (!check_info(&remote->info))
        return refuse(remote->sandbox,
                      "reported a device with formats:", remote->info.format_count);
    return await_done(remote->sandbox, NULL, &done);
}

enum hal_status replay_remote_compile(struct replay_remote *remote, struct replay_plan *plan,
                                      const struct replay_options *options)
{
    return ask_simply(remote->sandbox, &(struct replay_request){.ask = REPLAY_ASK_COMPILE,
                                                                .device = remote->number,
                                                                .plan = plan,
                                                                .options = *options});
}

enum hal_status replay_remote_lock(struct replay_sandbox *sandbox, bool stay)
{
    HAL_TRY(ask_simply(sandbox, &(struct replay_request){.ask = REPLAY_ASK_LOCK, .stay = stay}));
    replay_sandbox_limit_silence(sandbox, true);
    return HAL_OK;
}

enum hal_status replay_remote_record(struct replay_remote *remote,
                                     const struct hal_profiling_options *options)
{
    return ask_simply(remote->sandbox, &(struct replay_request){.ask = REPLAY_ASK_RECORD,
                                                                .device = remote->number,
                                                                .recording = *options});
}

enum hal_status replay_remote_end_record(struct replay_remote *remote)
{
    replay_sandbox_limit_silence(remote->sandbox, false);
    const enum hal_status status =
        ask_simply(remote->sandbox, &(struct replay_request){.ask = REPLAY_ASK_END_RECORD,
                                                             .device = remote->number});
    replay_sandbox_limit_silence(remote->sandbox, true);
    return status;
}

/* ---- Runs ---------------------------------------------------------------------------------- */

enum hal_status replay_remote_create(struct replay_player *player)
{
    const struct replay_recipe *recipe = player->plan->recipe;
    struct replay_request request = {.ask = REPLAY_ASK_CREATE,
                                     .device = player->remote->number,
                                     .player = player,
                                     .plan = player->plan,
                                     .options = player->options};
    struct replay_answer done = {0};
    size_t bytes = 0;
    player->live = hal_alloc(player->plan->object_count, sizeof *player->live);
    if (!player->live)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu objects", player->plan->object_count);
    if (recipe) {
        request.plan = (struct replay_plan *)(uintptr_t)recipe->plan;
        request.serial_number = recipe->number;
        request.serialized = recipe->options;
        bytes = recipe->options.split_count * sizeof *recipe->splits;
    }
    HAL_TRY(ask(player->remote->sandbox, &request, recipe ? recipe->splits : NULL, bytes));
    return await_done(player->remote->sandbox, NULL, &done);
}

static int64_t cut(int64_t value, int64_t least, int64_t most)
{
    return value < least ? least : value > most ? most : value;
}

/* Numbers are those of the whole run until now. */
static void take_report(struct replay_player *player, const struct replay_answer *done)
{
    struct replay_report *report = player->report;
    const int64_t passed_ns = hal_clock_ns() - player->begin_ns;
    report->different_outcomes = done->different_outcomes;
    report->unmet_losses = done->unmet_losses;
    report->host_bytes = done->host_bytes;
    report->total_ns = cut(done->total_ns, 0, passed_ns);
    report->wait_ns = cut(done->wait_ns, 0, passed_ns);
    report->hung = done->hung != 0;
    report->hung_submission = done->hung_submission;
    player->took_ns = cut(done->took_ns, 0, passed_ns);
    memcpy(report->first_outcome, done->outcome, sizeof report->first_outcome);
}

static enum hal_status room_for(struct replay_player *player, uint64_t bytes)
{
    if (!HAL_GROW(player->received, &player->received_capacity, (size_t)bytes))
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes of a buffer", bytes);
    return HAL_OK;
}

/* Bytes that are what is expected need not be kept: as a rule, all are. */
static enum hal_status receive_compared(struct replay_player *player, const uint8_t *expected,
                                        uint64_t bytes, const uint8_t **out_actual)
{
    static uint8_t piece[PIECE_BYTES];
    struct replay_sandbox *sandbox = player->remote->sandbox;
    uint64_t at = 0;
    for (bool same = true; same && at < bytes;) {
        const uint64_t left = bytes - at;
        const size_t part = left < PIECE_BYTES ? (size_t)left : PIECE_BYTES;
        HAL_TRY(receive(sandbox, piece, part));
        same = memcmp(piece, expected + at, part) == 0;
        if (!same) {
            HAL_TRY(room_for(player, bytes));
            memcpy(player->received, expected, (size_t)at);
            memcpy(player->received + at, piece, part);
        }
        at += part;
        if (same && at == bytes) {
            *out_actual = expected;
            return HAL_OK;
        }
    }
    *out_actual = player->received;
    return receive(sandbox, player->received + at, (size_t)(bytes - at));
}

static enum hal_status receive_all(struct replay_player *player, uint64_t bytes,
                                   const uint8_t **out_data)
{
    HAL_TRY(room_for(player, bytes ? bytes : 1));
    *out_data = player->received;
    return receive(player->remote->sandbox, player->received, (size_t)bytes);
}

/* Ranges of a read-back that are in doubt according to the child. */
static enum hal_status take_doubt(struct replay_player *player, const struct replay_tell *tell,
                                  const struct trace_content_event *event,
                                  struct replay_accesses *out_ranges)
{
    struct replay_sandbox *sandbox = player->remote->sandbox;
    const uint64_t count = tell->bytes / sizeof(struct replay_touch);
    uint64_t from = event->offset;
    if (tell->bytes % sizeof(struct replay_touch) || count > REPLAY_MOST_DOUBTS)
        return refuse(sandbox, "sent ranges of bytes:", tell->bytes);
    for (uint64_t i = 0; i < count; i++) {
        struct replay_touch range;
        HAL_TRY(receive(sandbox, &range, sizeof range));
        if (range.begin < from || range.begin >= range.end ||
            range.end > event->offset + event->size)
            return refuse(sandbox, "sent a range with an end at", range.end);
        from = range.end;
        HAL_TRY(replay_accesses_append(out_ranges, range));
    }
    return HAL_OK;
}

/* Behind its head. */
static enum hal_status take_bytes(struct replay_player *player, size_t op,
                                  const struct replay_accesses *doubt)
{
    const struct trace_content_event *event = (const void *)player->plan->ops[op].event;
    const uint8_t *expected, *actual;
    HAL_TRY(replay_plan_content(player->plan, event->content, &player->content,
                                &player->content_bytes, &expected));
    if (event->flags & TRACE_FLAG_DIGEST || !event->size || doubt->count)
        HAL_TRY(receive_all(player, event->size, &actual));
    else
        HAL_TRY(receive_compared(player, expected, event->size, &actual));
    if (!doubt->count || replay_doubt_decide(player, event, doubt, expected, player->received))
        replay_verify_read(player->plan, &player->options, op, expected, actual, player->report);
    return HAL_OK;
}

/* The read-back that comes next, and no other. */
static enum hal_status take_read(struct replay_player *player, size_t op,
                                 struct replay_answer *done, bool *out_ended)
{
    const struct trace_content_event *event = (const void *)player->plan->ops[op].event;
    struct replay_sandbox *sandbox = player->remote->sandbox;
    struct replay_accesses doubt = {0};
    struct replay_tell tell;
    HAL_TRY(next_tell(sandbox, player, &tell));
    enum hal_status status = HAL_OK;
    if (tell.kind == REPLAY_TELL_DOUBT && tell.subject == op) {
        status = take_doubt(player, &tell, event, &doubt);
        if (status == HAL_OK)
            status = next_tell(sandbox, player, &tell);
    }
    if (status == HAL_OK)
        status = check_head(sandbox, &tell, op, event->size, done, out_ended);
    if (status == HAL_OK)
        status = take_bytes(player, op, &doubt);
    replay_accesses_finish(&doubt);
    return status;
}

/* When each operation ended; none before the one before it, none in the future. */
static enum hal_status take_times(struct replay_player *player, size_t first, size_t end,
                                  struct replay_answer *done, bool *out_ended)
{
    const uint64_t bytes = (end - first) * sizeof *player->op_ends_ns;
    HAL_TRY(expect(player->remote->sandbox, REPLAY_SUBJECT_TIMES, bytes, done, out_ended));
    HAL_TRY(receive(player->remote->sandbox, player->op_ends_ns + first, (size_t)bytes));
    const int64_t now_ns = hal_clock_ns();
    for (size_t i = first; i < end; i++)
        player->op_ends_ns[i] =
            cut(player->op_ends_ns[i], i ? player->op_ends_ns[i - 1] : player->begin_ns, now_ns);
    return HAL_OK;
}

static enum hal_status take_part(struct replay_player *player, size_t end,
                                 struct replay_answer *done, bool *out_ended)
{
    const struct replay_op *ops = player->plan->ops;
    const size_t first = player->op;
    for (; player->op < end; player->op++) {
        const struct replay_op *op = &ops[player->op];
        if (op->action == REPLAY_READ && !player->mute)
            HAL_TRY(take_read(player, player->op, done, out_ended));
        else if (op->action == REPLAY_CREATE_BUFFER)
            player->live[op->object].any = player;
        else if (op->action == REPLAY_DESTROY_BUFFER)
            player->live[op->object].any = NULL;
    }
    if (player->op_ends_ns)
        HAL_TRY(take_times(player, first, end, done, out_ended));
    return HAL_OK;
}

/* Up to `end`, or to the run's end if it `ends`, without a word between that would be measured. */
static enum hal_status play_part(struct replay_player *player, size_t end, bool ends)
{
    struct replay_sandbox *sandbox = player->remote->sandbox;
    struct replay_answer done = {0};
    bool ended = false;
    HAL_TRY(ask(sandbox,
                &(struct replay_request){.ask = REPLAY_ASK_UNTIL,
                                         .player = player,
                                         .op = end,
                                         .begins = !player->begun,
                                         .ends = ends,
                                         .mute = player->mute,
                                         .shuffle = player->shuffle,
                                         .wants_ends = player->op_ends_ns != NULL},
                NULL, 0));
    if (!player->begun)
        player->begin_ns = hal_clock_ns();
    player->begun = true;
    enum hal_status status = take_part(player, end, &done, &ended);
    if (status == HAL_OK) {
        status = await_done(sandbox, player, &done);
        ended = replay_sandbox_is_alive(sandbox);
    }
    if (ended)
        take_report(player, &done);
    if (status == HAL_TIMEOUT || (ended && done.abandoned))
        replay_sandbox_stop(sandbox);
    return status;
}

enum hal_status replay_remote_until(struct replay_player *player, size_t op)
{
    return play_part(player, op < player->plan->op_count ? op : player->plan->op_count, false);
}

enum hal_status replay_remote_run(struct replay_player *player)
{
    const enum hal_status status = play_part(player, player->plan->op_count, true);
    memset(player->live, 0, player->plan->object_count * sizeof *player->live);
    return status;
}

/* Work that does not end is not waited for a second time: its process ends. */
enum hal_status replay_remote_end(struct replay_player *player, enum hal_status status, bool whole)
{
    struct replay_sandbox *sandbox = player->remote->sandbox;
    struct replay_answer done = {0};
    if (!replay_sandbox_is_alive(sandbox))
        return status;
    const struct hal_kept_message kept = hal_keep_message();
    enum hal_status ended = ask(sandbox,
                                &(struct replay_request){.ask = REPLAY_ASK_END,
                                                         .player = player,
                                                         .begins = !player->begun,
                                                         .whole = whole,
                                                         .status = status},
                                NULL, 0);
    if (ended == HAL_OK)
        ended = await_done(sandbox, player, &done);
    if (replay_sandbox_is_alive(sandbox))
        take_report(player, &done);
    if (ended == HAL_TIMEOUT || (replay_sandbox_is_alive(sandbox) && done.abandoned))
        replay_sandbox_stop(sandbox);
    memset(player->live, 0, player->plan->object_count * sizeof *player->live);
    return status == HAL_OK ? ended : hal_restore_message(&kept, status);
}

void replay_remote_destroy(struct replay_player *player)
{
    if (replay_sandbox_is_alive(player->remote->sandbox))
        (void)!ask_simply(player->remote->sandbox,
                          &(struct replay_request){.ask = REPLAY_ASK_DESTROY, .player = player});
}

/* ---- Between operations -------------------------------------------------------------------- */

enum hal_status replay_remote_read(struct replay_player *player, uint32_t object, uint64_t offset,
                                   uint64_t bytes, const uint8_t **out_data)
{
    struct replay_sandbox *sandbox = player->remote->sandbox;
    struct replay_answer done = {0};
    bool ended;
    HAL_TRY(ask(sandbox,
                &(struct replay_request){.ask = REPLAY_ASK_READ,
                                         .player = player,
                                         .object = object,
                                         .offset = offset,
                                         .bytes = bytes},
                NULL, 0));
    HAL_TRY(expect(sandbox, object, bytes, &done, &ended));
    HAL_TRY(receive_all(player, bytes, out_data));
    return await_done(sandbox, NULL, &done);
}

enum hal_status replay_remote_write(struct replay_player *player, uint32_t object, uint64_t offset,
                                    const uint8_t *data, uint64_t bytes)
{
    struct replay_answer done = {0};
    HAL_TRY(ask(player->remote->sandbox,
                &(struct replay_request){.ask = REPLAY_ASK_WRITE,
                                         .player = player,
                                         .object = object,
                                         .offset = offset,
                                         .bytes = bytes},
                data, (size_t)bytes));
    return await_done(player->remote->sandbox, NULL, &done);
}

enum hal_status replay_remote_submit_alone(struct replay_player *player, uint32_t object,
                                           int64_t *out_ns)
{
    struct replay_answer done = {0};
    const int64_t begin_ns = hal_clock_ns();
    HAL_TRY(
        ask(player->remote->sandbox,
            &(struct replay_request){.ask = REPLAY_ASK_SUBMIT, .player = player, .object = object},
            NULL, 0));
    const enum hal_status status = await_done(player->remote->sandbox, NULL, &done);
    *out_ns = cut(done.took_ns, 0, hal_clock_ns() - begin_ns);
    return status;
}
