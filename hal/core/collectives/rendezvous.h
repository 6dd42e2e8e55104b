/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of a collective's ranks, for drivers that have host addresses of buffers. Part
 * of hal/driver.h.
 *
 * The core makes a rendezvous when its first rank submits the collective. A driver whose
 * submission's waits are met arrives; the last one moves the data, and all are notified.
 * No call blocks. All of it has one lock, which is held during no call out; a driver's own locks
 * may be held around hal_rendezvous_describe alone. */
#ifndef HAL_RENDEZVOUS_H
#define HAL_RENDEZVOUS_H

#include "hal/channels.h"

#include <stdbool.h>

struct hal_rendezvous;

/* What one rank submits. Ranges are of roots; a side without a buffer has no bytes. */
struct hal_collective_work {
    struct hal_channel *channel; /* as the buffers: retained by the submission */
    enum hal_collective operation;
    enum hal_element_type type;
    enum hal_reduction reduction;
    uint32_t peer;
    uint64_t count, number; /* the how manieth of its kind, from 0 */
    struct hal_buffer *send, *receive;
    uint64_t send_offset, send_bytes, receive_offset, receive_bytes;
    struct hal_rendezvous
        *rendezvous; /* the driver's from the moment when it takes the submission */

    /* Optional; of a layer, on any thread: all ranks have come, and nothing is moved yet; the
     * rank's part has ended, well or not, before anybody can know. Of a collective that fails only
     * the second is called, and neither for a rank whose waits have failed. */
    void (*begins)(void *user, const struct hal_collective_work *work, const void *sent);
    void (*ends)(void *user, const struct hal_collective_work *work, const void *received,
                 enum hal_status status, const char *message);
    void *user;
};

/* A rank that has arrived; the driver's memory, until `done`. */
struct hal_participant {
    const struct hal_collective_work *work;
    const void *sent; /* host addresses of the ranges */
    void *received;
    const void *owner;  /* what hal_rendezvous_abort_all is called with */
    int64_t arrived_ns; /* hal_rendezvous_arrive's, as what follows */
    struct hal_participant *next;

    /* On any thread, once. The data were moved from `begin_ns` to `end_ns`; 0: they were not. */
    void (*done)(struct hal_participant *self, enum hal_status status, const char *message,
                 int64_t begin_ns, int64_t end_ns);
};

/* May call `done` of this and other participants before it returns, and takes as long as moving the
 * data does: not for threads of the application. */
HAL_API void hal_rendezvous_arrive(struct hal_participant *participant);

/* The rank will not arrive, because its submission has failed so: the others fail. */
HAL_API void hal_rendezvous_fail(const struct hal_collective_work *work, enum hal_status status,
                                 const char *message);

/* Fails every rendezvous that a participant of the owner waits for. */
HAL_API void hal_rendezvous_abort_all(const void *owner, enum hal_status status,
                                      const char *message);

/* "waits for rank 1 in all-reduce, number 3 of channel 'x'"; false: the rank does not wait. The
 * work may have ended. */
HAL_API bool hal_rendezvous_describe(const struct hal_collective_work *work, char *out_text,
                                     size_t bytes);

/* ---- For the core -------------------------------------------------------------------------- */

struct hal_group;

/* `label` may be NULL. */
enum hal_status hal_group_create(const char *label, uint32_t count,
                                 struct hal_group **out_group) HAL_CHECKED;
uint64_t hal_group_id(const struct hal_group *group);

/* The rank submits nothing more: what others wait for it in fails. The last one frees the group.
 * Outside all gates. */
void hal_group_leave(struct hal_group *group, uint32_t rank);

/* Fills number and rendezvous. HAL_NO_MEMORY. And back, when the driver does not take it. */
enum hal_status hal_rendezvous_join(struct hal_group *group, uint32_t rank,
                                    struct hal_collective_work *work) HAL_CHECKED;
void hal_rendezvous_unjoin(const struct hal_collective_work *work);

/* "all-reduce", "f32", "sum"; "unknown" for others. */
const char *hal_collective_name(enum hal_collective operation);
const char *hal_element_name(enum hal_element_type type);
const char *hal_reduction_name(enum hal_reduction reduction);

/* Moves the data of all ranks (reduce.c). `sent` and `received` by rank; NULL where there is none.
 * A send and its receive are two ranks, of which the first is `root`. */
struct hal_move {
    enum hal_collective operation;
    enum hal_element_type type;
    enum hal_reduction reduction;
    uint32_t rank_count, root;
    uint64_t count;
    const void *const *sent;
    void *const *received;
};
void hal_move_data(const struct hal_move *move);

#endif
