/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: groups of ranks that exchange and reduce the contents of their buffers. Part of
 * hal/hal.h, whose rules apply.
 *
 * A channel is one rank's end of a group. Every rank of the group submits the same collectives in
 * the same order, each on its own device: the n-th collective of one rank matches the n-th of every
 * other. A collective starts when all its ranks have arrived, that is, when their submissions'
 * waits are met. It ends for all of them at the same time. No order between the ranks is
 * guaranteed, and no call blocks.
 *
 *     hal_channel_create(devices, 2, NULL, channels);
 *     for (rank = 0; rank < 2; rank++)
 *         hal_queue_collective(devices[rank], &submit[rank],
 *                              &(struct hal_collective_desc){.channel = channels[rank], ...});
 *
 * Failures. If one rank's work fails (its waits, its device, or an allocation), the collective
 * fails on all ranks with a message that names the channel, the collective, the rank and its
 * failure. The same happens if a rank is released before it has submitted a collective that others
 * are waiting in. If ranks disagree about the collective, it fails on all of them with both
 * versions (HAL_INVALID). Later collectives are not affected. A rank that never arrives and is not
 * released keeps the others waiting, like a semaphore that is never signalled. The timeout of
 * hal_device_wait_idle names it, and so does the log, after ten seconds and then at growing
 * intervals (HAL_CHANNEL_STALL_WARNING). Ranks that use two channels in different orders show the
 * same symptom.
 *
 * Results depend only on the contents, not on timing: reductions combine the ranks' values in rank
 * order. Integers wrap. f16 and bf16 are combined as f32 and rounded once, to nearest even. The
 * minimum or maximum with a NaN is a NaN, and -0 is less than +0. An average is the sum (for
 * integers, as if of unlimited width) divided by the number of ranks; integers round towards
 * zero. */
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
    HAL_MAX_RANKS = 64, /* per group */
};

struct hal_channel_desc {
    size_t struct_size;
    const char *label;
    /* Groups across processes are not supported yet (HAL_UNSUPPORTED). NULL and 0. */
    const void *group_id;
    size_t group_id_bytes;
};

/* Creates the channels of a group of `count` ranks: out_channels[i] is rank i, on devices[i], owned
 * by the caller. All devices belong to one driver; one device may be several ranks.
 * HAL_UNSUPPORTED: the driver has no collectives (hal_device_query of "collectives" returns 0). A
 * channel is used by one thread at a time; different threads may use different channels
 * concurrently. `desc` may be NULL. */
HAL_API enum hal_status hal_channel_create(struct hal_device *const *devices, size_t count,
                                           const struct hal_channel_desc *desc,
                                           struct hal_channel **out_channels) HAL_CHECKED;
HAL_API void hal_channel_retain(struct hal_channel *channel);

/* Collectives that were already submitted still run. */
HAL_API void hal_channel_release(struct hal_channel *channel);

struct hal_channel_info {
    size_t struct_size;
    const char *label; /* NULL: none; lives as long as the channel */
    uint32_t rank, count;
    uint64_t group; /* the same for all ranks; unique to the group within the process */
};
HAL_API enum hal_status hal_channel_get_info(const struct hal_channel *channel,
                                             struct hal_channel_info *out_info) HAL_CHECKED;

/* Written into traces. Sizes are in elements; n is the number of ranks. Only two ranks take part in
 * a send and its receive: the k-th send to a rank matches its k-th receive from there. */
enum hal_collective {
    HAL_COLLECTIVE_ALL_REDUCE = 1,     /* sends count, receives count */
    HAL_COLLECTIVE_ALL_GATHER = 2,     /* sends count, receives n * count in rank order */
    HAL_COLLECTIVE_REDUCE_SCATTER = 3, /* sends n * count, receives count: the rank's part */
    HAL_COLLECTIVE_BROADCAST = 4,      /* `peer` sends count, every rank receives count */
    HAL_COLLECTIVE_SEND = 5,           /* sends count to `peer` */
    HAL_COLLECTIVE_RECEIVE = 6,        /* receives count from `peer` */
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
    HAL_REDUCTION_NONE = 0, /* for collectives without a reduction */
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
    uint32_t peer; /* rank: root of a broadcast, or the other side of a send or receive; else 0 */
    uint64_t count;
    /* Buffers of the rank's device with usage transfer; NULL where the rank does not send or
     * receive. They may overlap only for in-place operation: an all-reduce or the root of a
     * broadcast may use the same range twice, an all-gather may send the rank's own part of the
     * range that it receives, and a reduce-scatter may receive into the rank's own part of the
     * range that it sends. Ranges of different ranks must not overlap if one is written (the
     * collective fails). */
    struct hal_buffer *send;
    uint64_t send_offset;
    struct hal_buffer *receive;
    uint64_t receive_offset;
};

/* Submits the channel's next collective. `desc` follows the rules of the other single queue
 * operations; buffers, channel and semaphores are retained until the work is done. Both offsets are
 * multiples of the element size. A count of 0 is legal and still meets the other ranks. */
HAL_API enum hal_status hal_queue_collective(
    struct hal_device *device, const struct hal_submit_desc *desc,
    const struct hal_collective_desc *collective) HAL_CHECKED;

/* Bytes of one element; 0: there is no such type. */
HAL_API uint32_t hal_element_bytes(enum hal_element_type type);

#ifdef __cplusplus
}
#endif
#endif
