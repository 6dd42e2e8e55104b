/* SPDX-License-Identifier: Apache-2.0 */
/* Waits under a watchdog, which names what hangs. */
#include "hal/base/moment.h"
#include "replay/player/player.h"
#include "replay/sandbox/channel.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    MS = 1000 * 1000,
    MOST_SECOND_LOOK_MS = 10 * 1000,
    FIRST_LOOK_MS = 100, /* waits this long are not looked at by the watchdog */
};

/* A number that changes whenever a semaphore moves, or a dispatch that is marked ends. */
static uint64_t measure_progress(const struct replay_player *player)
{
    uint64_t sum = replay_breadcrumbs_progress(player->breadcrumbs);
    for (uint32_t i = 1; i < player->plan->object_count; i++) {
        uint64_t value = UINT64_MAX;
        if (!replay_is_live(player, i, REPLAY_SEMAPHORE))
            continue;
        if (hal_semaphore_query(player->live[i].semaphore, &value) != HAL_OK)
            value = UINT64_MAX;
        sum += value;
    }
    return sum;
}

static bool is_reached(struct hal_semaphore *semaphore, uint64_t wanted, uint64_t *out_value)
{
    return hal_semaphore_query(semaphore, out_value) != HAL_OK || *out_value >= wanted;
}

/* The next submission by now, from operation *op on, which then is the one behind it;
 * NULL: there are no more. */
static const struct trace_submit *next_submission(const struct replay_player *player, size_t *op)
{
    while (*op < player->op) {
        const struct replay_op *now = &player->plan->ops[(*op)++];
        if (now->action == REPLAY_SUBMIT)
            return (const void *)now->event;
    }
    return NULL;
}

/* It should have set `semaphore` (NULL: any) to `wanted`, or any value of its own, and has not. */
static bool is_unfinished(const struct replay_player *player, const struct trace_submit *submit,
                          const struct hal_semaphore *semaphore, uint64_t wanted,
                          uint32_t *out_object)
{
    for (uint32_t i = 0; i < submit->signal_count; i++) {
        const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
        struct hal_semaphore *live = player->live[signal->semaphore].semaphore;
        uint64_t value;
        *out_object = (uint32_t)signal->semaphore;
        if (live && (!semaphore || (live == semaphore && signal->value >= wanted)) &&
            !is_reached(live, signal->value, &value))
            return true;
    }
    return false;
}

/* The first such submission. */
static const struct trace_submit *find_unfinished(const struct replay_player *player,
                                                  const struct hal_semaphore *semaphore,
                                                  uint64_t wanted, uint32_t *out_object)
{
    const struct trace_submit *submit;
    for (size_t op = 0; (submit = next_submission(player, &op)) != NULL;)
        if (is_unfinished(player, submit, semaphore, wanted, out_object))
            return submit;
    return NULL;
}

static const struct trace_submit *find_signalling(const struct replay_player *player,
                                                  const struct hal_semaphore_value *wanted)
{
    const struct trace_submit *submit;
    for (size_t op = 0; (submit = next_submission(player, &op)) != NULL;) {
        for (uint32_t i = 0; i < submit->signal_count; i++) {
            const struct trace_semaphore_value *signal = &submit->values[submit->wait_count + i];
            if (wanted->semaphore && signal->value == wanted->value &&
                player->live[signal->semaphore].semaphore == wanted->semaphore)
                return submit;
        }
    }
    return NULL;
}

static uint32_t find_object(const struct replay_player *player, const struct hal_semaphore *wanted)
{
    for (uint32_t i = 1; i < player->plan->object_count; i++) {
        if (player->plan->objects[i].kind == REPLAY_SEMAPHORE &&
            player->live[i].semaphore == wanted)
            return i;
    }
    return 0;
}

/* ---- What hangs ---------------------------------------------------------------------------- */

static bool has_begun(const struct replay_player *player, const struct trace_submit *submit)
{
    for (uint32_t i = 0; i < submit->wait_count; i++) {
        struct hal_semaphore *live = player->live[submit->values[i].semaphore].semaphore;
        uint64_t value;
        if (live && !is_reached(live, submit->values[i].value, &value))
            return false;
    }
    return true;
}

/* The first submission whose commands may be what hangs. */
static const struct trace_submit *find_begun(const struct replay_player *player)
{
    const struct trace_submit *submit;
    uint32_t object;
    for (size_t op = 0; (submit = next_submission(player, &op)) != NULL;)
        if (submit->command_buffer_count && has_begun(player, submit) &&
            is_unfinished(player, submit, NULL, 0, &object))
            return submit;
    return NULL;
}

/* The device knows which dispatch is running, or else, in a second run, the breadcrumbs do. */
static enum hal_status find_running(const struct replay_player *player,
                                    const struct trace_submit **out_submit, struct hal_running *out)
{
    if (player->breadcrumbs)
        return replay_breadcrumbs_running(player, out_submit, out) ? HAL_OK : HAL_NOT_FOUND;
    HAL_TRY(hal_device_running(player->device, out));
    *out_submit = find_signalling(player, &out->signal);
    return *out_submit ? HAL_OK : HAL_NOT_FOUND;
}

/* The name of the kernel of a command buffer's dispatch number `index`, "": there are fewer. */
static const char *kernel_name(const struct replay_plan *plan, const struct replay_object *commands,
                               uint32_t index)
{
    const struct trace_segment *segment = commands->commands.segments;
    for (uint32_t i = 0; i < commands->commands.seal->segment_count; i++) {
        if (trace_is_dispatch(segment->kind) && index-- == 0)
            return replay_kernel_name(plan, segment);
        segment = trace_next_segment(segment);
    }
    return "";
}

static enum hal_status add_dispatch(const struct replay_player *player, const char *message,
                                    const struct trace_submit *submit,
                                    const struct hal_running *running)
{
    const struct replay_object *objects = player->plan->objects;
    const uint64_t *commands = trace_submit_command_buffers(submit);
    uint32_t number = running->dispatch;
    for (uint32_t i = 0; i < running->command_buffer; i++)
        number += objects[commands[i]].commands.seal->dispatch_count;
    return hal_fail(
        HAL_TIMEOUT, "%s; dispatch #s%" PRIu64 ".d%u of '%.80s' does not end", message,
        submit->submission, number,
        kernel_name(player->plan, &objects[commands[running->command_buffer]], running->dispatch));
}

/* Adds the dispatch to the message. If the device cannot report it, a second run may find it. */
static enum hal_status blame(const struct replay_player *player)
{
    char message[HAL_MESSAGE_BYTES];
    const struct trace_submit *submit;
    struct hal_running running = {0};
    snprintf(message, sizeof message, "%s", hal_message());
    const enum hal_status status = find_running(player, &submit, &running);
    if (status == HAL_OK)
        return add_dispatch(player, message, submit, &running);
    submit = status == HAL_UNSUPPORTED ? find_begun(player) : NULL;
    player->report->hung = submit != NULL;
    player->report->hung_submission = submit ? submit->submission : 0;
    return hal_fail(HAL_TIMEOUT, "%s", message);
}

static void describe_wait(const struct replay_player *player,
                          const struct hal_semaphore_value *wanted, uint64_t value)
{
    const struct hal_time_text timeout = hal_duration_text(player->timeout_ns);
    char name[REPLAY_NAME_BYTES];
    uint32_t object = find_object(player, wanted->semaphore);
    if (!object) {
        hal_fail(HAL_TIMEOUT, "a copy to or from a private buffer does not end (--timeout of %s)",
                 timeout.text);
        return;
    }
    hal_fail(HAL_TIMEOUT,
             "no progress for %s (--timeout): %s is at %" PRIu64 " and should reach %" PRIu64,
             timeout.text, replay_object_name(player->plan, object, name), value, wanted->value);
    const struct trace_submit *submit =
        find_unfinished(player, wanted->semaphore, wanted->value, &object);
    if (submit)
        hal_fail(HAL_TIMEOUT, "%s when submission #s%" PRIu64 " ends", hal_message(),
                 submit->submission);
}

static enum hal_status describe_hang(const struct replay_player *player,
                                     const struct hal_semaphore_value *values, size_t count)
{
    const struct hal_time_text timeout = hal_duration_text(player->timeout_ns);
    char name[REPLAY_NAME_BYTES];
    uint32_t object;
    for (size_t i = 0; i < count; i++) {
        uint64_t value = 0;
        if (is_reached(values[i].semaphore, values[i].value, &value))
            continue;
        describe_wait(player, &values[i], value);
        return blame(player);
    }
    const struct trace_submit *submit = find_unfinished(player, NULL, 0, &object);
    if (submit)
        hal_fail(HAL_TIMEOUT,
                 "no progress for %s (--timeout): submission #s%" PRIu64
                 " does not end, so %s stays behind",
                 timeout.text, submit->submission, replay_object_name(player->plan, object, name));
    else
        hal_fail(HAL_TIMEOUT, "no progress for %s (--timeout), and the device is not idle",
                 timeout.text);
    return blame(player);
}

/* ---- Waiting ------------------------------------------------------------------------------- */

/* `values` NULL: until the device is idle. */
static enum hal_status wait_once(struct replay_player *player, enum hal_wait_mode mode,
                                 const struct hal_semaphore_value *values, size_t count,
                                 int64_t timeout_ns)
{
    return values ? hal_semaphores_wait(player->device, mode, values, count, timeout_ns)
                  : hal_device_wait_idle(player->device, timeout_ns);
}

/* A second run after a known hang need not wait for the whole limit again. */
static int64_t limit_ns(const struct replay_player *player)
{
    const int64_t most_ns = (int64_t)MOST_SECOND_LOOK_MS * MS, part_ns = player->timeout_ns / 4;
    if (!replay_breadcrumbs_has_begun(player->breadcrumbs))
        return player->timeout_ns;
    return part_ns < most_ns ? part_ns : most_ns;
}

static void say_alive(const struct replay_player *player, int64_t now_ns)
{
    if (player->channel)
        replay_channel_alive(player->channel, player->op, player->progress.moves, now_ns);
}

enum hal_status replay_await(struct replay_player *player, enum hal_wait_mode mode,
                             const struct hal_semaphore_value *values, size_t count)
{
    const int64_t begin_ns = hal_clock_ns();
    const int64_t first_ns = (int64_t)FIRST_LOOK_MS * MS;
    enum hal_status status = wait_once(
        player, mode, values, count, first_ns < player->timeout_ns ? first_ns : player->timeout_ns);
    uint64_t progress = status == HAL_TIMEOUT ? measure_progress(player) : 0;
    while (status == HAL_TIMEOUT) {
        status = wait_once(player, mode, values, count, limit_ns(player));
        const uint64_t now = measure_progress(player);
        if (status == HAL_TIMEOUT && now == progress) {
            status = describe_hang(player, values, count);
            break;
        }
        player->progress.moves += now != progress;
        progress = now;
        say_alive(player, hal_clock_ns());
    }
    const int64_t end_ns = hal_clock_ns();
    player->report->wait_ns += end_ns - begin_ns;
    say_alive(player, end_ns);
    return status;
}

enum hal_status replay_play_wait(struct replay_player *player,
                                 const struct trace_semaphore_wait *event)
{
    for (uint32_t i = 0; i < event->value_count; i++)
        player->values[i] = (struct hal_semaphore_value){
            player->live[event->values[i].semaphore].semaphore, event->values[i].value};
    const enum hal_status expected = (enum hal_status)event->head.status;
    const enum hal_status status =
        replay_await(player, (enum hal_wait_mode)event->mode, player->values, event->value_count);
    char name[REPLAY_NAME_BYTES];
    if (status == expected || status == HAL_TIMEOUT || expected == HAL_OK)
        return status == expected ? HAL_OK : status;
    if (expected == HAL_DEVICE_LOST && status == HAL_OK) {
        player->report->unmet_losses++;
        return HAL_OK;
    }
    replay_verify_outcome(player->report, "%s returned '%s' in the recording, and '%s' now%s%s",
                          replay_event_name(&event->head, name), hal_status_name(expected),
                          hal_status_name(status), status == HAL_OK ? "" : ": ",
                          status == HAL_OK ? "" : hal_message());
    return HAL_OK;
}
