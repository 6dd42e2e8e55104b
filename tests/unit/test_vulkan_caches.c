/* SPDX-License-Identifier: Apache-2.0 */
/* Pipelines that are kept in files, whatever has become of the files; and when dispatches ran, as a
 * capture has it. */
#include "tests/support/captured.h"
#include "tests/unit/vulkan_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { HEAD_BYTES = 48, PROCESSES = 4, ROUNDS = 10 };

static char *self;

/* ---- Kept pipelines ------------------------------------------------------------------------- */

/* Makes the executable through a cache over the folder, which must work; whether it was kept. */
static bool prepare(const char *folder)
{
    struct hal_device *device = open_device("vulkan");
    struct hal_executable_cache *cache;
    struct hal_executable *executable;
    struct hal_executable_info info;
    const struct hal_executable_cache_desc desc = {.label = "kept", .directory = folder};
    const struct hal_executable_desc increment = describe_increment();
    ok(hal_executable_cache_create(device, &desc, &cache));
    ok(hal_executable_cache_prepare(cache, &increment, 1, NULL, &executable, NULL));
    ok(hal_executable_get_info(executable, &info));
    hal_executable_release(executable);
    hal_executable_cache_release(cache);
    hal_device_release(device);
    return info.was_kept;
}

/* The one file in the folder. */
static void find_file(const char *folder, char *out_path, size_t bytes)
{
    size_t count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (entry->d_name[0] == '.')
            continue;
        assert_non_null(strstr(entry->d_name, ".vkpipelines"));
        snprintf(out_path, bytes, "%s/%s", folder, entry->d_name);
        count++;
    }
    closedir(directory);
    assert_int_equal(count, 1);
}

static void flip(const char *path, off_t at)
{
    uint8_t byte;
    const int file = open(path, O_RDWR);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte ^= 0x40;
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    assert_int_equal(close(file), 0);
}

static void grow(const char *path)
{
    const int file = open(path, O_WRONLY | O_APPEND);
    assert_int_equal(write(file, "more", 4), 4);
    assert_int_equal(close(file), 0);
}

/* Whatever is in its place: it is made again, and is there afterwards. */
static void damaged_files_are_made_again(void **state)
{
    (void)state;
    struct test_folder folder;
    struct stat facts;
    char path[PATH_MAX + 300];
    assert_true(test_folder_make(&folder));
    assert_false(prepare(folder.path));
    assert_true(prepare(folder.path));
    find_file(folder.path, path, sizeof path);
    assert_int_equal(stat(path, &facts), 0);
    assert_true(facts.st_size > HEAD_BYTES);
    assert_int_equal(facts.st_mode & 0777, 0600);
    for (int way = 0; way < 8; way++) {
        switch (way) {
        case 0: flip(path, 0); break;                 /* the head's name */
        case 1: flip(path, 9); break;                 /* its size */
        case 2: flip(path, 20); break;                /* its digest */
        case 3: flip(path, HEAD_BYTES); break;        /* Vulkan's head */
        case 4: flip(path, facts.st_size - 1); break; /* the last byte */
        case 5: assert_int_equal(truncate(path, HEAD_BYTES + 8), 0); break;
        case 6: assert_int_equal(truncate(path, 0), 0); break;
        default: grow(path); break;
        }
        assert_false(prepare(folder.path));
        assert_true(prepare(folder.path));
        find_file(folder.path, path, sizeof path);
    }
    test_folder_remove(&folder);
}

/* A file that others could have written might be made to harm the driver. */
static void files_of_others_are_not_trusted(void **state)
{
    (void)state;
    struct test_folder folder;
    char path[PATH_MAX + 300];
    assert_true(test_folder_make(&folder));
    assert_false(prepare(folder.path));
    find_file(folder.path, path, sizeof path);
    assert_int_equal(chmod(path, 0666), 0);
    assert_false(prepare(folder.path));
    assert_true(prepare(folder.path));
    test_folder_remove(&folder);
}

static void many_processes(void **state)
{
    (void)state;
    struct test_folder folder;
    char path[PATH_MAX + 300];
    pid_t children[PROCESSES];
    assert_true(test_folder_make(&folder));
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            execl(self, self, folder.path, (char *)NULL);
            _exit(127);
        }
    }
    for (int i = 0; i < PROCESSES; i++) {
        int status = -1;
        assert_int_equal(waitpid(children[i], &status, 0), children[i]);
        assert_int_equal(status, 0);
    }
    find_file(folder.path, path, sizeof path);
    assert_true(prepare(folder.path));
    test_folder_remove(&folder);
}

/* ---- Times of dispatches -------------------------------------------------------------------- */

static void record(struct hal_device *device, struct hal_executable *increment,
                   struct hal_buffer *x, struct hal_buffer *counts,
                   struct hal_command_buffer **out_commands)
{
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    *out_commands = list_of(device, "timed", HAL_REUSABLE);
    dispatch(*out_commands, increment, x);
    ok(hal_command_barrier(*out_commands, NULL));
    ok(hal_command_push_descriptor_set(*out_commands, 0, &binding, 1));
    ok(hal_command_dispatch(*out_commands, increment, 0, (const uint32_t[3]){0, 1, 1}));
    ok(hal_command_dispatch_indirect(*out_commands, increment, 0, counts, 0));
    ok(hal_command_buffer_end(*out_commands));
}

/* Two lists at once, several submissions in flight: each dispatch once, inside its submission's
 * time, and none beside another. The one without workgroups has no time. */
static void check_times(const char *path, size_t submissions)
{
    struct captured captured;
    captured_open(&captured, path);
    assert_int_equal(captured_count(&captured, TRACE_DISPATCH_TIMES), submissions);
    for (size_t n = 0; n < submissions; n++) {
        const struct trace_dispatch_times *times =
            captured_find(&captured, TRACE_DISPATCH_TIMES, n);
        assert_true(times->flags & TRACE_TIMES_ISOLATED);
        assert_int_equal(times->time_count, 4);
        int64_t last_ns = 0;
        for (uint32_t i = 0; i < 4; i++) {
            assert_int_equal(times->times[i].command_buffer, i / 2);
            assert_int_equal(times->times[i].dispatch, i % 2 * 2);
            assert_true(times->times[i].begin_ns >= last_ns);
            assert_true(times->times[i].end_ns >= times->times[i].begin_ns);
            last_ns = times->times[i].end_ns;
        }
    }
    captured_close(&captured);
}

static void dispatches_are_timed(void **state)
{
    (void)state;
    enum { SUBMISSIONS = 5 };
    struct test_folder folder;
    char path[PATH_MAX + 16];
    struct hal_device *device = open_device("vulkan");
    struct hal_executable *increment = increment_of(device);
    struct hal_buffer *x = buffer_of(device, "x"), *counts = buffer_of(device, "counts");
    struct hal_command_buffer *commands[2];
    struct hal_semaphore *done;
    assert_true(test_folder_make(&folder));
    snprintf(path, sizeof path, "%s/timed.pb.zst", folder.path);
    ok(hal_semaphore_create(device, "done", 0, &done));
    ok(hal_buffer_write(x, 0, (const uint32_t[N_WORDS]){0}, N_BYTES));
    ok(hal_buffer_write(counts, 0, (const uint32_t[3]){N_WORDS / 64, 1, 1}, 12));
    const struct hal_profiling_options options = {.file = path, .mode = "dispatch"};
    ok(hal_device_profiling_begin(device, &options, PATIENCE_NS));
    for (int i = 0; i < 2; i++)
        record(device, increment, x, counts, &commands[i]);
    for (uint64_t i = 1; i <= SUBMISSIONS; i++) {
        const struct hal_semaphore_value wait = {done, i - 1}, signal = {done, i};
        ok(hal_queue_submit(device, &(struct hal_submit_desc){.waits = &wait,
                                                              .wait_count = 1,
                                                              .signals = &signal,
                                                              .signal_count = 1,
                                                              .commands = commands,
                                                              .command_count = 2}));
    }
    ok(hal_semaphore_wait(done, SUBMISSIONS, PATIENCE_NS));
    ok(hal_device_profiling_end(device));
    holds(x, 4 * SUBMISSIONS);
    check_times(path, SUBMISSIONS);
    for (int i = 0; i < 2; i++)
        hal_command_buffer_release(commands[i]);
    hal_semaphore_release(done);
    hal_buffer_release(x);
    hal_buffer_release(counts);
    hal_executable_release(increment);
    hal_device_release(device);
    test_folder_remove(&folder);
}

static int load(void **state)
{
    (void)state;
    return vulkan_fixture_load();
}

/* With a folder: one of many processes. */
int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_files_are_made_again),
        cmocka_unit_test(files_of_others_are_not_trusted),
        cmocka_unit_test(many_processes),
        cmocka_unit_test(dispatches_are_timed),
    };
    self = argv[0];
    if (argc > 1) {
        for (int i = 0; i < ROUNDS; i++)
            (void)prepare(argv[1]);
        return 0;
    }
    return cmocka_run_group_tests(tests, load, NULL);
}
