/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of hal/compiler/msl. */
#include "tests/unit/msl/msl_fixture.h"
#include "tests/support/test.h"

#include <ftw.h>
#include <math.h>
#include <unistd.h>

struct fixture_kernel fixture_compile_with(const struct msl_source *source, const char *name)
{
    struct fixture_kernel kernel = {0};
    if (msl_compile(source, &kernel.library) != HAL_OK)
        fail_msg("%s", hal_message());
    if (msl_library_find(kernel.library, name, &kernel.function) != HAL_OK)
        fail_msg("%s", hal_message());
    assert_int_equal(msl_worker_create(&kernel.worker), HAL_OK);
    return kernel;
}

struct fixture_kernel fixture_compile(const char *source, const char *name)
{
    const struct msl_source desc = {.text = source, .bytes = strlen(source)};
    return fixture_compile_with(&desc, name);
}

void fixture_release(struct fixture_kernel *kernel)
{
    msl_worker_destroy(kernel->worker);
    msl_library_destroy(kernel->library);
    *kernel = (struct fixture_kernel){0};
}

void fixture_run(const struct fixture_kernel *kernel, void *const *buffers, size_t buffer_count,
                 const uint32_t *group_bytes, const uint32_t workgroup_count[3],
                 const uint32_t workgroup_size[3])
{
    void *all[MSL_MAX_BUFFERS] = {0};
    uint32_t all_bytes[MSL_MAX_THREADGROUP_ARGUMENTS] = {0};
    for (size_t i = 0; i < buffer_count; i++)
        all[i] = buffers[i];
    if (group_bytes)
        all_bytes[0] = group_bytes[0];
    struct msl_launch launch = {.buffers = all, .workgroup_argument_bytes = all_bytes};
    memcpy(launch.workgroup_count, workgroup_count, sizeof launch.workgroup_count);
    memcpy(launch.workgroup_size, workgroup_size, sizeof launch.workgroup_size);
    const uint64_t groups = (uint64_t)workgroup_count[0] * workgroup_count[1] * workgroup_count[2];
    assert_int_equal(msl_function_run(kernel->function, kernel->worker, &launch, 0, groups),
                     HAL_OK);
}

void fixture_run_source(const char *source, const char *name, void *const *buffers,
                        size_t buffer_count, uint32_t groups, uint32_t threads)
{
    struct fixture_kernel kernel = fixture_compile(source, name);
    fixture_run(&kernel, buffers, buffer_count, NULL, (const uint32_t[]){groups, 1, 1},
                (const uint32_t[]){threads, 1, 1});
    fixture_release(&kernel);
}

enum hal_status fixture_status(const char *source)
{
    const struct msl_source desc = {.text = source, .bytes = strlen(source)};
    struct msl_library *library = NULL;
    const enum hal_status status = msl_compile(&desc, &library);
    if (status == HAL_OK)
        msl_library_destroy(library);
    return status;
}

uint32_t fixture_random(void)
{
    static uint64_t state;
    if (!state) {
        const char *const seed = getenv("HALTRACE_SEED");
        state = seed ? strtoull(seed, NULL, 0) : 0x9e3779b97f4a7c15u;
        printf("HALTRACE_SEED=%llu\n", (unsigned long long)state);
        state |= 1;
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33);
}

float fixture_random_float(void)
{
    return (float)(fixture_random() % 2048) / 1024.0f - 1.0f;
}

/* The step between neighbours at that magnitude decides; all in double, where it is exact. */
uint16_t fixture_to_half(float value)
{
    const double magnitude = fabs((double)value);
    const uint16_t sign = signbit(value) ? 0x8000 : 0;
    int exponent = -14;
    if (isnan(value))
        return 0x7e00;
    if (magnitude >= 65520.0)
        return sign | 0x7c00;
    while (exponent < 15 && magnitude >= ldexp(1.0, exponent + 1))
        exponent++;
    const long steps = lrint(ldexp(magnitude, 10 - exponent));
    return (uint16_t)(sign + ((exponent + 14) << 10) + steps);
}

float fixture_from_half(uint16_t bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    float magnitude =
        ldexpf((float)(fraction + (exponent ? 1024 : 0)), exponent ? exponent - 25 : -24);
    if (exponent == 31)
        magnitude = fraction ? NAN : INFINITY;
    return bits & 0x8000 ? -magnitude : magnitude;
}

static char directory[64];

const char *fixture_directory(void)
{
    if (!directory[0]) {
        snprintf(directory, sizeof directory, "/tmp/test-msl-XXXXXX");
        assert_non_null(mkdtemp(directory));
    }
    return directory;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *walk)
{
    (void)facts;
    (void)kind;
    (void)walk;
    return remove(path);
}

void fixture_remove_directory(void)
{
    if (directory[0])
        nftw(directory, remove_one, 8, FTW_DEPTH | FTW_PHYS);
    directory[0] = '\0';
}

int fixture_set_up(void **state)
{
    (void)state;
    return setenv("HAL_CACHE_DIR", fixture_directory(), 1);
}

int fixture_tear_down(void **state)
{
    (void)state;
    fixture_remove_directory();
    return 0;
}
