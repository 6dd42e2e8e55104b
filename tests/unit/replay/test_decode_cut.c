/* SPDX-License-Identifier: Apache-2.0 */
/* replay/plan/decode_cut.c: random programs of three threads whose records come into the file late,
 * so that a file which is cut off lacks signals that others waited for. Cut anywhere, nothing hangs
 * and nothing differs; with its end there, all is replayed. */
#include "hal/hal.h"
#include "replay/cli/report.h"
#include "replay/player/player.h"
#include "tests/support/folder.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"
#include "tests/support/trace_builder.h"

#include <sys/stat.h>
#include <unistd.h>

enum { OUT = 1, GO = 100, DONE = 200, COMMANDS = 300, WORK = 8, MAIN = 1, HELPER, DEVICE };

enum action { SUBMIT, SIGNAL, END, WAIT, READ, DESTROY };

struct step {
    enum action action;
    uint32_t number, thread;
    uint64_t ticket;
};

struct fixture {
    struct test_folder folder;
    char path[PATH_MAX], whole[PATH_MAX];
    struct hal_device *device;
    struct random_records random;
    struct trace_builder b;
    struct step steps[8 * WORK];
    size_t step_count;
    bool waits_for_last[WORK]; /* the submission before, too */
};

/* ---- Programs ------------------------------------------------------------------------------ */

static void add(struct fixture *f, enum action action, uint32_t number, uint32_t thread)
{
    const bool ordered = action != END;
    f->steps[f->step_count++] = (struct step){action, number, thread, f->b.ticket};
    f->b.ticket += ordered;
}

/* A submission, what it waits for, its end; and what the host reads then. */
static void add_end(struct fixture *f, uint32_t n)
{
    add(f, SIGNAL, n, HELPER);
    add(f, END, n, DEVICE);
    add(f, WAIT, n, MAIN);
    add(f, READ, n, MAIN);
    if (random_below(&f->random, 2))
        add(f, DESTROY, n, HELPER);
}

static void make_steps(struct fixture *f)
{
    f->step_count = 0;
    for (uint32_t n = 0; n < WORK; n += 2) {
        f->waits_for_last[n] = false;
        f->waits_for_last[n + 1] = random_below(&f->random, 2);
        const bool in_order = f->waits_for_last[n + 1] || random_below(&f->random, 2);
        add(f, SUBMIT, n, MAIN);
        add(f, SUBMIT, n + 1, MAIN);
        add_end(f, in_order ? n : n + 1);
        add_end(f, in_order ? n + 1 : n);
    }
}

static void write_step(struct fixture *f, const struct step *step)
{
    struct trace_builder *b = &f->b;
    const uint64_t n = step->number, commands = COMMANDS + n;
    const struct trace_semaphore_value done = {DONE + n, 1};
    const struct trace_semaphore_value waits[] = {{GO + n, 1}, {DONE + n - 1, 1}};
    const uint32_t value = 7 * (uint32_t)n + 1;
    b->thread = step->thread;
    b->ticket = step->ticket;
    b->begin_ns = 1000 * (int64_t)(step - f->steps + 100);
    switch (step->action) {
    case SUBMIT:
        builder_submit(b, n, 0, builder_values(waits, f->waits_for_last[n] ? 2 : 1), VALUES(done),
                       IDS(commands));
        break;
    case SIGNAL: builder_semaphore(b, TRACE_SEMAPHORE_SIGNAL, GO + n, 1, NULL); break;
    case END: builder_submission_done(b, n, 0, b->begin_ns, b->begin_ns, b->begin_ns + 10); break;
    case WAIT: builder_semaphore_wait(b, HAL_WAIT_ALL, &done, 1, INT64_MAX); break;
    case READ: builder_host_read(b, OUT, 4 * n, &value, 4); break;
    case DESTROY: builder_destroy(b, TRACE_SEMAPHORE_DESTROY, GO + n); break;
    }
}

/* A thread's records in its order, the threads' by turns as chance has it. */
static void write_steps(struct fixture *f)
{
    size_t next[DEVICE + 1] = {0};
    for (size_t written = 0; written < f->step_count;) {
        const uint32_t thread = MAIN + (uint32_t)random_below(&f->random, DEVICE);
        for (uint64_t burst = random_below(&f->random, 12); burst > 0; burst--) {
            size_t *at = &next[thread];
            while (*at < f->step_count && f->steps[*at].thread != thread)
                ++*at;
            if (*at == f->step_count)
                break;
            write_step(f, &f->steps[(*at)++]);
            written++;
        }
        if (random_below(&f->random, 2))
            builder_flush(&f->b);
    }
}

static void build(struct fixture *f)
{
    struct trace_builder *b = &f->b;
    builder_open(b, f->whole, NULL);
    builder_thread(b, HELPER, 2, "helper");
    builder_thread(b, DEVICE, 3, "device");
    builder_buffer_create(b, OUT, "out", 4 * WORK);
    for (uint64_t n = 0; n < WORK; n++) {
        builder_semaphore_create(b, GO + n, "go", 0);
        builder_semaphore_create(b, DONE + n, "done", 0);
        builder_command_buffer_create(b, COMMANDS + n, NULL, HAL_ONE_SHOT);
        builder_fill(b, OUT, 4 * n, 4, 7 * (uint32_t)n + 1, 4);
        builder_end_commands(b, COMMANDS + n);
    }
    builder_flush(b);
    make_steps(f);
    write_steps(f);
    if (builder_close(b, NULL) != HAL_OK)
        fail_msg("%s", hal_message());
}

/* ---- Cut files ----------------------------------------------------------------------------- */

static void cut(const struct fixture *f, uint64_t bytes)
{
    static char data[1 << 20];
    FILE *from = fopen(f->whole, "rb"), *to = fopen(f->path, "wb");
    assert_non_null(from);
    assert_non_null(to);
    assert_int_equal(fread(data, 1, bytes, from), bytes);
    assert_int_equal(fwrite(data, 1, bytes, to), bytes);
    fclose(from);
    assert_int_equal(fclose(to), 0);
}

static enum hal_status play(const struct fixture *f, struct replay_plan *plan,
                            struct replay_report *report)
{
    const struct replay_options options = {.timeout_ns = 5ll * 1000 * 1000 * 1000};
    struct replay_player *player;
    HAL_TRY(replay_player_create(plan, f->device, &options, &player));
    const enum hal_status status = replay_player_run(player, report);
    replay_player_destroy(player);
    return status;
}

/* What hal-replay's exit status would be; `compared` may be NULL. */
static enum replay_exit replay_cut(const struct fixture *f, uint64_t bytes, uint64_t *compared)
{
    struct replay_plan *plan;
    struct replay_report report;
    cut(f, bytes);
    if (replay_plan_load(f->path, &(struct replay_load_options){0}, &plan) != HAL_OK)
        return REPLAY_EXIT_UNREADABLE;
    if (play(f, plan, &report) != HAL_OK)
        fail_msg("%llu bytes: %s", (unsigned long long)bytes, hal_message());
    const enum replay_exit result = replay_exit_code(replay_plan_get_info(plan), &report);
    if (result == REPLAY_EXIT_DIFFERENT)
        fail_msg("%llu bytes: %llu different, %s", (unsigned long long)bytes,
                 (unsigned long long)report.different_reads, report.first_outcome);
    if (compared)
        *compared = report.compared_reads;
    replay_plan_destroy(plan);
    return result;
}

/* ---- Tests --------------------------------------------------------------------------------- */

static uint64_t file_bytes(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (uint64_t)info.st_size;
}

/* Where frames begin, those inside frames of ours too; the last one of ours is the index. */
static size_t list_cuts(const struct fixture *f, uint64_t *cuts, size_t capacity,
                        uint64_t *out_index)
{
    static uint8_t data[1 << 20];
    static const uint8_t own[4] = {0x57, 0x2A, 0x4D, 0x18}, zstd[4] = {0x28, 0xB5, 0x2F, 0xFD};
    size_t count = 0;
    FILE *file = fopen(f->whole, "rb");
    assert_non_null(file);
    const size_t bytes = fread(data, 1, sizeof data, file);
    fclose(file);
    for (size_t at = 4; at + 4 <= bytes; at++) {
        const bool is_own = memcmp(data + at, own, 4) == 0;
        if (!is_own && memcmp(data + at, zstd, 4) != 0)
            continue;
        assert_true(count < capacity);
        cuts[count++] = at;
        *out_index = is_own ? at : *out_index;
    }
    return count;
}

TEST_ON(a_cut_file_neither_hangs_nor_differs, struct fixture *f)
{
    uint64_t cuts[512], end = 0;
    for (uint64_t seed = 1; seed <= 12; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        f->random.state = seed;
        build(f);
        const uint64_t bytes = file_bytes(f->whole);
        size_t count = list_cuts(f, cuts, 400, &end);
        for (int i = 0; i < 60; i++)
            cuts[count++] = random_below(&f->random, bytes);
        for (size_t i = 0; i < count; i++) {
            uint64_t compared = 0;
            const enum replay_exit result = replay_cut(f, cuts[i], &compared);
            if (cuts[i] < end)
                assert_true(result == REPLAY_EXIT_INCOMPARABLE || result == REPLAY_EXIT_UNREADABLE);
        }
    }
}

/* The index and the seek table alone are missing, or some of their bytes. */
TEST_ON(a_file_with_its_end_is_whole, struct fixture *f)
{
    uint64_t cuts[512], end = 0, compared = 0;
    f->random.state = 99;
    build(f);
    const uint64_t bytes = file_bytes(f->whole);
    list_cuts(f, cuts, 400, &end);
    for (uint64_t at = end; at <= bytes; at += at < end + 8 || at + 40 > bytes ? 1 : 7) {
        assert_int_equal(replay_cut(f, at, &compared), REPLAY_EXIT_SAME);
        assert_int_equal(compared, WORK);
    }
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder))
        return -1;
    test_folder_file(&fixture.folder, "cut.pb.zst", fixture.path);
    test_folder_file(&fixture.folder, "whole.pb.zst", fixture.whole);
    return hal_device_open("cpu?threads=2", &fixture.device) == HAL_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    hal_device_release(fixture->device);
    test_folder_remove(&fixture->folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
