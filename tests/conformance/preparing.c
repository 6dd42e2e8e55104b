/* SPDX-License-Identifier: Apache-2.0 */
/* Many executables at once: in parallel, with progress, failures among them, cancelled. */
#include "tests/conformance/cached.h"

#include <pthread.h>

enum { MANY = 6 };

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

/* Six at once. */
struct batch {
    struct source sources[MANY];
    struct hal_executable_desc descs[MANY];
    struct hal_executable *executables[MANY];
    enum hal_status statuses[MANY];
    struct seen seen;
};

/* Source i adds 400 + i. */
static void batch_write(struct suite *suite, struct batch *batch)
{
    for (uint32_t i = 0; i < MANY; i++) {
        source_write(suite, &batch->sources[i], 400 + i);
        batch->descs[i] = batch->sources[i].desc;
    }
}

/* Is stopped after `most` of them. */
static enum hal_status batch_prepare(struct suite *suite, struct batch *batch, uint64_t threads,
                                     size_t most)
{
    const struct hal_prepare_options options = {
        .thread_count = (uint32_t)threads, .progress = see, .user = &batch->seen};
    batch->seen = (struct seen){.thread = pthread_self(), .most = most};
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status = hal_executable_cache_prepare(
        cache, batch->descs, MANY, &options, batch->executables, batch->statuses);
    hal_executable_cache_release(cache);
    return status;
}

static bool batch_adds(struct suite *suite, const struct batch *batch, uint32_t i)
{
    return batch->statuses[i] == HAL_OK && source_adds(suite, batch->executables[i], 400 + i);
}

static void release_all(struct hal_executable **executables, size_t count)
{
    for (size_t i = 0; i < count; i++)
        hal_executable_release(executables[i]);
}

static void many_at_once(struct suite *suite, uint64_t threads)
{
    struct batch batch;
    batch_write(suite, &batch);
    check_ok(suite, batch_prepare(suite, &batch, threads, SIZE_MAX));
    bool right = true;
    for (uint32_t i = 0; i < MANY; i++)
        right = right && batch_adds(suite, &batch, i);
    release_all(batch.executables, MANY);
    check(suite, right);
    check(suite, !batch.seen.wrong);
    check_u64(suite, batch.seen.calls, MANY);
}

/* Two of six fail: the others work, and the first failure is told. */
static void some_fail(struct suite *suite, uint64_t threads)
{
    static const char wrong[] = "kernel void k() { this is wrong; }\n";
    static const struct hal_entry_point missing = {"missing", {1, 1, 1}, 0, 0};
    struct batch batch;
    batch_write(suite, &batch);
    struct hal_executable_desc *const mistaken = &batch.descs[2], *incomplete = &batch.descs[4];
    mistaken->label = "mistaken";
    if (suite_runs(suite, HAL_FORMAT_MSL)) {
        mistaken->data = wrong;
        mistaken->bytes = sizeof wrong - 1;
    } else {
        mistaken->bytes = mistaken->bytes / 8 * 4; /* half a module */
    }
    incomplete->label = "incomplete";
    incomplete->entry_points = &missing;
    const enum hal_status status = batch_prepare(suite, &batch, threads, SIZE_MAX);
    bool right = batch.executables[2] == NULL && batch.executables[4] == NULL;
    for (uint32_t i = 0; i < MANY; i++) {
        if (i != 2 && i != 4)
            right = right && batch_adds(suite, &batch, i);
    }
    check_fails(suite, status, HAL_INVALID, "mistaken");
    release_all(batch.executables, MANY);
    check(suite, right && !batch.seen.wrong);
    check_u64(suite, batch.seen.calls, MANY);
    check_u64(suite, batch.statuses[2], HAL_INVALID);
    check_u64(suite, batch.statuses[4], HAL_INVALID);
}

/* On one thread exactly those after the second are not prepared. */
static void cancelled(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct batch batch;
    batch_write(suite, &batch);
    const enum hal_status status = batch_prepare(suite, &batch, 1, 2);
    struct hal_executable *const *made = batch.executables;
    const bool right = made[0] && made[1] && !made[2] && !made[5];
    check_fails(suite, status, HAL_FAILED, "adder", "cancelled");
    release_all(batch.executables, MANY);
    check(suite, right && !batch.seen.wrong);
    check_u64(suite, batch.seen.calls, MANY);
    for (size_t i = 0; i < MANY; i++)
        check_u64(suite, batch.statuses[i], i < 2 ? HAL_OK : HAL_FAILED);
}

/* Formats that nobody named. */
static void formats_are_inferred(struct suite *suite, uint64_t unused)
{
    (void)unused;
    struct source source;
    struct hal_executable_desc descs[2];
    struct hal_executable *executables[2];
    enum hal_status statuses[2];
    source_write(suite, &source, 400);
    descs[0] = descs[1] = source.desc;
    descs[0].format = descs[1].format = (enum hal_executable_format)0;
    descs[1].label = "unknown";
    descs[1].data = "\1\2\3\4\5\6\7";
    descs[1].bytes = 7;
    struct hal_executable_cache *cache = usual_cache(suite);
    const enum hal_status status =
        hal_executable_cache_prepare(cache, descs, 2, NULL, executables, statuses);
    hal_executable_cache_release(cache);
    const bool right = executables[0] && source_adds(suite, executables[0], 400);
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
        source_write(suite, &source, 500 + i);
        const enum hal_status status =
            hal_executable_cache_prepare(user, &source.desc, 1, NULL, &executable, NULL);
        check_ok(suite, status);
        hal_executable_release(executable);
    }
}

static const char *use_in_threads(struct cached *cached, char *room)
{
    struct hal_executable_cache_info info = {0};
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
    cached_run(suite, 0, use_in_threads);
}

static const struct suite_case cases[] = {
    {"many_at_once_1", many_at_once, 1},
    {"many_at_once_4", many_at_once, 4},
    {"many_at_once_default", many_at_once, 0},
    {"some_fail_1", some_fail, 1},
    {"some_fail_3", some_fail, 3},
    {"cancelled", cancelled, 0},
    {"formats_are_inferred", formats_are_inferred, 0},
    {"none_at_all", none_at_all, 0},
    {"several_threads", several_threads, 0},
};

const struct suite_area area_preparing = {"preparing", cases, SUITE_COUNT(cases)};
