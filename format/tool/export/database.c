/* SPDX-License-Identifier: Apache-2.0 */
#include "format/tool/export/database.h"
#include "hal/base/message.h"

#include <inttypes.h>
#include <stdio.h>

/* The file's application id ("HALT"), and the version of its tables. */
enum { APPLICATION_ID = 0x48414c54, SCHEMA_VERSION = 2 };

static const char schema[] =
    "CREATE TABLE traces(trace INTEGER PRIMARY KEY, path TEXT UNIQUE NOT NULL, program TEXT, "
    "arguments TEXT, host TEXT, system TEXT, process INTEGER, captured_ns INTEGER, mode TEXT, "
    "writer TEXT, device_uri TEXT, device_driver TEXT, device_name TEXT, missing TEXT, "
    "events INTEGER, length_ns INTEGER, recording_ns INTEGER);"
    "CREATE TABLE threads(trace INTEGER, thread INTEGER, system_id INTEGER, name TEXT, "
    "PRIMARY KEY(trace, thread)) WITHOUT ROWID;"
    "CREATE TABLE kernels(trace INTEGER, executable INTEGER, entry INTEGER, name TEXT, "
    "group_threads INTEGER, PRIMARY KEY(trace, executable, entry)) WITHOUT ROWID;"
    "CREATE TABLE submissions(trace INTEGER, submission INTEGER, queue INTEGER, thread INTEGER, "
    "operation TEXT, scope TEXT, submit_ns INTEGER, ready_ns INTEGER, begin_ns INTEGER, "
    "end_ns INTEGER, status TEXT, PRIMARY KEY(trace, submission)) WITHOUT ROWID;"
    "CREATE TABLE dispatches(trace INTEGER, submission INTEGER, dispatch INTEGER, "
    "executable INTEGER, entry INTEGER, x INTEGER, y INTEGER, z INTEGER, begin_ns INTEGER, "
    "end_ns INTEGER, PRIMARY KEY(trace, submission, dispatch)) WITHOUT ROWID;"
    "CREATE TABLE waits(trace INTEGER, thread INTEGER, scope TEXT, begin_ns INTEGER, "
    "end_ns INTEGER, status TEXT);"
    "CREATE TABLE transfers(trace INTEGER, thread INTEGER, direction TEXT, buffer INTEGER, "
    "bytes INTEGER, begin_ns INTEGER, end_ns INTEGER);"
    "CREATE INDEX waits_trace ON waits(trace);"
    "CREATE INDEX transfers_trace ON transfers(trace);";

/* Since version 2. */
static const char schema_of_channels[] =
    "CREATE TABLE channels(trace INTEGER, channel INTEGER, label TEXT, group_id INTEGER, "
    "rank INTEGER, ranks INTEGER, PRIMARY KEY(trace, channel)) WITHOUT ROWID;"
    "CREATE TABLE collectives(trace INTEGER, submission INTEGER, channel INTEGER, "
    "operation TEXT, type TEXT, reduction TEXT, peer INTEGER, elements INTEGER, number INTEGER, "
    "sent_bytes INTEGER, received_bytes INTEGER, status TEXT, PRIMARY KEY(trace, submission)) "
    "WITHOUT ROWID;";

/* Joined after a trace's last event. */
static const char staging[] =
    "CREATE TEMP TABLE ended(commands INTEGER, number INTEGER, executable INTEGER, "
    "entry INTEGER, x INTEGER, y INTEGER, z INTEGER, PRIMARY KEY(commands, number)) WITHOUT ROWID;"
    "CREATE TEMP TABLE submitted(submission INTEGER, position INTEGER, commands INTEGER, "
    "PRIMARY KEY(submission, position)) WITHOUT ROWID;"
    "CREATE TEMP TABLE timed(submission INTEGER, position INTEGER, number INTEGER, "
    "begin_ns INTEGER, end_ns INTEGER, PRIMARY KEY(submission, position, number)) WITHOUT ROWID;";

static const char join[] =
    "INSERT INTO dispatches SELECT ?1, u.submission, "
    "row_number() OVER (PARTITION BY u.submission ORDER BY u.position, s.number) - 1, "
    "s.executable, s.entry, s.x, s.y, s.z, t.begin_ns, t.end_ns FROM submitted u "
    "JOIN ended s USING (commands) LEFT JOIN timed t ON t.submission = u.submission "
    "AND t.position = u.position AND t.number = s.number";

static const char insert_submit[] =
    "INSERT INTO submissions(trace, submission, queue, thread, operation, scope, submit_ns) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET queue = ?3, thread = ?4, "
    "operation = ?5, scope = ?6, submit_ns = ?7";
static const char insert_done[] =
    "INSERT INTO submissions(trace, submission, queue, ready_ns, begin_ns, end_ns, status) "
    "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO UPDATE SET ready_ns = ?4, begin_ns = ?5, "
    "end_ns = ?6, status = ?7";

static const char *const inserts[ROWS] = {
    [ROW_TRACE] = "INSERT INTO traces VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ROW_THREAD] = "INSERT OR REPLACE INTO threads VALUES(?, ?, ?, ?)",
    [ROW_KERNEL] = "INSERT OR REPLACE INTO kernels VALUES(?, ?, ?, ?, ?)",
    [ROW_SUBMIT] = insert_submit,
    [ROW_DONE] = insert_done,
    [ROW_WAIT] = "INSERT INTO waits VALUES(?, ?, ?, ?, ?, ?)",
    [ROW_TRANSFER] = "INSERT INTO transfers VALUES(?, ?, ?, ?, ?, ?, ?)",
    [ROW_CHANNEL] = "INSERT OR REPLACE INTO channels VALUES(?, ?, ?, ?, ?, ?)",
    [ROW_COLLECTIVE] =
        "INSERT OR REPLACE INTO collectives VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    [ROW_ENDED] = "INSERT OR REPLACE INTO ended VALUES(?, ?, ?, ?, ?, ?, ?)",
    [ROW_SUBMITTED] = "INSERT OR REPLACE INTO submitted VALUES(?, ?, ?)",
    [ROW_TIMED] = "INSERT OR REPLACE INTO timed VALUES(?, ?, ?, ?, ?)",
};

/* ---- The database --------------------------------------------------------------------------- */

static enum hal_status fail(struct database *db)
{
    db->is_broken = true;
    return hal_fail(sqlite3_errcode(db->file) == SQLITE_NOMEM ? HAL_NO_MEMORY : HAL_IO, "'%s': %s",
                    db->path, sqlite3_errmsg(db->file));
}

static enum hal_status execute(struct database *db, const char *sql)
{
    return sqlite3_exec(db->file, sql, NULL, NULL, NULL) == SQLITE_OK ? HAL_OK : fail(db);
}

static enum hal_status ask(struct database *db, const char *sql, int64_t *out_number)
{
    sqlite3_stmt *statement = NULL;
    *out_number = 0;
    const bool is_there = sqlite3_prepare_v2(db->file, sql, -1, &statement, NULL) == SQLITE_OK &&
                          sqlite3_step(statement) == SQLITE_ROW;
    const enum hal_status status = is_there ? HAL_OK : fail(db);
    if (is_there)
        *out_number = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    return status;
}

enum hal_status database_insert(struct database *db, enum database_row row,
                                const struct database_value *values, int count)
{
    sqlite3_stmt *statement = db->inserts[row];
    int result = SQLITE_OK;
    for (int i = 0; i < count && result == SQLITE_OK; i++) {
        if (values[i].is_null)
            result = sqlite3_bind_null(statement, i + 1);
        else if (values[i].text)
            result = sqlite3_bind_text(statement, i + 1, values[i].text, -1, SQLITE_TRANSIENT);
        else
            result = sqlite3_bind_int64(statement, i + 1, values[i].number);
    }
    if (result == SQLITE_OK && sqlite3_step(statement) == SQLITE_DONE)
        return sqlite3_reset(statement) == SQLITE_OK ? HAL_OK : fail(db);
    const enum hal_status status = fail(db);
    sqlite3_reset(statement);
    return status;
}
/* Only a database of ours is added to. */
static enum hal_status check_schema(struct database *db)
{
    int64_t application, version, tables;
    char marks[96];
    HAL_TRY(ask(db, "PRAGMA application_id", &application));
    HAL_TRY(ask(db, "PRAGMA user_version", &version));
    HAL_TRY(ask(db, "SELECT count(*) FROM sqlite_master", &tables));
    if (application == APPLICATION_ID && version == SCHEMA_VERSION)
        return HAL_OK;
    if (application == APPLICATION_ID && version != 1)
        return hal_fail(HAL_VERSION,
                        "'%s' has tables of version %" PRId64 "; this program's version is %d",
                        db->path, version, SCHEMA_VERSION);
    if (application != APPLICATION_ID && (tables || application))
        return hal_fail(HAL_EXISTS, "'%s' is another program's database", db->path);
    snprintf(marks, sizeof marks, "PRAGMA application_id=%d; PRAGMA user_version=%d;",
             APPLICATION_ID, SCHEMA_VERSION);
    if (!application)
        HAL_TRY(execute(db, schema));
    HAL_TRY(execute(db, schema_of_channels));
    return execute(db, marks);
}

enum hal_status database_open(struct database *db, const char *path)
{
    *db = (struct database){.path = path};
    if (sqlite3_open_v2(db->path, &db->file, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
        SQLITE_OK)
        return db->file ? fail(db) : hal_fail(HAL_NO_MEMORY, "no memory for '%s'", db->path);
    sqlite3_busy_timeout(db->file, 10000);
    HAL_TRY(execute(db, "BEGIN IMMEDIATE"));
    HAL_TRY(check_schema(db));
    HAL_TRY(execute(db, staging));
    for (int i = 0; i < ROWS; i++) {
        if (sqlite3_prepare_v2(db->file, inserts[i], -1, &db->inserts[i], NULL) != SQLITE_OK)
            return fail(db);
    }
    return HAL_OK;
}

/* What was not committed is not in the file. */
enum hal_status database_close(struct database *db, enum hal_status status)
{
    if (status == HAL_OK)
        status = execute(db, "COMMIT");
    for (int i = 0; i < ROWS; i++)
        sqlite3_finalize(db->inserts[i]);
    sqlite3_close(db->file);
    return status;
}

/* ---- Traces ---- */

static enum hal_status forget(struct database *db, const char *path)
{
    static const char *const tables[] = {"threads",    "kernels",     "submissions",
                                         "dispatches", "waits",       "transfers",
                                         "channels",   "collectives", "traces"};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        char *sql = sqlite3_mprintf(
            "DELETE FROM %s WHERE trace IN (SELECT trace FROM traces WHERE path = %Q)", tables[i],
            path);
        const enum hal_status status =
            sql ? execute(db, sql) : hal_fail(HAL_NO_MEMORY, "no memory for a query");
        sqlite3_free(sql);
        HAL_TRY(status);
    }
    return execute(db, "DELETE FROM ended; DELETE FROM submitted; DELETE FROM timed;");
}

static enum hal_status begin_trace(struct database *db, const char *trace_path)
{
    HAL_TRY(forget(db, trace_path));
    return ask(db, "SELECT coalesce(max(trace), 0) + 1 FROM traces", &db->trace);
}

enum hal_status database_begin(struct database *db, const char *trace_path)
{
    HAL_TRY(execute(db, "SAVEPOINT one"));
    const enum hal_status status = begin_trace(db, trace_path);
    return status == HAL_OK ? HAL_OK : database_end(db, status);
}

static enum hal_status join_dispatches(struct database *db)
{
    sqlite3_stmt *statement = NULL;
    const bool is_joined = sqlite3_prepare_v2(db->file, join, -1, &statement, NULL) == SQLITE_OK &&
                           sqlite3_bind_int64(statement, 1, db->trace) == SQLITE_OK &&
                           sqlite3_step(statement) == SQLITE_DONE;
    const enum hal_status status = is_joined ? HAL_OK : fail(db);
    sqlite3_finalize(statement);
    return status;
}

enum hal_status database_end(struct database *db, enum hal_status status)
{
    if (status == HAL_OK)
        status = join_dispatches(db);
    if (status == HAL_OK)
        return execute(db, "RELEASE one");
    const struct hal_kept_message kept = hal_keep_message();
    HAL_TRY(execute(db, "ROLLBACK TO one; RELEASE one"));
    return hal_restore_message(&kept, status);
}
