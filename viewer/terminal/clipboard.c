/* SPDX-License-Identifier: Apache-2.0 */
#include "viewer/terminal/clipboard.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Screen truncates what it passes through after 768 bytes. */
enum { PIECE = 500 };

/* Text to send; through screen, every piece is a string of its own. */
struct sender {
    FILE *out;
    bool through;
    size_t sent;
};

static void send(struct sender *s, char c)
{
    if (s->through && s->sent % PIECE == 0)
        fputs(s->sent ? "\033\\\033P" : "\033P", s->out);
    fputc(c, s->out);
    s->sent++;
}

static void send_group(struct sender *s, const unsigned char *bytes, size_t count)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t group = 0;
    for (size_t i = 0; i < 3; i++)
        group = group << 8 | (i < count ? bytes[i] : 0);
    for (size_t i = 0; i < 4; i++)
        send(s, i <= count ? digits[group >> (18 - 6 * i) & 63] : '=');
}

void view_clipboard_write(FILE *out, const char *text)
{
    struct sender s = {.out = out, .through = getenv("STY") && !getenv("TMUX")};
    const unsigned char *bytes = (const unsigned char *)text;
    const size_t length = strlen(text);
    for (const char *c = "\033]52;c;"; *c; c++)
        send(&s, *c);
    for (size_t i = 0; i < length; i += 3)
        send_group(&s, bytes + i, length - i < 3 ? length - i : 3);
    send(&s, '\a');
    if (s.through)
        fputs("\033\\", out);
    fflush(out);
}
