/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar: one shared memory object that holds what a capture has published and not yet
 * written into its file.
 *
 *     header, ring slots | staging (contents) | rings (records of one thread each)
 *
 * It describes itself: every published record lies between a ring's durable position and its head,
 * with the contents that it names, and nothing but this header is needed to find them. That
 * prepares recovery after the process was killed; today the object has no name, goes with its last
 * process, and nothing reads the durable positions back. Hence it holds offsets and never a
 * pointer, and memory is used again only when the file has what it held. All of it is sparse; pages
 * are reserved before they are touched, because a full file system must become an error here and
 * not a signal in the application. */
#ifndef CAPTURE_SIDECAR_H
#define CAPTURE_SIDECAR_H

#include "hal/base/descriptor.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define CAPTURE_SIDECAR_MAGIC "HTsidecr"

enum {
    CAPTURE_SIDECAR_VERSION = 1,
    CAPTURE_RING_SLOTS = 2048,
    CAPTURE_PATH_BYTES = 4096,
};

enum capture_ring_state {
    CAPTURE_RING_FREE = 0,
    CAPTURE_RING_LIVE = 1,
};

/* How much of a ring the file has. */
struct capture_ring_durable {
    uint64_t position;      /* records before it */
    uint64_t segment_bytes; /* it stands inside a seal, so many bytes of whose segments follow */
};

/* One ring. Positions only rise; a byte lies at position modulo `bytes`. */
struct capture_ring_slot {
    _Alignas(64) _Atomic uint32_t state; /* enum capture_ring_state */
    uint32_t thread;                     /* number of the thread in the trace */
    uint64_t sequence;                   /* rings of one thread: the order in which they follow */
    uint64_t offset, bytes;              /* in the sidecar; a power of two */
    struct capture_ring_durable durable[2]; /* by the header's durable_index */
    _Alignas(64) _Atomic uint64_t head;     /* records before it are published */
    _Alignas(64) _Atomic uint64_t tail;     /* before it memory may be used again */
};

struct capture_sidecar_header {
    char magic[8];
    uint32_t version;
    uint32_t slot_count;
    uint64_t process_id;
    int64_t start_ns; /* identifies the trace together with the process */
    char destination[CAPTURE_PATH_BYTES];
    uint64_t staging_offset, staging_bytes;
    uint64_t rings_offset, rings_bytes;
    /* What the file holds, of all rings at one moment: one store of the index switches from one
     * state to the next. */
    _Atomic uint32_t durable_index;
    uint64_t durable_file_bytes[2];
    _Alignas(64) _Atomic uint64_t staging_head;      /* claimed */
    _Alignas(64) _Atomic uint64_t staging_tail;      /* before it memory may be used again */
    _Alignas(64) _Atomic uint64_t staging_committed; /* bytes from the start that have memory */
    struct capture_ring_slot slots[CAPTURE_RING_SLOTS];
};

/* Between the two, running into the limit on file sizes is an error of the call and not a signal
 * that ends the application. Memory objects have the limit too. */
struct capture_size_guard {
    sigset_t before;
    bool was_pending;
};
void capture_size_guard_enter(struct capture_size_guard *guard);
void capture_size_guard_leave(const struct capture_size_guard *guard);

struct capture_sidecar {
    struct hal_descriptor object; /* the program may close it */
    struct capture_sidecar_header *header;
};

struct capture_sidecar_desc {
    const char *destination;
    int64_t start_ns;
    uint64_t staging_bytes, rings_bytes; /* multiples of the page size */
};

enum hal_status capture_sidecar_open(const struct capture_sidecar_desc *desc,
                                     struct capture_sidecar *out_sidecar) HAL_CHECKED;

/* Accepts one that was never opened (zeroed). */
void capture_sidecar_close(struct capture_sidecar *sidecar);

/* Gives [offset, offset + bytes) memory. May block in the system. HAL_NO_MEMORY; HAL_IO: the
 * program has closed the object. */
enum hal_status capture_sidecar_commit(const struct capture_sidecar *sidecar, uint64_t offset,
                                       uint64_t bytes) HAL_CHECKED;

/* Maps the range twice, one mapping directly behind the other, so that what crosses the end is
 * contiguous. */
enum hal_status capture_sidecar_map_twice(const struct capture_sidecar *sidecar, uint64_t offset,
                                          uint64_t bytes, uint8_t **out_base) HAL_CHECKED;
void capture_sidecar_unmap_twice(uint8_t *base, uint64_t bytes);

/* Makes the pages of mapped, committed memory present, so that touching them faults no more. */
void capture_sidecar_prefault(uint8_t *base, uint64_t bytes);

#endif
