/* SPDX-License-Identifier: Apache-2.0 */
/* A child process in a sandbox (replay/walls.h), which runs what is not trusted. The parent asks it
 * through a channel, watches it while it waits for the answers, and cleans up after it. One at a
 * time; one thread.
 *
 *     replay_jail_open(&desc, &jail);       folders, signals
 *     replay_jail_start(jail);              the child; again after it was stopped
 *     ... replay_jail_channel(jail) ...
 *     replay_jail_stop(jail);               nothing that it started is left
 *     replay_jail_keep_outputs(jail);
 *     replay_jail_close(jail);
 */
#ifndef REPLAY_JAIL_H
#define REPLAY_JAIL_H

#include "replay/channel.h"
#include "replay/walls.h"

#include <limits.h>
#include <stdbool.h>

enum { REPLAY_MOST_OUTPUTS = 8 };

/* What the child has, in its own memory. */
struct replay_inside {
    struct replay_channel *channel;
    _Atomic uint32_t *refused_call; /* as replay_walls_seal says; the parent sees it, too */
    char missing[REPLAY_MISSING_BYTES];
};

struct replay_jail_desc {
    const char *trace;
    const char *const *given; /* more files and folders to read */
    size_t given_count;
    const int *files; /* descriptors that stay open in the child */
    size_t file_count;
    /* Results: what lies at replay_jail_output() in the end is copied to these paths, and replaces
     * what is there. The child may write those of `child_outputs`, a bit each. */
    const char *outputs[REPLAY_MOST_OUTPUTS];
    size_t output_count;
    uint32_t child_outputs;
    uint64_t output_bytes; /* that the child may write into them */
    uint64_t memory_bytes; /* as in replay_walls */
    int64_t deadline_ns;   /* of all of it; HAL_FOREVER: no limit, */
    int64_t time_ns;       /* which is so long */
    int64_t patience_ns;   /* longest silence; 0: any */
    int (*inside)(void *user, struct replay_inside *inside); /* returns the exit status */
    void *user;
};

struct replay_jail;

/* Borrows what the description names. Checks that results can be written. */
enum hal_status replay_jail_open(const struct replay_jail_desc *desc,
                                 struct replay_jail **out_jail) HAL_CHECKED;

/* Before a start: how many of the description's files there are, and how many bytes the child may
 * write into results. */
void replay_jail_share(struct replay_jail *jail, size_t file_count, uint64_t output_bytes);

/* Blocks until the child is in its sandbox. From the first start on, this process catches signals
 * that ask it to end, and has folders for the child. HAL_UNSUPPORTED: this system has not the walls
 * for it. Before this process has a second thread. */
enum hal_status replay_jail_start(struct replay_jail *jail) HAL_CHECKED;

/* What is received and sent fails when the child has ended (HAL_FAILED), is over a limit or was
 * silent for too long (HAL_TIMEOUT, HAL_FAILED), or this process was asked to end; the child is
 * stopped then, and the message says why. */
struct replay_channel *replay_jail_channel(struct replay_jail *jail);

bool replay_jail_is_alive(const struct replay_jail *jail);

/* What the walls leave open, "": nothing. */
const char *replay_jail_missing(const struct replay_jail *jail);

/* When the child has ended: the first system call that the walls refused it, by the number that it
 * left there, which can be any; NULL: none. */
const char *replay_jail_refused(const struct replay_jail *jail, char out_name[REPLAY_CALL_BYTES]);

/* Where a result is to be written. */
const char *replay_jail_output(const struct replay_jail *jail, size_t index);

/* Whether the child's silence has a limit: not while it compiles, or writes a file, which may take
 * long. Not at first. */
void replay_jail_limit_silence(struct replay_jail *jail, bool limit);

/* Blocks until the child has ended by itself, with what exit status. */
enum hal_status replay_jail_wait(struct replay_jail *jail, int *out_exit) HAL_CHECKED;

/* Ends the child and all that it started. May be called at any time. */
void replay_jail_stop(struct replay_jail *jail);

enum hal_status replay_jail_keep_outputs(struct replay_jail *jail) HAL_CHECKED;

/* A signal that asked this process to end, and was kept from it; 0: none. */
int replay_jail_interrupted(const struct replay_jail *jail);

/* Stops the child, removes the folders, lets signals through again. Accepts NULL. */
void replay_jail_close(struct replay_jail *jail);

#endif
