/* SPDX-License-Identifier: Apache-2.0 */
/* One run of hal-replay, from the file to the report: which actions are performed in which order,
 * and the exit status. Kernels run in a sandboxed child; this process, which never loads one, draws
 * all conclusions from their results. With --trusted both are the same process. */
#ifndef REPLAY_SESSION_H
#define REPLAY_SESSION_H

#include "replay/cli/async_open.h"
#include "replay/cli/options.h"
#include "replay/cli/report.h"
#include "replay/player/remote.h"

enum { REPLAY_MOST_FILES = 32 };

struct replay_session {
    const struct replay_program *program;
    struct replay_summary summary; /* of what was done, also after a failure */
    struct replay_options options; /* the program's, for this replay */
    struct replay_plan *plan, *other_plan;
    struct replay_async_open opener; /* opens the device while the trace is loaded */
    struct hal_device *device;       /* NULL: the device is remote */
    struct replay_player *player;
    struct replay_sandbox *sandbox;     /* NULL: no child */
    char missing[REPLAY_MISSING_BYTES]; /* protections that the sandbox lacks */
    struct replay_remote remotes[REPLAY_MOST_DEVICES];
    int files[REPLAY_MOST_FILES]; /* the child may read these */
    int64_t deadline_ns;
    int64_t prepare_begin_ns;
    bool is_watched;     /* on a terminal: show progress */
    bool shows_progress; /* in the terminal's last line */
};

/* Blocks. The summary then has everything but the failure's message and exit status. */
enum hal_status replay_session_run(struct replay_session *s) HAL_CHECKED;

/* Not after work that hangs (summary.report.abandoned). The caller closes the sandbox. */
void replay_session_finish(struct replay_session *s);

#endif
