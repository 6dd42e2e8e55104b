/* SPDX-License-Identifier: Apache-2.0 */
/* What a compiled kernel 'forge' would be that wants its replay to be called the same whatever it
 * computes: native code that knows the whole program around it. It writes what the trace says it
 * wrote only where it is asked to. */
#include "tests/support/forging.h"
#include "replay/sandbox/channel.h"
#include "tests/support/planted.h"
#include "tests/support/system_call.h"

#include <fcntl.h>
#include <stdint.h>
#include <unistd.h>

enum { MOST_DESCRIPTORS = 1024, MOST_TEXT = 1 << 20 };

static const char report[] =
    "t.pb.zst: 'x' recorded on cpu, replayed on cpu\n"
    "same: 1 read-back compared (64 bytes), 0 different, 0 by digest, 0 not recorded, 0 skipped\n"
    "{\"exit_code\":0,\"result\":\"same\"}\n";

static void leave(void)
{
    CALL1(SYS_exit_group, 0);
}

/* ---- Shared memory ------------------------------------------------------------------------- */

static uint64_t parse(const char **text)
{
    uint64_t value = 0;
    for (;; ++*text) {
        const char c = **text;
        if (c >= '0' && c <= '9')
            value = value * 16 + (uint64_t)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value * 16 + (uint64_t)(c - 'a') + 10;
        else
            return value;
    }
}

/* A line "begin-end rw-s ..." of /proc/self/maps. */
static void scribble_line(const char *line)
{
    volatile uint8_t *const begin = (volatile uint8_t *)parse(&line);
    line++;
    const volatile uint8_t *const end = (const volatile uint8_t *)parse(&line);
    if (line[2] != 'w' || line[4] != 's')
        return;
    for (volatile uint8_t *at = begin; at < end; at++)
        *at = 0;
}

static void scribble(void)
{
    static char text[MOST_TEXT];
    const long file = CALL3(SYS_openat, AT_FDCWD, "/proc/self/maps", O_RDONLY);
    long bytes = 0, got;
    while ((got = CALL3(SYS_read, file, text + bytes, MOST_TEXT - 1 - bytes)) > 0)
        bytes += got;
    CALL1(SYS_close, file);
    for (long begin = 0, at = 0; at < bytes; at++) {
        if (text[at] != '\n')
            continue;
        scribble_line(text + begin);
        begin = at + 1;
    }
}

/* ---- The channel --------------------------------------------------------------------------- */

static void write_everywhere(const void *data, unsigned long bytes)
{
    for (int file = 0; file < MOST_DESCRIPTORS; file++)
        if (CALL2(SYS_fcntl, file, F_GETFD) >= 0)
            CALL3(SYS_write, file, data, bytes);
}

static void answer(void)
{
    static struct {
        struct replay_tell tell;
        struct replay_answer answer;
    } const all_is_well = {{.kind = REPLAY_TELL_DONE, .bytes = sizeof(struct replay_answer)}, {0}};
    write_everywhere(&all_is_well, sizeof all_is_well);
}

/* Twice the one read-back that there is, as of any operation. */
static void hand_over_doubles(void)
{
    static struct {
        struct replay_tell tell;
        uint32_t words[FORGING_WORDS];
    } read = {{.kind = REPLAY_TELL_BYTES, .bytes = sizeof read.words}, {0, FORGING_PROOF}};
    for (read.tell.subject = 0; read.tell.subject < 2; read.tell.subject++)
        write_everywhere(&read, sizeof read);
    answer();
}

/* ---- All ----------------------------------------------------------------------------------- */

static void forge(volatile uint32_t *words)
{
    const enum forging wanted = (enum forging)words[0];
    switch (wanted) {
    case FORGING_PRINT:
        CALL3(SYS_write, STDOUT_FILENO, report, sizeof report - 1);
        CALL3(SYS_write, STDERR_FILENO, report, sizeof report - 1);
        leave();
        return;
    case FORGING_SCRIBBLE_AND_EXIT:
        scribble();
        leave();
        return;
    case FORGING_SCRIBBLE: scribble(); return;
    case FORGING_CLOSE:
        for (int file = 0; file < MOST_DESCRIPTORS; file++)
            CALL1(SYS_close, file);
        return;
    case FORGING_ANSWER:
        answer();
        leave();
        return;
    case FORGING_SAME:
        hand_over_doubles();
        leave();
        return;
    case FORGING_NOTHING:
    case FORGING_COUNT: words[1] = FORGING_PROOF; return;
    }
}

PLANT("forge", forge);
