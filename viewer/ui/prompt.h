/* SPDX-License-Identifier: Apache-2.0 */
/* The prompt: what it is for, and line editing. */
#ifndef VIEWER_PROMPT_H
#define VIEWER_PROMPT_H

#include "viewer/ui/panes.h"

/* Starts with `text`, with the cursor after it. */
void view_prompt_start(struct view *view, const struct view_prompt *prompt, const char *text);
void view_prompt_key(struct view *view, int key);
void view_prompt_draw(struct view *view, struct view_area area);

#endif
