/* SPDX-License-Identifier: Apache-2.0 */
/* A byte ring between one thread that records and the writer: one producer, one consumer.
 *
 * The producer reserves room, fills a record in place and publishes it with one release store. The
 * consumer looks at everything published, and gives memory back when it no longer needs it, which
 * may be much later than it has read. Memory is mapped twice, so records never wrap.
 *
 * Nothing here waits: reserve fails when the ring is full, and what to do then is the stream's. */
#ifndef CAPTURE_RING_H
#define CAPTURE_RING_H

#include "capture/stream/sidecar.h"

#include <stdbool.h>

struct capture_ring {
    /* The producer's. */
    uint64_t write;      /* where the next record goes */
    uint64_t known_tail; /* the tail when it was last looked at */
    uint8_t *base;
    uint64_t bytes;
    uint64_t wake_bytes; /* after so many the consumer is woken; a power of two */
    bool ended;          /* nothing fits any more */
    struct trace_ring_slot *slot;
    /* A thread that outgrows its ring goes on in the next one; set once, after the last record. */
    _Atomic(struct capture_ring *) next;
    /* The consumer's. */
    _Alignas(64) uint64_t read;
    struct capture_ring *older; /* rings that are read, in a list */
};

/* The slot's memory, which is committed, mapped and there. */
enum hal_status capture_ring_map(const struct capture_sidecar *sidecar,
                                 const struct trace_ring_slot *slot,
                                 uint8_t **out_base) HAL_CHECKED;

/* `slot` is zeroed but for `offset` and `bytes`, whose memory is mapped at `base`. */
void capture_ring_init(struct capture_ring *ring, struct trace_ring_slot *slot, uint8_t *base);

/* Room for `bytes` (a multiple of 8, at most the ring's size), or NULL when the ring is full. */
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

/* Publishes the `bytes` that were reserved and filled. True when the ring has filled up by another
 * `wake_bytes`: a good moment to wake the consumer. */
static inline bool capture_ring_publish(struct capture_ring *ring, uint64_t bytes)
{
    const uint64_t before = ring->write;
    ring->write = before + bytes;
    /* The lines that the next records will touch left this core's cache when they were read. */
    const uint8_t *ahead = ring->base + ((ring->write + 1024) & (ring->bytes - 1));
    __builtin_prefetch(ahead, 1);
    __builtin_prefetch(ahead + 64, 1);
    atomic_store_explicit(&ring->slot->head, ring->write, memory_order_release);
    return ((before ^ ring->write) & ~(ring->wake_bytes - 1)) != 0;
}

/* The producer: something could not be recorded. What came now might stand where the rest of that
 * belongs. */
static inline void capture_ring_end(struct capture_ring *ring)
{
    ring->ended = true;
    ring->known_tail = ring->write - ring->bytes;
}

/* For a producer that has no other ring to go on in: wakes the consumer while the rest of this one
 * fills. Other rings wake it late, for it takes a processor from the threads that record. */
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

/* Consumer: memory before `ring->read` may be used again. */
static inline void capture_ring_release(struct capture_ring *ring)
{
    atomic_store_explicit(&ring->slot->tail, ring->read, memory_order_release);
}

#endif
