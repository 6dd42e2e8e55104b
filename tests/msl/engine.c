/* SPDX-License-Identifier: Apache-2.0 */
/* test_msl_engine [--cache FOLDER] FAMILY: compiles what the family needs of tests/msl/engine with
 * everything that stands in front of it, as engines do, and runs its checks. */
#include "tests/msl/engine.h"

#include "hal/base/status.h"
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>

static const char *const files[] = {"formats", "matrices", "attention", "rows"};
static const struct engine_family *const families[] = {
    &engine_blocks_family,     &engine_vectors_family,   &engine_tiles_family,
    &engine_more_tiles_family, &engine_attention_family, &engine_rows_family,
    &engine_defaults_family};
static const struct engine_family *family;
static struct msl_library *library;
static struct msl_worker *worker;

enum { SOURCE_BYTES = 1 << 18, MOST_CHECKS = 64, GROUP_BYTES = 12288 };

static char *read_source(size_t *out_bytes)
{
    char *const text = malloc(SOURCE_BYTES);
    assert_non_null(text);
    *out_bytes = 0;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/tests/msl/engine/%s.metal", SOURCE_FOLDER, files[i]);
        FILE *const file = fopen(path, "rb");
        assert_non_null(file);
        *out_bytes += fread(text + *out_bytes, 1, SOURCE_BYTES - *out_bytes, file);
        assert_true(*out_bytes < SOURCE_BYTES);
        fclose(file);
    }
    return text;
}

static int compile(void **state)
{
    (void)state;
    struct msl_group_size sizes[MOST_CHECKS];
    struct msl_constant constants[4];
    size_t bytes, constant_count = 0;
    char *const text = read_source(&bytes);
    assert_true(family->count <= MOST_CHECKS);
    for (size_t i = 0; i < family->count; i++)
        sizes[i] =
            (struct msl_group_size){family->checks[i].kernel, {family->checks[i].threads, 1, 1}};
    for (; constant_count < 4 && family->constants[constant_count].type; constant_count++)
        constants[constant_count] =
            (struct msl_constant){family->constants[constant_count].index,
                                  (enum msl_constant_type)family->constants[constant_count].type,
                                  family->constants[constant_count].bits};
    const struct msl_source source = {.name = "engine.metal",
                                      .text = text,
                                      .bytes = bytes,
                                      .constants = constants,
                                      .constant_count = constant_count,
                                      .group_sizes = sizes,
                                      .group_size_count = family->count,
                                      .only_listed = true};
    const enum hal_status status = msl_compile(&source, &library);
    free(text);
    if (status != HAL_OK)
        print_error("%s\n", hal_message());
    return status != HAL_OK || msl_worker_create(&worker) != HAL_OK;
}

static int release(void **state)
{
    (void)state;
    msl_worker_destroy(worker);
    msl_library_destroy(library);
    return 0;
}

void engine_run(const struct engine_check *check, const struct engine_launch *launch)
{
    const struct msl_function *function = NULL;
    if (msl_library_find(library, check->kernel, &function) != HAL_OK)
        fail_msg("%s", hal_message());
    void *buffers[MSL_MAX_BUFFERS] = {0};
    uint32_t group_bytes[MSL_MAX_THREADGROUP_ARGUMENTS];
    memcpy(buffers, launch->buffers, sizeof launch->buffers);
    for (size_t i = 0; i < MSL_MAX_THREADGROUP_ARGUMENTS; i++)
        group_bytes[i] = i < 2 ? GROUP_BYTES : 0;
    struct msl_launch run = {.buffers = buffers,
                             .workgroup_argument_bytes = group_bytes,
                             .workgroup_size = {check->threads, 1, 1}};
    memcpy(run.workgroup_count, launch->groups, sizeof run.workgroup_count);
    const uint64_t count = (uint64_t)launch->groups[0] * launch->groups[1] * launch->groups[2];
    if (msl_function_run(function, worker, &run, 0, count) != HAL_OK)
        fail_msg("%s: %s", check->kernel, hal_message());
}

float *engine_random(size_t count)
{
    float *const numbers = malloc(count * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = fixture_random_float();
    return numbers;
}

void engine_expect(const struct engine_check *check, size_t i, double got, double wanted,
                   double tolerance)
{
    if (!(fabs(got - wanted) <= tolerance))
        fail_msg("%s: number %zu is %.9g, not %.9g (+- %g)", check->kernel, i, got, wanted,
                 tolerance);
}

/* Threads that wait for each other run as loops wherever hal-msl-cc was built. */
static void check_lowering(const struct engine_check *check)
{
    const struct msl_function *function = NULL;
    assert_int_equal(msl_library_find(library, check->kernel, &function), HAL_OK);
    const struct msl_function_info *const info = msl_function_get_info(function);
    if (HAS_FISSION && info->has_barriers)
        assert_string_equal(info->lowering, "loops");
}

static void run(void **state)
{
    const struct engine_check *const check = *state;
    check_lowering(check);
    check->run(check);
}

static int run_family(void)
{
    struct CMUnitTest tests[MOST_CHECKS] = {0};
    for (size_t i = 0; i < family->count; i++)
        tests[i] = (struct CMUnitTest){family->checks[i].kernel, run, NULL, NULL,
                                       (void *)(uintptr_t)&family->checks[i]};
    return _cmocka_run_group_tests(family->name, tests, family->count, compile, release);
}

int main(int argc, char **argv)
{
    const char *cache = NULL, *wanted = "";
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc)
            cache = argv[++i];
        else
            wanted = argv[i];
    }
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (strcmp(wanted, families[i]->name) == 0)
            family = families[i];
    if (!family) {
        fprintf(stderr, "no family '%s'\n", wanted);
        return 2;
    }
    setenv("HAL_CACHE_DIR", cache ? cache : fixture_directory(), 1);
    const int failed = run_family();
    fixture_remove_directory();
    return failed;
}
