/* SPDX-License-Identifier: Apache-2.0 */
/* An executable cache that several processes use at once: each gets what it asked for, also while
 * others throw it out, and the directory stays inside its limit. */
#include "tests/support/hal_fixture.h"
#include "tests/support/own_folder.h"

#include <fcntl.h>
#if defined(__linux__)
#include <link.h>
#endif
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* Whether an allocation can be made to fail by a limit. */
#if defined(__linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CAN_RUN_OUT 1
#include <malloc.h>
#else
#define CAN_RUN_OUT 0
#endif

enum { PROCESSES = 3, ROUNDS = 2, SOURCES = 3 };

static bool runs(struct hal_device *device, struct hal_executable *executable, uint32_t wanted)
{
    uint32_t found = 0;
    struct hal_buffer *x = fixture_buffer(device, "x", 4);
    struct hal_command_buffer *commands = fixture_commands(device, "run", HAL_ONE_SHOT);
    const struct hal_binding binding = {x, 0, 4};
    assert_ok(hal_command_push_descriptor_set(commands, 0, &binding, 1));
    assert_ok(hal_command_dispatch(commands, executable, 0, (const uint32_t[3]){1, 1, 1}));
    fixture_run(device, commands);
    assert_ok(hal_buffer_read(x, 0, &found, 4));
    hal_command_buffer_release(commands);
    hal_buffer_release(x);
    return found == wanted;
}

/* One process of several: prepares all, in an order of its own, again and again. */
static int use_cache(const char *directory, uint64_t max_bytes, uint32_t process)
{
    struct hal_executable_cache *cache;
    struct hal_device *device = fixture_device("cpu?threads=1");
    const struct hal_entry_point entry = {"k", {1, 1, 1}, 0, 0};
    const struct hal_executable_cache_desc desc = {.directory = directory, .max_bytes = max_bytes};
    assert_ok(hal_executable_cache_create(device, &desc, &cache));
    int wrong = 0;
    for (uint32_t i = 0; i < ROUNDS * SOURCES; i++) {
        char text[128];
        const uint32_t number = 1000 + (i * 3 + process) % SOURCES;
        snprintf(text, sizeof text, "kernel void k(device uint *x [[buffer(0)]]) { x[0] = %u; }\n",
                 number);
        const struct hal_executable_desc executable_desc = {.label = "shared",
                                                            .format = HAL_FORMAT_MSL,
                                                            .data = text,
                                                            .bytes = strlen(text),
                                                            .entry_points = &entry,
                                                            .entry_point_count = 1,
                                                            .cache = cache};
        struct hal_executable *executable;
        if (hal_executable_create(device, &executable_desc, &executable) != HAL_OK) {
            fprintf(stderr, "process %u: %s\n", process, hal_message());
            wrong++;
            continue;
        }
        wrong += !runs(device, executable, number);
        hal_executable_release(executable);
    }
    hal_executable_cache_release(cache);
    hal_device_release(device);
    return wrong;
}

static void use_in_processes(const char *directory, uint64_t max_bytes)
{
    pid_t processes[PROCESSES];
    for (uint32_t i = 0; i < PROCESSES; i++) {
        processes[i] = fork();
        assert_true(processes[i] >= 0);
        if (processes[i] == 0)
            _exit(use_cache(directory, max_bytes, i) ? 1 : 0);
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        int status = 0;
        assert_int_equal(waitpid(processes[i], &status, 0), processes[i]);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), 0);
    }
}

static struct hal_executable_cache_info measure(const char *directory)
{
    struct hal_executable_cache *cache;
    struct hal_executable_cache_info info = {0};
    struct hal_device *device = fixture_device("cpu?threads=1");
    const struct hal_executable_cache_desc desc = {.directory = directory};
    assert_ok(hal_executable_cache_create(device, &desc, &cache));
    assert_ok(hal_executable_cache_get_info(cache, &info));
    hal_executable_cache_release(cache);
    hal_device_release(device);
    return info;
}

TEST(processes_share_a_directory)
{
    char directory[PATH_MAX];
    test_folder_file(&folder, "shared", directory);
    use_in_processes(directory, 0);
    assert_int_equal(measure(directory).entry_count, SOURCES);
}

/* Room for one only: what a process has just found may be gone before it loads it. */
TEST(processes_throw_out_what_others_use)
{
    char directory[PATH_MAX];
    test_folder_file(&folder, "crowded", directory);
    use_in_processes(directory, 1);
    assert_true(measure(directory).entry_count <= PROCESSES);
}

#if defined(__linux__)
static int is_loaded_from(struct dl_phdr_info *info, size_t bytes, void *directory)
{
    (void)bytes;
    return strncmp(info->dlpi_name, directory, strlen(directory)) == 0;
}

/* What was compiled is there for whoever makes the executable, also where no compiler is left. */
TEST(compiling_loads_nothing)
{
    char directory[PATH_MAX];
    struct hal_executable_cache *cache;
    struct hal_executable *executable;
    struct hal_executable_info info = {0};
    enum hal_status statuses[2];
    struct hal_device *device = fixture_device("cpu?threads=1");
    static const char good[] = "kernel void k(device uint *x [[buffer(0)]]) { x[0] = 17; }";
    static const char bad[] = "kernel void k(device uint *x [[buffer(0)]]) { x[0] = y; }";
    const struct hal_entry_point entry = {"k", {1, 1, 1}, 0, 0};
    struct hal_executable_desc descs[2] = {
        {.data = good, .bytes = strlen(good), .entry_points = &entry, .entry_point_count = 1},
        {.data = bad, .bytes = strlen(bad), .entry_points = &entry, .entry_point_count = 1}};
    test_folder_file(&folder, "compiled", directory);
    assert_ok(hal_executable_cache_create(
        device, &(struct hal_executable_cache_desc){.directory = directory}, &cache));
    assert_fails(hal_executable_cache_compile(cache, descs, 2, NULL, statuses), HAL_INVALID, "'y'");
    assert_int_equal(statuses[0], HAL_OK);
    assert_int_equal(statuses[1], HAL_INVALID);
    assert_int_equal(measure(directory).entry_count, 1);
    assert_false(dl_iterate_phdr(is_loaded_from, directory));
    assert_ok(hal_executable_cache_prepare(cache, descs, 1, NULL, &executable, NULL));
    assert_true(dl_iterate_phdr(is_loaded_from, directory)); /* that is how to see it */
    assert_ok(hal_executable_get_info(executable, &info));
    assert_true(info.from_cache);
    assert_true(runs(device, executable, 17));
    hal_executable_release(executable);
    hal_executable_cache_release(cache);
    hal_device_release(device);
}
#endif

#if CAN_RUN_OUT
/* So much that the process may not have: the lists of what is prepared, and nothing of that size
 * before. */
TEST(without_memory_every_status_says_so)
{
    enum { COUNT = HAL_MAX_LIST };
    struct hal_executable_cache *cache;
    struct rlimit before, less;
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_executable_desc *descs = calloc(COUNT, sizeof *descs);
    struct hal_executable **executables = calloc(COUNT, sizeof *executables);
    enum hal_status *statuses = calloc(COUNT, sizeof *statuses);
    long pages = 0;
    assert_true(descs && executables && statuses);
    assert_ok(hal_executable_cache_create(
        device, &(struct hal_executable_cache_desc){.directory = folder.path}, &cache));
    FILE *file = fopen("/proc/self/statm", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "%ld", &pages), 1);
    fclose(file);
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    less = before;
    less.rlim_cur = (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE) + (1 << 18);
    assert_int_equal(setrlimit(RLIMIT_AS, &less), 0);
    const enum hal_status status =
        hal_executable_cache_prepare(cache, descs, COUNT, NULL, executables, statuses);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_fails(status, HAL_NO_MEMORY, "no memory to prepare 65536 executables");
    for (size_t i = 0; i < COUNT; i++) {
        assert_null(executables[i]);
        assert_int_equal(statuses[i], HAL_NO_MEMORY);
    }
    hal_executable_cache_release(cache);
    hal_device_release(device);
    free(statuses);
    free(executables);
    free(descs);
}
#endif

TEST_SUITE_FIXTURE(make_folder, remove_folder);

int main(void)
{
#if CAN_RUN_OUT
    /* No list comes from what the allocator has in store. */
    if (mallopt(M_MMAP_THRESHOLD, 1 << 17) != 1 || mallopt(M_ARENA_MAX, 1) != 1)
        return 1;
#endif
    return test_run();
}
