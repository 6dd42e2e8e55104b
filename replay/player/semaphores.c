/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores of a run: what the host does to them, and whether they end as they did. */
#include "replay/player/player.h"

enum hal_status replay_semaphore_signal(struct replay_player *player,
                                        const struct trace_semaphore_event *event)
{
    struct hal_semaphore *semaphore = player->live[event->semaphore].semaphore;
    const enum hal_status status = hal_semaphore_signal(semaphore, event->value);
    uint64_t value;
    /* The device, faster than it was, may have set a higher value already. */
    if (status == HAL_INVALID && hal_semaphore_query(semaphore, &value) == HAL_OK &&
        value >= event->value)
        return HAL_OK;
    return status;
}

void replay_semaphore_check(struct replay_player *player, uint32_t object)
{
    uint64_t value;
    char name[REPLAY_NAME_BYTES];
    const enum replay_outcome expected = player->plan->objects[object].semaphore.outcome;
    const bool fails = hal_semaphore_query(player->live[object].semaphore, &value) != HAL_OK;
    if (expected == REPLAY_EITHER || fails == (expected == REPLAY_FAILS))
        return;
    replay_object_name(player->plan, object, name);
    if (!fails && player->plan->objects[object].semaphore.by_loss)
        player->report->unmet_losses++;
    else if (!fails)
        replay_verify_outcome(player->report, "%s failed in the recording, but not now", name);
    else
        replay_verify_outcome(player->report, "%s fails, but did not in the recording: %s", name,
                              hal_message());
}

enum hal_status replay_semaphore_create(struct replay_player *player, uint32_t object)
{
    const struct trace_semaphore_create *created =
        (const void *)player->plan->objects[object].created;
    return hal_semaphore_create(player->device, replay_object_label(player->plan, object),
                                created->initial_value, &player->live[object].semaphore);
}

/* Until it has the value, or has failed. */
static enum hal_status await_value(struct replay_player *player, uint32_t object, uint64_t value)
{
    const struct hal_semaphore_value awaited = {player->live[object].semaphore, value};
    const enum hal_status status = replay_await(player, HAL_WAIT_ALL, &awaited, 1);
    return status == HAL_TIMEOUT ? status : HAL_OK;
}

enum hal_status replay_semaphore_await(struct replay_player *player, uint32_t object)
{
    return await_value(player, object, player->plan->objects[object].semaphore.signaled);
}

enum hal_status replay_semaphore_fail(struct replay_player *player, uint32_t object,
                                      const struct trace_semaphore_event *event)
{
    if (event->value)
        HAL_TRY(await_value(player, object, event->value));
    hal_semaphore_fail(player->live[object].semaphore, (enum hal_status)event->head.status,
                       trace_reader_string(player->plan->reader, event->message));
    return HAL_OK;
}

void replay_semaphore_destroy(struct replay_player *player, uint32_t object)
{
    hal_semaphore_release(player->live[object].semaphore);
    player->live[object].semaphore = NULL;
}

enum hal_status replay_semaphore_end(struct replay_player *player, uint32_t object)
{
    if (player->plan->objects[object].semaphore.outcome == REPLAY_FAILS)
        HAL_TRY(replay_semaphore_await(player, object));
    replay_semaphore_check(player, object);
    if (player->plan->objects[object].semaphore.keeps_work)
        hal_semaphore_fail(player->live[object].semaphore, HAL_FAILED,
                           "the recording destroyed it");
    replay_semaphore_destroy(player, object);
    return HAL_OK;
}
