/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the view: decode's trace with a wait after each operation, shown on a screen of 120
 * columns and 40 rows, and another one. */
#ifndef TESTS_UNIT_VIEW_FIXTURE_H
#define TESTS_UNIT_VIEW_FIXTURE_H

#include "viewer/ui/panes.h"

extern char path[64], other_path[64]; /* with a blank */
extern struct view_model *model;
extern struct view *view;
extern struct view_screen screen;

/* The group's: both traces. */
int view_set_up(void **state);
int view_tear_down(void **state);

/* Each test's, for cmocka_unit_test_setup_teardown: a new view, drawn. */
int open_view(void **state);
int close_view(void **state);

/* What follows draws, too. Keys as view_type has them. */
void type(const char *keys);
void resize(int rows, int columns);

/* The screen's row as text, without blanks at its end, "~" for what is not ASCII. */
const char *row_text(int row);
/* The first row that has the text; -1: none. */
int row_with(const char *text);

#endif
