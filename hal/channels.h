/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: groups of ranks that exchange and reduce the contents of their buffers. Part of
 * hal/hal.h, whose rules hold.
 *
 * A channel is one rank's end of a group. Every rank of the group hands in the same collectives in
 * the same order, each on its own device; the n-th of one rank belongs to the n-th of every other.
 * One begins when all of its ranks have come: their submissions' waits are met. It has ended for
 * all of them at once. Nothing is promised about which rank comes first, and no call blocks.
 *
 *     hal_channel_create(devices, 2, NULL, channels);
 *     for (rank = 0; rank < 2; rank++)
 *         hal_queue_collective(devices[rank], &submit[rank],
 *                              &(struct hal_collective_desc){.channel = channels[rank], ...});
 *
 * Failures. A rank whose work fails (its waits, its device, a refusal for want of memory) fails the
 * collective of all ranks, with a message that names the channel, the collective, the rank and its
 * failure; so does a rank that is released before it has handed in a collective that others wait
 * in. Ranks that disagree about what they do fail all, with both versions (HAL_INVALID). The
 * collectives that follow are not affected. A rank that neither comes nor goes keeps the others
 * waiting, as a semaphore that nobody signals: the timeout of hal_device_wait_idle names it, and so
 * does the log, after ten seconds and then ever more rarely (HAL_CHANNEL_PATIENCE). That is also
 * how two channels look that ranks use in different orders.
 *
 * Results depend on the contents alone, not on time: reductions combine the ranks' values in the
 * order of the ranks. Integers wrap. f16 and bf16 are combined as f32 and rounded once, to the
 * nearest even. The minimum or maximum with a NaN is a NaN, and -0 is less than +0. An average is
 * the sum, of integers as if of unlimited width, divided by the number of ranks; that of integers
 * is rounded towards zero. */
#ifndef HAL_CHANNELS_H
#define HAL_CHANNELS_H

#include "hal/base/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hal_buffer;
struct hal_device;
struct hal_submit_desc;
struct hal_channel;

enum {
    HAL_MAX_RANKS = 64, /* of a group */
};

struct hal_channel_desc {
    size_t struct_size;
    const char *label;
    /* A group of several processes: none is possible yet (HAL_UNSUPPORTED). NULL and 0. */
    const void *group_id;
    size_t group_id_bytes;
};

/* Makes the ends of a group of `count` ranks: out_channels[i] is rank i, on devices[i], owned by
 * the caller. All devices are of one driver; one device may be several ranks. HAL_UNSUPPORTED: the
 * driver has no collectives ("collectives" of hal_device_query says 0). A channel is used by one
 * thread at a time, different ones by different threads freely. `desc` may be NULL. */
HAL_API enum hal_status hal_channel_create(struct hal_device *const *devices, size_t count,
                                           const struct hal_channel_desc *desc,
                                           struct hal_channel **out_channels) HAL_CHECKED;
HAL_API void hal_channel_retain(struct hal_channel *channel);

/* Collectives that were handed in stand. */
HAL_API void hal_channel_release(struct hal_channel *channel);

struct hal_channel_info {
    size_t struct_size;
    const char *label; /* NULL: none; lives as long as the channel */
    uint32_t rank, count;
    uint64_t group; /* the same for all ranks, and for no other group of the process */
};
HAL_API enum hal_status hal_channel_get_info(const struct hal_channel *channel,
                                             struct hal_channel_info *out_info) HAL_CHECKED;

/* Written into traces. Sizes count elements; n is the number of ranks. */
enum hal_collective {
    HAL_COLLECTIVE_ALL_REDUCE = 1,     /* sends count, receives count */
    HAL_COLLECTIVE_ALL_GATHER = 2,     /* sends count, receives n * count, by rank */
    HAL_COLLECTIVE_REDUCE_SCATTER = 3, /* sends n * count, receives the rank's part, count */
    HAL_COLLECTIVE_BROADCAST = 4,      /* `peer` sends count, every rank receives count */
    HAL_COLLECTIVE_SEND = 5,           /* sends count to `peer`, whose receive it meets: the n-th */
    HAL_COLLECTIVE_RECEIVE = 6,        /* from this rank to that one; no other rank takes part */
};

/* Written into traces. */
enum hal_element_type {
    HAL_ELEMENT_I8 = 1,
    HAL_ELEMENT_U8 = 2,
    HAL_ELEMENT_I16 = 3,
    HAL_ELEMENT_U16 = 4,
    HAL_ELEMENT_I32 = 5,
    HAL_ELEMENT_U32 = 6,
    HAL_ELEMENT_I64 = 7,
    HAL_ELEMENT_U64 = 8,
    HAL_ELEMENT_F16 = 9,
    HAL_ELEMENT_BF16 = 10,
    HAL_ELEMENT_F32 = 11,
    HAL_ELEMENT_F64 = 12,
};

/* Written into traces. */
enum hal_reduction {
    HAL_REDUCTION_NONE = 0, /* of collectives that reduce nothing */
    HAL_REDUCTION_SUM = 1,
    HAL_REDUCTION_PRODUCT = 2,
    HAL_REDUCTION_MINIMUM = 3,
    HAL_REDUCTION_MAXIMUM = 4,
    HAL_REDUCTION_AVERAGE = 5,
};

struct hal_collective_desc {
    size_t struct_size;
    struct hal_channel *channel;
    enum hal_collective operation;
    enum hal_element_type type;
    enum hal_reduction reduction;
    uint32_t
        peer; /* the rank that sends a broadcast, or that is sent to or received from; else 0 */
    uint64_t count;
    /* Buffers of the rank's device with usage transfer; NULL where it does not send or receive.
     * They may overlap only where that is in place: an all-reduce or the root of a broadcast with
     * the same range twice, an all-gather that sends the rank's own part of what it receives, a
     * reduce-scatter that receives into the rank's own part of what it sends. Ranges of different
     * ranks may not overlap where one is written (the collective fails). */
    struct hal_buffer *send;
    uint64_t send_offset;
    struct hal_buffer *receive;
    uint64_t receive_offset;
};

/* Hands in the channel's next collective. `desc` as with the other operations straight on a queue;
 * buffers, channel and semaphores are retained until the work is done. Both offsets are multiples
 * of the element's size. A count of 0 is legal and still meets the other ranks. */
HAL_API enum hal_status hal_queue_collective(
    struct hal_device *device, const struct hal_submit_desc *desc,
    const struct hal_collective_desc *collective) HAL_CHECKED;

/* Of one element; 0: there is no such type. */
HAL_API uint32_t hal_element_bytes(enum hal_element_type type);

#ifdef __cplusplus
}
#endif
#endif
