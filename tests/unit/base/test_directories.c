/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/directories.c: what a process needs for a while lies where the environment says. */
#include "hal/base/directories.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static struct test_folder folder;

static int set_up(void **state)
{
    (void)state;
    return test_folder_make(&folder) && setenv("TMPDIR", folder.path, 1) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return unsetenv("TMPDIR");
}

TEST_FIXTURE(set_up, tear_down);

static void expect_own(const char *path, const char *parent, mode_t mode)
{
    struct stat facts;
    char begin[PATH_MAX];
    snprintf(begin, sizeof begin, "%s/kind-", parent);
    assert_memory_equal(path, begin, strlen(begin));
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode, mode);
}

TEST(temporary_folders_are_new_and_the_users_alone)
{
    char first[PATH_MAX], second[PATH_MAX];
    assert_int_equal(hal_temporary_folder("kind", first, sizeof first), HAL_OK);
    assert_int_equal(hal_temporary_folder("kind", second, sizeof second), HAL_OK);
    expect_own(first, folder.path, S_IFDIR | 0700);
    expect_own(second, folder.path, S_IFDIR | 0700);
    assert_string_not_equal(first, second);
    rmdir(first);
    rmdir(second);
}

TEST(temporary_files_are_open_and_not_inherited)
{
    char path[PATH_MAX];
    int file;
    assert_int_equal(hal_temporary_file("kind", path, sizeof path, &file), HAL_OK);
    expect_own(path, folder.path, S_IFREG | 0600);
    assert_int_equal(fcntl(file, F_GETFD), FD_CLOEXEC);
    assert_int_equal(write(file, "x", 1), 1);
    close(file);
    unlink(path);
}

TEST(without_a_folder_it_is_the_usual_one)
{
    static const char *const values[] = {"", NULL};
    char path[PATH_MAX];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(values[i] ? setenv("TMPDIR", values[i], 1) : unsetenv("TMPDIR"), 0);
        assert_int_equal(hal_temporary_folder("kind", path, sizeof path), HAL_OK);
        expect_own(path, "/tmp", S_IFDIR | 0700);
        rmdir(path);
    }
}

TEST(what_cannot_be_made_is_named)
{
    char path[PATH_MAX], expected[2 * PATH_MAX];
    int file;
    assert_int_equal(hal_temporary_folder("kind", path, strlen(folder.path)), HAL_IO);
    snprintf(expected, sizeof expected, "the path '%s/kind-XXXXXX' is longer than %zu bytes",
             folder.path, strlen(folder.path) - 1);
    assert_string_equal(hal_message(), expected);
    assert_string_equal(path, "");
    assert_int_equal(setenv("TMPDIR", "/nowhere", 1), 0);
    assert_int_equal(hal_temporary_folder("kind", path, sizeof path), HAL_IO);
    assert_string_equal(path, "");
    assert_non_null(strstr(hal_message(), "cannot create the temporary folder '/nowhere/kind-"));
    assert_int_equal(hal_temporary_file("kind", path, sizeof path, &file), HAL_IO);
    assert_string_equal(path, "");
    assert_non_null(strstr(hal_message(), "cannot create the temporary file '/nowhere/kind-"));
}
