/* SPDX-License-Identifier: Apache-2.0 */
/* make_corpus TRACE OUTPUT: the trace's records, one behind the other, as events.c takes them. */
#include "format/trace.h"

#include <stdio.h>

static enum hal_status write_event(void *user, const struct trace_event *event,
                                   const struct trace_segment *segments)
{
    FILE *file = user;
    size_t done = fwrite(event, 1, event->bytes, file) == event->bytes;
    if (segments) {
        const size_t bytes =
            (size_t)((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes;
        done &= fwrite(segments, 1, bytes, file) == bytes;
    }
    return done ? HAL_OK : hal_fail(HAL_IO, "cannot write");
}

int main(int argc, char **argv)
{
    struct trace_reader *reader;
    FILE *file = argc == 3 ? fopen(argv[2], "w") : NULL;
    if (!file || trace_reader_open(argv[1], &reader) != HAL_OK) {
        fprintf(stderr, "make_corpus TRACE OUTPUT: %s\n", hal_message());
        return 2;
    }
    const enum hal_status status = trace_reader_each(reader, write_event, file);
    trace_reader_close(reader);
    return fclose(file) != 0 || status != HAL_OK;
}
