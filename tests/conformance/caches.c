/* SPDX-License-Identifier: Apache-2.0 */
/* Executable caches: what is kept and found again, what text looks like, and what a wrong use is
 * told. Directories are private to a case. */
#include "tests/conformance/cached.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 6 };

/* ---- Keeping -------------------------------------------------------------------------------- */

static const char *keep_and_find(struct cached *cached, char *room)
{
    bool kept = true;
    struct source source;
    struct hal_executable_cache_info info = {0};
    source_write(cached->suite, &source, 1);
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    WANT(room, info.entry_count == 0 && info.used_bytes == 0 && info.prepared_count == 0);
    WANT(room, strcmp(info.label, "kept") == 0 && strcmp(info.directory, cached->place.path) == 0);
    WANT(room, info.max_bytes > 0);
    WANT(room, cached_prepare_one(cached, &source.desc, &kept) && !kept);
    WANT(room, cached_prepare_one(cached, &source.desc, &kept) && kept);
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    WANT(room, info.entry_count == 1 && info.used_bytes > 0);
    WANT(room, info.prepared_count == 2 && info.cache_hits == 1);
    return NULL;
}

static void kept_and_found(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 0, keep_and_find);
}

/* Another cache over the same directory finds it, as another process would. */
static const char *find_through_another(struct cached *cached, char *room)
{
    bool kept = true;
    struct source source;
    source_write(cached->suite, &source, 2);
    WANT(room, cached_prepare_one(cached, &source.desc, &kept) && !kept);
    struct cached other = *cached;
    const struct hal_executable_cache_desc desc = {.directory = cached->place.path};
    WANT(room,
         hal_executable_cache_create(suite_device(cached->suite), &desc, &other.cache) == HAL_OK);
    const bool prepared = cached_prepare_one(&other, &source.desc, &kept);
    hal_executable_cache_release(other.cache);
    WANT(room, prepared && kept);
    return NULL;
}

static void shared_directory(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 0, find_through_another);
}

static const char *tell_apart(struct cached *cached, char *room)
{
    static const char text[] = "constant int c [[function_constant(0)]];\n"
                               "constant int d [[function_constant(1)]];\n"
                               "constant int f = is_function_constant_defined(c) ? c : 0;\n"
                               "constant int e = is_function_constant_defined(d) ? d : f;\n"
                               "kernel void k(device int *x [[buffer(0)]]) { x[0] = e; }\n";
    const struct hal_constant constants[3] = {
        {0, HAL_CONSTANT_INT32, 1}, {0, HAL_CONSTANT_INT32, 2}, {1, HAL_CONSTANT_INT32, 2}};
    const struct hal_executable_variant variant = suite_variant(cached->suite, text, MODULE_TELL);
    const struct hal_entry_point entry = {suite_entry(cached->suite, "k"), {1, 1, 1}, 0, 0};
    struct hal_executable_desc desc = {.label = "apart",
                                       .variants = &variant,
                                       .variant_count = 1,
                                       .entry_points = &entry,
                                       .entry_point_count = 1,
                                       .constant_count = 1};
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < 3; i++) {
            bool kept = round == 0;
            desc.constants = &constants[i];
            WANT(room, cached_prepare_one(cached, &desc, &kept) && kept == (round == 1));
        }
    }
    return NULL;
}

static void constants_are_told_apart(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 0, tell_apart);
}

/* A folder inside folders that do not exist. */
static const char *make_folders(struct cached *cached, char *room)
{
    bool kept = true;
    char inner[PATH_BYTES + 16], outer[PATH_BYTES + 16];
    struct source source;
    struct cached deep = *cached;
    snprintf(outer, sizeof outer, "%s/a", cached->place.path);
    snprintf(inner, sizeof inner, "%s/a/b", cached->place.path);
    const struct hal_executable_cache_desc desc = {.directory = inner};
    source_write(cached->suite, &source, 3);
    WANT(room,
         hal_executable_cache_create(suite_device(cached->suite), &desc, &deep.cache) == HAL_OK);
    const bool prepared = cached_prepare_one(&deep, &source.desc, &kept);
    hal_executable_cache_release(deep.cache);
    const size_t files = cached_clean(inner);
    rmdir(outer);
    WANT(room, prepared && !kept && files > 0);
    return NULL;
}

static void folders_are_made(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 0, make_folders);
}

/* ---- Bounds --------------------------------------------------------------------------------- */

/* With room for about three, the one that is used again and again stays. */
static const char *stay_small(struct cached *cached, char *room)
{
    bool kept;
    struct source first, source;
    struct hal_executable_cache_info info = {0};
    source_write(cached->suite, &first, 100);
    WANT(room, cached_prepare_one(cached, &first.desc, &kept));
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    const uint64_t limit = 3 * info.used_bytes + info.used_bytes / 2;
    const struct hal_executable_cache_desc desc = {.directory = cached->place.path,
                                                   .max_bytes = limit};
    struct cached bounded = *cached;
    WANT(room,
         hal_executable_cache_create(suite_device(cached->suite), &desc, &bounded.cache) == HAL_OK);
    const char *problem = NULL;
    for (uint32_t i = 0; i < MANY && !problem; i++) {
        source_write(cached->suite, &source, 200 + i);
        if (!cached_prepare_one(&bounded, &source.desc, &kept) || kept)
            problem = "a new one was not compiled";
        else if (!cached_prepare_one(&bounded, &first.desc, &kept) || !kept)
            problem = "the one that is in use was thrown out";
        else if (hal_executable_cache_get_info(bounded.cache, &info) != HAL_OK ||
                 info.max_bytes != limit || info.used_bytes > limit)
            problem = "the directory is over its limit";
    }
    source_write(cached->suite, &source, 200);
    if (!problem && (!cached_prepare_one(&bounded, &source.desc, &kept) || kept))
        problem = "the oldest is still there";
    hal_executable_cache_release(bounded.cache);
    return problem ? cached_failed(room, __LINE__, problem) : NULL;
}

static void the_oldest_go(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 0, stay_small);
}

/* Less than one executable takes: each works, and the last stays. */
static const char *stay_tiny(struct cached *cached, char *room)
{
    struct hal_executable_cache_info info = {0};
    for (uint32_t i = 0; i < 3; i++) {
        struct source source;
        struct hal_executable *executable;
        source_write(cached->suite, &source, 300 + i);
        WANT(room, hal_executable_cache_prepare(cached->cache, &source.desc, 1, NULL, &executable,
                                                NULL) == HAL_OK);
        const bool right = source_adds(cached->suite, executable, 300 + i);
        hal_executable_release(executable);
        WANT(room, right);
        WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
        WANT(room, info.entry_count == 1);
    }
    return NULL;
}

static void smaller_than_one(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 1, stay_tiny);
}

/* ---- Formats -------------------------------------------------------------------------------- */

static void infer(struct suite *suite, uint64_t which)
{
    static const struct {
        const char *data;
        size_t bytes;
        int wanted; /* 0: none */
    } known[] = {
        {"kernel void f() {}\n", 19, HAL_FORMAT_MSL},
        {"x", 1, HAL_FORMAT_MSL},
        {"// gr\303\274\303\237e \342\202\254 \360\237\230\200\r\n\t", 22, HAL_FORMAT_MSL},
        {"MTLB\1\0\2\0", 8, HAL_FORMAT_METALLIB},
        {"\3\2\43\7\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0", 20, HAL_FORMAT_SPIRV},
        {"\7\43\2\3\0\1\0\0\0\0\0\0\0\0\0\1\0\0\0\0", 20, HAL_FORMAT_SPIRV},
        {"\3\2\43\7\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0", 19, 0}, /* a piece of one */
        {"\3\2\43\7\0\0\1\0\0\0\0\0\1\0\0\0\0\0\0\0", 4, 0},
        {"text with a zero\0 byte", 22, 0},
        {"half a letter \303", 15, 0},
        {"\300\200", 2, 0}, /* a zero in two bytes is no UTF-8 */
        {"\365\200\200\200", 4, 0},
        {"\200", 1, 0},
        {"\177ELF", 4, 0},
    };
    enum hal_executable_format format = (enum hal_executable_format)77;
    const enum hal_status status =
        hal_executable_infer_format(known[which].data, known[which].bytes, &format);
    if (known[which].wanted) {
        check_ok(suite, status);
        check_u64(suite, format, known[which].wanted);
    } else {
        check_fails(suite, status, HAL_NOT_FOUND, "byte");
        check_u64(suite, format, 77);
    }
}

/* ---- Mistakes ------------------------------------------------------------------------------- */

static void refused(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct source source;
    struct hal_executable *executable;
    struct hal_executable_cache *other;
    struct hal_executable_cache_info info = {0};
    enum hal_executable_format format;
    const struct hal_executable_cache_desc empty = {.label = "CACHE", .directory = ""};
    const struct hal_executable_cache_desc file = {.label = "CACHE", .directory = "/dev/null/x"};
    source_write(suite, &source, 1);
    check_fails(suite, hal_executable_cache_create(NULL, NULL, &other), HAL_INVALID, "device");
    check_fails(suite, hal_executable_cache_create(suite_device(suite), NULL, NULL), HAL_INVALID,
                "executable cache", "NULL");
    check_fails(suite, hal_executable_cache_create(suite_device(suite), &empty, &other),
                HAL_INVALID, "CACHE", "empty");
    const enum hal_status status = hal_executable_cache_create(suite_device(suite), &file, &other);
    check(suite, status == HAL_IO || status == HAL_UNSUPPORTED);
    check_fails(suite, status, status, "CACHE", "/dev/null/x");
    check_fails(suite, hal_executable_cache_get_info(NULL, &info), HAL_INVALID, "cache");
    check_fails(suite, hal_executable_cache_prepare(NULL, &source.desc, 1, NULL, &executable, NULL),
                HAL_INVALID, "cache");
    check_fails(suite, hal_executable_infer_format("x", 1, NULL), HAL_INVALID, "NULL");
    check_fails(suite, hal_executable_infer_format(NULL, 1, &format), HAL_INVALID, "data");
    check_fails(suite, hal_executable_infer_format("x", 0, &format), HAL_INVALID, "data");
}

static const char *refuse_lists(struct cached *cached, char *room)
{
    struct source source;
    struct hal_executable *executable;
    source_write(cached->suite, &source, 1);
    WANT(room, hal_executable_cache_get_info(cached->cache, NULL) == HAL_INVALID);
    WANT(room, hal_executable_cache_prepare(cached->cache, NULL, 3, NULL, &executable, NULL) ==
                       HAL_INVALID &&
                   strstr(hal_message(), "kept") && strstr(hal_message(), "3 descriptions"));
    WANT(room, hal_executable_cache_prepare(cached->cache, &source.desc, 1, NULL, NULL, NULL) ==
                       HAL_INVALID &&
                   strstr(hal_message(), "1 place"));
    WANT(room, hal_executable_cache_prepare(cached->cache, &source.desc, HAL_MAX_LIST + 1, NULL,
                                            &executable, NULL) == HAL_INVALID &&
                   strstr(hal_message(), "65537") && strstr(hal_message(), "65536"));
    struct hal_device *stranger = suite_open(cached->suite, "");
    source.desc.cache = cached->cache;
    WANT(room, hal_executable_create(stranger, &source.desc, &executable) == HAL_INVALID &&
                   strstr(hal_message(), "kept") && strstr(hal_message(), "another device"));
    return NULL;
}

static void lists_are_refused(struct suite *suite, uint64_t unused)
{
    (void)unused;
    cached_run(suite, 0, refuse_lists);
}

/* A plain creation uses a cache, too; and a cache keeps its device. */
static void outlives_its_device(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct source source;
    struct hal_device *device;
    struct hal_executable *executable = NULL;
    struct hal_executable_cache *cache = NULL;
    struct hal_executable_cache_info info = {0};
    source_write(suite, &source, 600);
    check_ok(suite, hal_device_open(suite_info(suite)->uri, &device));
    enum hal_status status = hal_executable_cache_create(device, NULL, &cache);
    hal_device_release(device);
    source.desc.cache = cache;
    if (status == HAL_OK)
        status = hal_executable_create(device, &source.desc, &executable);
    if (status == HAL_OK)
        status = hal_executable_cache_get_info(cache, &info);
    hal_executable_cache_retain(cache);
    hal_executable_cache_release(cache);
    hal_executable_release(executable);
    hal_executable_cache_release(cache);
    check_ok(suite, status);
    check_u64(suite, info.prepared_count, 1);
}

static const struct suite_case cases[] = {
    {"kept_and_found", kept_and_found, 0},
    {"shared_directory", shared_directory, 0},
    {"constants_are_told_apart", constants_are_told_apart, 0},
    {"folders_are_made", folders_are_made, 0},
    {"the_oldest_go", the_oldest_go, 0},
    {"smaller_than_one", smaller_than_one, 0},
    {"infer_msl", infer, 0},
    {"infer_one_letter", infer, 1},
    {"infer_utf8", infer, 2},
    {"infer_metallib", infer, 3},
    {"infer_spirv", infer, 4},
    {"infer_spirv_big_endian", infer, 5},
    {"infer_spirv_cut", infer, 6},
    {"infer_spirv_magic_only", infer, 7},
    {"infer_zero_byte", infer, 8},
    {"infer_cut_letter", infer, 9},
    {"infer_overlong", infer, 10},
    {"infer_beyond_unicode", infer, 11},
    {"infer_stray_byte", infer, 12},
    {"infer_program", infer, 13},
    {"refused", refused, 0},
    {"lists_are_refused", lists_are_refused, 0},
    {"outlives_its_device", outlives_its_device, 0},
};

const struct suite_area area_caches = {"caches", cases, SUITE_COUNT(cases)};
