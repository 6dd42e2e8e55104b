/* SPDX-License-Identifier: Apache-2.0 */
/* A sandboxed child process (replay/sandbox/policy.h) that runs untrusted code. The parent sends it
 * requests through a channel, watches it while it waits for the answers, and cleans up after it. A
 * process has at most one child of this kind and uses it from one thread.
 *
 *     replay_sandbox_open(&desc, &sandbox);       folders, signals
 *     replay_sandbox_start(sandbox);              the child; again after it was stopped
 *     ... replay_sandbox_channel(sandbox) ...
 *     replay_sandbox_stop(sandbox);               nothing that it started is left
 *     replay_sandbox_keep_outputs(sandbox);
 *     replay_sandbox_close(sandbox);
 */
#ifndef REPLAY_SANDBOX_H
#define REPLAY_SANDBOX_H

#include "replay/sandbox/channel.h"
#include "replay/sandbox/policy.h"

#include <limits.h>
#include <stdbool.h>

enum { REPLAY_MOST_OUTPUTS = 8 };

/* The child's side, in its own memory. */
struct replay_sandboxed {
    struct replay_channel *channel;
    _Atomic uint32_t *refused_call; /* as in replay_policy_lock; shared with the parent */
    char missing[REPLAY_MISSING_BYTES];
};

struct replay_sandbox_desc {
    const char *trace;
    const char *const *given; /* more files and folders to read */
    size_t given_count;
    const int *files; /* descriptors that stay open in the child */
    size_t file_count;
    /* Results. replay_sandbox_keep_outputs copies each file at replay_sandbox_output() to its path
     * here and replaces what is there. Bit i of `child_outputs`: the child may write output i. */
    const char *outputs[REPLAY_MOST_OUTPUTS];
    size_t output_count;
    uint32_t child_outputs;
    uint64_t output_bytes; /* the most that the child may write into them */
    uint64_t memory_bytes; /* as in replay_policy */
    int64_t deadline_ns;   /* end of the whole replay; HAL_FOREVER: no limit */
    int64_t time_ns;       /* the limit that `deadline_ns` comes from, for messages */
    int64_t silence_ns;    /* the longest silence of the child; 0: no limit */
    int (*inside)(void *user, struct replay_sandboxed *inside); /* returns the exit status */
    void *user;
};

struct replay_sandbox;

/* Checks that the results can be written. Borrows everything that the description names. */
enum hal_status replay_sandbox_open(const struct replay_sandbox_desc *desc,
                                    struct replay_sandbox **out_sandbox) HAL_CHECKED;

/* Before a start: the number of the description's files, and of bytes that results may have. */
void replay_sandbox_share(struct replay_sandbox *sandbox, size_t file_count, uint64_t output_bytes);

/* Blocks until the child is in its sandbox. From the first start on, this process catches signals
 * that ask it to end, and has folders for the child. Forks, so call it before this process has a
 * second thread. HAL_UNSUPPORTED: this system has no sandbox. */
enum hal_status replay_sandbox_start(struct replay_sandbox *sandbox) HAL_CHECKED;

/* Receiving and sending fail when the child has ended (HAL_FAILED), exceeds a limit or stays silent
 * for too long (HAL_TIMEOUT, HAL_FAILED), or when this process was asked to end. The child is
 * stopped then, and the message says why. */
struct replay_channel *replay_sandbox_channel(struct replay_sandbox *sandbox);

bool replay_sandbox_is_alive(const struct replay_sandbox *sandbox);

/* What the sandbox cannot prevent on this system; "": nothing. */
const char *replay_sandbox_missing(const struct replay_sandbox *sandbox);

/* After the child's end: the name of the first system call that the sandbox refused; NULL: none.
 * The child writes the number, so a hostile one may name any call. */
const char *replay_sandbox_refused_call(const struct replay_sandbox *sandbox,
                                        char out_name[REPLAY_CALL_BYTES]);

/* Where a result is to be written. */
const char *replay_sandbox_output(const struct replay_sandbox *sandbox, size_t index);

/* What the caller has received shows that the child is alive: receiving alone does not. */
void replay_sandbox_heard(struct replay_sandbox *sandbox);

/* Turns the limit on silence on or off. It is off at first, while the child compiles, and while it
 * writes a file, since both may take long. */
void replay_sandbox_limit_silence(struct replay_sandbox *sandbox, bool limit);

/* Blocks until the child ends by itself. */
enum hal_status replay_sandbox_wait(struct replay_sandbox *sandbox, int *out_exit) HAL_CHECKED;

/* Kills the child and its descendants. May be called at any time. */
void replay_sandbox_stop(struct replay_sandbox *sandbox);

enum hal_status replay_sandbox_keep_outputs(struct replay_sandbox *sandbox) HAL_CHECKED;

/* The signal that asked this process to end and that was held back; 0: none. */
int replay_sandbox_interrupted(const struct replay_sandbox *sandbox);

/* Stops the child, removes the folders, lets signals through again. Accepts NULL. */
void replay_sandbox_close(struct replay_sandbox *sandbox);

#endif
