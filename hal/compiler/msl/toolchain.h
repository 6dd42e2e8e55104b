/* SPDX-License-Identifier: Apache-2.0 */
/* The compiler, our headers on disk, and the flags common to both compilations. Private to
 * hal/compiler/msl; free-threaded. */
#ifndef HAL_MSL_TOOLCHAIN_H
#define HAL_MSL_TOOLCHAIN_H

#include "hal/compiler/msl/cache.h"
#include "hal/compiler/msl/msl.h"

#include <stdbool.h>
#include <stdint.h>

/* Default limit of processor time in nanoseconds for one run of the compiler. */
#define MSL_COMPILER_LIMIT_NS INT64_C(60000000000)

struct msl_compiler {
    char path[MSL_PATH_BYTES];
    char version[96];            /* "clang version 16.0.6" */
    struct msl_key identity;     /* of the program file and of this processor */
    char linker[MSL_PATH_BYTES]; /* the system's ld, run directly; "": through the compiler */
    int64_t limit_ns;            /* for one run of it, and of its helper programs */
};

/* HAL_NOT_FOUND: none is usable; the message says what to install. HAL_INVALID: HAL_MSL_TIME_LIMIT
 * is not a number of seconds. */
enum hal_status msl_compiler_find(struct msl_compiler *out_compiler) HAL_CHECKED;

/* Whether it has 512-bit registers; hal-msl-cc decides which kernels use them. */
bool msl_processor_is_wide(void);

/* Identifies any program: its file, by path and time, and this processor. HAL_NOT_FOUND. */
enum hal_status msl_program_identify(const char *path, struct msl_key *out_identity) HAL_CHECKED;

/* Finds one of our programs: `chosen` if neither NULL nor empty; else `name` beside the library or
 * in the adjacent bin folder. False: none can be started. */
bool msl_program_find(const char *chosen, const char *name, char *out_path, size_t bytes);

/* Identifies one of our programs by its contents: another build of the same sources at any path is
 * equal. Starts it once per file (`--identity`), which blocks. HAL_NOT_FOUND: it does not exist;
 * HAL_TIMEOUT, HAL_FAILED: it does not answer. */
enum hal_status msl_helper_identify(const char *path, struct msl_key *out_identity) HAL_CHECKED;

/* How kernels whose threads wait for each other are lowered. */
enum msl_lowering_mode { MSL_LOWERING_AUTO, MSL_LOWERING_FISSION, MSL_LOWERING_FIBERS };
struct msl_lowering {
    enum msl_lowering_mode mode;
    char pass[MSL_PATH_BYTES]; /* hal-msl-cc, the barrier fission pass; "": none */
    struct msl_key identity;   /* of the pass's sources; zeros without a pass */
};

/* HAL_INVALID: HAL_MSL_LOWERING has an unknown value. HAL_NOT_FOUND: it requires the pass, which is
 * missing; bounds checks require it too. */
enum hal_status msl_lowering_find(bool check_bounds, struct msl_lowering *out_lowering) HAL_CHECKED;

/* Compilation options. */
struct msl_options {
    enum msl_math math; /* not the default value */
    bool optimise;
    bool check_bounds;
};

/* From the environment. HAL_INVALID: HAL_MSL_MATH or HAL_MSL_OPTIMISE has an unknown value. */
enum hal_status msl_options_find(struct msl_options *out_options) HAL_CHECKED;

struct msl_headers {
    char directory[MSL_PATH_BYTES]; /* diagnostics in paths with this prefix are not the user's */
    char overlay[MSL_PATH_BYTES];   /* file system overlay for the preprocessor */
    char precompiled[MSL_PATH_BYTES];
};

/* Writes and precompiles the headers unless already done; blocks while another process does it. */
enum hal_status msl_headers_prepare(const struct msl_compiler *compiler,
                                    const struct msl_options *options,
                                    struct msl_headers *out_headers) HAL_CHECKED;

/* Digests what affects the generated code: headers, flags. */
void msl_toolchain_digest(const struct msl_options *options, struct hal_digest *digest);

/* Appends the flags of native compilation, NULL-terminated; returns the number of arguments. */
size_t msl_compiler_flags(const struct msl_options *options, const char **out_arguments,
                          size_t count);
enum { MSL_MAX_ARGUMENTS = 64 };

#endif
