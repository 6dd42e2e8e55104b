/* SPDX-License-Identifier: Apache-2.0 */
/* replay/sandbox/kernel_cache.c: what is compiled inside the sandbox is kept, by trace, and not for
 * ever.
 */
#include "replay/sandbox/kernel_cache.h"
#include "tests/support/folder.h"
#include "tests/support/sandboxed.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

struct fixture {
    struct test_folder folder, cache;
    char trace[PATH_MAX];
};

static void put(const char *path)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("kernel", file);
    fclose(file);
}

/* Each trace has its own folder, and 32 of them stay. */
static int note_folder(void *user, struct replay_sandboxed *inside)
{
    char path[PATH_MAX];
    (void)user;
    (void)inside;
    snprintf(path, PATH_MAX, "%s/kernel", getenv("HAL_CACHE_SCRATCH"));
    const int file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (file >= 0)
        close(file);
    return file >= 0 ? 0 : 1;
}

static void run_inside(struct fixture *fixture, int (*inside)(void *, struct replay_sandboxed *))
{
    const struct replay_sandbox_desc desc = {
        .trace = fixture->trace, .deadline_ns = HAL_FOREVER, .inside = inside};
    int exit_status = -1;
    if (test_run_sandbox(&desc, &exit_status) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_int_equal(exit_status, 0);
}

static size_t count_folders(const struct fixture *fixture)
{
    char path[PATH_MAX];
    size_t count = 0;
    DIR *folder = opendir(test_folder_file(&fixture->cache, "sandbox", path));
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    closedir(folder);
    return count;
}

TEST_ON(compiled_kernels_are_kept_by_trace, struct fixture *fixture)
{
    char trace[PATH_MAX];
    memcpy(trace, fixture->trace, sizeof trace);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "trace%d", i);
        put(test_folder_file(&fixture->folder, name, fixture->trace));
        run_inside(fixture, note_folder);
        assert_in_range(count_folders(fixture), 1, 32);
    }
    assert_int_equal(count_folders(fixture), 32);
    run_inside(fixture, note_folder); /* the last one is there already */
    assert_int_equal(count_folders(fixture), 32);
    memcpy(fixture->trace, trace, sizeof trace);
}

/* However long one replay takes, and however many others come and go. */
TEST_ON(a_folder_in_use_stays, struct fixture *fixture)
{
    struct replay_kernel_cache used, again;
    char trace[PATH_MAX], compiled[PATH_MAX + 16];
    memcpy(trace, fixture->trace, sizeof trace);
    assert_true(replay_kernel_cache_open(fixture->trace, &used));
    snprintf(compiled, sizeof compiled, "%s/compiled", used.path);
    put(compiled);
    const struct timespec long_ago[2] = {{1, 0}, {1, 0}};
    assert_int_equal(utimensat(AT_FDCWD, used.path, long_ago, 0), 0);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "beside%d", i);
        put(test_folder_file(&fixture->folder, name, fixture->trace));
        run_inside(fixture, note_folder);
        assert_int_equal(access(compiled, F_OK), 0);
    }
    assert_int_equal(count_folders(fixture), 32);
    assert_true(replay_kernel_cache_open(trace, &again)); /* another replay of the same trace */
    assert_string_equal(again.path, used.path);
    replay_kernel_cache_close(&used);
    assert_int_equal(access(compiled, F_OK), 0);
    /* What grew strange goes with the last user. */
    char strange[PATH_MAX + 16];
    snprintf(strange, sizeof strange, "%s/link", again.path);
    assert_int_equal(symlink("/etc/passwd", strange), 0);
    assert_true(replay_kernel_cache_open(trace, &used));
    replay_kernel_cache_close(&used);
    assert_int_equal(access(compiled, F_OK), 0);
    replay_kernel_cache_close(&again);
    assert_int_equal(access(compiled, F_OK), -1);
    memcpy(fixture->trace, trace, sizeof trace);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!test_folder_make(&fixture.folder) || !test_folder_make(&fixture.cache))
        return -1;
    put(test_folder_file(&fixture.folder, "trace", fixture.trace));
    return setenv("HAL_CACHE_DIR", fixture.cache.path, 1);
}

static int tear_down(void **state)
{
    test_folder_remove(&((struct fixture *)*state)->folder);
    test_folder_remove(&((struct fixture *)*state)->cache);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
