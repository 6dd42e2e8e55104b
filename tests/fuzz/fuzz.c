/* SPDX-License-Identifier: Apache-2.0 */
/* Files for targets that read files. */
#include "tests/fuzz/fuzz.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[PATH_MAX], input[PATH_MAX + 16], output[PATH_MAX + 16];

static void (*others)(void);

static void remove_files(void)
{
    if (others)
        others();
    unlink(input);
    unlink(output);
    rmdir(folder);
}

static void make_folder(void)
{
    const char *base = getenv("TMPDIR");
    if (folder[0])
        return;
    if (!base)
        base = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp";
    snprintf(folder, sizeof folder, "%s/haltrace-fuzz-XXXXXX", base);
    fuzz_check(mkdtemp(folder));
    snprintf(input, sizeof input, "%s/in.pb.zst", folder);
    snprintf(output, sizeof output, "%s/out.pb.zst", folder);
    atexit(remove_files);
}

const char *fuzz_file(const uint8_t *data, size_t bytes)
{
    make_folder();
    FILE *file = fopen(input, "w");
    fuzz_check(file);
    fuzz_check(bytes == 0 || fwrite(data, 1, bytes, file) == bytes);
    fuzz_check(fclose(file) == 0);
    return input;
}

const char *fuzz_output(void)
{
    make_folder();
    return output;
}

void fuzz_on_exit(void (*remove)(void))
{
    others = remove;
}

void fuzz_failed(const char *condition, const char *file, int line)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, condition);
    abort();
}
