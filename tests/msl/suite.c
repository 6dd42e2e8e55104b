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
 * A source that does not compile is compiled again case by case, to say which one it is.
 *
 *   test_msl_suite [--cache FOLDER] [--sample] [AREA]
 *   test_msl_suite --cache FOLDER --prepare
 * Areas that are given a folder share the precompiled headers that --prepare puts there; otherwise
 * each run makes its own. --sample leaves variants out, for sanitizers, which watch what runs
 * kernels and not the kernels: areas of kernels that wait run plain and on fibers, others plain. */
#include "tests/msl/suite.h"

#include "tests/unit/msl_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

struct variant {
    const char *name, *prelude, *road, *optimise;
    bool sized, checked, only_waiting;
};
static const struct variant variants[] = {
    {"plain", "", "auto", "3", false, false, false},
    {"split", "simdgroup_barrier(mem_flags::mem_none);", "auto", "3", true, false, false},
    {"fibers", "simdgroup_barrier(mem_flags::mem_none);", "fibers", "3", false, false, true},
    {"checked", "", "auto", "0", false, true, false},
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

/* ---- What C needs ------------------------------------------------------------------------- */

uint16_t suite_half_bits(float value)
{
    return fixture_to_half(value);
}

float suite_half(float value)
{
    return fixture_from_half(fixture_to_half(value));
}

uint32_t suite_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float suite_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* By the two neighbours: which is nearer, else which is even. */
float suite_bfloat(float value)
{
    const uint32_t down = suite_bits(value) & 0xffff0000u;
    if (isnan(value) || isinf(value))
        return isnan(value) ? NAN : value;
    const double below = (double)suite_float(down);
    const double above = (down & 0x7f800000u) == 0x7f000000u && (down & 0x7f0000u) == 0x7f0000u
                             ? copysign(0x1p128, (double)value)
                             : (double)suite_float(down + 0x10000u);
    const double to_below = fabs((double)value - below), to_above = fabs(above - (double)value);
    const bool up = to_above < to_below || (to_above == to_below && (down >> 16 & 1));
    return up ? suite_float(down + 0x10000u) : suite_float(down);
}

/* The nearest of a number and its two neighbours in steps of 1 << `shift` of its bits, else the
 * even one. */
static float nearest(double value, float guess, unsigned shift)
{
    const uint32_t bits = suite_bits(guess), step = UINT32_C(1) << shift;
    const float others[] = {suite_float(bits - step), suite_float(bits + step)};
    float best = guess;
    for (size_t i = 0; i < 2; i++) {
        const double distance = fabs((double)others[i] - value), least = fabs((double)best - value);
        if (distance < least || (distance == least && (suite_bits(best) >> shift & 1)))
            best = others[i];
    }
    return best;
}

/* Of normal numbers. */
float suite_half_of_double(double value)
{
    const float guess = suite_half((float)value);
    if (fabs(value) < 0x1p-14)
        return suite_half((float)value); /* its bits do not step by that much */
    return isfinite(guess) ? nearest(value, guess, 13) : guess;
}

float suite_bfloat_of_double(double value)
{
    const float guess = suite_bfloat((float)value);
    return isfinite(guess) && guess != 0 ? nearest(value, guess, 16) : guess;
}

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

static bool same(const struct suite_case *it, size_t i)
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
        if (same(it, i))
            continue;
        describe(it, memory.got + i * it->element_bytes, got, sizeof got);
        describe(it, memory.wanted + i * it->element_bytes, wanted, sizeof wanted);
        print_error("%s, %s, %u groups of %u: o[%zu] is %s, not %s\n", it->name, variant->name,
                    product(shape->groups), product(shape->threads), i, got, wanted);
        return false;
    }
    return true;
}

static bool run_at(const struct suite_case *it, const struct variant *variant,
                   const struct fixture_kernel *kernel, const struct suite_shape *shape)
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
        .buffers = buffers, .buffer_bytes = bytes, .group_argument_bytes = group_bytes};
    memcpy(run.group_size, shape->threads, sizeof run.group_size);
    memcpy(run.group_count, shape->groups, sizeof run.group_count);
    if (msl_function_run(kernel->function, kernel->worker, &run, 0, product(shape->groups)) !=
        HAL_OK) {
        print_error("%s, %s: %s\n", it->name, variant->name, hal_message());
        return false;
    }
    return compare(it, variant, shape);
}

static bool run_case(const struct suite_case *it, const struct variant *variant,
                     struct fixture_kernel *kernel)
{
    if (msl_library_find(kernel->library, it->name, &kernel->function) != HAL_OK) {
        print_error("%s, %s: %s\n", it->name, variant->name, hal_message());
        return false;
    }
    for (const struct suite_shape *shape = it->shapes; shape->groups[0]; shape++)
        if (!run_at(it, variant, kernel, shape))
            return false;
    return true;
}

/* ---- One area in one variant --------------------------------------------------------------- */

static const char parameters[] =
    "[[buffer(0)]], device const float *a [[buffer(1)]], device const float *b [[buffer(2)]],\n"
    " device const uint *u [[buffer(3)]], device const int *s [[buffer(4)]],\n"
    " device const float *x [[buffer(5)]], device const uint *w [[buffer(6)]],\n"
    " device uint *m [[buffer(7)]], uint i [[thread_position_in_grid]],\n"
    " uint t [[thread_index_in_threadgroup]], uint g [[threadgroup_position_in_grid]],\n"
    " uint lane [[thread_index_in_simdgroup]], uint sg [[simdgroup_index_in_threadgroup]],\n"
    " uint n [[threads_per_grid]], uint tn [[threads_per_threadgroup]])\n";

/* Without the parentheses around it. */
static void append_inner(char **at, const char *text)
{
    const size_t length = strlen(text);
    memcpy(*at, text + 1, length - 2);
    *at += length - 2;
}

static void append_case(char **at, const struct suite_case *it, const struct variant *variant)
{
    static const struct {
        const char *c, *msl;
    } names[] = {{"i64", "long"}, {"u64", "ulong"}, {"uint32_t", "uint"}};
    const char *type = it->type;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(type, names[i].c) == 0)
            type = names[i].msl;
    *at += sprintf(*at, "\n#line 1 \"%s\"\n", it->name);
    append_inner(at, it->declarations);
    if (!it->body)
        return;
    *at += sprintf(*at, "\nkernel void %s(device %s *o %s{ %s\n", it->name, type, parameters,
                   variant->prelude);
    append_inner(at, it->body);
    *at += sprintf(*at, "\n}\n");
}

static enum hal_status compile(const struct suite_case *cases, size_t count,
                               const struct variant *variant, struct msl_library **out_library)
{
    static const struct msl_constant constants[] = {{1, MSL_BOOL, 1},
                                                    {2, MSL_INT32, (uint32_t)-7},
                                                    {3, MSL_FLOAT32, 0x40200000u},
                                                    {4, MSL_UINT32, 4000000000u}};
    char *const text = malloc(4 << 20);
    struct msl_group_size *const sizes = calloc(count, sizeof *sizes);
    assert_non_null(text);
    assert_non_null(sizes);
    char *at = text;
    at += sprintf(at, "#include <metal_stdlib>\nusing namespace metal;\n");
    for (size_t i = 0; i < count; i++) {
        append_case(&at, &cases[i], variant);
        sizes[i].kernel = cases[i].name;
        memcpy(sizes[i].size, cases[i].shapes[0].threads, sizeof sizes[i].size);
    }
    setenv("HAL_MSL_ROAD", variant->road, 1);
    setenv("HAL_MSL_OPTIMISE", variant->optimise, 1);
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
    struct fixture_kernel kernel = {.library = library};
    assert_int_equal(msl_worker_create(&kernel.worker), HAL_OK);
    for (size_t i = 0; i < count; i++) {
        kernel.function = NULL;
        tally->failed += !run_case(&cases[i], variant, &kernel);
        if (!kernel.function)
            continue;
        const char *const road = msl_function_get_info(kernel.function)->road;
        tally->loops += strcmp(road, "loops") == 0;
        tally->fibers += strncmp(road, "fibers", 6) == 0;
        if (getenv("SUITE_VERBOSE"))
            print_message("  %s: %s\n", cases[i].name, road);
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

static bool only_sample;

static bool is_wanted(const struct suite_area *area, const struct variant *variant)
{
    static const char *const waiting[] = {"spaces",   "attributes", "atomics",
                                          "together", "tiles",      "engines"};
    bool waits = false;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        waits |= strcmp(area->name, waiting[i]) == 0;
    if (variant->only_waiting)
        return waits;
    return !only_sample || variant == variants;
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
        setenv("HAL_MSL_ROAD", "fibers", 1);
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
        else
            area = argv[i];
    }
    setenv("HAL_CACHE_DIR", cache ? cache : fixture_directory(), 1);
    const int failed = only_prepare ? prepare() : run_areas(area);
    fixture_remove_directory();
    return failed;
}
