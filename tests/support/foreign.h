/* SPDX-License-Identifier: Apache-2.0 */
/* What programs print of a file that commands a terminal: whether any of it comes out. What a
 * control character is, the C library says, in a locale of UTF-8. */
#ifndef TESTS_SUPPORT_FOREIGN_H
#define TESTS_SUPPORT_FOREIGN_H

#include "hal/base/os.h"
#include "tests/support/command.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <locale.h>
#include <wchar.h>
#include <wctype.h>

/* The clipboard, colours, the title, lines that pretend to be a program's, C1 as UTF-8 and as a
 * byte, backspaces, a reversal, an end of line that is not ASCII. */
static const char foreign_text[] = "\x1b]52;c;Zm9v\x07\x1b[31m\x1b]0;x\x1b\\\r\nforged\x7f\xC2\x9B"
                                   "2J\x9B\xFF\b\b\t\xE2\x80\xAE\xE2\x81\xA6\xE2\x80\xA8%s%n";

static inline void foreign_check(const char *command)
{
    mbstate_t state = {0};
    for (size_t at = 0; at < output_bytes;) {
        wchar_t c = 0;
        size_t length = mbrtowc(&c, output + at, output_bytes - at, &state);
        if (length > output_bytes || (length == 0 && output[at] != 0))
            fail_msg("%s: no UTF-8 at %zu: %.*s", command, at, (int)output_bytes, output);
        if (c != L'\n' &&
            (iswcntrl((wint_t)c) || (c >= 0x202A && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069)))
            fail_msg("%s: U+%04X at %zu: %.*s", command, (unsigned)c, at, (int)output_bytes,
                     output);
        at += length ? length : 1;
    }
    if (strncmp(output, "forged", 6) == 0 || strstr(output, "\nforged"))
        fail_msg("%s: a line of the file's: %s", command, output);
}

struct foreign {
    struct test_folder folder;
    char bin[PATH_MAX]; /* where the programs are */
};

/* Makes the folder; false when the system refuses. */
static inline bool foreign_begin(struct foreign *foreign)
{
    char self[PATH_MAX];
    unsetenv("HAL_DEVICE");
    if (!setlocale(LC_ALL, "C.UTF-8") || setenv("LC_ALL", "C.UTF-8", 1) != 0 ||
        !test_folder_make(&foreign->folder) || hal_program_path(self, sizeof self) != HAL_OK)
        return false;
    *strrchr(self, '/') = '\0'; /* .../tests */
    *strrchr(self, '/') = '\0';
    snprintf(foreign->bin, sizeof foreign->bin, "%.4000s/bin", self);
    return true;
}

/* Runs a line of shell in the folder, checks what it prints and returns its exit status. */
static inline int foreign_run(const struct foreign *foreign, const char *line)
{
    const int status = command_run("cd '%s' && exec 2>&1 </dev/null && PATH='%s':$PATH && %s",
                                   foreign->folder.path, foreign->bin, line);
    if (status > 5)
        fail_msg("%s: status %d: %s", line, status, output);
    foreign_check(line);
    return status;
}

#endif
