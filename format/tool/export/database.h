/* SPDX-License-Identifier: Apache-2.0 */
/* The database of hal-trace export --format=sqlite: its tables, which docs/fleet.md describes, and
 * how rows get into them. All of it is one transaction of SQLite's, which database_close ends. */
#ifndef FORMAT_TOOL_DATABASE_H
#define FORMAT_TOOL_DATABASE_H

#include "hal/base/status.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

/* What is inserted: a row each. */
enum database_row {
    ROW_TRACE,
    ROW_THREAD,
    ROW_KERNEL,
    ROW_SUBMIT, /* this and DONE are of one row */
    ROW_DONE,
    ROW_WAIT,
    ROW_TRANSFER,
    ROW_CHANNEL,
    ROW_COLLECTIVE,
    /* Joined behind a trace's last event. */
    ROW_SEALED,
    ROW_SUBMITTED,
    ROW_TIMED,
    ROWS,
};

struct database {
    sqlite3 *file;
    const char *path;
    sqlite3_stmt *inserts[ROWS];
    bool is_broken; /* the failure was the database's, not a trace's */
    int64_t trace;  /* the key of the one at hand */
};

/* A number, or a text (copied), or NULL. */
struct database_value {
    const char *text;
    int64_t number;
    bool is_null;
};
#define NUMBER(n) ((struct database_value){.number = (int64_t)(n)})
#define TEXT(t)   ((struct database_value){.text = (t)})
#define NOTHING   ((struct database_value){.is_null = true})

/* Makes the tables if the file is new, and those that an older version did not have. HAL_EXISTS: it
 * is something else's; HAL_VERSION: a newer version's. */
enum hal_status database_open(struct database *db, const char *path) HAL_CHECKED;
/* Commits, if `status` is HAL_OK: else nothing has changed. Returns what failed first. */
enum hal_status database_close(struct database *db, enum hal_status status) HAL_CHECKED;

/* All rows of a trace or none. Begins with taking out what the database has of a trace at that
 * path, and gives it a key; ends with joining, or with taking everything back. */
enum hal_status database_begin(struct database *db, const char *trace_path) HAL_CHECKED;
enum hal_status database_end(struct database *db, enum hal_status status) HAL_CHECKED;

enum hal_status database_insert(struct database *db, enum database_row row,
                                const struct database_value *values, int count) HAL_CHECKED;
#define DATABASE_INSERT(db, row, ...)                                                              \
    database_insert(db, row, (const struct database_value[]){__VA_ARGS__},                         \
                    (int)(sizeof((const struct database_value[]){__VA_ARGS__}) /                   \
                          sizeof(struct database_value)))

#endif
