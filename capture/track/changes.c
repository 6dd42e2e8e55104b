/* SPDX-License-Identifier: Apache-2.0 */
/* Changes in tracked mappings: where they are looked for, and when; the system's account of pages
 * that the host stored into; and device writes that the host may see. */
#include "capture/capture.h"
#include "hal/base/mem.h"

/* Host and device may share a page, so the system's record of pages is refined by comparison with a
 * copy. The copies of larger mappings share a limit, and are freed once the host has not touched
 * such a mapping for some time while work was in progress: without a copy, pages that both may have
 * written are recorded without their previous bytes. */
enum {
    SMALL_BYTES = 1 << 20,
    MOST_COPIED_BYTES = 256 << 20,
    MOST_QUIET = 64, /* observations */
    RUNS_AT_ONCE = 64,
};

/* ---- Contents of a mapping ---- */

/* What the host can see of [begin, end), which counts from the start of the mapping. */
static void record_seen(const struct capture_mappings *mappings, struct capture_thread *thread,
                        const struct capture_mapping *mapping, uint64_t begin, uint64_t end)
{
    const bool in_place = !mapping->shadow;
    const uint8_t *data = in_place ? mapping->data : mapping->shadow;
    if (begin >= end)
        return;
    capture_record_content(
        thread, &(struct capture_content){
                    .kind = TRACE_HOST_READ,
                    .flags = TRACE_FLAG_OBSERVED,
                    .buffer = mapping->buffer,
                    .offset = mapping->offset + begin,
                    .bytes = end - begin,
                    .data = data + begin,
                    .watched_by = in_place && mapping->watched ? &mappings->pages : NULL});
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

/* Only buffers that begin on a page and fill it or own it: others may share it with strangers. */
static bool watch(const struct capture_mappings *mappings, const struct capture_mapping *mapping,
                  const struct hal_buffer *buffer)
{
    const struct capture_pages *pages = &mappings->pages;
    const uint8_t *buffer_begin = mapping->data - mapping->offset;
    if (!pages->works || (buffer->bytes < pages->page_bytes && !buffer->is_apart) ||
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

static void find_page_writers(struct capture *capture, const struct capture_mapping *mapping);

/* The host stored into these pages, of which there is no copy. Outside of work that may have
 * written there, every byte is the host's; inside, it may be either's, and the previous contents
 * are unknown. */
static void record_pages_of(struct capture *capture, struct capture_thread *thread,
                            const struct capture_mapping *mapping, uint64_t begin, uint64_t end)
{
    const struct capture_spans *started = &capture->mappings.started;
    find_page_writers(capture, mapping);
    for (uint64_t at = begin, next; at < end; at = next) {
        const bool inside = capture_spans_at(started, at, end, &next);
        const struct capture_content content = {.kind =
                                                    inside ? TRACE_MAPPED_CHANGE : TRACE_HOST_WRITE,
                                                .buffer = mapping->buffer,
                                                .offset = mapping->offset + at,
                                                .bytes = next - at,
                                                .data = mapping->data + at};
        capture_record_content(thread, &content);
    }
}

/* The host stored into these pages of the buffer: each mapping gets the part that it covers. */
static void take_pages_locked(struct capture *capture, struct capture_thread *thread,
                              uint64_t buffer, const uint8_t *begin, const uint8_t *end)
{
    for (struct capture_mapping *mapping = *capture_tracked(&capture->mappings, buffer); mapping;
         mapping = mapping->next_tracked) {
        if (!mapping->watched || mapping->buffer != buffer ||
            begin >= mapping->data + mapping->bytes || end <= mapping->data)
            continue;
        const uint64_t from = begin > mapping->data ? (uint64_t)(begin - mapping->data) : 0;
        const uint64_t to = hal_min_u64((uint64_t)(end - mapping->data), mapping->bytes);
        if (!mapping->shadow)
            record_pages_of(capture, thread, mapping, from, to);
        for (uint64_t i = from / CAPTURE_BLOCK_BYTES;
             mapping->host_pages && i <= (to - 1) / CAPTURE_BLOCK_BYTES; i++)
            mapping->host_pages[i] |= mapping->shadow ? 1 : CAPTURE_STORED_EVER;
    }
}

/* In whole pages. */
void capture_changes_ask_locked(struct capture *capture, struct capture_thread *thread,
                                const struct capture_mapping *mapping, uint64_t begin, uint64_t end)
{
    const struct capture_pages *pages = &capture->mappings.pages;
    struct capture_page_run runs[RUNS_AT_ONCE];
    uint8_t *cursor = page_down(pages, mapping->data + begin);
    uint8_t *last = page_up(pages, mapping->data + end);
    while (cursor < last) {
        size_t count = 1;
        runs[0] = (struct capture_page_run){cursor, last};
        if (!capture_pages_collect(pages, &cursor, last, runs, RUNS_AT_ONCE, &count))
            cursor = last; /* without an answer everything counts as written */
        for (size_t i = 0; i < count; i++)
            take_pages_locked(capture, thread, mapping->buffer, runs[i].begin, runs[i].end);
    }
}

/* ---- Who may write ---- */

struct writers {
    struct capture_mappings *mappings;
    const struct capture_mapping *mapping;
};

static void add_span(struct capture_spans *spans, const struct capture_mapping *mapping,
                     const struct capture_access_range *use)
{
    const uint64_t begin = hal_max_u64(use->begin, mapping->offset);
    const uint64_t end = hal_min_u64(use->end, mapping->offset + mapping->bytes);
    if (capture_access_range_buffer(use) == mapping->buffer && begin < end)
        capture_spans_add(spans, begin - mapping->offset, end - mapping->offset);
}

static void add_writer(void *user, const struct capture_access_range *use,
                       enum capture_progress progress)
{
    const struct writers *writers = user;
    add_span(progress == CAPTURE_MAY_HAVE_STARTED ? &writers->mappings->started
                                                  : &writers->mappings->waiting,
             writers->mapping, use);
}

void capture_changes_find_writers_locked(struct capture *capture,
                                         const struct capture_mapping *mapping)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct writers writers = {mappings, mapping};
    capture_spans_clear(&mappings->started);
    capture_spans_clear(&mappings->waiting);
    mappings->started.everything =
        !capture_inflight_each_write(&capture->inflight, mappings->next, add_writer, &writers);
    capture_spans_merge(&mappings->started);
    capture_spans_merge(&mappings->waiting);
}

/* ---- Marking ---- */

/* Parts of mappings to search: includes what is between the marks of one mapping. */
struct marks {
    struct capture_mappings *mappings;
    struct capture_mapping *first; /* by next_marked */
};

static void mark_range(struct marks *marks, uint64_t buffer, uint64_t range_begin,
                       uint64_t range_end)
{
    for (struct capture_mapping *mapping = *capture_tracked(marks->mappings, buffer); mapping;
         mapping = mapping->next_tracked) {
        const uint64_t begin = hal_max_u64(range_begin, mapping->offset);
        const uint64_t end = hal_min_u64(range_end, mapping->offset + mapping->bytes);
        if (mapping->buffer != buffer || begin >= end)
            continue;
        if (mapping->marked_begin >= mapping->marked_end) {
            mapping->marked_begin = UINT64_MAX;
            mapping->marked_end = 0;
            mapping->next_marked = marks->first;
            marks->first = mapping;
        }
        mapping->marked_begin = hal_min_u64(mapping->marked_begin, begin - mapping->offset);
        mapping->marked_end = hal_max_u64(mapping->marked_end, end - mapping->offset);
    }
}

static void mark_use(void *user, const struct capture_access_range *use)
{
    const struct marks *marks = user;
    const uint64_t buffer = capture_access_range_buffer(use);
    mark_range(user, buffer, use->begin, use->end);
    for (struct capture_mapping *mapping = *capture_tracked(marks->mappings, buffer);
         capture_access_range_writes(use) && mapping; mapping = mapping->next_tracked)
        mapping->is_written |= mapping->buffer == buffer;
}

static void mark_submission(struct marks *marks, const struct capture_submission *submission,
                            bool only_writes)
{
    for (uint32_t i = 0; i < submission->access_count; i++) {
        const struct capture_access_ranges *accesses = submission->accesses[i];
        for (uint32_t k = 0; k < accesses->count; k++) {
            if (!only_writes || capture_access_range_writes(&accesses->ranges[k]))
                mark_use(marks, &accesses->ranges[k]);
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

static bool is_large(const struct capture_mapping *mapping)
{
    return mapping->watched && mapping->bytes > SMALL_BYTES;
}

static bool has_stores(const struct capture_mapping *mapping)
{
    bool any = false;
    for (uint64_t at = 0; !any && at < mapping->bytes; at += CAPTURE_BLOCK_BYTES)
        any = mapping->host_pages[at / CAPTURE_BLOCK_BYTES] != 0;
    return any;
}

/* Large mappings get their copy before the first work that may write them, if the host has stored
 * into them by then; else never: what work has written by itself is not in the trace. */
static void begin_copy_locked(struct capture *capture, struct capture_thread *thread,
                              struct capture_mapping *mapping)
{
    struct capture_mappings *mappings = &capture->mappings;
    capture_changes_ask_locked(capture, thread, mapping, 0, mapping->bytes);
    if (has_stores(mapping) && mapping->bytes <= MOST_COPIED_BYTES - mappings->copied_bytes)
        capture_compare_catch_up_locked(capture, thread, mapping);
    if (mapping->shadow)
        mappings->copied_bytes += mapping->bytes;
    else
        capture_compare_end(mapping);
}

static void collect_marked_locked(struct capture *capture, struct capture_thread *thread,
                                  struct marks *marks)
{
    struct capture_mapping *mapping = NULL;
    while ((mapping = next_marked(marks, mapping))) {
        if (mapping->is_written && mapping->host_pages && !mapping->shadow)
            begin_copy_locked(capture, thread, mapping);
        if (mapping->shadow)
            capture_compare_collect_locked(capture, thread, mapping);
        else if (mapping->watched)
            capture_changes_ask_locked(capture, thread, mapping, mapping->marked_begin,
                                       mapping->marked_end);
    }
}

void capture_mappings_collect(struct capture *capture, struct capture_thread *thread)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (capture_nothing_is_tracked(mappings))
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
    if (capture_nothing_is_tracked(mappings))
        return;
    pthread_mutex_lock(&mappings->tracked_lock);
    mark_range(&marks, buffer->object.id, offset, offset + bytes);
    collect_marked_locked(capture, thread, &marks);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

static void collect_used_locked(struct capture *capture, struct capture_thread *thread,
                                struct capture_submission *submission)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (submission)
        mark_submission(&marks, submission, false);
    if (!capture_inflight_each_open_use(&capture->inflight, mark_use, &marks))
        mark_everything(&marks);
    mappings->next = submission;
    collect_marked_locked(capture, thread, &marks);
    mappings->next = NULL;
}

void capture_mappings_collect_used(struct capture *capture, struct capture_thread *thread,
                                   struct capture_submission *submission)
{
    struct capture_mappings *mappings = &capture->mappings;
    if (capture_nothing_is_tracked(mappings))
        return;
    pthread_mutex_lock(&mappings->tracked_lock);
    collect_used_locked(capture, thread, submission);
    submission->is_preceded = true;
    pthread_mutex_unlock(&mappings->tracked_lock);
}

/* The value is raised before the signal gets its ticket, atomically with the search: a thread that
 * records what must precede the work has a lower ticket, or knows that the work may run. */
void capture_mappings_let_go(struct capture *capture, struct capture_thread *thread,
                             struct capture_semaphore *semaphore, uint64_t value)
{
    struct capture_mappings *mappings = &capture->mappings;
    const bool is_tracking = !capture_nothing_is_tracked(mappings);
    if (is_tracking) {
        pthread_mutex_lock(&mappings->tracked_lock);
        collect_used_locked(capture, thread, NULL);
    }
    (void)capture_semaphore_raise(semaphore, value);
    if (is_tracking)
        pthread_mutex_unlock(&mappings->tracked_lock);
}

/* ---- Device writes ---- */

/* Where the observed work may have written into the mapping. */
static void add_observed(struct capture_spans *spans, const struct capture_submission *list,
                         const struct capture_mapping *mapping)
{
    for (; list; list = list->list) {
        if (atomic_load(&list->state) != CAPTURE_SUBMISSION_DONE)
            continue;
        for (uint32_t i = 0; i < list->access_count; i++) {
            for (uint32_t k = 0; k < list->accesses[i]->count; k++) {
                if (capture_access_range_writes(&list->accesses[i]->ranges[k]))
                    add_span(spans, mapping, &list->accesses[i]->ranges[k]);
            }
        }
    }
    capture_spans_merge(spans);
}

static void add_page_writer(void *user, const struct capture_access_range *use,
                            enum capture_progress progress)
{
    const struct writers *writers = user;
    if (progress != CAPTURE_HELD)
        add_span(&writers->mappings->started, writers->mapping, use);
}

/* Finds mappings->started: what is written by work that may run in a replay when it gets here. */
static void find_replayed_writers(struct capture *capture, const struct capture_mapping *mapping)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct writers writers = {mappings, mapping};
    capture_spans_clear(&mappings->started);
    mappings->started.everything =
        !capture_inflight_each_write(&capture->inflight, mappings->next, add_page_writer, &writers);
    capture_spans_merge(&mappings->started);
}

/* Of pages recorded as they are, with what the observed work wrote: unchanged words are unknown. */
static void find_page_writers(struct capture *capture, const struct capture_mapping *mapping)
{
    find_replayed_writers(capture, mapping);
    add_observed(&capture->mappings.started, capture->mappings.observed, mapping);
}

/* Excludes what unobserved work that is not held may write. Held work is released by a later event:
 * the program may still read what that work will overwrite. */
static void record_seen_locked(struct capture_mappings *mappings, struct capture_thread *thread,
                               const struct capture_mapping *mapping, struct capture_span span)
{
    uint64_t begin = span.begin;
    for (uint64_t at = span.begin, next; at < span.end; at = next) {
        if (!capture_spans_at(&mappings->started, at, span.end, &next))
            continue;
        record_seen(mappings, thread, mapping, begin, at);
        begin = next;
    }
    record_seen(mappings, thread, mapping, begin, span.end);
}

/* Compares no more. What the host stored, and no look has taken yet, is recorded without. */
static void drop_copy_locked(struct capture *capture, struct capture_thread *thread,
                             struct capture_mapping *mapping)
{
    uint8_t *host_pages = mapping->host_pages;
    mapping->host_pages = NULL;
    capture_compare_end(mapping);
    capture->mappings.copied_bytes -= mapping->bytes;
    for (uint64_t at = 0; at < mapping->bytes; at += CAPTURE_BLOCK_BYTES) {
        if (host_pages[at / CAPTURE_BLOCK_BYTES])
            record_pages_of(capture, thread, mapping, at,
                            hal_min_u64(at + CAPTURE_BLOCK_BYTES, mapping->bytes));
    }
    free(host_pages);
}

static void observe_mapping_locked(struct capture *capture, struct capture_thread *thread,
                                   const struct capture_submission *list,
                                   struct capture_mapping *mapping)
{
    struct capture_mappings *mappings = &capture->mappings;
    capture_spans_clear(&mappings->seen);
    add_observed(&mappings->seen, list, mapping);
    for (size_t i = 0; i < mappings->seen.count; i++) {
        const struct capture_span span = mappings->seen.list[i];
        /* What the host stored there is recorded before. */
        if (mapping->shadow)
            capture_compare_observe_locked(capture, thread, mapping, span.begin, span.end);
        else if (mapping->watched)
            capture_changes_ask_locked(capture, thread, mapping, span.begin, span.end);
    }
    find_replayed_writers(capture, mapping);
    for (size_t i = 0; mapping->mode & HAL_MAP_READ && i < mappings->seen.count; i++)
        record_seen_locked(mappings, thread, mapping, mappings->seen.list[i]);
    if (is_large(mapping) && mapping->shadow && ++mapping->quiet > MOST_QUIET)
        drop_copy_locked(capture, thread, mapping);
}

static void observe_locked(struct capture *capture, struct capture_thread *thread,
                           const struct capture_submission *list)
{
    struct marks marks = {.mappings = &capture->mappings};
    struct capture_mapping *mapping = NULL;
    for (const struct capture_submission *entry = list; entry; entry = entry->list) {
        if (atomic_load(&entry->state) == CAPTURE_SUBMISSION_DONE)
            mark_submission(&marks, entry, true);
    }
    capture->mappings.observed = list;
    while ((mapping = next_marked(&marks, mapping)))
        observe_mapping_locked(capture, thread, list, mapping);
    capture->mappings.observed = NULL;
}

/* The work leaves the list and its changes are taken over atomically: otherwise another thread
 * could take them for the host's. A thread that finds everything observed waits for the one that
 * takes it over: after that the program may store there. */
static struct capture_submission *see_locked(struct capture *capture,
                                             struct capture_semaphore *semaphore, uint64_t value)
{
    return semaphore ? capture_inflight_see_value(&capture->inflight, semaphore, value)
                     : capture_inflight_see_all(&capture->inflight, value);
}

static void see(struct capture *capture, struct capture_thread *thread,
                struct capture_semaphore *semaphore, uint64_t value)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct capture_submission *list;
    if (capture_nothing_is_tracked(mappings)) {
        list = see_locked(capture, semaphore, value);
    } else {
        pthread_mutex_lock(&mappings->tracked_lock);
        list = see_locked(capture, semaphore, value);
        if (list)
            observe_locked(capture, thread, list);
        pthread_mutex_unlock(&mappings->tracked_lock);
    }
    capture_inflight_free(&capture->inflight, list);
}

void capture_mappings_see_value(struct capture *capture, struct capture_thread *thread,
                                struct capture_semaphore *semaphore, uint64_t value)
{
    if (!semaphore)
        return;
    if (atomic_load_explicit(&semaphore->reached, memory_order_acquire) < value ||
        !capture_nothing_is_tracked(&capture->mappings))
        see(capture, thread, semaphore, value);
}

void capture_mappings_see_all(struct capture *capture, struct capture_thread *thread,
                              uint64_t number)
{
    see(capture, thread, NULL, number);
}

/* ---- Beginning and ending to look ---- */

/* Other mappings of the buffer may cover the same pages, and what is not watched yet counts as not
 * written: what they hold unseen is recorded first. */
bool capture_changes_begin_locked(struct capture *capture, struct capture_thread *thread,
                                  struct capture_mapping *mapping, const struct hal_buffer *buffer)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct marks marks = {.mappings = mappings};
    if (!(mapping->mode & HAL_MAP_WRITE))
        return true;
    mark_range(&marks, mapping->buffer, 0, UINT64_MAX);
    collect_marked_locked(capture, thread, &marks);
    if (mappings->announced)
        return true;
    mapping->watched = !mapping->imported && watch(mappings, mapping, buffer);
    if (!is_large(mapping))
        return capture_compare_begin(mapping);
    /* For a mapping with older contents the trace may know less; the copy would cover it all. */
    if (mapping->is_first)
        mapping->host_pages = hal_alloc(mapping->bytes / CAPTURE_BLOCK_BYTES + 1, 1);
    return true;
}

void capture_changes_end_locked(struct capture_mappings *mappings, struct capture_mapping *mapping)
{
    if (is_large(mapping) && mapping->shadow)
        mappings->copied_bytes -= mapping->bytes;
    if (mapping->watched)
        unwatch_locked(mappings, mapping);
}
