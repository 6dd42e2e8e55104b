/* SPDX-License-Identifier: Apache-2.0 */
/* The rendezvous of a collective's ranks, for drivers with host addresses of buffers. Part of
 * hal/driver.h.
 *
 * The core creates a rendezvous when the first rank submits the collective. A driver arrives once
 * the submission's waits are satisfied; the last arrival moves the data, and all are notified. No
 * call blocks. A single lock, never held while calling out, protects everything; a driver may hold
 * its own locks only while calling hal_rendezvous_describe.
 * may be held around hal_rendezvous_describe alone. */
#ifndef HAL_RENDEZVOUS_H
#define HAL_RENDEZVOUS_H

#include "hal/channels.h"

#include <stdbool.h>

struct hal_rendezvous;

/* What one rank submits. Ranges refer to root buffers; a side without a buffer has no bytes. */
struct hal_collective_work {
    struct hal_channel *channel; /* retained by the submission, like the buffers */
    enum hal_collective operation;
    enum hal_element_type type;
    enum hal_reduction reduction;
    uint32_t peer;
    uint64_t count, number; /* sequence number within its kind, from 0 */
    struct hal_buffer *send, *receive;
    uint64_t send_offset, send_bytes, receive_offset, receive_bytes;
    struct hal_rendezvous *rendezvous; /* owned by the driver once it accepts the submission */

    /* Optional callbacks of a layer, on any thread: all ranks have arrived and nothing has been
     * moved yet; and the rank's part has ended, successfully or not, before anything can observe
     * it. For a collective that fails only the second is called, and for a rank whose waits failed
     * neither. */
    void (*begins)(void *user, const struct hal_collective_work *work, const void *sent);
    void (*ends)(void *user, const struct hal_collective_work *work, const void *received,
                 enum hal_status status, const char *message);
    void *user;
};

/* A rank that has arrived; memory of the driver, valid until `done`. */
struct hal_participant {
    const struct hal_collective_work *work;
    const void *sent; /* host addresses of the ranges */
    void *received;
    const void *owner;  /* the argument of hal_rendezvous_abort_all */
    int64_t arrived_ns; /* set by hal_rendezvous_arrive, like the members below */
    struct hal_participant *next;

    /* Called once, on any thread. The data was moved from `begin_ns` to `end_ns`; 0: it was not. */
    void (*done)(struct hal_participant *self, enum hal_status status, const char *message,
                 int64_t begin_ns, int64_t end_ns);
};

/* May call `done` of this and other participants before it returns, and takes as long as moving the
 * data does: do not call it on application threads. */
HAL_API void hal_rendezvous_arrive(struct hal_participant *participant);

/* The rank will not arrive because its submission has failed with this status: the others fail. */
HAL_API void hal_rendezvous_fail(const struct hal_collective_work *work, enum hal_status status,
                                 const char *message);

/* Fails every rendezvous in which a participant of the owner waits. */
HAL_API void hal_rendezvous_abort_all(const void *owner, enum hal_status status,
                                      const char *message);

/* "waits for rank 1 in all-reduce, number 3 of channel 'x'"; false: the rank is not waiting. The
 * work may already have ended. */
HAL_API bool hal_rendezvous_describe(const struct hal_collective_work *work, char *out_text,
                                     size_t bytes);

/* ---- For the core -------------------------------------------------------------------------- */

struct hal_group;

/* `label` may be NULL. */
enum hal_status hal_group_create(const char *label, uint32_t count,
                                 struct hal_group **out_group) HAL_CHECKED;
uint64_t hal_group_id(const struct hal_group *group);

/* The rank submits nothing more: operations in which others wait for it fail. The last rank frees
 * the group. Call it outside all gates. */
void hal_group_leave(struct hal_group *group, uint32_t rank);

/* Sets number and rendezvous. HAL_NO_MEMORY. The second undoes it if the driver refuses. */
enum hal_status hal_rendezvous_join(struct hal_group *group, uint32_t rank,
                                    struct hal_collective_work *work) HAL_CHECKED;
void hal_rendezvous_unjoin(const struct hal_collective_work *work);

/* "all-reduce", "f32", "sum"; "unknown" for any other value. */
const char *hal_collective_name(enum hal_collective operation);
const char *hal_element_name(enum hal_element_type type);
const char *hal_reduction_name(enum hal_reduction reduction);

/* Moves the data of all ranks (reduce.c). `sent` and `received` by rank; NULL if absent. A send and
 * its receive are two ranks, of which the first is `root`. */
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
