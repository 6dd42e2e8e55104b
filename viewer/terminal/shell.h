/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the terminal to another program temporarily. */
#ifndef VIEWER_SHELL_H
#define VIEWER_SHELL_H

/* Runs a command line in the shell, with this program's directory first in the path, and waits
 * until it has ended and the user has pressed Enter. Returns its exit status; 128 plus the signal
 * that ended it; or -1 with errno if it could not be started. */
int view_shell_run(const char *command);

#endif
