/* SPDX-License-Identifier: Apache-2.0 */
/* Open mappings. */
#include "capture/track/mappings.h"

#include "capture/capture.h"
#include "hal/base/log.h"
#include "hal/base/mem.h"

void capture_mappings_init(struct capture_mappings *mappings)
{
    memset(mappings, 0, sizeof *mappings);
    pthread_mutex_init(&mappings->tracked_lock, NULL);
    const char *how = getenv("HAL_DEVICE_PROFILING_DIRTY");
    mappings->by_comparison = how && strcmp(how, "compare") == 0;
    mappings->announced = how && strcmp(how, "announced") == 0;
    if (how && *how && !mappings->by_comparison && !mappings->announced)
        hal_log(HAL_LOG_WARN,
                "HAL_DEVICE_PROFILING_DIRTY='%s' is neither 'compare' nor 'announced': ignored",
                how);
}

void capture_mappings_finish(struct capture_mappings *mappings)
{
    capture_pages_close(&mappings->pages);
    capture_spans_finish(&mappings->started);
    capture_spans_finish(&mappings->waiting);
    capture_spans_finish(&mappings->seen);
    free(mappings->scratch);
    pthread_mutex_destroy(&mappings->tracked_lock);
}

/* ---- Opening and closing ---- */

static bool is_tracked(const struct hal_mapping *mapping)
{
    return (mapping->mode & HAL_MAP_PERSISTENT) &&
           (mapping->buffer->memory & HAL_MEMORY_HOST_COHERENT);
}

static bool track_locked(struct capture *capture, struct capture_thread *thread,
                         struct capture_mapping *mapping, const struct hal_buffer *buffer)
{
    struct capture_mappings *mappings = &capture->mappings;
    struct capture_mapping **bucket = capture_tracked(mappings, mapping->buffer);
    /* Trying it out takes a millisecond or two, which most programs need not spend. */
    if (!mappings->by_comparison && !mappings->announced && !mappings->pages.page_bytes)
        capture_pages_open(&mappings->pages);
    if (!capture_changes_begin_locked(capture, thread, mapping, buffer))
        return false;
    mapping->tracked = true;
    mapping->next_tracked = *bucket;
    *bucket = mapping;
    atomic_fetch_add_explicit(&mappings->tracked_count, 1, memory_order_release);
    return true;
}

static void free_mapping(struct capture_buffer *buffer, struct capture_mapping *mapping)
{
    capture_compare_end(mapping);
    if (!mapping->is_own) {
        free(mapping);
        return;
    }
    pthread_mutex_lock(&buffer->lock);
    buffer->own_used = false;
    pthread_mutex_unlock(&buffer->lock);
}

static struct capture_mapping *new_mapping(struct capture_buffer *buffer)
{
    pthread_mutex_lock(&buffer->lock);
    const bool own_used = buffer->own_used;
    buffer->own_used = true;
    pthread_mutex_unlock(&buffer->lock);
    if (own_used)
        return hal_alloc(1, sizeof(struct capture_mapping));
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
        opened->is_first = buffer->is_new && buffer->born == atomic_load(&capture->inflight.count);
    }
    if (ok && is_tracked(mapping)) {
        pthread_mutex_lock(&mappings->tracked_lock);
        ok = track_locked(capture, thread, opened, mapping->buffer);
        pthread_mutex_unlock(&mappings->tracked_lock);
    }
    if (!ok) {
        capture_stop(&capture->stream, HAL_NO_MEMORY, "no memory for a mapping of %llu bytes",
                     (unsigned long long)mapping->bytes);
        if (opened)
            free_mapping(buffer, opened);
        return NULL;
    }
    pthread_mutex_lock(&buffer->lock);
    opened->next_open = buffer->open;
    buffer->open = opened;
    pthread_mutex_unlock(&buffer->lock);
    return opened;
}

struct capture_mapping *capture_mapping_find(const struct hal_mapping *mapping)
{
    struct capture_buffer *buffer = mapping->buffer->object.layer_data;
    if (!buffer)
        return NULL;
    pthread_mutex_lock(&buffer->lock);
    struct capture_mapping *found = buffer->open;
    while (found && (found->data != mapping->data || found->offset != mapping->offset ||
                     found->bytes != mapping->bytes || found->mode != mapping->mode))
        found = found->next_open;
    pthread_mutex_unlock(&buffer->lock);
    return found;
}

static void untrack(struct capture_mappings *mappings, struct capture_mapping *mapping)
{
    pthread_mutex_lock(&mappings->tracked_lock);
    struct capture_mapping **link = capture_tracked(mappings, mapping->buffer);
    while (*link != mapping)
        link = &(*link)->next_tracked;
    *link = mapping->next_tracked;
    atomic_fetch_sub_explicit(&mappings->tracked_count, 1, memory_order_release);
    capture_changes_end_locked(mappings, mapping);
    pthread_mutex_unlock(&mappings->tracked_lock);
}

void capture_mapping_close(struct capture *capture, const struct hal_buffer *buffer,
                           struct capture_mapping *mapping)
{
    struct capture_buffer *known = buffer->object.layer_data;
    struct capture_mapping **link = &known->open;
    pthread_mutex_lock(&known->lock);
    while (*link != mapping)
        link = &(*link)->next_open;
    *link = mapping->next_open;
    pthread_mutex_unlock(&known->lock);
    if (mapping->tracked)
        untrack(&capture->mappings, mapping);
    free_mapping(known, mapping);
}

struct capture_buffer *capture_buffer_create(const struct capture *capture)
{
    struct capture_buffer *buffer = hal_alloc(1, sizeof *buffer);
    if (!buffer)
        return NULL;
    pthread_mutex_init(&buffer->lock, NULL);
    buffer->is_new = capture != NULL;
    buffer->born = capture ? atomic_load(&capture->inflight.count) : 0;
    return buffer;
}

void capture_buffer_free(struct capture *capture, struct hal_buffer *buffer)
{
    struct capture_buffer *known = buffer->object.layer_data;
    while (known && known->open)
        capture_mapping_close(capture, buffer, known->open);
    if (known)
        pthread_mutex_destroy(&known->lock);
    free(known);
}
