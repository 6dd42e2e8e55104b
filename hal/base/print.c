/* SPDX-License-Identifier: Apache-2.0 */
#include "hal/base/print.h"

#include "hal/base/text.h"

#include <assert.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum length { LENGTH_INT, LENGTH_CHAR, LENGTH_SHORT, LENGTH_LONG, LENGTH_LONG_LONG, LENGTH_SIZE };

/* A conversion and its destination. */
struct print {
    hal_print_write *write;
    void *user;
    va_list arguments;
    bool left, zeros, plus, mark;
    int width, precision; /* -1: none */
    enum length length;
};

/* ---- Reading a conversion ------------------------------------------------------------------ */

static int take_number(struct print *p, const char **at)
{
    int number = 0;
    if (**at == '*') {
        ++*at;
        return va_arg(p->arguments, int);
    }
    for (; **at >= '0' && **at <= '9'; ++*at)
        number = 10 * number + (**at - '0');
    return number;
}

static enum length take_length(const char **at)
{
    const bool is_double = **at && (*at)[1] == **at;
    switch (**at) {
    case 'h': *at += is_double ? 2 : 1; return is_double ? LENGTH_CHAR : LENGTH_SHORT;
    case 'l': *at += is_double ? 2 : 1; return is_double ? LENGTH_LONG_LONG : LENGTH_LONG;
    case 'j': ++*at; return LENGTH_LONG_LONG; /* as large everywhere */
    case 'z':
    case 't': ++*at; return LENGTH_SIZE;
    default: return LENGTH_INT;
    }
}

/* Up to the letter, which it returns. */
static char take_conversion(struct print *p, const char **at)
{
    p->left = p->zeros = p->plus = p->mark = false;
    p->precision = -1;
    for (;; ++*at) {
        if (**at == '-')
            p->left = true;
        else if (**at == '0')
            p->zeros = true;
        else if (**at == '+')
            p->plus = true;
        else if (**at == '#')
            p->mark = true;
        else
            break;
    }
    p->width = take_number(p, at);
    if (p->width < 0) {
        p->left = true;
        p->width = -p->width;
    }
    if (**at == '.') {
        ++*at;
        p->precision = take_number(p, at);
    }
    p->length = take_length(at);
    const char letter = **at;
    *at += letter != '\0';
    return letter;
}

static intmax_t take_signed(struct print *p)
{
    switch (p->length) {
    case LENGTH_LONG: return va_arg(p->arguments, long);
    case LENGTH_LONG_LONG: return va_arg(p->arguments, long long);
    case LENGTH_SIZE: return va_arg(p->arguments, ptrdiff_t);
    case LENGTH_CHAR: return (signed char)va_arg(p->arguments, int);
    case LENGTH_SHORT: return (short)va_arg(p->arguments, int);
    case LENGTH_INT: break;
    }
    return va_arg(p->arguments, int);
}

static uintmax_t take_unsigned(struct print *p)
{
    switch (p->length) {
    case LENGTH_LONG: return va_arg(p->arguments, unsigned long);
    case LENGTH_LONG_LONG: return va_arg(p->arguments, unsigned long long);
    case LENGTH_SIZE: return va_arg(p->arguments, size_t);
    case LENGTH_CHAR: return (unsigned char)va_arg(p->arguments, unsigned);
    case LENGTH_SHORT: return (unsigned short)va_arg(p->arguments, unsigned);
    case LENGTH_INT: break;
    }
    return va_arg(p->arguments, unsigned);
}

/* ---- Writing it ---------------------------------------------------------------------------- */

static void pad(const struct print *p, size_t used, char with)
{
    for (size_t i = used; i < (size_t)p->width; i++)
        p->write(p->user, &with, 1);
}

/* With zeros after the sign, or blanks on either side. */
static void put_digits(const struct print *p, const char *digits)
{
    const size_t bytes = strlen(digits);
    const size_t sign = *digits == '-' || *digits == '+';
    const bool zeros = p->zeros && !p->left;
    if (!p->left && !zeros)
        pad(p, bytes, ' ');
    p->write(p->user, digits, sign);
    if (zeros)
        pad(p, bytes, '0');
    p->write(p->user, digits + sign, bytes - sign);
    if (p->left)
        pad(p, bytes, ' ');
}

static void put_number(struct print *p, char letter)
{
    enum { ROOM = 512 }; /* the largest double has 309 digits */
    char digits[ROOM];
    const int least = p->precision < 0 ? 1 : p->precision < 100 ? p->precision : 100;
    const int places = p->precision < 0 ? 6 : least;
    switch (letter) {
    case 'd':
    case 'i': snprintf(digits, ROOM, p->plus ? "%+.*jd" : "%.*jd", least, take_signed(p)); break;
    case 'u': snprintf(digits, ROOM, "%.*ju", least, take_unsigned(p)); break;
    case 'o': snprintf(digits, ROOM, "%.*jo", least, take_unsigned(p)); break;
    case 'x': snprintf(digits, ROOM, p->mark ? "%#.*jx" : "%.*jx", least, take_unsigned(p)); break;
    case 'X': snprintf(digits, ROOM, p->mark ? "%#.*jX" : "%.*jX", least, take_unsigned(p)); break;
    case 'e': snprintf(digits, ROOM, "%.*e", places, va_arg(p->arguments, double)); break;
    case 'f':
        snprintf(digits, ROOM, p->plus ? "%+.*f" : "%.*f", places, va_arg(p->arguments, double));
        break;
    default:
        snprintf(digits, ROOM, p->plus ? "%+.*g" : "%.*g", places, va_arg(p->arguments, double));
        break;
    }
    put_digits(p, digits);
}

/* Bytes of the next character; *out_shown: it may be seen. */
static size_t next_character(const char *text, size_t bytes, bool *out_shown)
{
    const size_t length = hal_utf8_length(text, bytes);
    *out_shown = length && !hal_utf8_is_control(text, length);
    return length ? length : 1;
}

static size_t clean_bytes(const char *text, size_t bytes)
{
    size_t clean = 0;
    bool shown;
    for (size_t at = 0; at < bytes;) {
        const size_t length = next_character(text + at, bytes - at, &shown);
        clean += shown ? length : 1;
        at += length;
    }
    return clean;
}

static void put_foreign(const struct print *p, const char *text, size_t bytes)
{
    const size_t clean = p->width ? clean_bytes(text, bytes) : 0;
    size_t plain = 0, at = 0;
    bool shown;
    if (!p->left)
        pad(p, clean, ' ');
    while (at < bytes) {
        const size_t length = next_character(text + at, bytes - at, &shown);
        if (!shown) {
            p->write(p->user, text + plain, at - plain);
            p->write(p->user, "?", 1);
            plain = at + length;
        }
        at += length;
    }
    p->write(p->user, text + plain, at - plain);
    if (p->left)
        pad(p, clean, ' ');
}

static void put_conversion(struct print *p, char letter)
{
    const char *text;
    char character;
    switch (letter) {
    case '%': p->write(p->user, "%", 1); break;
    case 'c':
        character = (char)va_arg(p->arguments, int);
        put_foreign(p, &character, 1);
        break;
    case 's':
        text = va_arg(p->arguments, const char *);
        text = text ? text : "";
        put_foreign(p, text, p->precision < 0 ? strlen(text) : strnlen(text, (size_t)p->precision));
        break;
    default:
        assert(letter && strchr("diuoxXefg", letter));
        put_number(p, letter);
        break;
    }
}

void hal_print_va(hal_print_write *write, void *user, const char *format, va_list arguments)
{
    struct print p = {.write = write, .user = user};
    va_copy(p.arguments, arguments);
    for (const char *at = format; *at;) {
        const size_t own = strcspn(at, "%");
        write(user, at, own);
        at += own;
        if (!*at)
            break;
        at++;
        put_conversion(&p, take_conversion(&p, &at));
    }
    va_end(p.arguments);
}

static void write_to_file(void *user, const char *text, size_t bytes)
{
    if (bytes)
        fwrite(text, 1, bytes, user);
}

void hal_vprint(FILE *file, const char *format, va_list arguments)
{
    hal_print_va(write_to_file, file, format, arguments);
}

void hal_print(FILE *file, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hal_vprint(file, format, arguments);
    va_end(arguments);
}
