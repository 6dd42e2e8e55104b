/* SPDX-License-Identifier: Apache-2.0 */
/* Players and devices in a sandboxed child, as seen from its parent: kernels run in the child, and
 * the parent draws all conclusions from their results. Private to replay/.
 *
 * A player of a remote device supports the same functions as any other. The parent believes nothing
 * from the child that it can know itself: which read-backs there are, in which order, how large
 * each is, and whether they match the recording. The child is the only source for times (clipped to
 * what has passed here), properties of the device, how waits and semaphores ended, how many bytes
 * count as the host's, and failure messages. */
#ifndef REPLAY_REMOTE_H
#define REPLAY_REMOTE_H

#include "replay/player/player.h"
#include "replay/sandbox/sandbox.h"

struct replay_remote {
    struct replay_sandbox *sandbox;
    uint32_t number; /* of the device, less than REPLAY_MOST_DEVICES */
    struct hal_device_info info;
};

enum { REPLAY_MOST_DEVICES = 2 };

/* Opens a device in the child as remote->number. */
enum hal_status replay_remote_open(struct replay_remote *remote, const char *uri) HAL_CHECKED;

/* Like replay_player_compile. */
enum hal_status replay_remote_compile(struct replay_remote *remote, struct replay_plan *plan,
                                      const struct replay_options *options) HAL_CHECKED;

/* From now on the child can start no process and change no file; `stay`: but in its folder. */
enum hal_status replay_remote_lock(struct replay_sandbox *sandbox, bool stay) HAL_CHECKED;

/* Like hal_device_profiling_begin and _end; the options are older than the child. */
enum hal_status replay_remote_record(struct replay_remote *remote,
                                     const struct hal_profiling_options *options) HAL_CHECKED;
enum hal_status replay_remote_end_record(struct replay_remote *remote) HAL_CHECKED;

/* ---- Implementation of the player's functions when player->remote is set ---- */

enum hal_status replay_remote_create(struct replay_player *player) HAL_CHECKED;
enum hal_status replay_remote_run(struct replay_player *player) HAL_CHECKED;
enum hal_status replay_remote_until(struct replay_player *player, size_t op) HAL_CHECKED;
enum hal_status replay_remote_end(struct replay_player *player, enum hal_status status,
                                  bool whole) HAL_CHECKED;
enum hal_status replay_remote_read(struct replay_player *player, uint32_t object, uint64_t offset,
                                   uint64_t bytes, const uint8_t **out_data) HAL_CHECKED;
enum hal_status replay_remote_write(struct replay_player *player, uint32_t object, uint64_t offset,
                                    const uint8_t *data, uint64_t bytes) HAL_CHECKED;
enum hal_status replay_remote_submit_alone(struct replay_player *player, uint32_t object,
                                           int64_t *out_ns) HAL_CHECKED;
void replay_remote_destroy(struct replay_player *player);

/* ---- The child, serve.c ---- */

/* Serves requests until the parent closes the channel. Returns the exit status. */
int replay_serve(void *unused, struct replay_sandboxed *inside);

#endif
