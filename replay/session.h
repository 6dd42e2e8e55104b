/* SPDX-License-Identifier: Apache-2.0 */
/* One use of hal-replay, from the loaded file to what is reported: which of the things that it can
 * do is done, in which order, and what the exit status is. */
#ifndef REPLAY_SESSION_H
#define REPLAY_SESSION_H

#include "replay/jail.h"
#include "replay/opening.h"
#include "replay/options.h"

struct replay_session {
    const struct replay_program *program;
    struct replay_jail_note *note; /* where results that are files go */
    struct replay_summary summary; /* of what was done, also when that failed */
    struct replay_plan *plan, *other_plan;
    struct replay_opening opening; /* of the device, while the trace is loaded */
    struct hal_device *device;
    struct replay_player *player;
    int64_t prepare_begin_ns;
    /* Where to write results: note->outputs, or, in a sandbox, where no file can be made any more,
     * those files by their descriptors. */
    char outputs[REPLAY_MOST_OUTPUTS][PATH_MAX];
    bool shows_progress; /* in the terminal's last line */
};

/* Blocks. The summary has everything but the failure's message and exit status. */
enum hal_status replay_session_run(struct replay_session *s) HAL_CHECKED;

/* Not after work that hangs (summary.report.abandoned). */
void replay_session_finish(struct replay_session *s);

#endif
