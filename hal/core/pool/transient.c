/* SPDX-License-Identifier: Apache-2.0 */
/* Transient buffers: alloca and dealloca in queue order, from the pool's blocks (pool.h). Both are
 * submissions without commands; the buffer is a subspan of a slab. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <inttypes.h>
#include <stdio.h>

static void throw_away(struct hal_pool_garbage *garbage)
{
    while (garbage->slabs) {
        struct hal_pool_slab *next = garbage->slabs->next;
        hal_buffer_release(garbage->slabs->buffer);
        free(garbage->slabs);
        garbage->slabs = next;
    }
    for (size_t i = 0; i < garbage->count; i++)
        hal_object_release(garbage->objects[i]);
    free(garbage->objects);
}

static void trim(struct hal_device *device, enum hal_pool_trim which, uint64_t bytes)
{
    struct hal_pool_garbage garbage = {0};
    hal_pool_trim(&device->pool, which, bytes, &garbage);
    throw_away(&garbage);
}

/* ---- Blocks ------------------------------------------------------------------------------- */

/* Says why nothing comes. */
static enum hal_status fail_limit(struct hal_device *device, const struct hal_submit_desc *submit,
                                  const struct hal_buffer_desc *desc)
{
    struct hal_pool *pool = &device->pool;
    struct hal_question question;
    char why[HAL_OBJECT_NAME_BYTES + 128];
    pthread_mutex_lock(&pool->lock);
    const struct hal_transient_statistics now = pool->statistics;
    const uint64_t limit = pool->limit_bytes;
    pthread_mutex_unlock(&pool->lock);
    if (desc->bytes > limit)
        snprintf(why, sizeof why, "it is larger than the limit");
    else if (hal_pool_blocker(pool, submit->waits, submit->wait_count, &question))
        snprintf(why, sizeof why,
                 "more is freed only when %s reaches %" PRIu64
                 ", which no submitted work signals and this alloca does not wait for",
                 question.missing, question.missing_value);
    else
        snprintf(why, sizeof why, "no submitted dealloca frees enough contiguous memory");
    return hal_fail(HAL_NO_MEMORY,
                    "transient buffer '%s' of %s: %s reserved, %" PRIu64
                    " of them in use, the limit is %" PRIu64 " bytes; %s",
                    desc->label ? desc->label : "", hal_count(desc->bytes, "byte", "bytes").text,
                    hal_count(now.reserved_bytes, "byte is", "bytes are").text, now.used_bytes,
                    limit, why);
}

static enum hal_status create_slab(struct hal_device *device, const struct hal_buffer_desc *desc,
                                   uint64_t bytes, struct hal_buffer **out_slab)
{
    const struct hal_buffer_desc slab = {
        .label = "transient memory", .bytes = bytes, .memory = desc->memory};
    return hal_add_context(hal_buffer_create(device, &slab, out_slab),
                           "transient buffer '%s' of %s", desc->label ? desc->label : "",
                           hal_count(desc->bytes, "byte", "bytes").text);
}

/* A slab more. HAL_NO_MEMORY without *out_is_over: the device has no more; with: the limit. */
static enum hal_status grow(struct hal_device *device, const struct hal_buffer_desc *desc,
                            uint64_t bytes, bool *out_is_over, struct hal_pool_block **out_block)
{
    struct hal_pool *pool = &device->pool;
    struct hal_buffer *buffer;
    uint64_t slab_bytes = hal_pool_slab_bytes(pool, bytes);
    *out_is_over = slab_bytes == 0;
    if (slab_bytes == 0)
        return HAL_NO_MEMORY;
    if (slab_bytes > device->info.max_buffer_bytes)
        slab_bytes = bytes;
    HAL_TRY(create_slab(device, desc, slab_bytes, &buffer));
    *out_block = hal_pool_add(pool, buffer, desc->memory, bytes);
    if (*out_block)
        return HAL_OK;
    hal_buffer_release(buffer);
    return hal_fail(HAL_NO_MEMORY, "no memory for transient buffer '%s'",
                    desc->label ? desc->label : "");
}

/* Blocks until slabs used by work in flight can make room, if nothing else is needed for that. Work
 * that fails meanwhile frees nothing. False: there are none. */
static bool await_slabs(struct hal_device *device, uint64_t bytes)
{
    size_t count;
    struct hal_semaphore_value *list = hal_pool_await_idle(&device->pool, bytes, &count);
    bool is_there = list != NULL;
    for (size_t i = 0; list && i < count; i++) {
        is_there = is_there &&
                   hal_semaphores_wait(device, HAL_WAIT_ALL, &list[i], 1, HAL_FOREVER) == HAL_OK;
        hal_semaphore_release(list[i].semaphore);
    }
    free(list);
    return is_there;
}

/* In this order: one more slab; one that replaces idle memory; a block that work in flight will
 * free, in queue order; a slab that replaces memory so freed. */
static enum hal_status find_more(struct hal_device *device, const struct hal_submit_desc *submit,
                                 const struct hal_buffer_desc *desc, uint64_t bytes,
                                 struct hal_pool_block **out_block)
{
    bool is_over;
    trim(device, HAL_POOL_TRIM_LOST, 0);
    enum hal_status status = grow(device, desc, bytes, &is_over, out_block);
    if (status != HAL_NO_MEMORY)
        return status;
    trim(device, HAL_POOL_TRIM_IDLE, bytes);
    status = grow(device, desc, bytes, &is_over, out_block);
    if (status != HAL_NO_MEMORY || !is_over)
        return status;
    *out_block = hal_pool_take(&device->pool, HAL_POOL_PENDING, desc->memory, bytes, submit->waits,
                               submit->wait_count);
    if (*out_block)
        return HAL_OK;
    if (await_slabs(device, bytes)) {
        trim(device, HAL_POOL_TRIM_IDLE, bytes);
        status = grow(device, desc, bytes, &is_over, out_block);
    }
    return is_over ? fail_limit(device, submit, desc) : status;
}

static enum hal_status take_block(struct hal_device *device, const struct hal_submit_desc *submit,
                                  const struct hal_buffer_desc *desc,
                                  struct hal_pool_block **out_block)
{
    const uint64_t bytes = hal_align_up(desc->bytes, HAL_POOL_ALIGNMENT);
    struct hal_pool *pool = &device->pool;
    *out_block =
        hal_pool_take(pool, HAL_POOL_QUICK, desc->memory, bytes, submit->waits, submit->wait_count);
    if (*out_block)
        return HAL_OK;
    hal_pool_grow_begin(pool);
    *out_block = hal_pool_take(pool, HAL_POOL_THOROUGH, desc->memory, bytes, submit->waits,
                               submit->wait_count);
    const enum hal_status status =
        *out_block ? HAL_OK : find_more(device, submit, desc, bytes, out_block);
    hal_pool_grow_end(pool);
    return status;
}

static enum hal_status take_semaphore(struct hal_device *device, struct hal_idle_semaphore *out)
{
    if (hal_pool_take_semaphore(&device->pool, out))
        return HAL_OK;
    out->value = 0;
    return hal_semaphore_create(device, "transient memory", 0, &out->semaphore);
}

static void give_semaphore(struct hal_device *device, const struct hal_idle_semaphore *semaphore)
{
    if (!hal_pool_give_semaphore(&device->pool, semaphore))
        hal_semaphore_release(semaphore->semaphore);
}

/* ---- Submissions -------------------------------------------------------------------------- */

/* The application's lists with up to `more` waits and one more signal. */
struct lists {
    struct hal_submit_desc desc;
    struct hal_semaphore_value *values;
    size_t wait_count;
};

static enum hal_status make_lists(const struct hal_submit_desc *desc, size_t more,
                                  struct lists *out)
{
    HAL_TRY(hal_check_transient_lists(desc, more));
    out->values = hal_alloc(desc->wait_count + desc->signal_count + more + 1, sizeof *out->values);
    if (!out->values)
        return hal_fail(HAL_NO_MEMORY, "no memory for a submission");
    out->wait_count = desc->wait_count;
    out->desc = *desc;
    if (desc->wait_count)
        memcpy(out->values, desc->waits, desc->wait_count * sizeof *out->values);
    return HAL_OK;
}

static void add_wait(struct lists *lists, struct hal_semaphore *semaphore, uint64_t value)
{
    lists->values[lists->wait_count++] = (struct hal_semaphore_value){semaphore, value};
}

static void end_lists(struct lists *lists, const struct hal_submit_desc *desc,
                      struct hal_semaphore *semaphore, uint64_t value)
{
    struct hal_semaphore_value *signals = lists->values + lists->wait_count;
    if (desc->signal_count)
        memcpy(signals, desc->signals, desc->signal_count * sizeof *signals);
    signals[desc->signal_count] = (struct hal_semaphore_value){semaphore, value};
    lists->desc.waits = lists->values;
    lists->desc.wait_count = lists->wait_count;
    lists->desc.signals = signals;
    lists->desc.signal_count = desc->signal_count + 1;
}

static enum hal_status submit_alloca(struct hal_device *device, const struct hal_submit_desc *desc,
                                     const struct hal_pool_block *block, uint64_t bytes,
                                     const struct hal_idle_semaphore *semaphore)
{
    struct lists lists;
    const struct hal_submission what = {.operation = HAL_OPERATION_ALLOCA,
                                        .buffer = block->slab->buffer,
                                        .offset = block->offset,
                                        .bytes = bytes};
    HAL_TRY(make_lists(desc, block->after_count + 1, &lists));
    for (size_t i = 0; i < block->after_count; i++)
        add_wait(&lists, block->after[i]->semaphore, block->after[i]->value);
    if (semaphore->value)
        add_wait(&lists, semaphore->semaphore, semaphore->value);
    end_lists(&lists, desc, semaphore->semaphore, semaphore->value + 1);
    const enum hal_status status = hal_queue_submit_work(device, &lists.desc, &what, NULL);
    free(lists.values);
    return status;
}

/* Before the signals can be seen. The release is not touched afterwards: it may be gone. */
static void released(struct hal_completion *completion, const struct hal_submission_result *result)
{
    struct hal_pool_release *release = (struct hal_pool_release *)completion;
    atomic_store_explicit(&release->state,
                          result->status == HAL_OK ? HAL_RELEASE_DONE : HAL_RELEASE_FAILED,
                          memory_order_release);
}

static enum hal_status submit_dealloca(struct hal_device *device,
                                       const struct hal_submit_desc *desc,
                                       const struct hal_buffer *buffer,
                                       struct hal_pool_release *release)
{
    struct lists lists;
    const struct hal_submission what = {.operation = HAL_OPERATION_DEALLOCA,
                                        .buffer = buffer->root,
                                        .offset = buffer->root_offset,
                                        .bytes = buffer->bytes};
    release->completion.run = released;
    HAL_TRY(make_lists(desc, 1, &lists));
    add_wait(&lists, release->semaphore, release->value - 1);
    end_lists(&lists, desc, release->semaphore, release->value);
    const enum hal_status status =
        hal_queue_submit_work(device, &lists.desc, &what, &release->completion);
    free(lists.values);
    return status;
}

/* ---- Entry points ------------------------------------------------------------------------- */

static const struct hal_submit_desc nothing;

/* The last reference may have gone before the dealloca. */
static void destroy_transient(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_pool *pool = &object->device->pool;
    struct hal_pool_block *block = ((struct hal_buffer *)object)->transient;
    struct hal_pool_garbage garbage = {0};
    hal_subspan_destroy(top, object);
    if (!block)
        return;
    hal_pool_lose(pool, block, &garbage);
    throw_away(&garbage);
}

enum hal_status hal_queue_alloca(struct hal_device *device, const struct hal_submit_desc *desc,
                                 const struct hal_buffer_desc *buffer_desc,
                                 struct hal_buffer **out_buffer)
{
    HAL_KNOW(hal_submit_desc, desc);
    HAL_KNOW(hal_buffer_desc, buffer_desc);
    struct hal_pool_block *block;
    struct hal_buffer *buffer;
    struct hal_idle_semaphore semaphore;
    HAL_TRY(hal_check_operation(device, desc));
    HAL_TRY(hal_device_check_here(device));
    HAL_TRY(hal_check_buffer_desc(device, buffer_desc));
    HAL_TRY(hal_check_place(out_buffer, "the buffer"));
    desc = desc ? desc : &nothing;
    const struct hal_buffer_desc full = hal_buffer_desc_resolve(buffer_desc);
    HAL_TRY(take_block(device, desc, &full, &block));
    enum hal_status status = take_semaphore(device, &semaphore);
    if (status != HAL_OK)
        goto fail_block;
    status =
        hal_buffer_subspan(block->slab->buffer, block->offset, full.bytes, full.label, &buffer);
    if (status != HAL_OK)
        goto fail_semaphore;
    buffer->usage = full.usage;
    status = submit_alloca(device, desc, block, full.bytes, &semaphore);
    if (status != HAL_OK)
        goto fail_buffer;
    block->semaphore = semaphore.semaphore;
    block->value = semaphore.value + 1;
    hal_pool_taken(&device->pool, block);
    buffer->transient = block;
    buffer->object.destroy = destroy_transient;
    buffer->allocation = buffer;
    *out_buffer = buffer;
    return HAL_OK;

fail_buffer:
    hal_buffer_release(buffer);
fail_semaphore:
    give_semaphore(device, &semaphore);
fail_block:
    hal_pool_untake(&device->pool, block);
    return status;
}

enum hal_status hal_queue_dealloca(struct hal_device *device, const struct hal_submit_desc *desc,
                                   struct hal_buffer *buffer)
{
    HAL_KNOW(hal_submit_desc, desc);
    HAL_TRY(hal_check_operation(device, desc));
    HAL_TRY(hal_device_check_here(device));
    HAL_TRY(hal_check_transient(device, buffer));
    desc = desc ? desc : &nothing;
    struct hal_pool_block *block = buffer->transient;
    struct hal_pool_release *release =
        hal_pool_release_create(&device->pool, block, desc->signals, desc->signal_count);
    if (!release)
        return hal_fail(HAL_NO_MEMORY, "no memory to free a transient buffer");
    const enum hal_status status = submit_dealloca(device, desc, buffer, release);
    if (status != HAL_OK) {
        hal_pool_release_free(release);
        return status;
    }
    buffer->transient = NULL;
    atomic_store_explicit(&buffer->is_freed, true, memory_order_release);
    hal_pool_give(&device->pool, block, release);
    return HAL_OK;
}

/* ---- The pool as a whole ------------------------------------------------------------------ */

void hal_transient_close(struct hal_device *device)
{
    struct hal_pool_garbage garbage = {0};
    hal_pool_close(&device->pool, &garbage);
    throw_away(&garbage);
}

enum hal_status hal_device_transient_trim(struct hal_device *device)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_device_check_here(device));
    trim(device, HAL_POOL_TRIM_UNUSED, 0);
    return HAL_OK;
}

enum hal_status hal_device_transient_limit(struct hal_device *device, uint64_t bytes)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_device_check_here(device));
    if (bytes)
        hal_promises_keep();
    hal_pool_limit(&device->pool, bytes);
    return HAL_OK;
}

enum hal_status hal_device_transient_statistics(struct hal_device *device,
                                                struct hal_transient_statistics *out_statistics)
{
    HAL_TRY(hal_check_device(device));
    HAL_TRY(hal_device_check_here(device));
    HAL_TRY(hal_check_place(out_statistics, "the statistics of transient memory"));
    pthread_mutex_lock(&device->pool.lock);
    const struct hal_transient_statistics statistics = device->pool.statistics;
    pthread_mutex_unlock(&device->pool.lock);
    return HAL_GIVE(hal_transient_statistics, out_statistics, &statistics);
}
