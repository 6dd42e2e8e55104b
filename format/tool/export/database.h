/* SPDX-License-Identifier: Apache-2.0 */
/* The database of hal-trace export --format=sqlite: its tables, described in docs/fleet.md, and
 * insertion of rows. Everything is one SQLite transaction, which database_close ends. */
#ifndef FORMAT_TOOL_DATABASE_H
#define FORMAT_TOOL_DATABASE_H

#include "hal/base/status.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* Kinds of rows. */
enum database_row {
    ROW_TRACE,
    ROW_THREAD,
    ROW_KERNEL,
    ROW_SUBMIT, /* updated by DONE */
    ROW_DONE,
    ROW_WAIT,
    ROW_TRANSFER,
    ROW_CHANNEL,
    ROW_COLLECTIVE,
    /* Joined after a trace's last event. */
    ROW_ENDED,
    ROW_SUBMITTED,
    ROW_TIMED,
    ROWS,
};

struct database {
    sqlite3 *file;
    const char *path;
    sqlite3_stmt *inserts[ROWS];
    bool is_broken; /* the database failed, not a trace */
    int64_t trace;  /* key of the current trace */
};

/* A number, a text (copied), or NULL. */
struct database_value {
    const char *text;
    int64_t number;
    bool is_null;
};
#define NUMBER(n) ((struct database_value){.number = (int64_t)(n)})
#define TEXT(t)   ((struct database_value){.text = (t)})
#define NOTHING   ((struct database_value){.is_null = true})

/* Creates the tables in a new file, and those that an older version lacks. HAL_EXISTS: a file of
 * another kind. HAL_VERSION: a newer version. */
enum hal_status database_open(struct database *db, const char *path) HAL_CHECKED;
/* Commits if `status` is HAL_OK, else rolls back. Returns the first failure. */
enum hal_status database_close(struct database *db, enum hal_status status) HAL_CHECKED;

/* Adds all rows of a trace or none. Begin removes any rows of the trace at that path and assigns a
 * key; end joins the rows, or rolls them back. */
enum hal_status database_begin(struct database *db, const char *trace_path) HAL_CHECKED;
enum hal_status database_end(struct database *db, enum hal_status status) HAL_CHECKED;

enum hal_status database_insert(struct database *db, enum database_row row,
                                const struct database_value *values, int count) HAL_CHECKED;
#define DATABASE_INSERT(db, row, ...)                                                              \
    database_insert(db, row, (const struct database_value[]){__VA_ARGS__},                         \
                    (int)(sizeof((const struct database_value[]){__VA_ARGS__}) /                   \
                          sizeof(struct database_value)))

#endif
