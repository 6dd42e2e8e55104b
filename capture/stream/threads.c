/* SPDX-License-Identifier: Apache-2.0 */
/* Which ring the calling thread writes: registration on first use, growth, the thread's end.
 *
 * A thread remembers its memberships, one per stream that it recorded into, by the streams'
 * generations; a membership outlives its stream harmlessly. */
#include "capture/stream/threads.h"

#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/base/text.h"

enum { FIRST_RING_BYTES = 256 << 10, READY_RINGS = 4, THREAD_NAME_BYTES = 64 };

struct membership {
    uint64_t generation;
    struct capture_thread *thread;
    struct membership *next;
};

static _Thread_local struct {
    uint64_t generation;
    struct capture_thread *thread;
} recent;
static _Thread_local struct membership *memberships;

static pthread_mutex_t streams_lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture_stream *live_streams;
static uint64_t last_generation;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t exit_key;

static struct capture_stream *find_stream_locked(uint64_t generation)
{
    struct capture_stream *stream = live_streams;
    while (stream && stream->generation != generation)
        stream = stream->next_live;
    return stream;
}

static void leave_streams(void *unused)
{
    (void)unused;
    struct membership *list = memberships;
    memberships = NULL;
    recent.generation = 0;
    pthread_mutex_lock(&streams_lock);
    while (list) {
        struct membership *next = list->next;
        const struct capture_stream *stream = find_stream_locked(list->generation);
        if (stream && !capture_stream_forked(stream))
            atomic_store_explicit(&list->thread->exited, true, memory_order_release);
        free(list);
        list = next;
    }
    pthread_mutex_unlock(&streams_lock);
}

static void make_key(void)
{
    pthread_key_create(&exit_key, leave_streams);
}

void capture_threads_open(struct capture_stream *stream)
{
    pthread_once(&key_once, make_key);
    pthread_mutex_init(&stream->threads_lock, NULL);
    pthread_mutex_lock(&streams_lock);
    stream->generation = ++last_generation;
    stream->next_live = live_streams;
    live_streams = stream;
    pthread_mutex_unlock(&streams_lock);
}

static void forget_thread(struct capture_stream *stream, struct capture_thread *thread)
{
    atomic_fetch_add_explicit(&stream->overhead_ns,
                              atomic_load_explicit(&thread->overhead_ns, memory_order_relaxed),
                              memory_order_relaxed);
    capture_unwind_cache_free(thread->unwind_cache);
    free(thread);
}

void capture_threads_close(struct capture_stream *stream)
{
    pthread_mutex_lock(&streams_lock);
    struct capture_stream **link = &live_streams;
    while (*link != stream)
        link = &(*link)->next_live;
    *link = stream->next_live;
    pthread_mutex_unlock(&streams_lock);
    while (stream->threads) {
        struct capture_thread *thread = stream->threads;
        stream->threads = thread->next;
        while (thread->finished) {
            struct capture_ring *ring = thread->finished;
            thread->finished = ring->older;
            capture_ring_free(thread, ring);
        }
        while (thread->reading) {
            struct capture_ring *ring = thread->reading;
            thread->reading = atomic_load(&ring->next);
            capture_ring_free(thread, ring);
        }
        forget_thread(stream, thread);
    }
    for (uint32_t i = 0; i < stream->slots_used; i++)
        if (stream->ring_bases[i])
            capture_sidecar_unmap_twice(stream->ring_bases[i],
                                        stream->sidecar.header->slots[i].bytes);
    pthread_mutex_destroy(&stream->threads_lock);
}

/* ---- Rings ---- */

static struct trace_ring_slot *find_free_locked(struct capture_stream *stream, uint64_t least,
                                                uint64_t most)
{
    struct trace_sidecar_header *header = stream->sidecar.header;
    for (uint32_t i = 0; i < stream->slots_used; i++) {
        struct trace_ring_slot *slot = &header->slots[i];
        if (slot->bytes >= least && slot->bytes <= most &&
            atomic_load_explicit(&slot->state, memory_order_acquire) == TRACE_RING_FREE)
            return slot;
    }
    return NULL;
}

/* Allocates from the ring area, for rings of that size. */
static uint64_t area_bytes(const struct capture_stream *stream, uint64_t bytes)
{
    const uint64_t spare = bytes > stream->ring_bytes ? 0 : stream->spare_bytes;
    return stream->sidecar.header->rings_bytes - spare;
}

static bool area_has_locked(const struct capture_stream *stream, uint64_t bytes)
{
    return stream->slots_used < TRACE_RING_SLOTS &&
           stream->rings_used + bytes <= area_bytes(stream, bytes);
}

/* Free until a thread takes it. */
static enum hal_status new_slot_locked(struct capture_stream *stream, uint64_t bytes,
                                       struct trace_ring_slot **out_slot)
{
    struct trace_sidecar_header *header = stream->sidecar.header;
    if (!area_has_locked(stream, bytes))
        return hal_fail(
            HAL_NO_MEMORY,
            "%s in use (the limit is %d), with %llu of %s: no space for another thread's ring of "
            "%s",
            hal_count(stream->slots_used, "ring is", "rings are").text, TRACE_RING_SLOTS,
            (unsigned long long)stream->rings_used,
            hal_count((unsigned long long)area_bytes(stream, bytes), "byte", "bytes").text,
            hal_count((unsigned long long)bytes, "byte", "bytes").text);
    const uint64_t offset = header->rings_offset + stream->rings_used;
    HAL_TRY(capture_sidecar_commit(&stream->sidecar, offset, bytes));
    *out_slot = &header->slots[stream->slots_used++];
    (*out_slot)->offset = offset;
    (*out_slot)->bytes = bytes;
    stream->rings_used += bytes;
    return HAL_OK;
}

/* A slot with memory for a ring of that size: a free one, or a new one, or a larger one. */
static enum hal_status take_slot_locked(struct capture_stream *stream, uint64_t bytes,
                                        struct trace_ring_slot **out_slot)
{
    *out_slot = find_free_locked(stream, bytes, bytes);
    if (!*out_slot && !area_has_locked(stream, bytes))
        *out_slot = find_free_locked(stream, bytes, UINT64_MAX);
    return *out_slot ? HAL_OK : new_slot_locked(stream, bytes, out_slot);
}

/* Memory once mapped stays mapped: the next thread that needs a ring reuses it. */
static enum hal_status map_slot_locked(struct capture_stream *stream, struct trace_ring_slot *slot,
                                       uint8_t **out_base)
{
    uint8_t **base = &stream->ring_bases[slot - stream->sidecar.header->slots];
    if (!*base)
        HAL_TRY(capture_ring_map(&stream->sidecar, slot, base));
    *out_base = *base;
    return HAL_OK;
}

static enum hal_status create_ring_locked(struct capture_thread *thread, uint64_t sequence,
                                          uint64_t bytes, struct capture_ring **out_ring)
{
    struct capture_stream *stream = thread->stream;
    struct trace_ring_slot *slot = NULL;
    struct capture_ring *ring;
    uint8_t *base = NULL;
    if (posix_memalign((void **)&ring, 64, sizeof *ring))
        return hal_fail(HAL_NO_MEMORY, "no memory for a ring");
    enum hal_status status = take_slot_locked(stream, bytes, &slot);
    if (status == HAL_OK)
        status = map_slot_locked(stream, slot, &base);
    if (status != HAL_OK) {
        free(ring);
        return status;
    }
    slot->thread = thread->number;
    slot->sequence = sequence;
    memset(slot->durable, 0, sizeof slot->durable);
    atomic_store_explicit(&slot->head, 0, memory_order_relaxed);
    atomic_store_explicit(&slot->tail, 0, memory_order_relaxed);
    capture_ring_init(ring, slot, base);
    atomic_store_explicit(&slot->state, TRACE_RING_LIVE, memory_order_release);
    atomic_fetch_add_explicit(&thread->rings_bytes, ring->bytes, memory_order_relaxed);
    *out_ring = ring;
    return HAL_OK;
}

/* What the file could not take is left to a recovery. */
void capture_ring_free(struct capture_thread *thread, struct capture_ring *ring)
{
    struct capture_stream *stream = thread->stream;
    pthread_mutex_lock(&stream->threads_lock);
    if (!stream->file_failed)
        atomic_store_explicit(&ring->slot->state, TRACE_RING_FREE, memory_order_release);
    pthread_mutex_unlock(&stream->threads_lock);
    atomic_fetch_sub_explicit(&thread->rings_bytes, ring->bytes, memory_order_relaxed);
    free(ring);
}

/* Comfort for some threads must not keep others out: a quarter of the area is for first rings. */
static bool may_grow_locked(struct capture_stream *stream, uint64_t bytes)
{
    const uint64_t area = area_bytes(stream, 0);
    return find_free_locked(stream, bytes, UINT64_MAX) ||
           stream->rings_used + bytes <= area - area / 4;
}

/* A thread has several rings rather than a large one: what one thread does not use another can. */
static uint64_t usual_size(const struct capture_stream *stream)
{
    const uint64_t bytes = stream->ring_bytes / READY_RINGS;
    return bytes < CAPTURE_LEAST_RING_BYTES ? CAPTURE_LEAST_RING_BYTES : bytes;
}

/* The writer, which would take a processor from recording threads, is not woken until rings run
 * out: no other ring was ready, or the thread has most of its share and can still fill the rest. */
bool capture_ring_grow(struct capture_thread *thread, uint64_t bytes)
{
    struct capture_stream *stream = thread->stream;
    struct capture_ring *old = thread->ring, *grown = NULL;
    uint64_t size = usual_size(stream);
    while (size < bytes)
        size *= 2;
    if (bytes <= old->bytes && thread->rings_bytes >= 2 * stream->ring_bytes)
        return false;
    const struct hal_kept_message kept = hal_keep_message();
    pthread_mutex_lock(&stream->threads_lock);
    const uint32_t slots_before = stream->slots_used;
    enum hal_status status = HAL_NO_MEMORY;
    if (bytes > old->bytes || may_grow_locked(stream, size))
        status = create_ring_locked(thread, old->slot->sequence + 1, size, &grown);
    const bool was_ready = stream->slots_used == slots_before;
    pthread_mutex_unlock(&stream->threads_lock);
    hal_restore_message(&kept, HAL_FAILED);
    if (status != HAL_OK)
        return false;
    thread->ring = grown;
    atomic_store_explicit(&old->next, grown, memory_order_release);
    if (!was_ready || thread->rings_bytes > stream->ring_bytes / 2 * 3)
        capture_wake_writer(stream);
    return true;
}

void capture_threads_prepare(struct capture_stream *stream)
{
    const uint64_t bytes = usual_size(stream);
    struct trace_ring_slot *slot;
    uint8_t *base;
    pthread_mutex_lock(&stream->threads_lock);
    (void)capture_sidecar_commit_large(&stream->sidecar, stream->sidecar.header->rings_offset,
                                       READY_RINGS * bytes);
    for (uint32_t i = 0; i < READY_RINGS; i++) {
        if (new_slot_locked(stream, bytes, &slot) != HAL_OK ||
            map_slot_locked(stream, slot, &base) != HAL_OK)
            break; /* the thread that needs a ring reports it */
    }
    pthread_mutex_unlock(&stream->threads_lock);
}

/* ---- Registration ---- */

/* The more threads there are, the less each gets to begin with. */
static uint64_t first_bytes_locked(const struct capture_stream *stream)
{
    const bool crowded = stream->rings_used >= area_bytes(stream, 0) / 2;
    const uint64_t usual = crowded ? CAPTURE_LEAST_RING_BYTES : FIRST_RING_BYTES;
    return usual_size(stream) < usual ? usual_size(stream) : usual;
}

static enum hal_status register_locked(struct capture_stream *stream, struct capture_thread *thread)
{
    if (stream->thread_count == TRACE_MAX_THREADS)
        return hal_fail(HAL_UNSUPPORTED, "more than %u threads have recorded", TRACE_MAX_THREADS);
    thread->number = stream->thread_count + 1;
    HAL_TRY(create_ring_locked(thread, 0, first_bytes_locked(stream), &thread->ring));
    stream->thread_count++;
    thread->reading = thread->ring;
    thread->next = stream->threads;
    stream->threads = thread;
    return HAL_OK;
}

static enum hal_status register_thread(struct capture_stream *stream, struct capture_thread *thread)
{
    pthread_mutex_lock(&stream->threads_lock);
    const enum hal_status status = register_locked(stream, thread);
    pthread_mutex_unlock(&stream->threads_lock);
    return status;
}

/* The thread's first record identifies it. */
static void introduce(struct capture_thread *thread)
{
    char name[THREAD_NAME_BYTES];
    hal_thread_name(name, sizeof name);
    const uint32_t string = capture_string(thread, name);
    struct trace_thread *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return;
    *record = (struct trace_thread){.head = {.kind = TRACE_THREAD, .bytes = sizeof *record},
                                    .system_id = hal_thread_id(),
                                    .id = thread->number,
                                    .name = string};
    capture_publish(thread, sizeof *record);
}

static struct capture_thread *join_stream(struct capture_stream *stream)
{
    struct capture_thread *thread = hal_alloc(1, sizeof *thread);
    struct membership *membership = hal_alloc(1, sizeof *membership);
    enum hal_status status = HAL_NO_MEMORY;
    if (!thread || !membership) {
        hal_fail(status, "no memory for a thread's recording state");
    } else {
        thread->stream = stream;
        status = register_thread(stream, thread);
        /* Rings of threads that have exited come back when the file has their records. */
        if (status == HAL_NO_MEMORY && capture_stream_flush(stream) == HAL_OK)
            status = register_thread(stream, thread);
    }
    if (status != HAL_OK) {
        free(thread);
        free(membership);
        capture_stop(stream, status, "%s", hal_message());
        return NULL;
    }
    *membership = (struct membership){
        .generation = stream->generation, .thread = thread, .next = memberships};
    memberships = membership;
    pthread_setspecific(exit_key, membership);
    return thread;
}

static void drop_dead_memberships(void)
{
    pthread_mutex_lock(&streams_lock);
    struct membership **link = &memberships;
    while (*link) {
        struct membership *membership = *link;
        if (find_stream_locked(membership->generation)) {
            link = &membership->next;
            continue;
        }
        *link = membership->next;
        free(membership);
    }
    pthread_mutex_unlock(&streams_lock);
}

static struct capture_thread *enter_first_time(struct capture_stream *stream)
{
    const struct hal_kept_message kept = hal_keep_message();
    drop_dead_memberships();
    struct capture_thread *thread = join_stream(stream);
    if (thread) {
        recent.generation = stream->generation;
        recent.thread = thread;
        introduce(thread);
    }
    hal_restore_message(&kept, HAL_FAILED);
    return thread;
}

struct capture_thread *capture_enter(struct capture_stream *stream)
{
    if (__builtin_expect(!atomic_load_explicit(stream->recording, memory_order_relaxed), 0)) {
        capture_lose(stream, 1);
        return NULL;
    }
    if (__builtin_expect(recent.generation == stream->generation, 1))
        return recent.thread;
    for (struct membership *member = memberships; member; member = member->next) {
        if (member->generation == stream->generation) {
            recent.generation = member->generation;
            return recent.thread = member->thread;
        }
    }
    return enter_first_time(stream);
}

/* ---- The writer's view ---- */

void capture_threads_collect(struct capture_stream *stream)
{
    pthread_mutex_lock(&stream->threads_lock);
    struct capture_thread **link = &stream->threads, *gone = NULL;
    while (*link) {
        struct capture_thread *thread = *link;
        const bool exited = atomic_load_explicit(&thread->exited, memory_order_acquire);
        const struct capture_ring *ring = thread->reading;
        if (!exited || thread->finished || atomic_load(&ring->next) ||
            atomic_load_explicit(&ring->slot->head, memory_order_acquire) !=
                atomic_load_explicit(&ring->slot->tail, memory_order_relaxed)) {
            link = &thread->next;
            continue;
        }
        *link = thread->next;
        thread->next = gone;
        gone = thread;
    }
    pthread_mutex_unlock(&stream->threads_lock);
    while (gone) {
        struct capture_thread *thread = gone;
        gone = thread->next;
        capture_ring_free(thread, thread->reading);
        forget_thread(stream, thread);
    }
}
