/* SPDX-License-Identifier: Apache-2.0 */
/* One use of hal-replay, from the file to what is reported: which of the things that it can do is
 * done, in which order, and what the exit status is. Kernels run in a sandboxed child; all that is
 * concluded from what they leave is concluded in this process, which never loads one. With
 * --trusted, both are the same process. */
#ifndef REPLAY_SESSION_H
#define REPLAY_SESSION_H

#include "replay/cli/async_open.h"
#include "replay/cli/options.h"
#include "replay/cli/report.h"
#include "replay/player/remote.h"

enum { REPLAY_MOST_FILES = 32 };

struct replay_session {
    const struct replay_program *program;
    struct replay_summary summary; /* of what was done, also when that failed */
    struct replay_options options; /* the program's, of this replay */
    struct replay_plan *plan, *other_plan;
    struct replay_async_open opener; /* of the device, while the trace is loaded */
    struct hal_device *device;       /* NULL: it is remote */
    struct replay_player *player;
    struct replay_sandbox *sandbox;     /* NULL: there is no child */
    char missing[REPLAY_MISSING_BYTES]; /* protections of the sandbox */
    struct replay_remote remotes[REPLAY_MOST_DEVICES];
    int files[REPLAY_MOST_FILES]; /* that the child may read */
    int64_t deadline_ns;
    int64_t prepare_begin_ns;
    bool is_watched;     /* by somebody at a terminal, who likes to see progress */
    bool shows_progress; /* in the terminal's last line */
};

/* Blocks. The summary has everything but the failure's message and exit status. */
enum hal_status replay_session_run(struct replay_session *s) HAL_CHECKED;

/* Not after work that hangs (summary.report.abandoned). The sandbox is the caller's to close. */
void replay_session_finish(struct replay_session *s);

#endif
