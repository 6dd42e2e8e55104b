/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler, our headers on disk, and the flags that both compilations share. Private to
 * hal/compiler/msl; free-threaded. */
#ifndef HAL_MSL_TOOLCHAIN_H
#define HAL_MSL_TOOLCHAIN_H

#include "hal/compiler/msl/cache.h"
#include "hal/compiler/msl/msl.h"

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds of processor time that one run of the compiler may take, unless the environment says
 * otherwise. */
#define MSL_COMPILER_LIMIT_NS INT64_C(60000000000)

struct msl_compiler {
    char path[MSL_PATH_BYTES];
    char version[96];            /* "clang version 16.0.6" */
    struct msl_key identity;     /* of the program file and of this processor */
    char linker[MSL_PATH_BYTES]; /* the system's ld, started directly; "": through the compiler */
    int64_t limit_ns;            /* for one run of it, and of the programs that go with it */
};

/* HAL_NOT_FOUND: none is usable; the message says what to install. HAL_INVALID: HAL_MSL_TIME_LIMIT
 * is no number of seconds. */
enum hal_status msl_compiler_find(struct msl_compiler *out_compiler) HAL_CHECKED;

/* Whether it has registers of 512 bits, for which hal-msl-cc decides which kernels use them. */
bool msl_processor_is_wide(void);

/* What tells any program from others: its file, by path and time, and this processor.
 * HAL_NOT_FOUND. */
enum hal_status msl_program_identify(const char *path, struct msl_key *out_identity) HAL_CHECKED;

/* A program of ours: `chosen` alone, when it is neither NULL nor empty; else `name` beside the
 * library or in the bin folder next to it. False: there is none that can be started. */
bool msl_program_find(const char *chosen, const char *name, char *out_path, size_t bytes);

/* The same for a program of ours, by what it is made of: another build of the same sources,
 * wherever it lies, is the same one. Starts it once per file (`--identity`), which blocks.
 * HAL_NOT_FOUND: there is none; HAL_TIMEOUT, HAL_FAILED: it does not answer. */
enum hal_status msl_helper_identify(const char *path, struct msl_key *out_identity) HAL_CHECKED;

/* How kernels whose threads wait for each other are lowered. */
enum msl_lowering_mode { MSL_LOWERING_AUTO, MSL_LOWERING_FISSION, MSL_LOWERING_FIBERS };
struct msl_lowering {
    enum msl_lowering_mode mode;
    char pass[MSL_PATH_BYTES]; /* hal-msl-cc, the barrier fission pass; "": none */
    struct msl_key identity;   /* of the pass's sources; zeros without */
};

/* HAL_INVALID: HAL_MSL_LOWERING has another value. HAL_NOT_FOUND: it insists on a pass that is
 * not there, or bounds are to be checked, which is that program's work too. */
enum hal_status msl_lowering_find(bool check_bounds, struct msl_lowering *out_lowering) HAL_CHECKED;

/* What kernels are compiled for. */
struct msl_options {
    enum msl_math math; /* not the default */
    bool optimise;
    bool check_bounds;
};

/* From the environment. HAL_INVALID: HAL_MSL_MATH or HAL_MSL_OPTIMISE says something else. */
enum hal_status msl_options_find(struct msl_options *out_options) HAL_CHECKED;

struct msl_headers {
    char directory[MSL_PATH_BYTES]; /* paths in diagnostics that begin so are not the user's */
    char overlay[MSL_PATH_BYTES];   /* file system that the preprocessor sees */
    char precompiled[MSL_PATH_BYTES];
};

/* Writes and precompiles the headers unless that is done; blocks while another process does. */
enum hal_status msl_headers_prepare(const struct msl_compiler *compiler,
                                    const struct msl_options *options,
                                    struct msl_headers *out_headers) HAL_CHECKED;

/* What decides about the code that is made: headers, flags. */
void msl_toolchain_digest(const struct msl_options *options, struct hal_digest *digest);

/* Appends the flags of native compilation, ends with NULL; returns the number of arguments. */
size_t msl_compiler_flags(const struct msl_options *options, const char **out_arguments,
                          size_t count);
enum { MSL_MAX_ARGUMENTS = 64 };

#endif
