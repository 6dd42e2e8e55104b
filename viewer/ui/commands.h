/* SPDX-License-Identifier: Apache-2.0 */
/* Actions by name, for the palette and the line mode. */
#ifndef VIEWER_COMMANDS_H
#define VIEWER_COMMANDS_H

#include "viewer/ui/panes.h"

struct view_command {
    const char *name, *keys; /* as for view_type */
    bool takes_text;         /* types the rest of the line after the keys */
    const char *help;
};
extern const struct view_command view_commands[]; /* ends with an entry without a name */

/* Executes the command in the text and returns it; NULL, with a message, if there is none. */
const struct view_command *view_command_run(struct view *view, const char *text);

extern const struct view_prompt view_command_prompt;

#endif
