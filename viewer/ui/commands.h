/* SPDX-License-Identifier: Apache-2.0 */
/* Actions by name, for the palette and the line mode. */
#ifndef VIEWER_COMMANDS_H
#define VIEWER_COMMANDS_H

#include "viewer/ui/panes.h"

struct view_command {
    const char *name, *keys; /* as view_type takes them */
    bool takes_text;         /* the rest of the line is typed after the keys */
    const char *help;
};
extern const struct view_command view_commands[]; /* ends with one without a name */

/* Does what the text says and returns the command; NULL, and it is said why, when that is none. */
const struct view_command *view_command_run(struct view *view, const char *text);

extern const struct view_prompt view_command_prompt;

#endif
