/* SPDX-License-Identifier: Apache-2.0 */
/* make_trace FILE TOKENS LAYERS op|layer|token: a decode trace for scripts and for looking. */
#include "tests/viewer/decode_trace.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    if (argc != 5) {
        fputs("usage: make_trace FILE TOKENS LAYERS op|layer|token\n", stderr);
        return 2;
    }
    const struct decode_options options = {.tokens = (uint32_t)strtoul(argv[2], NULL, 10),
                                           .layers = (uint32_t)strtoul(argv[3], NULL, 10),
                                           .sync = strcmp(argv[4], "op") == 0 ? DECODE_SYNC_OP
                                                   : strcmp(argv[4], "layer") == 0
                                                       ? DECODE_SYNC_LAYER
                                                       : DECODE_SYNC_TOKEN,
                                           .seed = 1};
    if (decode_trace_write(argv[1], &options, true) == HAL_OK)
        return 0;
    fprintf(stderr, "make_trace: %s\n", hal_message());
    return 1;
}
