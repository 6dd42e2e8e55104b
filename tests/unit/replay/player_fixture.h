/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of the player: a tiny trace, runs of it on the CPU, and what they reported. */
#ifndef TESTS_UNIT_PLAYER_FIXTURE_H
#define TESTS_UNIT_PLAYER_FIXTURE_H

#include "replay/player/player.h"
#include "tests/support/folder.h"
#include "tests/support/replay_trace.h"

struct play_fixture {
    struct test_folder folder;
    char path[PATH_MAX];
    struct trace_builder b;
    struct hal_device *device;
    struct replay_load_options load;
    struct replay_options options;
};

/* cmocka's: *state is the fixture. */
int play_set_up(void **state);
int play_tear_down(void **state);

/* A new trace, and no options. */
struct trace_builder *play_start(struct play_fixture *fixture);

/* A command buffer `id` that fills the first byte of the buffer. */
void play_add_fill(struct trace_builder *b, uint64_t id, uint64_t buffer, uint8_t value);
/* Submission `number` of one command buffer, and its end; `wait` and `signal` NULL: none. */
void play_submit(struct trace_builder *b, uint64_t number, uint64_t commands,
                 const struct trace_semaphore_value *wait,
                 const struct trace_semaphore_value *signal);
void play_wait_for(struct trace_builder *b, const struct trace_semaphore_value *value);

/* Closes, loads and plays `runs` times; the last report. */
enum hal_status play_often(struct play_fixture *fixture, int runs,
                           struct replay_report *out_report);
/* Plays once: nothing differs, and so many reads are compared. */
void play_expect_same(struct play_fixture *fixture, uint64_t reads);

#endif
