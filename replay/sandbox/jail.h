/* SPDX-License-Identifier: Apache-2.0 */
/* A sandboxed child process (replay/sandbox/walls.h) that runs untrusted code. The parent sends it
 * requests through a channel, watches it while it waits for the answers, and cleans up after it. A
 * process has at most one child of this kind and uses it from one thread.
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

#include "replay/sandbox/channel.h"
#include "replay/sandbox/walls.h"

#include <limits.h>
#include <stdbool.h>

enum { REPLAY_MOST_OUTPUTS = 8 };

/* The child's side, in its own memory. */
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
    /* Results. replay_jail_keep_outputs copies each file at replay_jail_output() to its path here
     * and replaces what is there. Bit i of `child_outputs`: the child may write output i. */
    const char *outputs[REPLAY_MOST_OUTPUTS];
    size_t output_count;
    uint32_t child_outputs;
    uint64_t output_bytes; /* the most that the child may write into them */
    uint64_t memory_bytes; /* as in replay_walls */
    int64_t deadline_ns;   /* end of the whole replay; HAL_FOREVER: no limit */
    int64_t time_ns;       /* the limit that `deadline_ns` comes from, for messages */
    int64_t patience_ns;   /* the longest silence of the child; 0: no limit */
    int (*inside)(void *user, struct replay_inside *inside); /* returns the exit status */
    void *user;
};

struct replay_jail;

/* Checks that the results can be written. Borrows everything that the description names. */
enum hal_status replay_jail_open(const struct replay_jail_desc *desc,
                                 struct replay_jail **out_jail) HAL_CHECKED;

/* Sets the number of the description's files and the bytes that the child may write into results.
 * Call it before a start. */
void replay_jail_share(struct replay_jail *jail, size_t file_count, uint64_t output_bytes);

/* Blocks until the child is in its sandbox. From the first start on, this process catches signals
 * that ask it to end, and has folders for the child. Forks, so call it before this process has a
 * second thread. HAL_UNSUPPORTED: this system has no sandbox. */
enum hal_status replay_jail_start(struct replay_jail *jail) HAL_CHECKED;

/* Receiving and sending fail when the child has ended (HAL_FAILED), exceeds a limit or stays silent
 * for too long (HAL_TIMEOUT, HAL_FAILED), or when this process was asked to end. The child is
 * stopped then, and the message says why. */
struct replay_channel *replay_jail_channel(struct replay_jail *jail);

bool replay_jail_is_alive(const struct replay_jail *jail);

/* What the sandbox cannot prevent on this system; "": nothing. */
const char *replay_jail_missing(const struct replay_jail *jail);

/* After the child's end: the name of the first system call that the sandbox refused; NULL: none.
 * The child writes the number, so a hostile one may name any call. */
const char *replay_jail_refused(const struct replay_jail *jail, char out_name[REPLAY_CALL_BYTES]);

/* Where a result is to be written. */
const char *replay_jail_output(const struct replay_jail *jail, size_t index);

/* What the caller has received shows that the child is alive: receiving alone does not. */
void replay_jail_heard(struct replay_jail *jail);

/* Turns the limit on silence on or off. It is off at first, while the child compiles, and while it
 * writes a file, since both may take long. */
void replay_jail_limit_silence(struct replay_jail *jail, bool limit);

/* Blocks until the child ends by itself. */
enum hal_status replay_jail_wait(struct replay_jail *jail, int *out_exit) HAL_CHECKED;

/* Kills the child and its descendants. May be called at any time. */
void replay_jail_stop(struct replay_jail *jail);

enum hal_status replay_jail_keep_outputs(struct replay_jail *jail) HAL_CHECKED;

/* The signal that asked this process to end and that was held back; 0: none. */
int replay_jail_interrupted(const struct replay_jail *jail);

/* Stops the child, removes the folders, lets signals through again. Accepts NULL. */
void replay_jail_close(struct replay_jail *jail);

#endif
