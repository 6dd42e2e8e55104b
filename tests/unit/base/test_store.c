/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/store.c: bytes of files are there to the last one, or it is said that they are not. */
#include "hal/base/os.h"
#include "hal/base/store.h"
#include "tests/support/test.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

enum { BYTES = 1 << 20, PART = 1000, LIMIT = 100000 };

static uint8_t given[BYTES], taken[BYTES];

static void fill(void)
{
    for (size_t i = 0; i < BYTES; i++)
        given[i] = (uint8_t)(i * 2654435761u >> 24);
    memset(taken, 0, sizeof taken);
}

static void *write_all(void *user)
{
    const int to = *(const int *)user;
    const bool written = hal_write_all(to, given, BYTES);
    close(to);
    return written ? user : NULL;
}

/* How much the pipe holds, which is empty afterwards. */
static int size_of(const int ends[2])
{
    int size = 0;
    ssize_t count;
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    while ((count = write(ends[1], given, PART)) > 0)
        size += (int)count;
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
    assert_true(size > 0 && size < BYTES);
    assert_true(hal_read_all(ends[0], taken, (size_t)size));
    return size;
}

static _Atomic bool was_interrupted;

static void interrupt(int number)
{
    (void)number;
    was_interrupted = true;
}

/* The write ends when the pipe is full and a signal comes; what is left needs another one. */
TEST(in_many_parts)
{
    int ends[2], there = 0;
    pthread_t writer;
    void *written = NULL;
    const struct sigaction action = {.sa_handler = interrupt}; /* calls are not begun again */
    struct sigaction before;
    fill();
    assert_int_equal(pipe(ends), 0);
    const int size = size_of(ends);
    assert_int_equal(sigaction(SIGUSR1, &action, &before), 0);
    assert_int_equal(pthread_create(&writer, NULL, write_all, &ends[1]), 0);
    while (there <= size - PIPE_BUF && ioctl(ends[0], FIONREAD, &there) == 0)
        sched_yield();
    while (!was_interrupted && pthread_kill(writer, SIGUSR1) == 0)
        sched_yield();
    const bool read = hal_read_all(ends[0], taken, BYTES);
    assert_int_equal(pthread_join(writer, &written), 0);
    assert_true(read);
    assert_non_null(written);
    assert_memory_equal(taken, given, BYTES);
    assert_false(hal_read_all(ends[0], taken, 1)); /* that was all */
    assert_true(hal_read_all(ends[0], taken, 0));
    close(ends[0]);
    assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

TEST(fewer_are_not_all)
{
    int ends[2];
    fill();
    assert_int_equal(pipe(ends), 0);
    assert_true(hal_write_all(ends[1], given, PART));
    close(ends[1]);
    assert_false(hal_read_all(ends[0], taken, PART + 1));
    close(ends[0]);
    assert_false(hal_read_all(ends[0], taken, 1));
    assert_int_equal(errno, EBADF);
}

/* The first write takes what the limit leaves. */
TEST(a_full_place_is_told)
{
    char path[] = "/tmp/test-store-XXXXXX";
    struct rlimit before, low;
    const int file = mkstemp(path);
    assert_true(file >= 0);
    unlink(path);
    fill();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    low = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
    void (*const handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
    const bool written = hal_write_all(file, given, BYTES);
    const int error = errno;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, handler);
    assert_false(written);
    assert_int_equal(error, EFBIG);
    assert_int_equal(lseek(file, 0, SEEK_END), LIMIT);
    close(file);
}
