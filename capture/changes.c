/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in tracked mappings: host writes, by pages or by comparison, and device writes that the
 * host may see. */
#include "capture/capture.h"
#include "hal/base/mem.h"

enum { block_bytes = 4096, runs_at_once = 64 };

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
    for (const struct capture_mapping *other = *capture_tracked(mappings, mapping->buffer); other;
         other = other->next_tracked) {
        if (other->watched && other->data < end && other->data + other->bytes > begin)
            return;
    }
    capture_pages_unwatch(pages, begin, end);
}

/* The pages of the buffer were written: each of its mappings that covers some gets its part. */
static void record_pages_locked(struct capture_mappings *mappings, struct capture_thread *thread,
                                uint64_t buffer, const uint8_t *begin, const uint8_t *end)
{
    for (struct capture_mapping *mapping = *capture_tracked(mappings, buffer); mapping;
         mapping = mapping->next_tracked) {
        if (!mapping->watched || mapping->buffer != buffer ||
            begin >= mapping->data + mapping->bytes || end <= mapping->data)
            continue;
        const uint64_t from = begin > mapping->data ? (uint64_t)(begin - mapping->data) : 0;
        record(thread, mapping, mapping->data, from,
               min_u64((uint64_t)(end - mapping->data), mapping->bytes), TRACE_HOST_WRITE, 0);
    }
}

/* Of the marked part, in whole pages. */
static void collect_pages_locked(struct capture_mappings *mappings, struct capture_thread *thread,
                                 const struct capture_mapping *mapping)
{
    const struct capture_pages *pages = &mappings->pages;
    struct capture_page_run runs[runs_at_once];
    uint8_t *cursor = page_down(pages, mapping->data + mapping->marked_begin);
    uint8_t *end = page_up(pages, mapping->data + mapping->marked_end);
    while (cursor < end) {
        size_t count = 1;
        runs[0] = (struct capture_page_run){cursor, end};
        if (!capture_pages_collect(pages, &cursor, end, runs, runs_at_once, &count))
            cursor = end; /* without an answer everything counts as written */
        for (size_t i = 0; i < count; i++)
            record_pages_locked(mappings, thread, mapping->buffer, runs[i].begin, runs[i].end);
    }
}

/* ---- Comparing ---- */

struct overlap {
    uint64_t buffer, begin, end;
    bool found;
};

static void find_overlap(void *user, const struct capture_use *use)
{
    struct overlap *overlap = user;
    overlap->found |= capture_use_buffer(use) == overlap->buffer && use->begin < overlap->end &&
                      use->end > overlap->begin;
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

/* Of the marked part, in whole blocks. */
static void collect_changes(struct capture *capture, struct capture_thread *thread,
                            struct capture_mapping *mapping)
{
    const uint64_t from = mapping->marked_begin / block_bytes * block_bytes;
    uint64_t run_begin = from, run_end = from;
    for (uint64_t begin = from, end; begin < mapping->marked_end; begin = end) {
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

/* Memory of a new buffer may hold anything, also what the host is about to write; a replay's holds
 * zeros. It is compared with those. */
static bool prepare_comparison(struct capture_mapping *mapping)
{
    mapping->shadow = mapping->is_first ? hal_alloc(mapping->bytes, 1) : malloc(mapping->bytes);
    mapping->from_device = hal_alloc((mapping->bytes + block_bytes - 1) / block_bytes, 1);
    if (!mapping->shadow || !mapping->from_device)
        return false;
    if (!mapping->is_first)
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

/* ---- Marking ---- */

/* Parts of mappings to look at: what lies between the marks of one mapping is looked at, too. */
struct marks {
    struct capture_mappings *mappings;
    struct capture_mapping *first; /* by next_marked */
};

static void mark_range(struct marks *marks, uint64_t buffer, uint64_t range_begin,
                       uint64_t range_end)
{
    for (struct capture_mapping *mapping = *capture_tracked(marks->mappings, buffer); mapping;
         mapping = mapping->next_tracked) {
        const uint64_t begin = max_u64(range_begin, mapping->offset);
        const uint64_t end = min_u64(range_end, mapping->offset + mapping->bytes);
        if (mapping->buffer != buffer || begin >= end)
            continue;
        if (mapping->marked_begin >= mapping->marked_end) {
            mapping->marked_begin = UINT64_MAX;
            mapping->marked_end = 0;
            mapping->next_marked = marks->first;
            marks->first = mapping;
        }
        mapping->marked_begin = min_u64(mapping->marked_begin, begin - mapping->offset);
        mapping->marked_end = max_u64(mapping->marked_end, end - mapping->offset);
    }
}

static void mark_use(void *user, const struct capture_use *use)
{
    mark_range(user, capture_use_buffer(use), use->begin, use->end);
}

static void mark_submission(struct marks *marks, const struct capture_submission *submission,
                            bool only_writes)
{
    for (uint32_t i = 0; i < submission->uses_count; i++) {
        const struct capture_uses *uses = submission->uses[i];
        for (uint32_t k = 0; k < uses->count; k++) {
            if (!only_writes || capture_use_writes(&uses->ranges[k]))
                mark_use(marks, &uses->ranges[k]);
        }
    }
}

static void mark_everything(struct marks *marks)
{
    for (size_t i = 0; i < CAPTURE_MAPPING_BUCKETS; i++) {
        for (const struct capture_mapping *mapping = marks->mappings->tracked[i]; mapping;
             mapping = mapping->next_tracked)
            mark_range(marks, mapping->buffer, 0, UINT64_MAX);
    }
}

/* The marked mappings one by one; the marks of the last one go. */
static struct capture_mapping *next_marked(struct marks *marks, struct capture_mapping *last)
{
    struct capture_mapping *next = last ? last->next_marked : marks->first;
    if (last)
        last->marked_begin = last->marked_end = 0;
    return next;
}

/* ---- Host writes ---- */

static void collect_marked_locked(struct capture *capture, struct capture_thread *thread,
                                  struct marks *marks)
{
    struct capture_mapping *mapping = NULL;
    while ((mapping = next_marked(marks, mapping))) {
        if (mapping->watched)
            collect_pages_locked(&capture->mappings, thread, mapping);
        else if (mapping->shadow)
            collect_changes(capture, thread, mapping);
    }
}

static bool nothing_is_tracked(const struct capture_mappings *mappings)
{
    return atomic_load_explicit(&mappings->tracked_count, memory_order_acquire) == 0;
}

void capture_mappings_collect(struct capture *capture, struct capture_thread *thread)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (nothing_is_tracked(mappings))
        return;
    pthread_mutex_lock(&mappings->tracked_lock);
    mark_everything(&marks);
    collect_marked_locked(capture, thread, &marks);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

void capture_mappings_collect_range(struct capture *capture, struct capture_thread *thread,
                                    const struct hal_buffer *buffer, uint64_t offset,
                                    uint64_t bytes)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (nothing_is_tracked(mappings))
        return;
    pthread_mutex_lock(&mappings->tracked_lock);
    mark_range(&marks, buffer->object.id, offset, offset + bytes);
    collect_marked_locked(capture, thread, &marks);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

void capture_mappings_collect_used(struct capture *capture, struct capture_thread *thread,
                                   const struct capture_submission *submission)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (nothing_is_tracked(mappings))
        return;
    pthread_mutex_lock(&mappings->tracked_lock);
    if (submission)
        mark_submission(&marks, submission, false);
    if (!capture_inflight_each_open_use(&capture->inflight, mark_use, &marks))
        mark_everything(&marks);
    collect_marked_locked(capture, thread, &marks);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

/* ---- Device writes ---- */

/* Unobserved work may still write there: the larger rest counts. */
static void cut_range(void *user, const struct capture_use *use)
{
    struct capture_mapping *mapping = user;
    if (capture_use_buffer(use) != mapping->buffer)
        return;
    const uint64_t end = use->end > mapping->offset ? use->end - mapping->offset : 0;
    const uint64_t begin = use->begin > mapping->offset ? use->begin - mapping->offset : 0;
    if (begin >= mapping->marked_end || end <= mapping->marked_begin)
        return;
    const uint64_t before = begin > mapping->marked_begin ? begin - mapping->marked_begin : 0;
    const uint64_t after = mapping->marked_end > end ? mapping->marked_end - end : 0;
    if (before >= after)
        mapping->marked_end = mapping->marked_begin + before;
    else
        mapping->marked_begin = end;
}

static void record_seen(struct capture_thread *thread, struct capture_mapping *mapping)
{
    if (mapping->marked_begin >= mapping->marked_end)
        return;
    if (mapping->shadow)
        accept_device_writes(mapping, mapping->marked_begin, mapping->marked_end);
    if (mapping->mode & HAL_MAP_READ)
        record(thread, mapping, mapping->data, mapping->marked_begin, mapping->marked_end,
               TRACE_HOST_READ, TRACE_FLAG_OBSERVED);
}

static void observe_locked(struct capture *capture, struct capture_thread *thread,
                           const struct capture_submission *list)
{
    struct marks marks = {.mappings = &capture->mappings};
    struct capture_mapping *mapping = NULL;
    for (; list; list = list->list) {
        if (atomic_load(&list->state) == CAPTURE_SUBMISSION_DONE)
            mark_submission(&marks, list, true);
    }
    /* What the host wrote there is recorded as such before. */
    for (mapping = marks.first; mapping; mapping = mapping->next_marked) {
        capture_inflight_each_write(&capture->inflight, cut_range, mapping);
        if (mapping->watched && mapping->marked_begin < mapping->marked_end)
            collect_pages_locked(&capture->mappings, thread, mapping);
    }
    mapping = NULL;
    while ((mapping = next_marked(&marks, mapping)))
        record_seen(thread, mapping);
}

void capture_mappings_observe(struct capture *capture, struct capture_thread *thread,
                              struct capture_submission *list)
{
    struct capture_mappings *mappings = &capture->mappings;
    if (!list)
        return;
    if (!nothing_is_tracked(mappings)) {
        pthread_mutex_lock(&mappings->tracked_lock);
        observe_locked(capture, thread, list);
        pthread_mutex_unlock(&mappings->tracked_lock);
    }
    capture_inflight_free(&capture->inflight, list);
}

/* ---- Beginning and ending to look ---- */

/* Other mappings of the buffer may cover the same pages, and what is not watched yet counts as not
 * written: what they hold unseen is recorded first. */
bool capture_changes_begin_locked(struct capture *capture, struct capture_thread *thread,
                                  struct capture_mapping *mapping, uint64_t buffer_bytes)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (!(mapping->mode & HAL_MAP_WRITE))
        return true;
    mark_range(&marks, mapping->buffer, 0, UINT64_MAX);
    collect_marked_locked(capture, thread, &marks);
    mapping->watched = !mapping->imported && watch(mappings, mapping, buffer_bytes);
    return mapping->watched || prepare_comparison(mapping);
}

void capture_changes_end_locked(struct capture_mappings *mappings, struct capture_mapping *mapping)
{
    if (mapping->watched)
        unwatch_locked(mappings, mapping);
}
