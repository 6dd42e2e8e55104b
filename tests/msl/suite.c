/* SPDX-License-Identifier: Apache-2.0 */
/* Runs one area of the language suite, or all: each case in each variant at each shape.
 *
 * Variants of an area's source:
 *   plain     as written: threads that wait for nobody run as plain loops, others split, any size
 *   split     every kernel waits at its start, split for the size of the first shape
 *   fibers    every kernel waits at its start, all threads on fibers; only areas of kernels that
 *             wait or share memory, which is where it could matter
 *   checked   without optimisation, on fibers, every access checked against buffers of exactly the
 *             lengths that there are
 *   unoptimised  as plain, without optimisation
 *   fast      as plain, in the fast math mode: a float may be off as fast_enough() says
 * What a kernel writes without optimisation must be the same bits as in the first variant, also
 * where C allows several. A source that does not compile is compiled again case by case, to say
 * which one it is.
 *
 *   test_msl_suite [--cache FOLDER] [--sample | --soak] [AREA]
 *   test_msl_suite --cache FOLDER --prepare
 * Areas that are given a folder share the precompiled headers that --prepare puts there; otherwise
 * each run makes its own. --sample leaves variants out, for sanitizers, which watch what runs
 * kernels and not the kernels: areas of kernels that wait run plain and on fibers, others plain.
 * --soak leaves none out; without it the last two run in some areas, and `missing` runs plain and
 * checked. */
#include "tests/msl/suite.h"

#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <sys/resource.h>

struct variant {
    const char *name, *prelude, *lowering, *optimise;
    bool sized, checked, only_waiting, fast;
    const char *areas; /* where it runs without --soak; NULL: everywhere */
};
#define WAIT "simdgroup_barrier(mem_flags::mem_none);"
static const struct variant variants[] = {
    {"plain", "", "auto", "3", false, false, false, false, NULL},
    {"split", WAIT, "auto", "3", true, false, false, false, NULL},
    {"fibers", WAIT, "fibers", "3", false, false, true, false, NULL},
    {"checked", "", "auto", "0", false, true, false, false, NULL},
    {"unoptimised", "", "auto", "0", false, false, false, false, "scalars"},
    {"fast", "", "auto", "3", false, false, false, true, "math"},
};

const struct suite_shape suite_one[] = {{{1, 1, 1}, {1, 1, 1}}, {{0}, {0}}};
const struct suite_shape suite_grid[] = {
    {{3, 1, 1}, {64, 1, 1}}, {{2, 1, 1}, {37, 1, 1}}, {{0}, {0}}};
const struct suite_shape suite_lanes[] = {{{1, 1, 1}, {32, 1, 1}},
                                          {{1, 1, 1}, {20, 1, 1}},
                                          {{1, 1, 1}, {1, 1, 1}},
                                          {{2, 1, 1}, {75, 1, 1}},
                                          {{0}, {0}}};
const struct suite_shape suite_groups[] = {{{3, 1, 1}, {128, 1, 1}},
                                           {{2, 1, 1}, {37, 1, 1}},
                                           {{1, 1, 1}, {1024, 1, 1}},
                                           {{2, 1, 1}, {1, 1, 1}},
                                           {{0}, {0}}};
const struct suite_shape suite_simds[] = {
    {{2, 1, 1}, {64, 1, 1}}, {{1, 1, 1}, {32, 1, 1}}, {{0}, {0}}};
const struct suite_shape suite_cubes[] = {
    {{2, 3, 2}, {8, 4, 2}}, {{3, 1, 2}, {5, 3, 1}}, {{1, 1, 1}, {1, 1, 1}}, {{0}, {0}}};
const struct suite_shape suite_odd[] = {{{2, 1, 1}, {75, 1, 1}}, {{1, 1, 1}, {20, 1, 1}},
                                        {{3, 1, 1}, {33, 1, 1}}, {{1, 1, 1}, {64, 1, 1}},
                                        {{2, 1, 1}, {1, 1, 1}},  {{0}, {0}}};

/* ---- Memory of a launch ------------------------------------------------------------------- */

static struct {
    float a[SUITE_ELEMENTS], b[SUITE_ELEMENTS], x[SUITE_ELEMENTS];
    uint32_t u[SUITE_ELEMENTS], w[SUITE_ELEMENTS], m[SUITE_ELEMENTS];
    int32_t s[SUITE_ELEMENTS];
    int32_t ulps[SUITE_ELEMENTS];
    _Alignas(64) unsigned char got[SUITE_ELEMENTS * 16];
    _Alignas(64) unsigned char wanted[SUITE_ELEMENTS * 16];
} memory;

static void fill_inputs(void)
{
    static const float special[] = {
        0.0f,     -0.0f,     0x1p-149f, -0x1p-149f, 0x1p-127f, 0x1p-126f, 1.0f,
        -1.0f,    0.5f,      -2.5f,     0x1p24f,    -0x1.8p5f, 65504.0f,  0x1.fffffep127f,
        INFINITY, -INFINITY, NAN,       0x1.8p-30f, 1e-20f,    -3.75f};
    for (size_t i = 0; i < SUITE_ELEMENTS; i++) {
        memory.a[i] = 8.0f * fixture_random_float();
        memory.b[i] = 8.0f * fixture_random_float();
        if (memory.b[i] == 0.0f)
            memory.b[i] = 0.75f;
        memory.x[i] = special[i % (sizeof special / sizeof *special)];
        memory.u[i] = fixture_random() << 1 ^ fixture_random();
        memory.s[i] = (int32_t)(fixture_random() << 1 ^ fixture_random());
        memory.w[i] = fixture_random() % 32;
    }
}

static bool is_floating(const char *type)
{
    return strcmp(type, "float") == 0;
}

/* Distance in representable values. */
static int64_t distance(float a, float b)
{
    const uint32_t x = suite_bits(a), y = suite_bits(b);
    const int64_t p = x >> 31 ? -(int64_t)(x & 0x7fffffffu) : (int64_t)x;
    const int64_t q = y >> 31 ? -(int64_t)(y & 0x7fffffffu) : (int64_t)y;
    return p > q ? p - q : q - p;
}

/* Products and sums may be contracted, reordered, and be of reciprocals: of what is summed, each
 * may bring its own rounding, and the terms may be larger than the sum, 64 at most in these cases.
 */
static bool fast_enough(float got, float wanted)
{
    const double error = fabs((double)got - (double)wanted);
    return error <= 0x1p-18 * fmax(64.0, fabs((double)wanted));
}

/* The operation whose rounding a case shows is one that the fast mode may leave out. */
static bool is_about_precision(const struct suite_case *it)
{
    static const char *const names[] = {"scalar_no_reassociation"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(it->name, names[i]) == 0)
            return true;
    return false;
}

static bool same(const struct suite_case *it, const struct variant *variant, size_t i)
{
    const size_t bytes = it->element_bytes;
    if (memcmp(memory.got + i * bytes, memory.wanted + i * bytes, bytes) == 0 || memory.ulps[i] < 0)
        return true;
    if (!is_floating(it->type))
        return false;
    float got, wanted;
    memcpy(&got, memory.got + i * bytes, sizeof got);
    memcpy(&wanted, memory.wanted + i * bytes, sizeof wanted);
    if (isnan(got) || isnan(wanted))
        return isnan(got) && isnan(wanted);
    if (variant->fast && (fast_enough(got, wanted) || is_about_precision(it)))
        return true;
    return memory.ulps[i] > 0 && distance(got, wanted) <= memory.ulps[i];
}

static void describe(const struct suite_case *it, const unsigned char *at, char *out, size_t room)
{
    float value = 0;
    uint64_t bits = 0;
    memcpy(&bits, at, it->element_bytes < sizeof bits ? it->element_bytes : sizeof bits);
    memcpy(&value, at, it->element_bytes < sizeof value ? it->element_bytes : sizeof value);
    if (is_floating(it->type))
        snprintf(out, room, "%.9g (%a)", (double)value, (double)value);
    else
        snprintf(out, room, "%lld (%#llx)", (long long)bits, (unsigned long long)bits);
}

/* ---- One case ----------------------------------------------------------------------------- */

static uint32_t product(const uint32_t v[3])
{
    return v[0] * v[1] * v[2];
}

/* Returns whether all is as expected; says what is not. */
static bool compare(const struct suite_case *it, const struct variant *variant,
                    const struct suite_shape *shape)
{
    for (size_t i = 0; i < SUITE_ELEMENTS; i++) {
        char got[64], wanted[64];
        if (same(it, variant, i))
            continue;
        describe(it, memory.got + i * it->element_bytes, got, sizeof got);
        describe(it, memory.wanted + i * it->element_bytes, wanted, sizeof wanted);
        print_error("%s, %s, %u groups of %u: o[%zu] is %s, not %s\n", it->name, variant->name,
                    product(shape->groups), product(shape->threads), i, got, wanted);
        return false;
    }
    return true;
}

/* What each case wrote in the first variant, by its shape. */
static struct {
    uint64_t digests[256][SUITE_SHAPES];
} first_variant;

/* FNV-1a of what is defined. */
static uint64_t digest_of(const struct suite_case *it)
{
    uint64_t digest = 0xcbf29ce484222325u;
    for (size_t i = 0; i < SUITE_ELEMENTS * it->element_bytes; i++)
        if (memory.ulps[i / it->element_bytes] >= 0)
            digest = (digest ^ memory.got[i]) * 0x100000001b3u;
    return digest;
}

static bool is_same_as_first(const struct suite_case *it, const struct variant *variant,
                             uint64_t *first)
{
    const uint64_t digest = digest_of(it);
    if (variant == variants)
        *first = digest;
    if (variant->optimise[0] != '0' || !*first || digest == *first)
        return true;
    print_error("%s, %s: other bits than %s, which C allows\n", it->name, variant->name,
                variants[0].name);
    return false;
}

static bool run_at(const struct suite_case *it, const struct variant *variant,
                   const struct fixture_kernel *kernel, const struct suite_shape *shape,
                   uint64_t *first)
{
    memset(memory.got, 0xa5, sizeof memory.got);
    memset(memory.wanted, 0xa5, sizeof memory.wanted);
    memset(memory.ulps, 0, sizeof memory.ulps);
    memset(memory.m, 0, sizeof memory.m);
    const struct suite_launch launch = {.o = memory.wanted,
                                        .a = memory.a,
                                        .b = memory.b,
                                        .x = memory.x,
                                        .u = memory.u,
                                        .w = memory.w,
                                        .s = memory.s,
                                        .n = product(shape->groups) * product(shape->threads),
                                        .tn = product(shape->threads),
                                        .shape = *shape,
                                        .ulps = memory.ulps};
    it->expect(&launch);
    void *buffers[MSL_MAX_BUFFERS] = {memory.got, memory.a, memory.b, memory.u,
                                      memory.s,   memory.x, memory.w, memory.m};
    const uint32_t group_bytes[MSL_MAX_THREADGROUP_ARGUMENTS] = {SUITE_GROUP_BYTES,
                                                                 SUITE_GROUP_BYTES};
    const uint64_t bytes[MSL_MAX_BUFFERS] = {SUITE_ELEMENTS * it->element_bytes,
                                             sizeof memory.a,
                                             sizeof memory.b,
                                             sizeof memory.u,
                                             sizeof memory.s,
                                             sizeof memory.x,
                                             sizeof memory.w,
                                             sizeof memory.m};
    struct msl_launch run = {
        .buffers = buffers, .buffer_bytes = bytes, .workgroup_argument_bytes = group_bytes};
    memcpy(run.workgroup_size, shape->threads, sizeof run.workgroup_size);
    memcpy(run.workgroup_count, shape->groups, sizeof run.workgroup_count);
    if (msl_function_run(kernel->function, kernel->worker, &run, 0, product(shape->groups)) !=
        HAL_OK) {
        print_error("%s, %s: %s\n", it->name, variant->name, hal_message());
        return false;
    }
    return compare(it, variant, shape) && is_same_as_first(it, variant, first);
}

static bool run_case(const struct suite_case *it, const struct variant *variant,
                     struct fixture_kernel *kernel, uint64_t first[SUITE_SHAPES])
{
    if (msl_library_find(kernel->library, it->name, &kernel->function) != HAL_OK) {
        print_error("%s, %s: %s\n", it->name, variant->name, hal_message());
        return false;
    }
    for (size_t i = 0; it->shapes[i].groups[0]; i++)
        if (!run_at(it, variant, kernel, &it->shapes[i], &first[i]))
            return false;
    return true;
}

/* ---- One area in one variant --------------------------------------------------------------- */

static enum hal_status compile(const struct suite_case *cases, size_t count,
                               const struct variant *variant, struct msl_library **out_library)
{
    static const struct msl_constant constants[] = {{1, MSL_BOOL, 1},
                                                    {2, MSL_INT32, (uint32_t)-7},
                                                    {3, MSL_FLOAT32, 0x40200000u},
                                                    {4, MSL_UINT32, 4000000000u},
                                                    {5, MSL_INT8, 0x9c},
                                                    {6, MSL_UINT8, 0xc8},
                                                    {7, MSL_INT16, 0x8000},
                                                    {8, MSL_UINT16, 0xffff},
                                                    {9, MSL_FLOAT16, 0x3e00},
                                                    {10, MSL_BFLOAT16, 0x4049},
                                                    {11, MSL_INT64, UINT64_C(0xffffff0000000000)},
                                                    {12, MSL_UINT64, UINT64_C(0x8000000000000001)},
                                                    {13, MSL_FLOAT32, 0x3fc00000},
                                                    {13, MSL_FLOAT32, 0xc0000000},
                                                    {14, MSL_UINT16, 3},
                                                    {14, MSL_UINT16, 65535},
                                                    {14, MSL_UINT16, 1},
                                                    {15, MSL_INT32, 0x80000000},
                                                    {15, MSL_INT32, 1},
                                                    {15, MSL_INT32, 2},
                                                    {15, MSL_INT32, 3}};
    char *const text = malloc(4 << 20);
    struct msl_group_size *const sizes = calloc(count, sizeof *sizes);
    assert_non_null(text);
    assert_non_null(sizes);
    char *at = text;
    at += sprintf(at, "#include <metal_stdlib>\nusing namespace metal;\n");
    for (size_t i = 0; i < count; i++) {
        suite_append_case(&at, &cases[i], variant->prelude);
        sizes[i].kernel = cases[i].name;
        memcpy(sizes[i].size, cases[i].shapes[0].threads, sizeof sizes[i].size);
    }
    setenv("HAL_MSL_LOWERING", variant->lowering, 1);
    setenv("HAL_MSL_OPTIMISE", variant->optimise, 1);
    setenv("HAL_MSL_MATH", variant->fast ? "fast" : "precise", 1);
    const struct msl_source source = {.name = "suite",
                                      .text = text,
                                      .bytes = (size_t)(at - text),
                                      .constants = constants,
                                      .constant_count = sizeof constants / sizeof *constants,
                                      .group_sizes = sizes,
                                      .group_size_count = variant->sized ? count : 0,
                                      .check_bounds = variant->checked};
    const enum hal_status status = msl_compile(&source, out_library);
    free(sizes);
    free(text);
    return status;
}

struct tally {
    size_t loops, fibers, failed;
};

static void run_cases(const struct suite_case *cases, size_t count, const struct variant *variant,
                      struct msl_library *library, struct tally *tally)
{
    assert_true(count <= sizeof first_variant.digests / sizeof *first_variant.digests);
    struct fixture_kernel kernel = {.library = library};
    assert_int_equal(msl_worker_create(&kernel.worker), HAL_OK);
    for (size_t i = 0; i < count; i++) {
        kernel.function = NULL;
        tally->failed += !run_case(&cases[i], variant, &kernel, first_variant.digests[i]);
        if (!kernel.function)
            continue;
        const char *const lowering = msl_function_get_info(kernel.function)->lowering;
        tally->loops += strcmp(lowering, "loops") == 0;
        tally->fibers += strncmp(lowering, "fibers", 6) == 0;
        if (getenv("SUITE_VERBOSE"))
            print_message("  %s: %s\n", cases[i].name, lowering);
    }
    fixture_release(&kernel);
}

/* What the area is together when it does not compile. */
static void run_alone(const struct suite_area *area, const struct variant *variant,
                      struct tally *tally)
{
    tally->failed++;
    for (size_t i = 0; i < area->count; i++) {
        struct msl_library *library = NULL;
        if (compile(&area->cases[i], 1, variant, &library) == HAL_OK) {
            run_cases(&area->cases[i], 1, variant, library, tally);
        } else {
            print_error("%s, %s: %.800s\n", area->cases[i].name, variant->name, hal_message());
            tally->failed++;
        }
    }
}

static bool only_sample, everything;

static bool is_wanted(const struct suite_area *area, const struct variant *variant)
{
    static const char *const waiting[] = {"spaces",  "attributes", "atomics", "together",
                                          "missing", "ways",       "tiles",   "engines"};
    bool waits = false;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        waits |= strcmp(area->name, waiting[i]) == 0;
    if (everything || (variant->areas && !only_sample))
        return everything ? !variant->only_waiting || waits
                          : strcmp(variant->areas, area->name) == 0;
    /* Seconds of compiling; the lowerings that are left out are those of `ways`. */
    if (strcmp(area->name, "missing") == 0 && !only_sample)
        return variant == variants || variant->checked;
    if (variant->only_waiting)
        return waits;
    return !variant->areas && (!only_sample || variant == variants);
}

/* Of this process and the compilers that it waited for. */
static double cpu_seconds(void)
{
    double seconds = 0;
    static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
    for (size_t i = 0; i < 2; i++) {
        struct rusage use;
        assert_int_equal(getrusage(whose[i], &use), 0);
        seconds += (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                   (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
    }
    return seconds;
}

static size_t run_area(const struct suite_area *area, const struct variant *variant)
{
    const double begin = cpu_seconds();
    struct tally tally = {0};
    struct msl_library *library = NULL;
    if (compile(area->cases, area->count, variant, &library) == HAL_OK) {
        run_cases(area->cases, area->count, variant, library, &tally);
    } else {
        print_error("%s, %s: %.300s\n", area->name, variant->name, hal_message());
        run_alone(area, variant, &tally);
    }
    print_message("%s, %s: %zu cases, %zu split into loops, %zu on fibers, %zu failed, %.1f s\n",
                  area->name, variant->name, area->count, tally.loops, tally.fibers, tally.failed,
                  cpu_seconds() - begin);
    return tally.failed;
}

static void run(void **state)
{
    const struct suite_area *const area = *state;
    size_t failures = 0;
    memset(&first_variant, 0, sizeof first_variant);
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
        if (is_wanted(area, &variants[i]))
            failures += run_area(area, &variants[i]);
    if (failures)
        fail_msg("%zu failures in area %s", failures, area->name);
}

/* Every set of flags, once for all areas. */
static int prepare(void)
{
    static const char empty[] = "kernel void k(device int *o) { o[0] = 1; }";
    int failed = 0;
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        setenv("HAL_MSL_OPTIMISE", variants[i].optimise, 1);
        setenv("HAL_MSL_MATH", variants[i].fast ? "fast" : "precise", 1);
        setenv("HAL_MSL_LOWERING", "fibers", 1);
        const struct msl_source source = {
            .text = empty, .bytes = sizeof empty - 1, .check_bounds = variants[i].checked};
        struct msl_library *library = NULL;
        failed |= msl_compile(&source, &library) != HAL_OK;
        msl_library_destroy(library);
    }
    if (failed)
        fprintf(stderr, "%s\n", hal_message());
    return failed;
}

static int run_areas(const char *wanted)
{
    int failed = 0;
    bool known = false;
    fill_inputs();
    for (size_t i = 0; i < suite_area_count; i++) {
        if (wanted && strcmp(wanted, suite_areas[i].name) != 0)
            continue;
        const struct CMUnitTest tests[] = {
            {suite_areas[i].name, run, NULL, NULL, (void *)(uintptr_t)&suite_areas[i]}};
        failed += cmocka_run_group_tests_name(suite_areas[i].name, tests, NULL, NULL);
        known = true;
    }
    if (!known)
        fprintf(stderr, "no area '%s'\n", wanted);
    return failed || !known;
}

int main(int argc, char **argv)
{
    const char *cache = NULL, *area = NULL;
    bool only_prepare = false;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--cache") == 0 && i + 1 < argc)
            cache = argv[++i];
        else if (strcmp(argv[i], "--prepare") == 0)
            only_prepare = true;
        else if (strcmp(argv[i], "--sample") == 0)
            only_sample = true;
        else if (strcmp(argv[i], "--soak") == 0)
            everything = true;
        else
            area = argv[i];
    }
    setenv("HAL_CACHE_DIR", cache ? cache : fixture_directory(), 1);
    const int failed = only_prepare ? prepare() : run_areas(area);
    fixture_remove_directory();
    return failed;
}
