/* SPDX-License-Identifier: Apache-2.0 */
/* Executable caches: what is kept and found again, many executables at once, and what a wrong use
 * is told. Directories are private to a case. */
#include "tests/conformance/suite.h"

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MANY = 6, PATH_BYTES = 256 };

/* ---- Directories ---------------------------------------------------------------------------- */

struct place {
    char path[PATH_BYTES];
};

static void make_place(struct suite *suite, struct place *place)
{
    const char *parent = getenv("TMPDIR");
    snprintf(place->path, sizeof place->path, "%.200s/haltrace-cache-XXXXXX",
             parent && parent[0] ? parent : "/tmp");
    check(suite, mkdtemp(place->path) != NULL);
}

/* Files only: whatever a cache puts into a directory lies there directly. */
static size_t clean(const char *path)
{
    size_t files = 0;
    DIR *const directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char inner[2 * PATH_BYTES];
        snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name);
        files += unlink(inner) == 0;
    }
    if (directory)
        closedir(directory);
    rmdir(path);
    return files;
}

/* A cache and its place, both gone when the case's body has returned: bodies return a message
 * instead of ending the case, so that nothing stays behind. */
struct cached {
    struct suite *suite;
    struct hal_executable_cache *cache;
    struct place place;
};

static const char *failed(char *room, int line, const char *what)
{
    snprintf(room, 512, "line %d: %s (%.300s)", line, what, hal_message());
    return room;
}
#define WANT(room, condition)                                                                      \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return failed(room, __LINE__, #condition);                                             \
    } while (0)

static void with_cache(struct suite *suite, uint64_t max_bytes,
                       const char *(*body)(struct cached *cached, char *room))
{
    char room[512];
    struct cached cached = {.suite = suite};
    make_place(suite, &cached.place);
    const struct hal_executable_cache_desc desc = {
        .label = "kept", .directory = cached.place.path, .max_bytes = max_bytes};
    const enum hal_status status =
        hal_executable_cache_create(suite_device(suite), &desc, &cached.cache);
    const char *problem = status == HAL_OK ? body(&cached, room) : NULL;
    hal_executable_cache_release(cached.cache);
    clean(cached.place.path);
    if (status == HAL_UNSUPPORTED)
        suite_skip(suite, "the device keeps no executables");
    check_ok(suite, status);
    if (problem)
        suite_fail(suite, __FILE__, __LINE__, "%s", problem);
}

/* ---- Sources -------------------------------------------------------------------------------- */

/* In MSL, or a module in SPIR-V with the number as a constant. */
struct source {
    char text[256];
    struct hal_entry_point entry;
    struct hal_constant constant;
    struct hal_executable_desc desc;
};

/* Adds `number` to four words. */
static void write_source(struct suite *suite, struct source *source, uint32_t number)
{
    snprintf(source->text, sizeof source->text,
             "#include <metal_stdlib>\nusing namespace metal;\n"
             "kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
             "{ x[i] += %u; }\n",
             number);
    const struct hal_executable_variant variant = suite_variant(suite, source->text, MODULE_ADDER);
    source->entry = (struct hal_entry_point){suite_entry(suite, "k"), {4, 1, 1}, 0, 0};
    source->constant = (struct hal_constant){0, HAL_CONSTANT_UINT32, number};
    source->desc =
        (struct hal_executable_desc){.label = "adder",
                                     .format = variant.format,
                                     .data = variant.data,
                                     .bytes = variant.bytes,
                                     .constants = &source->constant,
                                     .constant_count = variant.format == HAL_FORMAT_SPIRV,
                                     .entry_points = &source->entry,
                                     .entry_point_count = 1};
}

static bool adds(struct suite *suite, struct hal_executable *executable, uint32_t number)
{
    uint32_t words[4];
    struct hal_buffer *x = suite_buffer(suite, "x", sizeof words);
    struct hal_command_buffer *commands = suite_commands(suite, NULL, HAL_ONE_SHOT);
    const struct hal_binding binding = {x, 0, HAL_WHOLE_BUFFER};
    suite_clear(suite, x, 0);
    check_ok(suite, hal_command_push_descriptor_set(commands, 0, &binding, 1));
    check_ok(suite, hal_command_dispatch(commands, executable, 0, (const uint32_t[3]){1, 1, 1}));
    suite_run(suite, commands);
    suite_read(suite, x, 0, words, sizeof words);
    for (size_t i = 0; i < 4; i++) {
        if (words[i] != number)
            return false;
    }
    return true;
}

/* Prepares one; whether it had been kept goes to *out_kept. */
static bool prepare_one(struct cached *cached, const struct hal_executable_desc *desc,
                        bool *out_kept)
{
    struct hal_executable *executable;
    struct hal_executable_info info = {0};
    if (hal_executable_cache_prepare(cached->cache, desc, 1, NULL, &executable, NULL) != HAL_OK)
        return false;
    const enum hal_status status = hal_executable_get_info(executable, &info);
    *out_kept = info.was_kept;
    hal_executable_release(executable);
    return status == HAL_OK;
}

/* ---- Keeping -------------------------------------------------------------------------------- */

static const char *keep_and_find(struct cached *cached, char *room)
{
    bool kept = true;
    struct source source;
    struct hal_executable_cache_info info;
    write_source(cached->suite, &source, 1);
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    WANT(room, info.entry_count == 0 && info.used_bytes == 0 && info.prepared_count == 0);
    WANT(room, strcmp(info.label, "kept") == 0 && strcmp(info.directory, cached->place.path) == 0);
    WANT(room, info.max_bytes > 0);
    WANT(room, prepare_one(cached, &source.desc, &kept) && !kept);
    WANT(room, prepare_one(cached, &source.desc, &kept) && kept);
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    WANT(room, info.entry_count == 1 && info.used_bytes > 0);
    WANT(room, info.prepared_count == 2 && info.kept_count == 1);
    return NULL;
}

static void kept_and_found(struct suite *suite, uint64_t unused)
{
    (void)unused;
    with_cache(suite, 0, keep_and_find);
}

/* Another cache over the same directory finds it, as another process would. */
static const char *find_through_another(struct cached *cached, char *room)
{
    bool kept = true;
    struct source source;
    write_source(cached->suite, &source, 2);
    WANT(room, prepare_one(cached, &source.desc, &kept) && !kept);
    struct cached other = *cached;
    const struct hal_executable_cache_desc desc = {.directory = cached->place.path};
    WANT(room,
         hal_executable_cache_create(suite_device(cached->suite), &desc, &other.cache) == HAL_OK);
    const bool prepared = prepare_one(&other, &source.desc, &kept);
    hal_executable_cache_release(other.cache);
    WANT(room, prepared && kept);
    return NULL;
}

static void shared_directory(struct suite *suite, uint64_t unused)
{
    (void)unused;
    with_cache(suite, 0, find_through_another);
}

static const char *tell_apart(struct cached *cached, char *room)
{
    static const char text[] = "constant int c [[function_constant(0)]];\n"
                               "constant int d [[function_constant(1)]];\n"
                               "constant int e = is_function_constant_defined(d) ? d : c;\n"
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
            WANT(room, prepare_one(cached, &desc, &kept) && kept == (round == 1));
        }
    }
    return NULL;
}

static void constants_are_told_apart(struct suite *suite, uint64_t unused)
{
    (void)unused;
    with_cache(suite, 0, tell_apart);
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
    write_source(cached->suite, &source, 3);
    WANT(room,
         hal_executable_cache_create(suite_device(cached->suite), &desc, &deep.cache) == HAL_OK);
    const bool prepared = prepare_one(&deep, &source.desc, &kept);
    hal_executable_cache_release(deep.cache);
    const size_t files = clean(inner);
    rmdir(outer);
    WANT(room, prepared && !kept && files > 0);
    return NULL;
}

static void folders_are_made(struct suite *suite, uint64_t unused)
{
    (void)unused;
    with_cache(suite, 0, make_folders);
}

/* ---- Bounds --------------------------------------------------------------------------------- */

/* With room for about three, the one that is used again and again stays. */
static const char *stay_small(struct cached *cached, char *room)
{
    bool kept;
    struct source first, source;
    struct hal_executable_cache_info info;
    write_source(cached->suite, &first, 100);
    WANT(room, prepare_one(cached, &first.desc, &kept));
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    const uint64_t limit = 3 * info.used_bytes + info.used_bytes / 2;
    const struct hal_executable_cache_desc desc = {.directory = cached->place.path,
                                                   .max_bytes = limit};
    struct cached bounded = *cached;
    WANT(room,
         hal_executable_cache_create(suite_device(cached->suite), &desc, &bounded.cache) == HAL_OK);
    const char *problem = NULL;
    for (uint32_t i = 0; i < MANY && !problem; i++) {
        write_source(cached->suite, &source, 200 + i);
        if (!prepare_one(&bounded, &source.desc, &kept) || kept)
            problem = "a new one was not compiled";
        else if (!prepare_one(&bounded, &first.desc, &kept) || !kept)
            problem = "the one that is in use was thrown out";
        else if (hal_executable_cache_get_info(bounded.cache, &info) != HAL_OK ||
                 info.max_bytes != limit || info.used_bytes > limit)
            problem = "the directory is over its limit";
    }
    write_source(cached->suite, &source, 200);
    if (!problem && (!prepare_one(&bounded, &source.desc, &kept) || kept))
        problem = "the oldest is still there";
    hal_executable_cache_release(bounded.cache);
    return problem ? failed(room, __LINE__, problem) : NULL;
}

static void the_oldest_go(struct suite *suite, uint64_t unused)
{
    (void)unused;
    with_cache(suite, 0, stay_small);
}

/* Less than one executable takes: each works, and the last stays. */
static const char *stay_tiny(struct cached *cached, char *room)
{
    struct hal_executable_cache_info info;
    for (uint32_t i = 0; i < 3; i++) {
        struct source source;
        struct hal_executable *executable;
        write_source(cached->suite, &source, 300 + i);
        WANT(room, hal_executable_cache_prepare(cached->cache, &source.desc, 1, NULL, &executable,
                                                NULL) == HAL_OK);
        const bool right = adds(cached->suite, executable, 300 + i);
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
    with_cache(suite, 1, stay_tiny);
}

/* ---- Many at once --------------------------------------------------------------------------- */

struct seen {
    pthread_t thread;
    size_t calls, most; /* most: stop after so many */
    bool wrong, indices[MANY];
};

static bool see(void *user, const struct hal_prepared *prepared)
{
    struct seen *seen = user;
    seen->wrong |= !pthread_equal(seen->thread, pthread_self());
    seen->wrong |= prepared->count != MANY || prepared->index >= MANY;
    seen->wrong |= prepared->done_count != ++seen->calls;
    seen->wrong |= (prepared->status == HAL_OK) != (prepared->executable != NULL);
    seen->wrong |= (prepared->status == HAL_OK) != (prepared->message[0] == '\0');
    if (!seen->wrong) {
        seen->wrong = seen->indices[prepared->index];
        seen->indices[prepared->index] = true;
    }
    return seen->calls < seen->most;
}

static struct hal_executable_cache *usual_cache(struct suite *suite)
{
    struct hal_executable_cache *cache;
    check_ok(suite, hal_executable_cache_create(suite_device(suite), NULL, &cache));
    return cache;
}

static void release_all(struct hal_executable **executables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hal_executable_release(executables[i]);
}

static void many_at_once(struct suite *suite, uint64_t threads)
{
    struct source sources[MANY];
    struct hal_executable_desc descs[MANY];
    struct hal_executable *executables[MANY];
    enum hal_status statuses[MANY];
    struct seen seen = {.thread = pthread_self(), .most = SIZE_MAX};
    const struct hal_prepare_options options = {
        .thread_count = (uint32_t)threads, .progress = see, .user = &seen};
    for (uint32_t i = 0; i < MANY; i++) {
        write_source(suite, &sources[i], 400 + i);
        descs[i] = sources[i].desc;
    }
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status =
        hal_executable_cache_prepare(cache, descs, MANY, &options, executables, statuses);
    hal_executable_cache_release(cache);
    check_ok(suite, status);
    bool right = true;
    for (uint32_t i = 0; i < MANY; i++)
        right = right && statuses[i] == HAL_OK && adds(suite, executables[i], 400 + i);
    release_all(executables, MANY);
    check(suite, right);
    check(suite, !seen.wrong);
    check_u64(suite, seen.calls, MANY);
}

/* Two of six fail: the others work, and the first failure is told. */
static void some_fail(struct suite *suite, uint64_t threads)
{
    static const char wrong[] = "kernel void k() { this is wrong; }\n";
    static const struct hal_entry_point missing = {"missing", {1, 1, 1}, 0, 0};
    struct source sources[MANY];
    struct hal_executable_desc descs[MANY];
    struct hal_executable *executables[MANY];
    enum hal_status statuses[MANY];
    struct seen seen = {.thread = pthread_self(), .most = SIZE_MAX};
    const struct hal_prepare_options options = {
        .thread_count = (uint32_t)threads, .progress = see, .user = &seen};
    for (uint32_t i = 0; i < MANY; i++) {
        write_source(suite, &sources[i], 400 + i);
        descs[i] = sources[i].desc;
    }
    descs[2].label = "mistaken";
    if (suite_runs(suite, HAL_FORMAT_MSL)) {
        descs[2].data = wrong;
        descs[2].bytes = sizeof wrong - 1;
    } else {
        descs[2].bytes = descs[2].bytes / 8 * 4; /* half a module */
    }
    descs[4].label = "incomplete";
    descs[4].entry_points = &missing;
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status =
        hal_executable_cache_prepare(cache, descs, MANY, &options, executables, statuses);
    hal_executable_cache_release(cache);
    bool right = executables[2] == NULL && executables[4] == NULL;
    for (uint32_t i = 0; i < MANY; i++) {
        if (i != 2 && i != 4)
            right = right && statuses[i] == HAL_OK && adds(suite, executables[i], 400 + i);
    }
    check_fails(suite, status, HAL_INVALID, "mistaken");
    release_all(executables, MANY);
    check(suite, right && !seen.wrong);
    check_u64(suite, seen.calls, MANY);
    check_u64(suite, statuses[2], HAL_INVALID);
    check_u64(suite, statuses[4], HAL_INVALID);
}

/* On one thread exactly those after the second are not prepared. */
static void cancelled(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct source sources[MANY];
    struct hal_executable_desc descs[MANY];
    struct hal_executable *executables[MANY];
    enum hal_status statuses[MANY];
    struct seen seen = {.thread = pthread_self(), .most = 2};
    const struct hal_prepare_options options = {.thread_count = 1, .progress = see, .user = &seen};
    for (uint32_t i = 0; i < MANY; i++) {
        write_source(suite, &sources[i], 400 + i);
        descs[i] = sources[i].desc;
    }
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status =
        hal_executable_cache_prepare(cache, descs, MANY, &options, executables, statuses);
    hal_executable_cache_release(cache);
    const bool right = executables[0] && executables[1] && !executables[2] && !executables[5];
    check_fails(suite, status, HAL_FAILED, "adder", "cancelled");
    release_all(executables, MANY);
    check(suite, right && !seen.wrong);
    check_u64(suite, seen.calls, MANY);
    for (size_t i = 0; i < MANY; i++)
        check_u64(suite, statuses[i], i < 2 ? HAL_OK : HAL_FAILED);
}

/* Formats that nobody named. */
static void formats_are_inferred(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct source source;
    struct hal_executable_desc descs[2];
    struct hal_executable *executables[2];
    enum hal_status statuses[2];
    write_source(suite, &source, 400);
    descs[0] = descs[1] = source.desc;
    descs[0].format = descs[1].format = (enum hal_executable_format)0;
    descs[1].label = "unknown";
    descs[1].data = "\1\2\3\4\5\6\7";
    descs[1].bytes = 7;
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status =
        hal_executable_cache_prepare(cache, descs, 2, NULL, executables, statuses);
    hal_executable_cache_release(cache);
    const bool right = executables[0] && adds(suite, executables[0], 400);
    check_fails(suite, status, HAL_NOT_FOUND, "unknown", "7 bytes");
    release_all(executables, 2);
    check(suite, right && statuses[0] == HAL_OK && statuses[1] == HAL_NOT_FOUND);
}

static void none_at_all(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status = hal_executable_cache_prepare(cache, NULL, 0, NULL, NULL, NULL);
    hal_executable_cache_release(cache);
    check_ok(suite, status);
}

/* Several threads prepare the same ones through one cache. */
static void prepare_in_thread(struct suite *suite, void *user)
{
    struct source source;
    for (uint32_t i = 0; i < 3; i++) {
        struct hal_executable *executable;
        write_source(suite, &source, 500 + i);
        const enum hal_status status =
            hal_executable_cache_prepare(user, &source.desc, 1, NULL, &executable, NULL);
        check_ok(suite, status);
        hal_executable_release(executable);
    }
}

static const char *use_in_threads(struct cached *cached, char *room)
{
    struct hal_executable_cache_info info;
    for (int i = 0; i < 4; i++)
        suite_thread(cached->suite, prepare_in_thread, cached->cache);
    suite_join(cached->suite);
    WANT(room, hal_executable_cache_get_info(cached->cache, &info) == HAL_OK);
    WANT(room, info.prepared_count == 12 && info.entry_count == 3);
    return NULL;
}

static void several_threads(struct suite *suite, uint64_t unused)
{
    (void)unused;
    with_cache(suite, 0, use_in_threads);
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
        check_fails(suite, status, HAL_NOT_FOUND, "bytes");
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
    struct hal_executable_cache_info info;
    enum hal_executable_format format;
    const struct hal_executable_cache_desc empty = {.label = "CACHE", .directory = ""};
    const struct hal_executable_cache_desc file = {.label = "CACHE", .directory = "/dev/null/x"};
    write_source(suite, &source, 1);
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
    write_source(cached->suite, &source, 1);
    WANT(room, hal_executable_cache_get_info(cached->cache, NULL) == HAL_INVALID);
    WANT(room, hal_executable_cache_prepare(cached->cache, NULL, 3, NULL, &executable, NULL) ==
                       HAL_INVALID &&
                   strstr(hal_message(), "kept") && strstr(hal_message(), "3 descriptions"));
    WANT(room, hal_executable_cache_prepare(cached->cache, &source.desc, 1, NULL, NULL, NULL) ==
                       HAL_INVALID &&
                   strstr(hal_message(), "1 places"));
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
    with_cache(suite, 0, refuse_lists);
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
    write_source(suite, &source, 600);
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
    {"many_at_once_1", many_at_once, 1},
    {"many_at_once_4", many_at_once, 4},
    {"many_at_once_default", many_at_once, 0},
    {"some_fail_1", some_fail, 1},
    {"some_fail_3", some_fail, 3},
    {"cancelled", cancelled, 0},
    {"formats_are_inferred", formats_are_inferred, 0},
    {"none_at_all", none_at_all, 0},
    {"several_threads", several_threads, 0},
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
