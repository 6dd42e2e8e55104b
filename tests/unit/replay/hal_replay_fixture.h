/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the program hal-replay: a trace, runs of the program, alone or several at a time,
 * and what they said. */
#ifndef TESTS_UNIT_HAL_REPLAY_FIXTURE_H
#define TESTS_UNIT_HAL_REPLAY_FIXTURE_H

#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"

#include <sys/types.h>

struct fixture {
    struct test_folder folder;
    char program[PATH_MAX];
    char path[PATH_MAX];         /* the trace */
    char out[16384], err[16384]; /* of the run that ended last */
    unsigned runs;
    bool (*before_exec)(void); /* if set: in the process that becomes the program */
    struct trace_builder b;
};

/* cmocka's: *state is the fixture. */
int fixture_set_up(void **state);
int fixture_tear_down(void **state);

/* A new trace, under the same name. */
struct trace_builder *fixture_start(struct fixture *fixture);
void fixture_finish(struct fixture *fixture);
void fixture_add_kernel(struct trace_builder *b, uint64_t id, const char *name, const char *source);

/* A file of the folder with that text. */
void fixture_write(struct fixture *fixture, const char *name, const char *text);

/* A program that runs in the folder, and its end: the exit status. */
struct fixture_run {
    pid_t process;
    char out[PATH_MAX], err[PATH_MAX];
};
struct fixture_run fixture_begin(struct fixture *fixture, const char *program,
                                 char *const *arguments);
int fixture_end(struct fixture *fixture, const struct fixture_run *run);
int fixture_run(struct fixture *fixture, const char *program, char *const *arguments);

#define begin_replay(fixture, ...)                                                                 \
    fixture_begin(fixture, (fixture)->program,                                                     \
                  (char *[]){"hal-replay", __VA_ARGS__, (fixture)->path, NULL})
#define replay(fixture, ...)                                                                       \
    fixture_run(fixture, (fixture)->program,                                                       \
                (char *[]){"hal-replay", __VA_ARGS__, (fixture)->path, NULL})

/* Fail the test with what the program said. */
#define assert_exit(actual, expected) fixture_assert_exit(fixture, actual, expected)
void fixture_assert_exit(const struct fixture *fixture, int actual, int expected);
void fixture_expect(const struct fixture *fixture, const char *text, const char *part);
void fixture_expect_one_line(const struct fixture *fixture);

/* HAL_CACHE_DIR is that until it is given back. */
char *fixture_change_cache(const char *path);
void fixture_restore_cache(char *kept);

/* All of a file; the caller frees it. */
void fixture_read_bytes(const char *path, uint8_t **out_data, size_t *out_bytes);

/* Native code in the place of the one compiled kernel in that folder of the cache. */
void fixture_plant(struct fixture *fixture, const char *folder, const char *module);

/* So that nothing new lies in the folder unseen: entries. */
size_t fixture_count_files(const char *path);

#endif
