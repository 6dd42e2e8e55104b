/* SPDX-License-Identifier: Apache-2.0 */
/* Delays calls: until their recorded distance from the others, or by a random time. */
#include "replay/player/player.h"

#include "hal/base/os.h"

#include <errno.h>
#include <time.h>

int64_t replay_jitter_ns(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    const uint64_t random = *state >> 11;
    const uint64_t limit_ns = random % 16 == 0 ? 500000 : random % 4 == 0 ? 20000 : 1;
    return (int64_t)(random / 16 % limit_ns);
}

/* Calls that others can see come a little later, now and then much later. */
static void jitter(struct replay_player *player, enum replay_action action)
{
    if (!player->shuffle || (action != REPLAY_SUBMIT && action != REPLAY_WAIT))
        return;
    const int64_t until_ns = hal_clock_ns() + replay_jitter_ns(&player->shuffle);
    while (hal_clock_ns() < until_ns)
        continue;
}

static void sleep_ns(int64_t ns)
{
    const int64_t second_ns = 1000 * 1000 * 1000;
    struct timespec left = {ns / second_ns, ns % second_ns};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

int64_t replay_pace_ns(double pace, int64_t first_ns, int64_t call_ns, int64_t passed_ns)
{
    const double due_ns = (double)(call_ns - first_ns) / pace - (double)passed_ns;
    return due_ns >= 1 && due_ns < (double)INT64_MAX ? (int64_t)due_ns : 0;
}

/* The call begins as long after the first one as it did. */
static void keep_pace(struct replay_player *player, const struct trace_event *event)
{
    const double pace = player->options.pace;
    if (pace <= 0 || event->begin_ns <= 0)
        return;
    if (!player->paced_from_ns)
        player->paced_from_ns = event->begin_ns;
    const int64_t left_ns = replay_pace_ns(pace, player->paced_from_ns, event->begin_ns,
                                           hal_clock_ns() - player->begin_ns);
    if (left_ns > 0)
        sleep_ns(left_ns);
}

void replay_pace_wait(struct replay_player *player, const struct replay_op *op)
{
    keep_pace(player, op->event);
    jitter(player, op->action);
}
