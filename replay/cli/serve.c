/* SPDX-License-Identifier: Apache-2.0 */
/* The sandboxed child: does what its parent asks, and concludes nothing. Kernels may change it. */
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "replay/player/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST_PLAYERS = 16, MOST_SERIALS = 16 };

struct served {
    const struct replay_player *name; /* NULL: free */
    struct replay_player *player;
    struct replay_report report;
    int64_t *ends_ns;
};

struct server {
    struct replay_channel *channel;
    _Atomic uint32_t *refused_call;
    bool compiles; /* or has compiled */
    struct hal_device *devices[REPLAY_MOST_DEVICES];
    struct served players[MOST_PLAYERS];
    struct {
        uint64_t number; /* 0: free */
        struct replay_serialized serialized;
    } serials[MOST_SERIALS];
    uint8_t *data; /* what followed the request */
    size_t data_capacity;
    struct replay_answer done;
};

/* ---- Plans and players --------------------------------------------------------------------- */

static enum hal_status receive_data(struct server *s, size_t bytes)
{
    if (!HAL_GROW(s->data, &s->data_capacity, bytes + 1))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu bytes", bytes);
    return replay_channel_receive(s->channel, s->data, bytes);
}

/* The parent's plan, or the one that is made like it. */
static enum hal_status find_plan(struct server *s, struct replay_request *request,
                                 struct replay_plan **out_plan)
{
    *out_plan = request->plan;
    if (!request->serial_number)
        return HAL_OK;
    HAL_TRY(receive_data(s, request->serialized.split_count * sizeof(uint64_t)));
    request->serialized.split_submissions = (const uint64_t *)(const void *)s->data;
    for (size_t i = 0; i < MOST_SERIALS; i++) {
        if (!s->serials[i].number)
            HAL_TRY(replay_serialized_make(request->plan, &request->serialized,
                                           &s->serials[i].serialized));
        if (s->serials[i].number && s->serials[i].number != request->serial_number)
            continue;
        s->serials[i].number = request->serial_number;
        *out_plan = s->serials[i].serialized.plan;
        return HAL_OK;
    }
    return hal_fail(HAL_NO_MEMORY, "more than %d plans", (int)MOST_SERIALS);
}

static struct served *find(struct server *s, const struct replay_player *name)
{
    for (size_t i = 0; i < MOST_PLAYERS; i++)
        if (s->players[i].name == name)
            return &s->players[i];
    return NULL;
}

static enum hal_status create(struct server *s, struct replay_request *request)
{
    struct served *served = find(s, NULL);
    struct replay_plan *plan;
    HAL_TRY(find_plan(s, request, &plan));
    if (!served)
        return hal_fail(HAL_NO_MEMORY, "more than %d players", (int)MOST_PLAYERS);
    request->options.remote = NULL;
    HAL_TRY(replay_player_create(plan, s->devices[request->device], &request->options,
                                 &served->player));
    served->player->channel = s->channel;
    served->name = request->player;
    return HAL_OK;
}

static enum hal_status destroy(struct served *served)
{
    replay_player_destroy(served->player);
    free(served->ends_ns);
    *served = (struct served){0};
    return HAL_OK;
}

/* ---- Runs ---------------------------------------------------------------------------------- */

static void begin(struct served *served, const struct replay_request *request)
{
    if (request->begins)
        replay_player_begin(served->player, &served->report);
}

static enum hal_status play_until(struct server *s, struct served *served,
                                  const struct replay_request *request)
{
    struct replay_player *player = served->player;
    const size_t first = request->begins ? 0 : player->op;
    begin(served, request);
    player->mute = request->mute;
    player->shuffle = request->shuffle;
    if (request->wants_ends && !served->ends_ns)
        served->ends_ns = hal_alloc(player->plan->op_count, sizeof *served->ends_ns);
    if (request->wants_ends && !served->ends_ns)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu times", player->plan->op_count);
    player->op_ends_ns = request->wants_ends ? served->ends_ns : NULL;
    enum hal_status status = replay_player_until(player, request->op);
    if (request->ends)
        status = replay_player_end(player, status, true);
    if (status != HAL_OK || !request->wants_ends)
        return status;
    return replay_channel_tell(s->channel, REPLAY_SUBJECT_TIMES, served->ends_ns + first,
                               (request->op - first) * sizeof *served->ends_ns);
}

static enum hal_status play_end(struct served *served, const struct replay_request *request)
{
    if (request->status != HAL_OK)
        hal_fail(request->status, "the replay ends");
    begin(served, request);
    return replay_player_end(served->player, request->status, request->whole);
}

static enum hal_status read_buffer(struct server *s, struct served *served,
                                   const struct replay_request *request)
{
    const uint8_t *data;
    HAL_TRY(replay_memory_read(served->player, request->object, request->offset, request->bytes,
                               &data));
    const enum hal_status status =
        replay_channel_tell(s->channel, request->object, data, (size_t)request->bytes);
    const enum hal_status ended = replay_memory_read_end(served->player);
    return status != HAL_OK ? status : ended;
}

static enum hal_status write_buffer(struct server *s, struct served *served,
                                    const struct replay_request *request)
{
    HAL_TRY(receive_data(s, (size_t)request->bytes));
    return replay_memory_write(served->player, request->object, request->offset, s->data,
                               request->bytes);
}

/* ---- Requests ------------------------------------------------------------------------------ */

static enum hal_status open_device(struct server *s, const struct replay_request *request)
{
    struct hal_device *device;
    HAL_TRY(hal_device_open(request->uri, &device));
    hal_device_release(s->devices[request->device]);
    s->devices[request->device] = device;
    return replay_channel_tell(s->channel, REPLAY_SUBJECT_DEVICE, hal_device_get_info(device),
                               sizeof(struct hal_device_info));
}

static enum hal_status compile(struct server *s, struct replay_request *request)
{
    if (!s->compiles)
        HAL_TRY(replay_policy_compile());
    s->compiles = true;
    request->options.remote = NULL;
    return replay_player_compile(request->plan, s->devices[request->device], &request->options);
}

/* The result file is open before the sandbox is locked; an empty one was never created. The
 * capture's own file may be beside the result if that has a folder. */
static enum hal_status begin_record(struct hal_device *device, const struct replay_request *request)
{
    struct hal_profiling_options options = request->recording;
    char path[32];
    const int file = open(options.file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file < 0)
        return hal_fail(HAL_IO, "cannot write '%s': %s", options.file, strerror(errno));
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    options.file = path;
    setenv("HAL_DEVICE_PROFILING_SIDECAR", getenv("TMPDIR"), 1);
    /* The replaying process knows what the host writes, and sends it. */
    setenv("HAL_DEVICE_PROFILING_DIRTY", "announced", 1);
    return hal_device_profiling_begin(device, &options, HAL_FOREVER);
}

static enum hal_status do_it(struct server *s, struct replay_request *request,
                             struct served *served)
{
    struct hal_device *device = s->devices[request->device];
    if (!served && request->ask >= REPLAY_ASK_UNTIL && request->ask <= REPLAY_ASK_SUBMIT)
        return hal_fail(HAL_INVALID, "request %u of no player", (unsigned)request->ask);
    switch (request->ask) {
    case REPLAY_ASK_OPEN: return open_device(s, request);
    case REPLAY_ASK_COMPILE: return compile(s, request);
    case REPLAY_ASK_RECORD: return begin_record(device, request);
    case REPLAY_ASK_END_RECORD: return hal_device_profiling_end(device);
    case REPLAY_ASK_LOCK: return replay_policy_lock(request->stay, s->refused_call);
    case REPLAY_ASK_CREATE: return create(s, request);
    case REPLAY_ASK_UNTIL: return play_until(s, served, request);
    case REPLAY_ASK_END: return play_end(served, request);
    case REPLAY_ASK_READ: return read_buffer(s, served, request);
    case REPLAY_ASK_WRITE: return write_buffer(s, served, request);
    case REPLAY_ASK_SUBMIT:
        return replay_player_submit_alone(served->player, request->object, &s->done.took_ns);
    case REPLAY_ASK_DESTROY: return served ? destroy(served) : HAL_OK;
    }
    return hal_fail(HAL_INVALID, "request %u", (unsigned)request->ask);
}

static enum hal_status answer(struct server *s, enum hal_status status, const struct served *served)
{
    const struct replay_tell tell = {.kind = REPLAY_TELL_DONE, .bytes = sizeof s->done};
    struct replay_answer *done = &s->done;
    done->status = (uint32_t)status;
    snprintf(done->message, sizeof done->message, "%s", status == HAL_OK ? "" : hal_message());
    if (served && served->player) {
        const struct replay_report *report = &served->report;
        done->abandoned = report->abandoned;
        done->hung = report->hung;
        done->hung_submission = report->hung_submission;
        done->different_outcomes = report->different_outcomes;
        done->unmet_losses = report->unmet_losses;
        done->host_bytes = report->host_bytes;
        done->total_ns = report->total_ns;
        done->wait_ns = report->wait_ns;
        if (!done->took_ns)
            done->took_ns = served->player->took_ns;
        snprintf(done->outcome, sizeof done->outcome, "%s",
                 report->different_outcomes ? report->first_outcome : "");
    }
    s->channel->told_ns = hal_clock_ns();
    HAL_TRY(replay_channel_send(s->channel, &tell, sizeof tell, done, sizeof *done));
    return replay_channel_flush(s->channel);
}

int replay_serve(void *unused, struct replay_sandboxed *inside)
{
    static struct server server;
    struct server *const s = &server;
    struct replay_request request;
    (void)unused;
    s->channel = inside->channel;
    s->refused_call = inside->refused_call;
    while (replay_channel_receive(s->channel, &request, sizeof request) == HAL_OK) {
        struct served *served = request.player ? find(s, request.player) : NULL;
        memset(&s->done, 0, sizeof s->done);
        const enum hal_status status = do_it(s, &request, served);
        if (answer(s, status, request.ask == REPLAY_ASK_DESTROY ? NULL : served) != HAL_OK)
            break;
    }
    return EXIT_SUCCESS;
}
