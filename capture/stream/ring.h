/* SPDX-License-Identifier: Apache-2.0 */
/* A byte ring between one recording thread and the writer: single producer, single consumer.
 *
 * The producer reserves room, fills a record in place and publishes it with one release store. The
 * consumer reads everything published and releases memory once it is no longer needed, which may be
 * much later. The memory is mapped twice, so records never wrap.
 *
 * Nothing here blocks: reserve fails if the ring is full, and the stream decides what to do. */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include "capture/stream/sidecar.h"

#include <stdbool.h>

struct capture_ring {
    /* Producer. */
    uint64_t write;      /* position of the next record */
    uint64_t known_tail; /* the tail when last read */
    uint8_t *base;
    uint64_t bytes;
    uint64_t wake_bytes; /* interval at which the consumer is woken; a power of two */
    bool ended;          /* accepts no more records */
    struct trace_ring_slot *slot;
    /* A thread that outgrows its ring continues in the next one; set after the last record. */
    _Atomic(struct capture_ring *) next;
    /* Consumer. */
    _Alignas(64) uint64_t read;
    struct capture_ring *older; /* list of rings already read */
};

/* Maps the slot's memory, committed and present. */
enum hal_status capture_ring_map(const struct capture_sidecar *sidecar,
                                 const struct trace_ring_slot *slot,
                                 uint8_t **out_base) HAL_CHECKED;

/* `slot` is zeroed except `offset` and `bytes`, whose memory is mapped at `base`. */
void capture_ring_init(struct capture_ring *ring, struct trace_ring_slot *slot, uint8_t *base);

/* Room for `bytes` (a multiple of 8, at most the ring's size); NULL: the ring is full. */
static inline void *capture_ring_reserve(struct capture_ring *ring, uint64_t bytes)
{
    if (__builtin_expect(ring->write + bytes - ring->known_tail > ring->bytes, 0)) {
        if (ring->ended)
            return NULL;
        ring->known_tail = atomic_load_explicit(&ring->slot->tail, memory_order_acquire);
        if (ring->write + bytes - ring->known_tail > ring->bytes)
            return NULL;
    }
    return ring->base + (ring->write & (ring->bytes - 1));
}

/* Publishes the `bytes` that were reserved and filled. Returns true each time the ring has filled
 * by another `wake_bytes`: a good moment to wake the consumer. */
static inline bool capture_ring_publish(struct capture_ring *ring, uint64_t bytes)
{
    const uint64_t before = ring->write;
    ring->write = before + bytes;
    /* The next records' cache lines left this core's cache when the consumer read them. */
    const uint8_t *ahead = ring->base + ((ring->write + 1024) & (ring->bytes - 1));
    __builtin_prefetch(ahead, 1);
    __builtin_prefetch(ahead + 64, 1);
    atomic_store_explicit(&ring->slot->head, ring->write, memory_order_release);
    return ((before ^ ring->write) & ~(ring->wake_bytes - 1)) != 0;
}

/* Producer: something could not be recorded. Later records could be taken for the missing part. */
static inline void capture_ring_end(struct capture_ring *ring)
{
    ring->ended = true;
    ring->known_tail = ring->write - ring->bytes;
}

/* For a producer with no further ring to continue in: wakes the consumer while the rest of this one
 * fills. Other rings wake it late, because it takes a processor from recording threads. */
static inline void capture_ring_lower_latency(struct capture_ring *ring)
{
    ring->wake_bytes = ring->bytes / 4;
}

/* Consumer: everything published from position `ring->read` on, contiguous. */
static inline const uint8_t *capture_ring_peek(const struct capture_ring *ring, uint64_t *out_bytes)
{
    *out_bytes = atomic_load_explicit(&ring->slot->head, memory_order_acquire) - ring->read;
    return ring->base + (ring->read & (ring->bytes - 1));
}

/* Consumer: releases the memory before `ring->read`. */
static inline void capture_ring_release(struct capture_ring *ring)
{
    atomic_store_explicit(&ring->slot->tail, ring->read, memory_order_release);
}

#endif
