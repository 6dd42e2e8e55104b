/* SPDX-License-Identifier: Apache-2.0 */
/* Open mappings, host writes into tracked ones, and device writes that the host may see there. */
#include "capture/mappings.h"

#include "capture/capture.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"

enum { block_bytes = 4096, runs_at_once = 64 };

void capture_mappings_init(struct capture_mappings *mappings)
{
    memset(mappings, 0, sizeof *mappings);
    pthread_mutex_init(&mappings->tracked_lock, NULL);
    const char *how = getenv("HAL_DEVICE_PROFILING_DIRTY");
    const bool compare = how && strcmp(how, "compare") == 0;
    if (how && *how && !compare)
        hal_log(HAL_LOG_WARN, "HAL_DEVICE_PROFILING_DIRTY='%s' is not 'compare': ignored", how);
    if (!compare)
        capture_pages_open(&mappings->pages);
}

void capture_mappings_finish(struct capture_mappings *mappings)
{
    capture_pages_close(&mappings->pages);
    pthread_mutex_destroy(&mappings->tracked_lock);
}

/* ---- Contents of a mapping ---- */

static uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* [begin, end) counts from the start of the mapping. */
static void record(struct capture_thread *thread, const struct capture_mapping *mapping,
                   const uint8_t *data, uint64_t begin, uint64_t end, uint16_t kind, uint32_t flags)
{
    if (begin >= end)
        return;
    capture_record_content(thread, &(struct capture_content){.kind = kind,
                                                             .flags = flags,
                                                             .buffer = mapping->buffer,
                                                             .offset = mapping->offset + begin,
                                                             .bytes = end - begin,
                                                             .data = data + begin});
}

/* ---- Watching pages ---- */

static uint8_t *page_down(const struct capture_pages *pages, uint8_t *address)
{
    return address - ((uintptr_t)address & (pages->page_bytes - 1));
}

static uint8_t *page_up(const struct capture_pages *pages, uint8_t *address)
{
    return page_down(pages, address + pages->page_bytes - 1);
}

/* Only buffers that begin on a page and are not smaller: others may share pages with strangers. */
static bool watch(const struct capture_mappings *mappings, const struct capture_mapping *mapping,
                  uint64_t buffer_bytes)
{
    const struct capture_pages *pages = &mappings->pages;
    const uint8_t *buffer_begin = mapping->data - mapping->offset;
    if (!pages->works || buffer_bytes < pages->page_bytes ||
        (uintptr_t)buffer_begin & (pages->page_bytes - 1))
        return false;
    return capture_pages_watch(pages, page_down(pages, mapping->data),
                               page_up(pages, mapping->data + mapping->bytes));
}

/* Pages that another mapping still needs stay watched. */
static void unwatch_locked(struct capture_mappings *mappings, const struct capture_mapping *mapping)
{
    const struct capture_pages *pages = &mappings->pages;
    uint8_t *begin = page_down(pages, mapping->data);
    uint8_t *end = page_up(pages, mapping->data + mapping->bytes);
    for (const struct capture_mapping *other = mappings->tracked; other;
         other = other->next_tracked) {
        if (other->watched && other->data < end && other->data + other->bytes > begin)
            return;
    }
    capture_pages_unwatch(pages, begin, end);
}

/* The pages were written: every mapping that covers some of them gets its part. */
static void record_pages_locked(struct capture_mappings *mappings, struct capture_thread *thread,
                                const uint8_t *begin, const uint8_t *end)
{
    for (struct capture_mapping *mapping = mappings->tracked; mapping;
         mapping = mapping->next_tracked) {
        if (!mapping->watched || begin >= mapping->data + mapping->bytes || end <= mapping->data)
            continue;
        const uint64_t from = begin > mapping->data ? (uint64_t)(begin - mapping->data) : 0;
        record(thread, mapping, mapping->data, from,
               min_u64((uint64_t)(end - mapping->data), mapping->bytes), TRACE_HOST_WRITE, 0);
    }
}

static void collect_pages_locked(struct capture_mappings *mappings, struct capture_thread *thread,
                                 struct capture_mapping *mapping)
{
    const struct capture_pages *pages = &mappings->pages;
    struct capture_page_run runs[runs_at_once];
    uint8_t *cursor = page_down(pages, mapping->data);
    uint8_t *end = page_up(pages, mapping->data + mapping->bytes);
    while (cursor < end) {
        size_t count = 1;
        runs[0] = (struct capture_page_run){cursor, end};
        if (!capture_pages_collect(pages, &cursor, end, runs, runs_at_once, &count))
            cursor = end; /* without an answer everything counts as written */
        for (size_t i = 0; i < count; i++)
            record_pages_locked(mappings, thread, runs[i].begin, runs[i].end);
    }
}

/* ---- Comparing ---- */

struct overlap {
    uint64_t buffer, begin, end;
    bool found;
};

static void find_overlap(void *user, const struct capture_write_range *range)
{
    struct overlap *overlap = user;
    overlap->found |= range->buffer == overlap->buffer && range->begin < overlap->end &&
                      range->end > overlap->begin;
}

static bool device_may_write(struct capture *capture, const struct capture_mapping *mapping,
                             uint64_t begin, uint64_t end)
{
    struct overlap overlap = {
        .buffer = mapping->buffer, .begin = mapping->offset + begin, .end = mapping->offset + end};
    capture_inflight_each_write(&capture->inflight, find_overlap, &overlap);
    return overlap.found;
}

/* Takes a changed block over into the shadow; true: the host wrote it. */
static bool take_change(struct capture *capture, struct capture_mapping *mapping, uint64_t begin,
                        uint64_t end)
{
    if (memcmp(mapping->shadow + begin, mapping->data + begin, end - begin) == 0)
        return false;
    uint8_t *from_device = &mapping->from_device[begin / block_bytes];
    if (*from_device && device_may_write(capture, mapping, begin, end))
        return false;
    *from_device = 0;
    memcpy(mapping->shadow + begin, mapping->data + begin, end - begin);
    return true;
}

static void collect_changes(struct capture *capture, struct capture_thread *thread,
                            struct capture_mapping *mapping)
{
    uint64_t run_begin = 0, run_end = 0;
    for (uint64_t begin = 0, end; begin < mapping->bytes; begin = end) {
        end = min_u64(begin + block_bytes, mapping->bytes);
        if (!take_change(capture, mapping, begin, end))
            continue;
        if (run_end != begin) {
            record(thread, mapping, mapping->shadow, run_begin, run_end, TRACE_HOST_WRITE, 0);
            run_begin = begin;
        }
        run_end = end;
    }
    record(thread, mapping, mapping->shadow, run_begin, run_end, TRACE_HOST_WRITE, 0);
}

static bool prepare_comparison(struct capture_mapping *mapping)
{
    mapping->shadow = malloc(mapping->bytes);
    mapping->from_device = hal_alloc((mapping->bytes + block_bytes - 1) / block_bytes, 1);
    if (!mapping->shadow || !mapping->from_device)
        return false;
    memcpy(mapping->shadow, mapping->data, mapping->bytes);
    return true;
}

/* What the device wrote in [begin, end) is no change by the host. */
static void accept_device_writes(struct capture_mapping *mapping, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin; at < end;) {
        const uint64_t next = min_u64(end, (at / block_bytes + 1) * block_bytes);
        if (memcmp(mapping->shadow + at, mapping->data + at, next - at) != 0) {
            memcpy(mapping->shadow + at, mapping->data + at, next - at);
            mapping->from_device[at / block_bytes] = 1;
        }
        at = next;
    }
}

/* ---- Host writes ---- */

static void collect_locked(struct capture *capture, struct capture_thread *thread)
{
    struct capture_mappings *mappings = &capture->mappings;
    for (struct capture_mapping *mapping = mappings->tracked; mapping;
         mapping = mapping->next_tracked) {
        if (mapping->watched)
            collect_pages_locked(mappings, thread, mapping);
        else if (mapping->shadow)
            collect_changes(capture, thread, mapping);
    }
}

void capture_mappings_collect(struct capture *capture, struct capture_thread *thread)
{
    struct capture_mappings *mappings = &capture->mappings;
    if (atomic_load_explicit(&mappings->tracked_count, memory_order_acquire) == 0)
        return;
    pthread_mutex_lock(&mappings->tracked_lock);
    collect_locked(capture, thread);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

/* ---- Device writes ---- */

static void see_range_locked(struct capture_mappings *mappings,
                             const struct capture_write_range *range)
{
    for (struct capture_mapping *mapping = mappings->tracked; mapping;
         mapping = mapping->next_tracked) {
        const uint64_t begin = max_u64(range->begin, mapping->offset);
        const uint64_t end = min_u64(range->end, mapping->offset + mapping->bytes);
        if (mapping->buffer != range->buffer || begin >= end)
            continue;
        mapping->seen_begin = min_u64(mapping->seen_begin, begin - mapping->offset);
        mapping->seen_end = max_u64(mapping->seen_end, end - mapping->offset);
    }
}

/* Unobserved work may still write there: the larger rest counts. */
static void cut_range(void *user, const struct capture_write_range *range)
{
    struct capture_mapping *mapping = user;
    if (range->buffer != mapping->buffer)
        return;
    const uint64_t end = range->end > mapping->offset ? range->end - mapping->offset : 0;
    const uint64_t begin = range->begin > mapping->offset ? range->begin - mapping->offset : 0;
    if (begin >= mapping->seen_end || end <= mapping->seen_begin)
        return;
    const uint64_t before = begin > mapping->seen_begin ? begin - mapping->seen_begin : 0;
    const uint64_t after = mapping->seen_end > end ? mapping->seen_end - end : 0;
    if (before >= after)
        mapping->seen_end = mapping->seen_begin + before;
    else
        mapping->seen_begin = end;
}

static void record_seen_locked(struct capture *capture, struct capture_thread *thread,
                               struct capture_mapping *mapping)
{
    if (mapping->seen_begin >= mapping->seen_end)
        return;
    capture_inflight_each_write(&capture->inflight, cut_range, mapping);
    if (mapping->seen_begin >= mapping->seen_end)
        return;
    if (mapping->shadow)
        accept_device_writes(mapping, mapping->seen_begin, mapping->seen_end);
    if (mapping->mode & HAL_MAP_READ)
        record(thread, mapping, mapping->data, mapping->seen_begin, mapping->seen_end,
               TRACE_HOST_READ, TRACE_FLAG_OBSERVED);
}

static void observe_locked(struct capture *capture, struct capture_thread *thread,
                           const struct capture_submission *list)
{
    struct capture_mappings *mappings = &capture->mappings;
    for (struct capture_mapping *mapping = mappings->tracked; mapping;
         mapping = mapping->next_tracked) {
        mapping->seen_begin = UINT64_MAX;
        mapping->seen_end = 0;
        if (mapping->watched)
            collect_pages_locked(mappings, thread, mapping);
    }
    for (; list; list = list->list) {
        const bool done = atomic_load(&list->state) == CAPTURE_SUBMISSION_DONE;
        for (uint32_t i = 0; done && i < list->writes_count; i++) {
            for (uint32_t k = 0; k < list->writes[i]->count; k++)
                see_range_locked(mappings, &list->writes[i]->ranges[k]);
        }
    }
    for (struct capture_mapping *mapping = mappings->tracked; mapping;
         mapping = mapping->next_tracked)
        record_seen_locked(capture, thread, mapping);
}

void capture_mappings_observe(struct capture *capture, struct capture_thread *thread,
                              struct capture_submission *list)
{
    struct capture_mappings *mappings = &capture->mappings;
    if (!list)
        return;
    if (atomic_load_explicit(&mappings->tracked_count, memory_order_acquire) > 0) {
        pthread_mutex_lock(&mappings->tracked_lock);
        observe_locked(capture, thread, list);
        pthread_mutex_unlock(&mappings->tracked_lock);
    }
    capture_inflight_free(&capture->inflight, list);
}

/* ---- Opening and closing ---- */

static bool is_tracked(const struct hal_mapping *mapping)
{
    return (mapping->mode & HAL_MAP_PERSISTENT) &&
           (mapping->buffer->memory & HAL_MEMORY_HOST_COHERENT);
}

/* Other mappings may cover the same pages: what they hold unseen is recorded first. */
static bool track_locked(struct capture *capture, struct capture_thread *thread,
                         struct capture_mapping *mapping, uint64_t buffer_bytes)
{
    struct capture_mappings *mappings = &capture->mappings;
    collect_locked(capture, thread);
    if (mapping->mode & HAL_MAP_WRITE && !mapping->imported)
        mapping->watched = watch(mappings, mapping, buffer_bytes);
    if (mapping->mode & HAL_MAP_WRITE && !mapping->watched && !prepare_comparison(mapping))
        return false;
    mapping->tracked = true;
    mapping->next_tracked = mappings->tracked;
    mappings->tracked = mapping;
    atomic_fetch_add_explicit(&mappings->tracked_count, 1, memory_order_release);
    return true;
}

static void free_mapping(struct capture_buffer *buffer, struct capture_mapping *mapping)
{
    free(mapping->shadow);
    free(mapping->from_device);
    if (mapping->is_own)
        buffer->own_used = false;
    else
        free(mapping);
}

static struct capture_mapping *new_mapping(struct capture_buffer *buffer)
{
    if (buffer->own_used)
        return hal_alloc(1, sizeof(struct capture_mapping));
    buffer->own_used = true;
    buffer->own = (struct capture_mapping){.is_own = true};
    return &buffer->own;
}

struct hal_mapping capture_mapping_of_import(struct hal_buffer *buffer)
{
    return (struct hal_mapping){.buffer = buffer,
                                .data = buffer->imported,
                                .bytes = buffer->bytes,
                                .mode = HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT};
}

struct capture_mapping *capture_mapping_open(struct capture *capture, struct capture_thread *thread,
                                             const struct hal_mapping *mapping)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct capture_buffer *buffer = mapping->buffer->object.layer_data;
    struct capture_mapping *opened = buffer ? new_mapping(buffer) : NULL;
    bool ok = opened != NULL;
    if (ok) {
        opened->number = atomic_fetch_add(&mappings->last_number, 1) + 1;
        opened->buffer = mapping->buffer->object.id;
        opened->data = mapping->data;
        opened->offset = mapping->offset;
        opened->bytes = mapping->bytes;
        opened->mode = mapping->mode;
        opened->imported = mapping->buffer->imported != NULL;
    }
    if (ok && is_tracked(mapping)) {
        pthread_mutex_lock(&mappings->tracked_lock);
        ok = track_locked(capture, thread, opened, mapping->buffer->bytes);
        pthread_mutex_unlock(&mappings->tracked_lock);
    }
    if (!ok) {
        capture_stop(&capture->stream, HAL_NO_MEMORY, "no memory for a mapping of %llu bytes",
                     (unsigned long long)mapping->bytes);
        if (opened)
            free_mapping(buffer, opened);
        return NULL;
    }
    opened->next_open = buffer->open;
    buffer->open = opened;
    return opened;
}

struct capture_mapping *capture_mapping_find(const struct hal_mapping *mapping)
{
    const struct capture_buffer *buffer = mapping->buffer->object.layer_data;
    struct capture_mapping *found = buffer ? buffer->open : NULL;
    while (found && (found->data != mapping->data || found->offset != mapping->offset ||
                     found->bytes != mapping->bytes || found->mode != mapping->mode))
        found = found->next_open;
    return found;
}

static void untrack(struct capture_mappings *mappings, struct capture_mapping *mapping)
{
    pthread_mutex_lock(&mappings->tracked_lock);
    struct capture_mapping **link = &mappings->tracked;
    while (*link != mapping)
        link = &(*link)->next_tracked;
    *link = mapping->next_tracked;
    atomic_fetch_sub_explicit(&mappings->tracked_count, 1, memory_order_release);
    if (mapping->watched)
        unwatch_locked(mappings, mapping);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

void capture_mapping_close(struct capture *capture, const struct hal_buffer *buffer,
                           struct capture_mapping *mapping)
{
    struct capture_buffer *known = buffer->object.layer_data;
    struct capture_mapping **link = &known->open;
    while (*link != mapping)
        link = &(*link)->next_open;
    *link = mapping->next_open;
    if (mapping->tracked)
        untrack(&capture->mappings, mapping);
    free_mapping(known, mapping);
}

void capture_buffer_free(struct capture *capture, struct hal_buffer *buffer)
{
    struct capture_buffer *known = buffer->object.layer_data;
    while (known && known->open)
        capture_mapping_close(capture, buffer, known->open);
    free(known);
}
