/* SPDX-License-Identifier: Apache-2.0 */
/* large-trace FILE: a trace of more than 4 GiB that takes little room, for its contents are zeros
 * but for some noise in the middle of each, by which the writer sees that compressing does not pay.
 * The file has holes where the zeros are. What comes last is a buffer "behind" with "beyond four
 * gibibytes". */
#include "tests/support/trace_builder.h"

#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { CONTENT_BYTES = 4 << 20, CONTENT_COUNT = 1030, NOISE_BYTES = 32 << 10, PAGE_BYTES = 4096 };

static bool is_zero_page(const void *data, size_t bytes)
{
    static const char zeros[PAGE_BYTES];
    return bytes >= PAGE_BYTES && memcmp(data, zeros, PAGE_BYTES) == 0;
}

/* In the place of the system's: steps over pages of zeros, and writes what comes before the next.
 */
__attribute__((visibility("default"))) ssize_t write(int descriptor, const void *data, size_t bytes)
{
    const char *at = data;
    size_t count = 0;
    while (is_zero_page(at + count, bytes - count))
        count += PAGE_BYTES;
    if (count && lseek(descriptor, (off_t)count, SEEK_CUR) >= 0)
        return (ssize_t)count;
    for (count = 0; count < bytes && !is_zero_page(at + count, bytes - count);)
        count += bytes - count < PAGE_BYTES ? bytes - count : PAGE_BYTES;
    const struct iovec part = {(void *)(uintptr_t)data, count ? count : bytes};
    return writev(descriptor, &part, 1);
}

static uint32_t next_noise(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 24;
}

int main(int argc, char **argv)
{
    static uint8_t content[CONTENT_BYTES];
    static const char text[] = "beyond four gibibytes";
    struct trace_builder b;
    uint32_t state = 1;
    if (argc != 2)
        return 2;
    builder_open(&b, argv[1], NULL);
    builder_buffer_create(&b, 1, "before", sizeof content);
    for (unsigned i = 0; i < CONTENT_COUNT; i++) {
        for (unsigned j = 0; j < NOISE_BYTES; j++)
            content[CONTENT_BYTES / 2 + j] = (uint8_t)next_noise(&state);
        builder_host_write(&b, 1, 0, content, sizeof content);
    }
    builder_flush(&b);
    builder_buffer_create(&b, 2, "behind", sizeof text);
    builder_host_write(&b, 2, 0, text, sizeof text);
    builder_host_read(&b, 2, 0, text, sizeof text);
    if (builder_close(&b, NULL) == HAL_OK)
        return 0;
    fprintf(stderr, "large-trace: %s\n", hal_message());
    return 1;
}
