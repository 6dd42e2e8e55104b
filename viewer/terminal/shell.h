/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves the terminal to another program for a while. */
#ifndef VIEWER_SHELL_H
#define VIEWER_SHELL_H

/* Runs a command line by the shell, with the programs beside this one before all others, and waits
 * until it has ended and Enter was typed. Its exit status; 128 and the signal that ended it; -1: it
 * could not be started, and errno says why. */
int view_shell_run(const char *command);

#endif
