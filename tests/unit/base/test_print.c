/* SPDX-License-Identifier: Apache-2.0 */
/* hal/base/print.c: as the C library prints, but what strings bring is cleaned. */
#include "hal/base/print.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <limits.h>

static char got[4096];

static void add(void *user, const char *text, size_t bytes)
{
    (void)user;
    assert_true(strlen(got) + bytes < sizeof got);
    strncat(got, text, bytes);
}

static const char *HAL_PRINTF(1, 2) print(const char *format, ...)
{
    va_list arguments;
    got[0] = '\0';
    va_start(arguments, format);
    hal_print_va(add, NULL, format, arguments);
    va_end(arguments);
    return got;
}

/* The C library's own is what is right. */
#define SAME(...)                                                                                  \
    do {                                                                                           \
        char wanted_[4096];                                                                        \
        snprintf(wanted_, sizeof wanted_, __VA_ARGS__);                                            \
        assert_string_equal(print(__VA_ARGS__), wanted_);                                          \
    } while (0)

TEST(numbers_are_the_c_librarys)
{
    static const int64_t values[] = {0, 1, -1, 9, 10, -4096, INT32_MAX, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        const int64_t v = values[i];
        SAME("%d|%i|%5d|%-5d|%05d|%+d", (int)v, (int)v, (int)v, (int)v, (int)v, (int)v);
        SAME("%" PRId64 "|%" PRIu64 "|%" PRIx64 "|%20" PRId64 "|%-20" PRIu64 "|", v, (uint64_t)v,
             (uint64_t)v, v, (uint64_t)v);
        SAME("%zu|%#x|%02x|%X|%hhu|%hd|%lu|%llu", (size_t)v, (unsigned)v, (unsigned)v & 255,
             (unsigned)v, (unsigned char)v, (short)v, (unsigned long)v, (unsigned long long)v);
        SAME("%*d|%-*d|%.3d|%*u", 9, (int)v, 9, (int)v, (int)v, -7, (unsigned)v);
        SAME("%f|%.3f|%9.3f|%.0f|%g|%.9g|%e|%+.2f|%08.2f", (double)v, (double)v / 7, (double)v / 7,
             (double)v, (double)v, (double)v / 3, (double)v, (double)v, (double)v / 7);
    }
    SAME("%f %g %g", 1e308, 1.0 / 0.0, -1.0 / 0.0);
    SAME("100 %% of %s", "it");
    SAME("nothing");
}

TEST(strings_have_width_and_precision)
{
    SAME("%s|%10s|%-10s|%.3s|%.*s|%*s|%-*s|%c", "abcdef", "abc", "abc", "abcdef", 2, "abcdef", 5,
         "ab", 5, "ab", 'x');
    assert_string_equal(print("[%s]", (const char *)NULL), "[]");
    const char unended[3] = {'a', 'b', 'c'};
    assert_string_equal(print("%.*s", 3, unended), "abc");
}

TEST(strings_are_cleaned_and_formats_are_not)
{
    assert_string_equal(print("\x1b[1m%s\n", "a\x1b]0;x\x07\n\xFF\xC2\x9B\x7F caf\xC3\xA9"),
                        "\x1b[1ma?]0;x????? caf\xC3\xA9\n");
    assert_string_equal(print("%6s|%-6s|", "\xC2\x9B\x1b", "\xE2\x80\xAE"), "    ??|?     |");
    assert_string_equal(print("%.3s|%.1s", "a\xC3\xA9z", "\xC3\xA9"), "a\xC3\xA9|?");
    assert_string_equal(print("%c%c", 27, '\n'), "??");
    assert_string_equal(print("%s", "%n%s"), "%n%s");
}

TEST(streams_get_it)
{
    char text[64] = "";
    FILE *file = tmpfile();
    assert_non_null(file);
    hal_print(file, "%s: %u\n", "a\nb", 7u);
    rewind(file);
    assert_int_equal(fread(text, 1, sizeof text - 1, file), 7);
    assert_string_equal(text, "a?b: 7\n");
    fclose(file);
}
