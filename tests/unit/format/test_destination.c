/* SPDX-License-Identifier: Apache-2.0 */
/* format/base/destination.c: an old file stays until there is something better, a live one always.
 */
#include "format/base/destination.h"

#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/mortal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST_NAME = 255 };

static struct test_folder folder;

static int enter_folder(void **state)
{
    (void)state;
    return test_folder_make(&folder) && chdir(folder.path) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
    (void)state;
    if (chdir("/") != 0)
        return -1;
    test_folder_remove(&folder);
    return 0;
}

static void put(int descriptor, const char *text)
{
    assert_int_equal(write(descriptor, text, strlen(text)), (ssize_t)strlen(text));
}

static void make_file(const char *name, const char *text)
{
    const int file = open(name, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    assert_true(file >= 0);
    put(file, text);
    close(file);
}

static void assert_holds(const char *name, const char *text)
{
    char found[64] = "";
    const int file = open(name, O_RDONLY);
    assert_true(file >= 0);
    assert_true(read(file, found, sizeof found - 1) >= 0);
    assert_string_equal(found, text);
    close(file);
}

static size_t count_files(void)
{
    size_t count = 0;
    DIR *files = opendir(".");
    assert_non_null(files);
    for (struct dirent *file; (file = readdir(files));)
        count += strcmp(file->d_name, ".") != 0 && strcmp(file->d_name, "..") != 0;
    closedir(files);
    return count;
}

/* ---- Names ---- */

TEST(a_new_file_has_its_name_when_it_is_published)
{
    struct trace_destination to;
    assert_ok(trace_destination_open("new", false, &to));
    assert_int_equal(access("new", F_OK), -1);
    put(to.file.number, "one");
    assert_ok(trace_destination_publish(&to));
    assert_ok(trace_destination_publish(&to));
    put(to.file.number, " two");
    assert_ok(trace_destination_close(&to));
    assert_holds("new", "one two");
    assert_int_equal(count_files(), 1);
    unlink("new");
}

/* For who may not make files any more. Nothing else appears, and what is given up leaves nothing.
 */
TEST(an_open_file_is_written_where_it_is)
{
    struct trace_destination to;
    char path[32];
    make_file("open", "");
    const int file = open("open", O_WRONLY);
    assert_true(file >= 0);
    const size_t files = count_files();
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    assert_ok(trace_destination_open(path, false, &to));
    put(to.file.number, "half");
    assert_ok(trace_destination_close(&to));
    assert_holds("open", "");
    assert_int_equal(lseek(file, 0, SEEK_SET), 0);
    assert_ok(trace_destination_open_nameless(path, true, &to));
    put(to.file.number, "whole");
    assert_ok(trace_destination_publish(&to));
    assert_ok(trace_destination_close(&to));
    assert_holds("open", "whole");
    assert_int_equal(count_files(), files);
    close(file);
    assert_int_equal(unlink("open"), 0);
    assert_fails(trace_destination_open(path, true, &to), HAL_IO, "cannot create '/dev/fd/");
    assert_fails(trace_destination_open("/dev/fd/0x1", true, &to), HAL_IO, "/dev/fd/0x1");
}

TEST(an_old_file_stays_until_then)
{
    struct trace_destination to;
    make_file("old", "old");
    assert_ok(trace_destination_open("old", true, &to));
    put(to.file.number, "new");
    assert_holds("old", "old");
    assert_ok(trace_destination_close(&to)); /* nothing came of it */
    assert_holds("old", "old");
    assert_int_equal(count_files(), 1);
    assert_ok(trace_destination_open("old", true, &to));
    put(to.file.number, "new");
    assert_ok(trace_destination_publish(&to));
    assert_holds("old", "new");
    assert_ok(trace_destination_close(&to));
    assert_int_equal(count_files(), 1);
    unlink("old");
}

TEST(without_force_what_exists_stays)
{
    struct trace_destination to;
    make_file("old", "old");
    assert_fails(trace_destination_open("old", false, &to), HAL_EXISTS, "'old' exists");
    unlink("old");
    assert_ok(trace_destination_open("old", false, &to));
    make_file("old", "meanwhile");
    assert_fails(trace_destination_publish(&to), HAL_EXISTS, "'old' exists");
    assert_ok(trace_destination_close(&to));
    assert_holds("old", "meanwhile");
    assert_int_equal(count_files(), 1);
    unlink("old");
}

TEST(the_longest_name_is_possible)
{
    struct trace_destination to;
    char name[LONGEST_NAME + 1];
    memset(name, 'x', LONGEST_NAME);
    name[LONGEST_NAME] = '\0';
    assert_ok(trace_destination_open(name, false, &to));
    assert_ok(trace_destination_publish(&to));
    assert_ok(trace_destination_close(&to));
    assert_int_equal(unlink(name), 0);
}

/* ---- Locks ---- */

TEST(a_file_that_is_being_written_is_not_replaced)
{
    struct trace_destination first, second, third;
    make_file("shared", "old");
    assert_ok(trace_destination_open("shared", true, &first));
    assert_ok(trace_destination_open("shared", true, &second));
    put(first.file.number, "first");
    assert_ok(trace_destination_publish(&first));
    assert_fails(trace_destination_publish(&second), HAL_EXISTS, "another capture is writing");
    assert_ok(trace_destination_close(&second));
    assert_fails(trace_destination_open("shared", true, &third), HAL_EXISTS, "is writing");
    assert_ok(trace_destination_close(&first));
    assert_holds("shared", "first");
    assert_ok(trace_destination_open("shared", true, &third));
    assert_ok(trace_destination_close(&third));
    assert_int_equal(count_files(), 1);
    unlink("shared");
}

static int end_of(pid_t process)
{
    int status = -1;
    assert_int_equal(waitpid(process, &status, 0), process);
    return status;
}

/* A child has the file open, too, and may close it first. */
TEST(a_child_keeps_no_file_locked)
{
    for (int closes = 0; closes < 2; closes++) {
        struct trace_destination first, second;
        int ends[2];
        char done;
        make_file("shared", "old");
        assert_ok(trace_destination_open("shared", true, &first));
        assert_ok(trace_destination_publish(&first));
        assert_int_equal(pipe(ends), 0);
        const pid_t child = test_fork();
        assert_true(child >= 0);
        if (child == 0) {
            close(ends[1]);
            const bool good = !closes || trace_destination_close(&first) == HAL_OK;
            _exit(good && (closes || read(ends[0], &done, 1) == 0) ? 0 : 1);
        }
        close(ends[0]);
        if (closes) {
            assert_int_equal(end_of(child), 0);
            assert_fails(trace_destination_open("shared", true, &second), HAL_EXISTS, "is writing");
        }
        assert_ok(trace_destination_close(&first));
        assert_ok(trace_destination_open("shared", true, &second));
        assert_ok(trace_destination_close(&second));
        close(ends[1]);
        if (!closes)
            assert_int_equal(end_of(child), 0);
        unlink("shared");
    }
}

/* ---- What is no file ---- */

TEST(only_regular_files_are_replaced)
{
    struct trace_destination to;
    assert_int_equal(mkfifo("fifo", 0666), 0);
    assert_fails(trace_destination_open("fifo", true, &to), HAL_IO, "not a regular file");
    assert_int_equal(mkdir("folder", 0777), 0);
    assert_fails(trace_destination_open("folder", true, &to), HAL_IO, "not a regular file");
    assert_fails(trace_destination_open("/dev/null", true, &to), HAL_IO, "not a regular file");
    assert_int_equal(symlink("nowhere", "link"), 0);
    assert_fails(trace_destination_open("link", true, &to), HAL_IO, "'link' is a dangling link");
    assert_fails(trace_destination_open("no/such/x", true, &to), HAL_IO, "No such file");
    assert_int_equal(count_files(), 3);
    unlink("fifo");
    unlink("link");
    rmdir("folder");
}

TEST_SUITE_FIXTURE(enter_folder, leave_folder);
