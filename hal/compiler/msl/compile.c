/* SPDX-License-Identifier: Apache-2.0 */
/* msl_compile: preprocess, translate, compile, load; or just load. */
#include "hal/base/log.h"
#include "hal/base/mem.h"
#include "hal/base/store.h"
#include "hal/compiler/msl/diagnose.h"
#include "hal/compiler/msl/library.h"
#include "hal/compiler/msl/preprocessor.h"
#include "hal/compiler/msl/process.h"
#include "hal/compiler/msl/request.h"
#include "hal/compiler/msl/toolchain.h"
#include "hal/compiler/msl/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MAX_PREPROCESSED_BYTES = 64 << 20 };

/* Everything about one compilation; paths are inside the scratch directory. */
struct job {
    const struct msl_source *source;
    const char *file;
    char what[256]; /* it is, for messages about compiled code */
    struct msl_compiler compiler;
    struct msl_headers headers;
    bool has_headers; /* they are ready */
    struct msl_lowering lowering;
    struct msl_options options;
    char scratch[MSL_PATH_BYTES];
    char input[MSL_PATH_BYTES + 16], built[MSL_PATH_BYTES + 16];
    char bitcode[MSL_PATH_BYTES + 16], object[MSL_PATH_BYTES + 16];
};

static bool is_plain_name(const char *name)
{
    for (const char *at = name; *at; at++)
        if (*at < ' ' || *at == '"' || *at == '\\')
            return false;
    return true;
}

/* For kernels that are not to be split. */
static const char *why_not_split(const struct job *job)
{
    if (job->lowering.mode == MSL_LOWERING_FIBERS)
        return "HAL_MSL_LOWERING asks for them";
    if (!job->lowering.pass[0])
        return "there is no hal-msl-cc beside the library";
    return job->options.optimise ? "hal-msl-cc failed" : "HAL_MSL_OPTIMISE is 0";
}

/* What entries ask: are kernels split, and for groups of which size? */
static void write_lowering(const struct job *job, bool split, struct msl_text *program)
{
    const struct msl_source *const source = job->source;
    msl_text_print(
        program,
        "#line 1 \"<lowering>\"\n"
        "[[maybe_unused]] static constexpr bool __msl_split = %s;\n"
        "[[maybe_unused]] static constexpr const char *__msl_lowering = \"fibers: %s\";\n"
        "[[maybe_unused]] static constexpr uint32_t __msl_size(const char *name, int d)"
        " {\n",
        split ? "true" : "false", why_not_split(job));
    for (size_t i = 0; split && i < source->group_size_count; i++) {
        const struct msl_group_size *const group = &source->group_sizes[i];
        if (is_plain_name(group->kernel))
            msl_text_print(program,
                           "if (::msl::same_name(name, \"%s\"))"
                           " return d == 0 ? %uu : d == 1 ? %uu : %uu;\n",
                           group->kernel, group->size[0], group->size[1], group->size[2]);
    }
    msl_text_append_string(program, "return 0; }\n");
}

/* "#line 1" or "# 1", and the file's name. */
static void write_line_marker(const char *directive, const char *file, struct msl_text *text)
{
    msl_text_print(text, "%s \"", directive);
    for (const char *at = file; *at; at++) {
        if (*at == '"' || *at == '\\')
            msl_text_append(text, "\\", 1);
        msl_text_append(text, *at == '\n' || *at == '\r' ? " " : at, 1); /* either ends the line */
    }
    msl_text_append_string(text, "\"\n");
}

/* The compiler itself failed; its first line may give the reason. */
static enum hal_status fail_without_place(const struct job *job, int code, const char *errors)
{
    const size_t length = errors ? strcspn(errors, "\n") : 0;
    const bool tells = length && !msl_names_our_own(errors, length) &&
                       !memmem(errors, length, job->scratch, strlen(job->scratch));
    if (errors && strstr(errors, "Executable \"ld\" doesn't exist"))
        return hal_fail(HAL_NOT_FOUND, "compiling '%s': %s finds no linker 'ld': install binutils",
                        job->file, job->compiler.version);
    return hal_fail(HAL_FAILED, "%s failed on '%s' with exit code %d%s%.*s", job->compiler.version,
                    job->file, code, tells ? ": " : "", tells ? (int)length : 0,
                    errors ? errors : "");
}

/* Runs the compiler; its diagnostics become the failure's message. */
static enum hal_status run_compiler(const struct job *job, const char *const *arguments,
                                    size_t output_limit, struct msl_text *out_output)
{
    const struct msl_process process = {.arguments = arguments,
                                        .input = job->input,
                                        .temporary = job->scratch,
                                        .output_limit = output_limit,
                                        .time_limit_ns = job->compiler.limit_ns};
    struct msl_text errors = {0}, message = {0};
    int code = 0;
    enum hal_status status = msl_process_run(&process, out_output, &errors, &code);
    if (status == HAL_OK && code != 0) {
        msl_diagnose(errors.bytes, job->headers.directory, job->file, &message);
        status = message.length ? hal_fail(HAL_INVALID, "%s", message.bytes)
                                : fail_without_place(job, code, errors.bytes);
    } else {
        status = hal_add_context(status, "compiling '%s'", job->file);
    }
    msl_text_finish(&errors);
    msl_text_finish(&message);
    return status;
}

/* The lines as the preprocessor numbers them. */
static enum hal_status take_as_it_is(const struct job *job, struct msl_text *out_text)
{
    write_line_marker("# 1", job->file, out_text);
    msl_text_append(out_text, job->source->text, job->source->bytes);
    msl_text_append_string(out_text, "\n");
    return msl_text_check(out_text);
}

static enum hal_status preprocess(const struct job *job, struct msl_text *out_text)
{
    if (msl_needs_no_preprocessor(job->source->text, job->source->bytes))
        return take_as_it_is(job, out_text);
    struct msl_text input = {0};
    write_line_marker("#line 1", job->file, &input);
    msl_text_append(&input, job->source->text, job->source->bytes);
    msl_text_append_string(&input, "\n");
    enum hal_status status = msl_text_check(&input);
    if (status == HAL_OK)
        status = msl_write_file(job->input, input.bytes, input.length);
    msl_text_finish(&input);
    if (status != HAL_OK)
        return status;
    const char *const arguments[] = {job->compiler.path,
                                     "-E",
                                     "-x",
                                     "c++",
                                     "-std=c++17",
                                     "-nostdinc",
                                     "-nostdinc++",
                                     "-w",
                                     "-ivfsoverlay",
                                     job->headers.overlay,
                                     "-I/msl",
                                     "-D__METAL__=1",
                                     "-D__METAL_VERSION__=310",
                                     "-D__METAL_MACOS__=1",
                                     "-D__HAVE_BFLOAT__=1",
                                     job->options.math == MSL_MATH_FAST ? "-D__MSL_FAST_MATH=1"
                                                                        : "-U__MSL_FAST_MATH",
                                     "-fno-caret-diagnostics",
                                     "-fno-show-column",
                                     "-fno-color-diagnostics",
                                     "-ferror-limit=20",
                                     "-",
                                     NULL};
    return run_compiler(job, arguments, MAX_PREPROCESSED_BYTES, out_text);
}

/* Runs the compiler with our headers over `program`, or over nothing, with `more` arguments. */
static enum hal_status run_with_headers(const struct job *job, const struct msl_text *program,
                                        const char *const *more, size_t more_count)
{
    const char *arguments[MSL_MAX_ARGUMENTS];
    arguments[0] = job->compiler.path;
    size_t count = msl_compiler_flags(&job->options, arguments, 1);
    for (size_t i = 0; i < more_count; i++)
        arguments[count++] = more[i];
    arguments[count] = NULL;
    HAL_TRY(msl_write_file(job->input, program->bytes, program->length));
    struct msl_text output = {0};
    const enum hal_status status = run_compiler(job, arguments, 1 << 16, &output);
    msl_text_finish(&output);
    return status;
}

/* Starting the compiler for a link takes longer than the link itself, and so does reading the
 * scripts and archives behind "-lc". */
static bool link_directly(const struct job *job)
{
    const char *const arguments[] = {job->compiler.linker, "-shared",      "-z", "defs",
                                     "--eh-frame-hdr",     job->object,    "-o", job->built,
                                     "-l:libm.so.6",       "-l:libc.so.6", NULL};
    const struct msl_process process = {
        .arguments = arguments, .output_limit = 1 << 16, .time_limit_ns = job->compiler.limit_ns};
    struct msl_text output = {0}, errors = {0};
    int code = 1;
    const bool linked = job->compiler.linker[0] &&
                        msl_process_run(&process, &output, &errors, &code) == HAL_OK && code == 0;
    msl_text_finish(&output);
    msl_text_finish(&errors);
    return linked;
}

/* The compiler has its own runtime libraries, which code for some processors needs. */
static enum hal_status link_object(const struct job *job)
{
    if (link_directly(job))
        return HAL_OK;
    const char *const arguments[] = {job->compiler.path, "-shared",   "-nostartfiles",
                                     "-Wl,-z,defs",      job->object, "-o",
                                     job->built,         "-lm",       NULL};
    struct msl_text output = {0};
    const enum hal_status status = run_compiler(job, arguments, 1 << 16, &output);
    msl_text_finish(&output);
    return status;
}

static enum hal_status build(const struct job *job, const struct msl_text *program)
{
    const char *const more[] = {
        "-include-pch", job->headers.precompiled, "-c", "-x", "c++", "-", "-o", job->object};
    HAL_TRY(run_with_headers(job, program, more, sizeof more / sizeof *more));
    return link_object(job);
}

static enum hal_status run_pass(const struct job *job, const char *work)
{
    const char *const arguments[] = {job->lowering.pass, work, job->bitcode, job->object, NULL};
    const struct msl_process process = {
        .arguments = arguments, .output_limit = 1 << 16, .time_limit_ns = job->compiler.limit_ns};
    struct msl_text output = {0}, errors = {0};
    int code = 0;
    enum hal_status status = msl_process_run(&process, &output, &errors, &code);
    if (status == HAL_OK && code != 0)
        status = hal_fail(code == 4 ? HAL_UNSUPPORTED : HAL_FAILED, "%s",
                          errors.length ? errors.bytes : "hal-msl-cc failed");
    msl_text_finish(&output);
    msl_text_finish(&errors);
    return status;
}

/* In three steps: clang compiles, the barrier fission pass transforms and optimises, ld links. */
static enum hal_status build_by_pass(const struct job *job, const struct msl_text *program,
                                     const char *work)
{
    const char *const front[] = {"-include-pch",
                                 job->headers.precompiled,
                                 "-Xclang",
                                 "-disable-llvm-passes",
                                 "-emit-llvm",
                                 "-c",
                                 "-x",
                                 "c++",
                                 "-",
                                 "-o",
                                 job->bitcode};
    HAL_TRY(run_with_headers(job, program, front, sizeof front / sizeof *front));
    HAL_TRY(run_pass(job, work));
    return link_object(job);
}

/* `work` is the pass's option; NULL: clang alone. */
static enum hal_status build_with(const struct job *job, const struct msl_text *constants,
                                  const struct msl_text *kernels, bool split, const char *work)
{
    struct msl_text program = {0};
    msl_text_append(&program, constants->bytes, constants->length);
    write_lowering(job, split, &program);
    msl_text_append(&program, kernels->bytes, kernels->length);
    enum hal_status status = msl_text_check(&program);
    if (status == HAL_OK)
        status = work ? build_by_pass(job, &program, work) : build(job, &program);
    msl_text_finish(&program);
    return status;
}

/* A failing pass must not stop a kernel that runs without it. */
static enum hal_status build_any(const struct job *job, const struct msl_text *constants,
                                 const struct msl_text *kernels, struct msl_demands demands)
{
    enum hal_status status;
    if (job->options.check_bounds)
        return build_with(job, constants, kernels, false, "--check-bounds");
    const bool there = job->lowering.pass[0];
    if (there && demands.needs_sync && job->options.optimise &&
        job->lowering.mode != MSL_LOWERING_FIBERS) {
        const bool must = job->lowering.mode == MSL_LOWERING_FISSION;
        status = build_with(job, constants, kernels, true, must ? "--must-split" : "--may-refuse");
        if (status == HAL_OK || status == HAL_INVALID || must)
            return status;
        hal_log(HAL_LOG_WARN, "'%s' runs on fibers, which is slow: %s", job->file, hal_message());
    }
    const bool may_narrow = job->options.optimise && msl_processor_is_wide();
    if (there && (demands.shifts || demands.needs_sync || may_narrow)) {
        status = build_with(job, constants, kernels, false,
                            job->options.optimise ? "--optimise" : "--keep");
        if (status == HAL_OK || status == HAL_INVALID)
            return status;
    }
    if (demands.shifts)
        hal_log(HAL_LOG_WARN,
                "'%s': shifts by at least the number of bits and divisions by zero are undefined "
                "without hal-msl-cc: %s",
                job->file, there ? hal_message() : "there is none beside the library");
    if (demands.needs_sync)
        hal_log(HAL_LOG_WARN,
                "'%s': threads that diverge in loops, or in optimised code, may not reconverge "
                "without hal-msl-cc: %s",
                job->file, there ? hal_message() : "there is none beside the library");
    return build_with(job, constants, kernels, false, NULL);
}

static enum hal_status translate_and_build(const struct job *job)
{
    struct msl_text preprocessed = {0}, constants = {0}, kernels = {0};
    struct msl_demands demands = {0};
    enum hal_status status = preprocess(job, &preprocessed);
    if (status == HAL_OK)
        status = msl_request_constants(job->source, &constants);
    if (status == HAL_OK)
        status = msl_translate(job->source, &preprocessed, job->file, &kernels, &demands);
    if (status == HAL_OK)
        status = build_any(job, &constants, &kernels, demands);
    msl_text_finish(&preprocessed);
    msl_text_finish(&constants);
    msl_text_finish(&kernels);
    return status;
}

/* What may not be loaded does not get into the cache. */
static enum hal_status publish(const struct job *job, const char *path, const struct msl_key *key)
{
    char entry[sizeof job->scratch + 16];
    snprintf(entry, sizeof entry, "%s/entry", job->scratch);
    HAL_TRY(msl_cache_publish(job->built, entry, key));
    HAL_TRY(msl_library_check(entry, job->what));
    if (rename(entry, path) != 0)
        return hal_fail(HAL_IO, "cannot store '%s' in the cache: %s", path, strerror(errno));
    return HAL_OK;
}

static enum hal_status compile(struct job *job, const char *path, const struct msl_key *key)
{
    job->has_headers = false;
    HAL_TRY(msl_headers_prepare(&job->compiler, &job->options, &job->headers));
    job->has_headers = true;
    HAL_TRY(msl_scratch_create_in(job->source->directory, job->scratch, sizeof job->scratch));
    snprintf(job->input, sizeof job->input, "%s/input", job->scratch);
    snprintf(job->built, sizeof job->built, "%s/built", job->scratch);
    snprintf(job->bitcode, sizeof job->bitcode, "%s/bitcode", job->scratch);
    snprintf(job->object, sizeof job->object, "%s/object.o", job->scratch);
    enum hal_status status = translate_and_build(job);
    if (status == HAL_OK)
        status = publish(job, path, key);
    msl_scratch_remove(job->scratch);
    return status;
}

static void make_room(const struct msl_source *source)
{
    const uint64_t limit = source->directory_limit_bytes;
    char usual[MSL_PATH_BYTES];
    if (source->directory || msl_cache_directory(usual, sizeof usual) == HAL_OK)
        msl_directory_trim(source->directory ? source->directory : usual,
                           limit ? limit : msl_directory_limit_bytes());
}

/* Whether the cache was emptied while we compiled with its contents. */
static bool is_emptied(const struct job *job)
{
    return access(job->has_headers ? job->headers.precompiled : job->headers.overlay, F_OK) != 0;
}

/* Another process may free space between our check and our load, or remove everything: then try
 * again. If `out_library` is NULL, nothing is loaded, and nothing frees space for it: a caller that
 * compiles in advance wants to find everything afterwards. */
static enum hal_status load_or_compile(struct job *job, const char *path, const struct msl_key *key,
                                       struct msl_library **out_library)
{
    enum { MOST_TRIES = 3 };
    enum hal_status status;
    for (int i = 0; i < MOST_TRIES; i++) {
        const bool kept = msl_cache_valid(path, key);
        status = HAL_OK;
        if (kept)
            hal_store_used(path);
        else
            status = compile(job, path, key);
        if (status != HAL_OK && status != HAL_TIMEOUT && is_emptied(job))
            continue;
        HAL_TRY(status);
        if (!out_library)
            return HAL_OK;
        status = msl_library_load(path, job->file, job->what, out_library);
        if (status == HAL_OK) {
            (*out_library)->from_cache = kept;
            if (!kept)
                make_room(job->source);
            return HAL_OK;
        }
        if (access(path, F_OK) == 0)
            return status;
    }
    return status;
}

static void name_kernels(struct job *job)
{
    const struct msl_source *const source = job->source;
    if (source->only_listed && source->group_size_count)
        snprintf(job->what, sizeof job->what, "kernel '%.100s'%s of '%.100s'",
                 source->group_sizes[0].kernel,
                 source->group_size_count > 1 ? " and the others" : "", job->file);
    else
        snprintf(job->what, sizeof job->what, "the kernels of '%.200s'", job->file);
}

enum hal_status msl_compile(const struct msl_source *source, struct msl_library **out_library)
{
    char path[MSL_PATH_BYTES];
    struct msl_key key;
    const char *const file = source->name ? source->name : "kernel.metal";
    struct job *const job = hal_alloc(1, sizeof *job);
    if (!job)
        return hal_fail(HAL_NO_MEMORY, "out of memory to compile '%s'", file);
    job->source = source;
    job->file = file;
    name_kernels(job);
    enum hal_status status = msl_request_check(source, file);
    if (status == HAL_OK)
        status = msl_compiler_find(&job->compiler);
    if (status == HAL_OK)
        status = msl_options_find(&job->options);
    job->options.check_bounds = source->check_bounds;
    if (source->math != MSL_MATH_DEFAULT)
        job->options.math = source->math;
    if (status == HAL_OK)
        status = msl_lowering_find(source->check_bounds, &job->lowering);
    if (status == HAL_OK)
        status = msl_request_key(source, file, &job->compiler, &job->lowering, &job->options, &key);
    if (status == HAL_OK)
        status = msl_cache_path(source->directory, &key, ".so", path, sizeof path);
    if (status == HAL_OK)
        status = load_or_compile(job, path, &key, out_library);
    free(job);
    return status;
}
