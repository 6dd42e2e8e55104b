/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar: one shared file, usually in memory, that holds what a capture has published and not
 * yet written into its trace. It outlives a process that is killed; then trace_recover joins both.
 *
 *     header, ring slots | staging (contents) | rings (records of one thread each)
 *
 * It describes itself: every published record lies between a ring's durable position and its head,
 * with the contents that it names, and nothing but this header is needed to find them. Hence it
 * holds offsets and never a pointer, and memory is used again only when the file has what it held.
 * It is no format for keeps: the program that recovers is the version that captured. */
#ifndef FORMAT_SIDECAR_H
#define FORMAT_SIDECAR_H

#include <stdatomic.h>
#include <stdint.h>

#define TRACE_SIDECAR_MAGIC "HTsidecr"

/* Names of sidecars begin so; what follows is "UID-PID-N" in a folder of everybody's. */
#define TRACE_SIDECAR_PREFIX "haltrace-sidecar-"
#define TRACE_SIDECAR_FOLDER "/dev/shm"

enum {
    TRACE_SIDECAR_VERSION = 8,
    TRACE_RING_SLOTS = 6144,
    TRACE_PATH_BYTES = 4096,
};

enum trace_ring_state {
    TRACE_RING_FREE = 0,
    TRACE_RING_LIVE = 1,
};

/* How much of a ring the file has. */
struct trace_ring_durable {
    uint64_t position;      /* records before it */
    uint64_t segment_bytes; /* it stands inside a seal, so many bytes of whose segments follow */
};

/* One ring. Positions only rise; a byte lies at position modulo `bytes`. */
struct trace_ring_slot {
    _Alignas(64) _Atomic uint32_t state;  /* enum trace_ring_state */
    uint32_t thread;                      /* number of the thread in the trace */
    uint64_t sequence;                    /* rings of one thread: the order in which they follow */
    uint64_t offset, bytes;               /* in the sidecar; a power of two */
    struct trace_ring_durable durable[2]; /* by the header's durable_index */
    _Alignas(64) _Atomic uint64_t head;   /* records before it are published */
    _Alignas(64) _Atomic uint64_t tail;   /* before it memory may be used again */
};

/* Where the trace is, apart from its name. A name that is not there may be that of a trace which
 * was renamed, or whose disk or container is not to be seen from here. */
struct trace_sidecar_place {
    uint64_t mounts;                      /* the process's name space of mounts; 0: unknown */
    uint64_t folder_device, folder_inode; /* 0: unknown */
    uint64_t file_device, file_inode;     /* 0: none had the name yet */
};

/* A flight recorder's next file, while it takes the name: whoever finds the name on it goes by
 * this, and not by what the header says of the file before. */
struct trace_sidecar_successor {
    _Atomic int64_t start_ns; /* written last, and cleared first; 0: none takes the name */
    uint64_t skipped_tickets;
    uint64_t file_bytes;
};

struct trace_sidecar_header {
    char magic[8];
    uint32_t version;
    uint32_t slot_count;
    uint64_t process_id;
    int64_t start_ns;                   /* identifies the trace together with the process */
    char destination[TRACE_PATH_BYTES]; /* absolute path of the trace */
    struct trace_sidecar_place place;
    uint64_t staging_offset, staging_bytes;
    uint64_t rings_offset, rings_bytes;
    /* What the file holds, of all rings at one moment: one store of the index switches from one
     * state to the next. */
    _Atomic uint32_t durable_index;
    uint64_t durable_file_bytes[2];
    uint64_t skipped_tickets; /* that the trace never gets: of a flight recorder's other files */
    struct trace_sidecar_successor successor;
    /* Why recording stopped, if it did; the message is written first. */
    _Atomic uint32_t stopped; /* enum hal_status */
    char stopped_message[512];
    /* It was only the file that could not be written: what had been published by then is here. */
    _Atomic uint32_t stopped_by_file;
    _Atomic uint64_t lost_records;              /* not recorded since then, and nowhere */
    _Alignas(64) _Atomic uint64_t staging_head; /* claimed */
    _Alignas(64) _Atomic uint64_t staging_tail; /* before it memory may be used again */
    struct trace_ring_slot slots[TRACE_RING_SLOTS];
};

#endif
