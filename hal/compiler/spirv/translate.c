/* SPDX-License-Identifier: Apache-2.0 */
/* spirv_translate: from the cache, or by starting hal-spirv-cc. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/compiler/msl/cache.h"
#include "hal/compiler/msl/process.h"
#include "hal/compiler/msl/toolchain.h"
#include "hal/compiler/spirv/answer.h"

#include <stdio.h>

enum { MAX_ANSWER_BYTES = 64 << 20, NUMBER_BYTES = 24 };

struct job {
    const struct spirv_source *source;
    char program[MSL_PATH_BYTES];
    struct msl_key identity; /* of the program */
    char entry[MSL_PATH_BYTES];
    struct msl_key key; /* of the entry in the cache */
};

static enum hal_status check_source(const struct spirv_source *source)
{
    if (!source->data || !source->bytes)
        return hal_fail(HAL_INVALID, "it is empty");
    if (source->bytes > SPIRV_MAX_BYTES)
        return hal_fail(HAL_INVALID, "it has %s; the limit is %d",
                        hal_count(source->bytes, "byte", "bytes").text, SPIRV_MAX_BYTES);
    if (!source->entry_point_count || source->entry_point_count > SPIRV_MAX_ENTRY_POINTS)
        return hal_fail(HAL_INVALID, "%zu entry points; from 1 to %d are supported",
                        source->entry_point_count, SPIRV_MAX_ENTRY_POINTS);
    if (source->constant_count > SPIRV_MAX_CONSTANTS)
        return hal_fail(HAL_INVALID, "values of %zu specialization constants; the limit is %d",
                        source->constant_count, SPIRV_MAX_CONSTANTS);
    for (size_t i = 0; i < source->constant_count; i++) {
        const struct spirv_constant *const constant = &source->constants[i];
        if (constant->type < SPIRV_BOOL || constant->type > SPIRV_UINT64)
            return hal_fail(HAL_INVALID, "specialization constant %u has the unknown type %d",
                            constant->id, (int)constant->type);
        for (size_t k = 0; k < i; k++)
            if (source->constants[k].id == constant->id)
                return hal_fail(
                    HAL_INVALID,
                    "specialization constant %u has two values: modules have scalars only",
                    constant->id);
    }
    return HAL_OK;
}

static enum hal_status find_program(struct job *job)
{
    if (!msl_program_find(getenv("HAL_SPIRV_CC"), "hal-spirv-cc", job->program,
                          sizeof job->program))
        return hal_fail(HAL_NOT_FOUND,
                        "there is no hal-spirv-cc beside the library to translate it; HAL_SPIRV_CC "
                        "may name one (it is built where SPIRV-Cross and SPIRV-Tools are)");
    return msl_helper_identify(job->program, &job->identity);
}

static enum hal_status make_key(struct job *job)
{
    const struct spirv_source *const source = job->source;
    struct hal_digest digest = hal_digest_begin();
    hal_digest_add_string(&digest, "spirv");
    hal_digest_add(&digest, &job->identity, sizeof job->identity);
    hal_digest_add(&digest, source->data, source->bytes);
    for (size_t i = 0; i < source->constant_count; i++) {
        const struct spirv_constant *const constant = &source->constants[i];
        const uint64_t numbers[] = {constant->id, (uint64_t)constant->type, constant->bits};
        hal_digest_add(&digest, numbers, sizeof numbers);
    }
    for (size_t i = 0; i < source->entry_point_count; i++) {
        hal_digest_add_string(&digest, source->entry_points[i].name);
        hal_digest_add(&digest, source->entry_points[i].workgroup_size,
                       sizeof source->entry_points[i].workgroup_size);
    }
    HAL_TRY(hal_digest_end(&digest, job->key.bytes));
    return msl_cache_path(NULL, &job->key, ".spirv", job->entry, sizeof job->entry);
}

/* ---- Starting the program ------------------------------------------------------------------- */

struct arguments {
    const char **list; /* ends with NULL */
    char (*numbers)[NUMBER_BYTES];
    size_t count, number_count;
};

static void add_number(struct arguments *arguments, uint64_t number)
{
    char *const text = arguments->numbers[arguments->number_count++];
    snprintf(text, NUMBER_BYTES, "%llu", (unsigned long long)number);
    arguments->list[arguments->count++] = text;
}

static enum hal_status make_arguments(const struct job *job, struct arguments *out_arguments)
{
    const struct spirv_source *const source = job->source;
    const size_t constants = source->constant_count, entries = source->entry_point_count;
    struct arguments arguments = {
        .list = hal_alloc(2 + 4 * constants + 5 * entries, sizeof *arguments.list),
        .numbers = hal_alloc(3 * constants + 3 * entries, sizeof *arguments.numbers),
    };
    *out_arguments = arguments;
    if (!arguments.list || !arguments.numbers)
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu constants and %zu entry points",
                        constants, entries);
    arguments.list[arguments.count++] = job->program;
    for (size_t i = 0; i < constants; i++) {
        arguments.list[arguments.count++] = "constant";
        add_number(&arguments, source->constants[i].id);
        add_number(&arguments, (uint32_t)source->constants[i].type);
        add_number(&arguments, source->constants[i].bits);
    }
    for (size_t i = 0; i < entries; i++) {
        arguments.list[arguments.count++] = "entry";
        arguments.list[arguments.count++] = source->entry_points[i].name;
        for (size_t d = 0; d < 3; d++)
            add_number(&arguments, source->entry_points[i].workgroup_size[d]);
    }
    return HAL_OK;
}

/* Its exit code is a status, unless something went wrong that it did not see coming. */
static enum hal_status read_failure(int code, struct msl_text *errors)
{
    for (size_t i = 0; i < errors->length; i++)
        if ((unsigned char)errors->bytes[i] < ' ')
            errors->bytes[i] = ' ';
    switch (code) {
    case HAL_INVALID:
    case HAL_UNSUPPORTED:
    case HAL_NO_MEMORY:
    case HAL_IO:
        if (errors->length)
            return hal_fail((enum hal_status)code, "%s", errors->bytes);
        break;
    default: break;
    }
    return hal_fail(HAL_FAILED, "hal-spirv-cc ended with exit code %d: %.200s", code,
                    errors->length ? errors->bytes : "no message");
}

static enum hal_status run_program(const struct job *job, const char *input,
                                   struct msl_text *out_answer)
{
    struct arguments arguments;
    struct msl_text errors = {0};
    int code = 0;
    enum hal_status status = make_arguments(job, &arguments);
    if (status == HAL_OK) {
        const struct msl_process process = {.arguments = arguments.list,
                                            .input = input,
                                            .output_limit = MAX_ANSWER_BYTES,
                                            .time_limit_ns =
                                                SPIRV_TIME_LIMIT_S * INT64_C(1000000000)};
        status = msl_process_run(&process, out_answer, &errors, &code);
    }
    if (status == HAL_OK && code != 0)
        status = read_failure(code, &errors);
    msl_text_finish(&errors);
    free(arguments.list);
    free(arguments.numbers);
    return status;
}

static enum hal_status translate(const struct job *job, struct msl_text *out_answer)
{
    char scratch[MSL_PATH_BYTES], input[MSL_PATH_BYTES + 16];
    HAL_TRY(msl_scratch_create(scratch, sizeof scratch));
    snprintf(input, sizeof input, "%s/module", scratch);
    enum hal_status status = msl_write_file(input, job->source->data, job->source->bytes);
    if (status == HAL_OK)
        status = run_program(job, input, out_answer);
    msl_scratch_remove(scratch);
    return status;
}

/* ---- The call ------------------------------------------------------------------------------- */

static enum hal_status load_or_translate(struct job *job, struct spirv_translation **out)
{
    const size_t entry_count = job->source->entry_point_count;
    HAL_TRY(check_source(job->source));
    HAL_TRY(find_program(job));
    HAL_TRY(make_key(job));
    struct msl_text answer = {0};
    enum hal_status status = msl_cache_read(job->entry, &job->key, &answer);
    if (status == HAL_OK)
        status = spirv_answer_read(answer.bytes, answer.length, entry_count, out);
    if (status != HAL_OK) {
        msl_text_finish(&answer);
        status = translate(job, &answer);
        if (status == HAL_OK)
            status = spirv_answer_read(answer.bytes, answer.length, entry_count, out);
        if (status == HAL_OK)
            status = msl_cache_store(job->entry, &job->key, answer.bytes);
        if (status != HAL_OK && *out) {
            spirv_translation_destroy(*out);
            *out = NULL;
        }
    }
    msl_text_finish(&answer);
    return status;
}

enum hal_status spirv_translate(const struct spirv_source *source,
                                struct spirv_translation **out_translation)
{
    const char *const name = source->name ? source->name : "module";
    struct job *const job = hal_alloc(1, sizeof *job);
    if (!job)
        return hal_fail(HAL_NO_MEMORY, "out of memory to translate '%s'", name);
    job->source = source;
    *out_translation = NULL;
    const enum hal_status status = load_or_translate(job, out_translation);
    free(job);
    return hal_add_context(status, "SPIR-V '%s'", name);
}

void spirv_translation_destroy(struct spirv_translation *translation)
{
    free(translation);
}
