/* SPDX-License-Identifier: Apache-2.0 */
/* Our headers travel inside the library; here they reach the disk and are precompiled once. */
#include "hal/compiler/msl/toolchain.h"

#include "hal/base/mem.h"
#include "hal/base/store.h"
#include "hal/compiler/msl/preprocessor.h"
#include "hal/compiler/msl/process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct header {
    const char *name; /* "vector.h" */
    const unsigned char *contents;
    size_t bytes;
};

/* static const struct header headers[] and translator_digest: generated. */
#include "hal/compiler/msl/headers.inc"

enum { HEADER_COUNT = sizeof headers / sizeof *headers };

/* Names that a source may include: all mean macros.h. What is for a GPU alone is refused in use. */
static const char *const includable[] = {
    "metal_stdlib",
    "metal_algorithm",
    "metal_array",
    "metal_assert",
    "metal_atomic",
    "metal_common",
    "metal_compute",
    "metal_config",
    "metal_command_buffer",
    "metal_extended_vector",
    "metal_geometric",
    "metal_graphics",
    "metal_imageblocks",
    "metal_integer",
    "metal_limits",
    "metal_logging",
    "metal_math",
    "metal_matrix",
    "metal_mesh",
    "metal_numeric",
    "metal_pack",
    "metal_packed",
    "metal_quadgroup",
    "metal_raytracing",
    "metal_relational",
    "metal_simdgroup",
    "metal_simdgroup_matrix",
    "metal_tensor",
    "metal_texture",
    "metal_type_traits",
    "metal_types",
    "metal_uniform",
    "metal_utility",
    "metal_vector",
    "metal_visible_function_table",
    "simd/simd.h",
    "simd/vector_types.h",
    "simd/math.h",
    "simd/types.h",
    "stdint.h",
    "cstdint",
    "stddef.h",
    "cstddef",
};

bool msl_is_includable(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof includable / sizeof *includable; i++)
        if (strlen(includable[i]) == length && memcmp(includable[i], name, length) == 0)
            return true;
    return false;
}

/* All are lines of macros.h that begin with "#define". */
bool msl_is_macro(const char *name, size_t length)
{
    static const char word[] = "#define ";
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        const char *at = (const char *)headers[i].contents, *const end = at + headers[i].bytes;
        if (strcmp(headers[i].name, "macros.h") != 0)
            continue;
        while ((at = memmem(at, (size_t)(end - at), word, sizeof word - 1))) {
            at += sizeof word - 1;
            if ((size_t)(end - at) > length && memcmp(at, name, length) == 0 &&
                strchr(" (\n", at[length]))
                return true;
        }
    }
    return false;
}

static const char *const flags[] = {
#if defined(__x86_64__)
    "-fstack-clash-protection", /* large frames of fibers touch the guard page, not a neighbour */
#endif
    "-std=c++17",
    "-nostdinc",
    "-nostdinc++",
    "-fdeclspec",
    "-march=native",
    "-fno-math-errno",
    "-Xclang",
    "-ffloat16-excess-precision=none",
    "-fPIC",
    "-fvisibility=hidden",
    "-fsigned-char",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-threadsafe-statics",
    "-fno-strict-aliasing",
    "-fno-gnu-inline-asm",
#if defined(__aarch64__)
    "-mno-outline-atomics", /* whose functions detect the processor on loading */
#endif
    "-fmax-type-align=1", /* GPUs need no alignment for vectors in memory, as sources know */
    "-fno-caret-diagnostics",
    "-fno-show-column",
    "-fno-color-diagnostics",
    "-fno-elide-type",
    "-ferror-limit=20",
    "-w"};

/* Each operation rounded by itself. */
static const char *const precise[] = {"-ffp-contract=off"};

/* As Metal's default: sums in any order, reciprocals, contraction; infinities and NaN still are. */
static const char *const fast[] = {"-ffp-contract=fast", "-fassociative-math", "-freciprocal-math",
                                   "-fno-signed-zeros",  "-fno-trapping-math", "-fapprox-func"};

/* Arrays of known length by the compiler, all other memory by hal/compiler/msl/fission/bounds.c. */
static const char *const checked[] = {"-D__MSL_CHECK_BOUNDS=1", "-fsanitize=array-bounds"};

static size_t append(const char *const *list, size_t list_count, const char **out_arguments,
                     size_t count)
{
    for (size_t i = 0; i < list_count && count + 1 < MSL_MAX_ARGUMENTS; i++)
        out_arguments[count++] = list[i];
    out_arguments[count] = NULL;
    return count;
}

size_t msl_compiler_flags(const struct msl_options *options, const char **out_arguments,
                          size_t count)
{
    const char *const level = options->optimise ? "-O3" : "-O0";
    count = append(flags, sizeof flags / sizeof *flags, out_arguments, count);
    count = append(&level, 1, out_arguments, count);
    if (options->check_bounds)
        count = append(checked, sizeof checked / sizeof *checked, out_arguments, count);
    if (options->math == MSL_MATH_FAST)
        return append(fast, sizeof fast / sizeof *fast, out_arguments, count);
    return append(precise, sizeof precise / sizeof *precise, out_arguments, count);
}

static void add_headers(struct hal_digest *digest)
{
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        hal_digest_add_string(digest, headers[i].name);
        hal_digest_add(digest, headers[i].contents, headers[i].bytes);
    }
    for (size_t i = 0; i < sizeof includable / sizeof *includable; i++)
        hal_digest_add_string(digest, includable[i]);
}

void msl_toolchain_digest(const struct msl_options *options, struct hal_digest *digest)
{
    const char *arguments[MSL_MAX_ARGUMENTS];
    const size_t count = msl_compiler_flags(options, arguments, 0);
    add_headers(digest);
    hal_digest_add_string(digest, translator_digest);
    for (size_t i = 0; i < count; i++)
        hal_digest_add_string(digest, arguments[i]);
}

static bool same_file(const char *path, const void *contents, size_t bytes)
{
    struct stat facts;
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    bool same = file >= 0 && fstat(file, &facts) == 0 && (size_t)facts.st_size == bytes;
    char *const found = same ? malloc(bytes ? bytes : 1) : NULL;
    same =
        found && read(file, found, bytes) == (ssize_t)bytes && memcmp(found, contents, bytes) == 0;
    free(found);
    if (file >= 0)
        close(file);
    return same;
}

/* Writes through a temporary name, so that a compiler that runs meanwhile sees a whole file. */
static enum hal_status put_file(const char *path, const void *contents, size_t bytes)
{
    char temporary[MSL_PATH_BYTES];
    if (same_file(path, contents, bytes))
        return HAL_OK;
    if (snprintf(temporary, sizeof temporary, "%s.new", path) >= (int)sizeof temporary)
        return hal_fail(HAL_INVALID, "the path '%s' is too long", path);
    HAL_TRY(msl_write_file(temporary, contents, bytes));
    if (rename(temporary, path) != 0)
        return hal_fail(HAL_IO, "cannot write '%s': %s", path, strerror(errno));
    return HAL_OK;
}

/* The only files that exist for the preprocessor: no other path can be included. */
static void write_overlay(const char *directory, struct msl_text *text)
{
    msl_text_append_string(text, "{\"version\": 0, \"case-sensitive\": \"true\", "
                                 "\"fallthrough\": \"false\", \"roots\": [\n");
    for (size_t i = 0; i < sizeof includable / sizeof *includable; i++)
        msl_text_print(text,
                       "%s{\"name\": \"/msl/%s\", \"type\": \"file\", "
                       "\"external-contents\": \"%s/msl/macros.h\"}",
                       i ? ",\n" : "", includable[i], directory);
    msl_text_append_string(text, "]}\n");
}

static enum hal_status make_directory(const char *path)
{
    if (mkdir(path, 0700) == 0 || errno == EEXIST)
        return HAL_OK;
    return hal_fail(HAL_IO, "cannot create '%s': %s", path, strerror(errno));
}

static enum hal_status put_headers_locked(const struct msl_headers *paths)
{
    char path[MSL_PATH_BYTES + 64];
    snprintf(path, sizeof path, "%s/msl", paths->directory);
    HAL_TRY(make_directory(path));
    for (size_t i = 0; i < HEADER_COUNT; i++) {
        snprintf(path, sizeof path, "%s/msl/%s", paths->directory, headers[i].name);
        HAL_TRY(put_file(path, headers[i].contents, headers[i].bytes));
        /* <stdint.h> is found beside the folder of the others. */
        snprintf(path, sizeof path, "%s/%s", paths->directory, headers[i].name);
        if (strcmp(headers[i].name, "stdint.h") == 0)
            HAL_TRY(put_file(path, headers[i].contents, headers[i].bytes));
    }
    struct msl_text overlay = {0};
    write_overlay(paths->directory, &overlay);
    enum hal_status status = msl_text_check(&overlay);
    if (status == HAL_OK)
        status = put_file(paths->overlay, overlay.bytes, overlay.length);
    msl_text_finish(&overlay);
    return status;
}

static enum hal_status precompile(const struct msl_compiler *compiler,
                                  const struct msl_options *options,
                                  const struct msl_headers *paths, const char *scratch,
                                  const char *built)
{
    const char *arguments[MSL_MAX_ARGUMENTS];
    char root[MSL_PATH_BYTES + 8], source[MSL_PATH_BYTES + 32];
    snprintf(root, sizeof root, "-I%s", paths->directory);
    snprintf(source, sizeof source, "%s/msl/module.h", paths->directory);
    arguments[0] = compiler->path;
    size_t count = msl_compiler_flags(options, arguments, 1);
    const char *const more[] = {
        "-Xclang", "-fno-pch-timestamp",
        /* What the headers themselves use is made here, not again in every source. */
        "-fpch-instantiate-templates", root, "-x", "c++-header", source, "-o", built};
    for (size_t i = 0; i < sizeof more / sizeof *more; i++)
        arguments[count++] = more[i];
    arguments[count] = NULL;
    const struct msl_process process = {.arguments = arguments,
                                        .temporary = scratch,
                                        .output_limit = 1 << 16,
                                        .time_limit_ns = compiler->limit_ns};
    struct msl_text output = {0}, errors = {0};
    int code = 0;
    enum hal_status status = msl_process_run(&process, &output, &errors, &code);
    if (status == HAL_OK && code != 0)
        status = hal_fail(HAL_FAILED, "%s cannot precompile our own headers: %s", compiler->version,
                          errors.bytes);
    msl_text_finish(&output);
    msl_text_finish(&errors);
    return status;
}

static enum hal_status prepare_locked(const struct msl_compiler *compiler,
                                      const struct msl_options *options, const struct msl_key *key,
                                      const struct msl_headers *paths)
{
    char scratch[MSL_PATH_BYTES], built[MSL_PATH_BYTES + 16];
    HAL_TRY(put_headers_locked(paths));
    if (msl_cache_valid(paths->precompiled, key))
        return HAL_OK;
    HAL_TRY(msl_scratch_create(scratch, sizeof scratch));
    snprintf(built, sizeof built, "%s/module.pch", scratch);
    enum hal_status status = precompile(compiler, options, paths, scratch, built);
    if (status == HAL_OK)
        status = msl_cache_publish(built, paths->precompiled, key);
    msl_scratch_remove(scratch);
    return status;
}

enum hal_status msl_headers_prepare(const struct msl_compiler *compiler,
                                    const struct msl_options *options,
                                    struct msl_headers *out_headers)
{
    struct msl_key contents_key, key;
    char lock_path[MSL_PATH_BYTES];
    struct hal_digest digest = hal_digest_begin();
    add_headers(&digest);
    HAL_TRY(hal_digest_end(&digest, contents_key.bytes));
    HAL_TRY(msl_cache_path(NULL, &contents_key, "", out_headers->directory,
                           sizeof out_headers->directory));
    HAL_TRY(msl_cache_path(NULL, &contents_key, ".yaml", out_headers->overlay,
                           sizeof out_headers->overlay));
    HAL_TRY(msl_cache_path(NULL, &contents_key, ".lock", lock_path, sizeof lock_path));
    digest = hal_digest_begin();
    msl_toolchain_digest(options, &digest);
    hal_digest_add(&digest, &compiler->identity, sizeof compiler->identity);
    hal_digest_add_string(&digest, out_headers->directory);
    HAL_TRY(hal_digest_end(&digest, key.bytes));
    HAL_TRY(msl_cache_path(NULL, &key, ".pch", out_headers->precompiled,
                           sizeof out_headers->precompiled));
    int lock;
    HAL_TRY(make_directory(out_headers->directory));
    HAL_TRY(hal_store_lock(lock_path, &lock));
    const enum hal_status status = prepare_locked(compiler, options, &key, out_headers);
    msl_scratch_remove_stale();
    close(lock);
    return hal_add_context(status, "preparing the kernel headers in '%s'", out_headers->directory);
}
