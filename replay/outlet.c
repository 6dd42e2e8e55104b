/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/outlet.h"

#include "hal/base/mem.h"
#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MOST_OF_A_CHARACTER = 4, MOST_HELD = 64 << 20 };

/* Control characters that mean something to the outlet, and are not handed on. */
enum { REPORT_MARK = 0x02, SETTLE_MARK = 0x16 };

static void close_one(int *descriptor)
{
    if (*descriptor >= 0)
        close(*descriptor);
    *descriptor = -1;
}

/* ---- Handing on ---------------------------------------------------------------------------- */

/* All that came before an unfinished character. */
static size_t whole_characters(const char *text, size_t bytes)
{
    for (size_t back = 1; back < MOST_OF_A_CHARACTER && back <= bytes; back++) {
        const unsigned char c = (unsigned char)text[bytes - back];
        const size_t length = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
        if ((c & 0xC0) != 0x80)
            return length > back ? bytes - back : bytes;
    }
    return bytes;
}

static void clean(char *text, size_t bytes)
{
    while (bytes) {
        const char *stop = memchr(text, '\r', bytes);
        const size_t length = stop ? (size_t)(stop - text) : bytes;
        hal_text_clean(text, length, true);
        text += length + (stop != NULL);
        bytes -= length + (stop != NULL);
    }
}

static void write_all(struct replay_outlet *outlet, const char *text, size_t bytes)
{
    if (bytes)
        outlet->inside_line = text[bytes - 1] != '\n' && text[bytes - 1] != '\r';
    while (bytes && !outlet->error) {
        const ssize_t done = write(outlet->to, text, bytes);
        if (done < 0 && errno == EAGAIN) {
            struct pollfd room = {.fd = outlet->to, .events = POLLOUT};
            poll(&room, 1, -1);
        } else if (done < 0 && errno != EINTR) {
            outlet->error = errno;
        } else if (done > 0) {
            text += done;
            bytes -= (size_t)done;
        }
    }
}

static void hand_held_on(struct replay_outlet *outlet)
{
    write_all(outlet, outlet->held, outlet->held_bytes);
    outlet->held_bytes = 0;
    outlet->is_holding = false;
}

static void put(struct replay_outlet *outlet, char *text, size_t bytes)
{
    void *held = outlet->held;
    if (!bytes)
        return;
    clean(text, bytes);
    if (outlet->is_holding && outlet->held_bytes + bytes <= MOST_HELD &&
        hal_grow(&held, &outlet->held_capacity, outlet->held_bytes + bytes, 1)) {
        memcpy((char *)held + outlet->held_bytes, text, bytes);
        outlet->held = held;
        outlet->held_bytes += bytes;
        return;
    }
    if (outlet->is_holding)
        hand_held_on(outlet); /* it is no report */
    write_all(outlet, text, bytes);
}

static void take(struct replay_outlet *outlet, char *text, size_t bytes)
{
    size_t begin = 0;
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] != REPORT_MARK && text[i] != SETTLE_MARK)
            continue;
        put(outlet, text + begin, i - begin);
        begin = i + 1;
        if (text[i] == SETTLE_MARK)
            atomic_fetch_add(outlet->settled, 1);
        else
            outlet->is_holding = outlet->holds;
    }
    put(outlet, text + begin, bytes - begin);
}

/* False: nothing comes any more. */
static bool wait_for_more(const struct replay_outlet *outlet)
{
    struct pollfd ends[] = {{.fd = outlet->from, .events = POLLIN},
                            {.fd = outlet->stops[0], .events = POLLIN}};
    while (poll(ends, 2, -1) < 0)
        if (errno != EINTR)
            return false;
    return ends[0].revents != 0; /* what is there already comes out before the end */
}

static void *hand_on(void *argument)
{
    struct replay_outlet *outlet = argument;
    char text[16384];
    size_t held = 0;
    while (outlet->error != EPIPE && wait_for_more(outlet)) {
        const ssize_t got = read(outlet->from, text + held, sizeof text - held);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        const size_t bytes = held + (size_t)got, whole = whole_characters(text, bytes);
        take(outlet, text, whole);
        held = bytes - whole;
        memmove(text, text + whole, held);
    }
    take(outlet, text, held);
    close_one(&outlet->from);             /* nobody listens: whoever still prints is told, */
    atomic_fetch_add(outlet->settled, 1); /* and whoever waits does not for ever */
    return NULL;
}

/* ---- Opening and closing ------------------------------------------------------------------- */

static bool make_pipe(int ends[2])
{
    if (pipe(ends) == 0)
        return fcntl(ends[0], F_SETFD, FD_CLOEXEC) == 0 && fcntl(ends[1], F_SETFD, FD_CLOEXEC) == 0;
    ends[0] = ends[1] = -1;
    return false;
}

enum hal_status replay_outlet_open(struct replay_outlet *outlet, int to, _Atomic uint32_t *settled)
{
    int ends[2];
    *outlet = (struct replay_outlet){.to = to, .stops = {-1, -1}, .settled = settled};
    const bool good = make_pipe(ends) && make_pipe(outlet->stops);
    outlet->from = ends[0];
    outlet->inside = ends[1];
    if (good)
        return HAL_OK;
    const int error = errno;
    replay_outlet_close(outlet);
    return hal_fail(HAL_FAILED, "no pipe for what a replay prints: %s", strerror(error));
}

enum hal_status replay_outlet_run(struct replay_outlet *outlet)
{
    sigset_t all, before;
    close_one(&outlet->inside);
    sigfillset(&all); /* a reader that is gone is an error, not the end of this process */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int error = pthread_create(&outlet->thread, NULL, hand_on, outlet);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    outlet->runs = !error;
    return error ? hal_fail(HAL_FAILED, "no thread for what a replay prints: %s", strerror(error))
                 : HAL_OK;
}

void replay_outlet_close(struct replay_outlet *outlet)
{
    close_one(&outlet->stops[1]);
    if (outlet->runs)
        pthread_join(outlet->thread, NULL);
    outlet->runs = false;
    close_one(&outlet->inside);
    close_one(&outlet->from);
    close_one(&outlet->stops[0]);
}

int replay_outlet_release(struct replay_outlet *outlet, bool keep)
{
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN); /* an error, as in the thread */
    if (keep)
        hand_held_on(outlet);
    signal(SIGPIPE, before);
    free(outlet->held);
    outlet->held = NULL;
    outlet->held_bytes = outlet->held_capacity = 0;
    return outlet->error;
}

/* By blanks: not every terminal knows more. */
void replay_outlet_clear_line(struct replay_outlet *outlet, int columns)
{
    char blanks[256];
    const int bytes = snprintf(blanks, sizeof blanks, "\r%*s\r", columns, "");
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
    if (outlet->inside_line)
        write_all(outlet, blanks, (size_t)bytes);
    signal(SIGPIPE, before);
}

/* ---- Inside -------------------------------------------------------------------------------- */

/* That nobody listens is for whoever prints to learn. */
static bool print_mark(int inside, char mark)
{
    void (*const before)(int) = signal(SIGPIPE, SIG_IGN);
    ssize_t done;
    do
        done = write(inside, &mark, 1);
    while (done < 0 && errno == EINTR);
    signal(SIGPIPE, before);
    return done == 1;
}

void replay_outlet_settle(int inside, _Atomic uint32_t *settled)
{
    const struct timespec moment = {.tv_nsec = 50 * 1000};
    const uint32_t before = atomic_load(settled);
    if (!print_mark(inside, SETTLE_MARK))
        return;
    while (atomic_load(settled) == before)
        nanosleep(&moment, NULL);
}

void replay_outlet_begin_report(int inside)
{
    (void)print_mark(inside, REPORT_MARK);
}
