/* SPDX-License-Identifier: Apache-2.0 */
/* Text that grows. */
#include "hal/compiler/msl/text.h"

#include "hal/base/mem.h"

#include <stdarg.h>
#include <stdio.h>

static bool make_room(struct msl_text *text, size_t more)
{
    size_t wanted;
    if (__builtin_add_overflow(text->length + 1, more, &wanted) ||
        !hal_grow((void **)&text->bytes, &text->capacity, wanted, 1))
        text->failed = true;
    return !text->failed;
}

void msl_text_append(struct msl_text *text, const char *bytes, size_t length)
{
    if (!make_room(text, length))
        return;
    if (length)
        memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

void msl_text_append_string(struct msl_text *text, const char *string)
{
    msl_text_append(text, string, strlen(string));
}

void msl_text_print(struct msl_text *text, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length >= 0 && make_room(text, (size_t)length)) {
        vsnprintf(text->bytes + text->length, (size_t)length + 1, format, arguments);
        text->length += (size_t)length;
    }
    va_end(arguments);
}

void msl_text_finish(struct msl_text *text)
{
    free(text->bytes);
    *text = (struct msl_text){0};
}

enum hal_status msl_text_check(const struct msl_text *text)
{
    return text->failed
               ? hal_fail(HAL_NO_MEMORY, "out of memory for %zu bytes of text", text->length)
               : HAL_OK;
}
