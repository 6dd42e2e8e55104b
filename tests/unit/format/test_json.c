/* SPDX-License-Identifier: Apache-2.0 */
/* format/base/json.c: escaping, invalid UTF-8, numbers, commas, labels, locales. */
#include "format/base/json.h"
#include "tests/support/test.h"

#include <locale.h>
#include <math.h>

static void expect(struct trace_text *text, const char *expected)
{
    assert_false(text->is_failed);
    if (text->bytes != strlen(expected) || memcmp(text->data, expected, text->bytes) != 0)
        fail_msg("'%.*s', expected '%s'", (int)text->bytes, text->data, expected);
    trace_text_finish(text);
}

TEST(commas_and_brackets)
{
    struct trace_text text = {0};
    trace_json_open(&text, '{');
    trace_json_key(&text, "a");
    trace_json_u64(&text, 1);
    trace_json_key(&text, "b");
    trace_json_open(&text, '[');
    trace_json_close(&text, ']');
    trace_json_key(&text, "c");
    trace_json_open(&text, '[');
    trace_json_bool(&text, true);
    trace_json_open(&text, '{');
    trace_json_close(&text, '}');
    trace_json_text(&text, "");
    trace_json_close(&text, ']');
    trace_json_key(&text, "d");
    trace_json_hex(&text, "\x00\xAF", 2);
    trace_json_close(&text, '}');
    expect(&text, "{\"a\":1,\"b\":[],\"c\":[true,{},\"\"],\"d\":\"00af\"}");
}

static void escapes_to(const char *data, size_t bytes, const char *expected)
{
    struct trace_text text = {0};
    trace_json_string(&text, data, bytes);
    expect(&text, expected);
}

#define FFFD "\xEF\xBF\xBD"

TEST(strings_are_escaped)
{
    escapes_to("a\"b\\c/", 6, "\"a\\\"b\\\\c/\"");
    escapes_to("\n\t\x1b[0m\x7f\0z", 9, "\"\\u000a\\u0009\\u001b[0m\\u007f\\u0000z\"");
    escapes_to("caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80", 14,
               "\"caf\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80\"");
    escapes_to("\xC2\x9B", 2, "\"\\u009b\""); /* C1: a terminal would obey it */
}

TEST(bytes_that_are_no_utf8_are_replaced)
{
    escapes_to("\xFFx\xC3", 3, "\"" FFFD "x" FFFD "\"");
    escapes_to("\xC0\x80", 2, "\"" FFFD FFFD "\"");                   /* overlong */
    escapes_to("\xE0\x9F\xBF", 3, "\"" FFFD FFFD FFFD "\"");          /* overlong */
    escapes_to("\xED\xA0\x80", 3, "\"" FFFD FFFD FFFD "\"");          /* surrogate */
    escapes_to("\xF4\x90\x80\x80", 4, "\"" FFFD FFFD FFFD FFFD "\""); /* past the last */
    escapes_to("\xE2\x82", 2, "\"" FFFD FFFD "\"");                   /* cut off */
}

TEST(numbers)
{
    struct trace_text text = {0};
    trace_json_open(&text, '[');
    trace_json_u64(&text, 0);
    trace_json_u64(&text, UINT64_MAX);
    trace_json_i64(&text, INT64_MIN);
    trace_json_i64(&text, -1);
    trace_json_double(&text, 0.1);
    trace_json_double(&text, 1.0 / 3);
    trace_json_double(&text, 1e300);
    trace_json_double(&text, -2);
    trace_json_double(&text, NAN);
    trace_json_double(&text, INFINITY);
    trace_json_close(&text, ']');
    expect(&text,
           "[0,18446744073709551615,-9223372036854775808,-1,0.1,0.3333333333333333,1e+300,-2,"
           "null,null]");
}

/* In a locale with a decimal comma, if the system has one. */
TEST(doubles_ignore_the_locale)
{
    static const char *const names[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "fr_FR"};
    bool found = false;
    for (size_t i = 0; i < 4 && !found; i++)
        found = setlocale(LC_NUMERIC, names[i]) && *localeconv()->decimal_point == ',';
    struct trace_text text = {0};
    trace_json_double(&text, 1234.5);
    setlocale(LC_NUMERIC, "C");
    expect(&text, "1234.5");
    if (!found)
        print_message("no locale with a decimal comma here\n");
}

TEST(labels_are_fit_for_a_terminal)
{
    struct trace_text text = {0};
    static const char label[] = "a\x1b]0;x\x07\n\xFF\xC2\x9B\x7F caf\xC3\xA9\"";
    trace_text_label(&text, label, sizeof label - 1);
    expect(&text, "a?]0;x????? caf\xC3\xA9\"");
}

TEST(copies_end_at_whole_characters)
{
    char out[6];
    trace_utf8_copy(out, sizeof out, "abcd\xC3\xA9z", 7);
    assert_string_equal(out, "abcd");
    trace_utf8_copy(out, sizeof out, "abc\xC3\xA9z", 6);
    assert_string_equal(out, "abc\xC3\xA9");
    trace_utf8_copy(out, sizeof out, "\xFF\xFE", 2);
    assert_string_equal(out, "??");
    trace_utf8_copy(out, sizeof out, "", 0);
    assert_string_equal(out, "");
}

TEST(long_texts_grow)
{
    struct trace_text text = {0};
    for (int i = 0; i < 10000; i++)
        trace_text_printf(&text, "%d,", i % 10);
    assert_int_equal(text.bytes, 20000);
    assert_memory_equal(text.data + 19998, "9,", 2);
    trace_text_finish(&text);
}

TEST(letters_and_digits_end_where_they_say)
{
    char text[64];
    char *end = trace_put_digits(trace_put_letters(text, "#s"), UINT64_MAX);
    assert_string_equal(text, "#s18446744073709551615");
    assert_ptr_equal(end, text + strlen(text));
    trace_put_digits(text, 0);
    assert_string_equal(text, "0");
}
