/* SPDX-License-Identifier: Apache-2.0 */
/* What programs print of a file that commands a terminal: whether any of it comes out. What a
 * control character is, the C library says, in a locale of UTF-8. */
#ifndef TESTS_SUPPORT_FOREIGN_H
#define TESTS_SUPPORT_FOREIGN_H

#include "tests/support/test.h"

#include <sys/wait.h>
#include <wchar.h>
#include <wctype.h>

/* The clipboard, colours, the title, lines that pretend to be a program's, C1 as UTF-8 and as a
 * byte, backspaces, a reversal, an end of line that is not ASCII. */
static const char foreign_text[] = "\x1b]52;c;Zm9v\x07\x1b[31m\x1b]0;x\x1b\\\r\nforged\x7f\xC2\x9B"
                                   "2J\x9B\xFF\b\b\t\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8%s%n";

static inline void foreign_check(const char *command, const char *text, size_t bytes)
{
    mbstate_t state = {0};
    for (size_t at = 0; at < bytes;) {
        wchar_t c = 0;
        size_t length = mbrtowc(&c, text + at, bytes - at, &state);
        if (length > bytes || (length == 0 && text[at] != 0))
            fail_msg("%s: no UTF-8 at %zu: %.*s", command, at, (int)bytes, text);
        if (c != L'\n' &&
            (iswcntrl((wint_t)c) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069)))
            fail_msg("%s: U+%04X at %zu: %.*s", command, (unsigned)c, at, (int)bytes, text);
        at += length ? length : 1;
    }
    if (strncmp(text, "forged", 6) == 0 || strstr(text, "\nforged"))
        fail_msg("%s: a line of the file's: %s", command, text);
}

/* Runs a line of shell and checks what it prints; returns its exit status. */
static inline int foreign_run(const char *command, char *output, size_t capacity)
{
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t bytes = fread(output, 1, capacity - 1, pipe);
    assert_true(bytes < capacity - 1);
    const int status = pclose(pipe);
    output[bytes] = '\0';
    if (!WIFEXITED(status) || WEXITSTATUS(status) > 5)
        fail_msg("%s: status %d: %s", command, status, output);
    foreign_check(command, output, bytes);
    return WEXITSTATUS(status);
}

#endif
