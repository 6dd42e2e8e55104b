/* SPDX-License-Identifier: Apache-2.0 */
/* Who is woken by a submission on the CPU driver, counted by how often threads go to sleep: nobody
 * for an empty one, one worker for one workgroup. Time plays no part: workers that are still awake
 * only lower the counts. */
#include "tests/support/hal_fixture.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <sys/resource.h>

enum { WORKERS = 8, ROUNDS = 100 };

static const char source[] =
    "kernel void add_one(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
    "{ x[i] += 1; }\n";

static long sleeps(int of_whom)
{
    struct rusage usage;
    assert_int_equal(getrusage(of_whom, &usage), 0);
    return usage.ru_nvcsw;
}

/* How many threads of this process do not sleep, this one included. */
static int awake(void)
{
    int count = 0;
    DIR *tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[300], state = 'S';
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *stat = task->d_name[0] == '.' ? NULL : fopen(path, "re");
        if (!stat)
            continue;
        assert_int_equal(fscanf(stat, "%*d (%*[^)]) %c", &state), 1);
        fclose(stat);
        count += state != 'S';
    }
    closedir(tasks);
    return count;
}

static void run(struct hal_device *device, struct hal_command_buffer *commands,
                struct hal_semaphore *done, uint64_t value)
{
    assert_ok(fixture_submit(device, commands, NULL, 0, done, value));
    assert_ok(hal_semaphore_wait(done, value, HAL_FOREVER));
}

TEST(an_empty_submission_wakes_nobody)
{
    struct hal_device *device = fixture_device("cpu?threads=8");
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_REUSABLE);
    assert_ok(hal_command_buffer_end(commands));
    run(device, commands, done, 1);
    const long before = sleeps(RUSAGE_THREAD);
    for (uint64_t i = 2; i < 2 + 10 * ROUNDS; i++)
        run(device, commands, done, i);
    assert_in_range(sleeps(RUSAGE_THREAD) - before, 0, ROUNDS / 10);
    hal_command_buffer_release(commands);
    hal_semaphore_release(done);
    hal_device_release(device);
}

/* This thread sleeps in its wait, a worker goes back to sleep; if all were woken, there would be
 * nine. */
TEST(one_workgroup_wakes_one_worker)
{
    static const struct hal_entry_point entry = {"add_one", {1, 1, 1}, 0, 0};
    struct hal_device *device = fixture_device("cpu?threads=8");
    struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
    struct hal_buffer *x = fixture_buffer(device, "x", 4);
    struct hal_executable *executable;
    assert_ok(hal_executable_create(device,
                                    &(struct hal_executable_desc){.label = "add_one",
                                                                  .format = HAL_FORMAT_MSL,
                                                                  .data = source,
                                                                  .bytes = sizeof source - 1,
                                                                  .entry_points = &entry,
                                                                  .entry_point_count = 1},
                                    &executable));
    struct hal_command_buffer *commands = fixture_commands(device, NULL, HAL_REUSABLE);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    uint32_t count = 0;
    assert_ok(hal_buffer_write(x, 0, &count, 4));
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(commands, executable, 0, (uint32_t[3]){1, 1, 1}));
    assert_ok(hal_command_buffer_end(commands));
    run(device, commands, done, 1);
    const long before = sleeps(RUSAGE_SELF);
    for (uint64_t i = 2; i < 2 + ROUNDS; i++) {
        while (awake() > 1)
            sched_yield();
        run(device, commands, done, i);
    }
    const long each_ten = (sleeps(RUSAGE_SELF) - before) * 10 / ROUNDS;
    print_message("%ld sleeps for 10 dispatches of one workgroup, %d workers\n", each_ten, WORKERS);
    assert_in_range(each_ten, 0, 60);
    assert_ok(hal_buffer_read(x, 0, &count, 4));
    assert_int_equal(count, ROUNDS + 1);
    hal_command_buffer_release(commands);
    hal_executable_release(executable);
    hal_buffer_release(x);
    hal_semaphore_release(done);
    hal_device_release(device);
}
