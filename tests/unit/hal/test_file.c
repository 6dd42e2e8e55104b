/* SPDX-License-Identifier: Apache-2.0 */
/* hal/core/file.c: what cannot be opened, and a system that writes nothing without a reason. */
#include "tests/support/folder.h"
#include "tests/support/hal_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

/* ---- The system's function, as the library finds it ------------------------------------------ */

static bool writes_nothing;

HAL_API ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t offset)
{
    return writes_nothing ? 0 : (ssize_t)syscall(SYS_pwrite64, descriptor, data, bytes, offset);
}

HAL_API ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off_t offset);
ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off_t offset)
{
    return pwrite(descriptor, data, bytes, offset);
}

TEST(a_write_of_nothing_is_no_old_error)
{
    struct test_folder folder;
    char path[PATH_MAX + 16];
    struct hal_file *file;
    assert_true(test_folder_make(&folder));
    snprintf(path, sizeof path, "%s/file", folder.path);
    struct hal_device *device = fixture_device("cpu?threads=1");
    struct hal_buffer *buffer = fixture_buffer(device, "b", 64);
    assert_ok(hal_file_open(path, HAL_FILE_WRITE | HAL_FILE_CREATE, &file));
    for (int round = 0; round < 2; round++) {
        struct hal_semaphore *done = fixture_semaphore(device, "done", 0);
        const struct hal_semaphore_value signal = {done, 1};
        writes_nothing = round == 1;
        errno = EBADF;
        assert_ok(hal_queue_write(device,
                                  &(struct hal_submit_desc){.signals = &signal, .signal_count = 1},
                                  buffer, 0, file, 100, 64));
        if (round == 0)
            assert_ok(hal_semaphore_wait(done, 1, HAL_FOREVER));
        else
            assert_fails(hal_semaphore_wait(done, 1, HAL_FOREVER), HAL_IO,
                         "is full at 100: cannot write 64 bytes at 100");
        hal_semaphore_release(done);
    }
    writes_nothing = false;
    hal_file_release(file);
    hal_buffer_release(buffer);
    hal_device_release(device);
    test_folder_remove(&folder);
}

/* ---- Opening --------------------------------------------------------------------------------- */

static void listen_at(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_true(strlen(path) < sizeof address.sun_path);
    memcpy(address.sun_path, path, strlen(path));
    assert_int_equal(bind(descriptor, (const struct sockaddr *)&address, sizeof address), 0);
    close(descriptor);
}

TEST(what_has_no_places_is_unsupported)
{
    static const uint32_t modes[] = {HAL_FILE_READ, HAL_FILE_WRITE, HAL_FILE_READ | HAL_FILE_WRITE,
                                     HAL_FILE_WRITE | HAL_FILE_CREATE | HAL_FILE_TRUNCATE};
    struct test_folder folder;
    char pipe_path[PATH_MAX + 16], socket_path[PATH_MAX + 16];
    assert_true(test_folder_make(&folder));
    snprintf(pipe_path, sizeof pipe_path, "%s/pipe", folder.path);
    snprintf(socket_path, sizeof socket_path, "%s/socket", folder.path);
    assert_int_equal(mkfifo(pipe_path, 0600), 0);
    listen_at(socket_path);
    const char *const paths[] = {folder.path, pipe_path, socket_path, "/dev/null", "/dev/tty"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        for (size_t k = 0; k < sizeof modes / sizeof *modes; k++) {
            struct hal_file *file;
            if (access(paths[i], F_OK) != 0)
                continue;
            assert_fails(hal_file_open(paths[i], modes[k], &file), HAL_UNSUPPORTED,
                         "is neither a regular file nor a block device");
        }
    }
    test_folder_remove(&folder);
}
