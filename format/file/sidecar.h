/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar: a shared file, usually in memory, that holds what a capture has published and not
 * yet written into its trace. It outlives a killed process; trace_recover then joins both.
 *
 *     header, ring slots | staging (contents) | rings (records of one thread each)
 *
 * It is self-describing: every published record is between a ring's durable position and its head,
 * together with the contents that it names, and this header suffices to find them. It therefore
 * holds offsets and no pointers, and memory is reused only once the trace contains what it held. It
 * is not an archive format: the version that captured must recover. */
#ifndef FORMAT_SIDECAR_H
#define FORMAT_SIDECAR_H

#include <stdatomic.h>
#include <stdint.h>

#define TRACE_SIDECAR_MAGIC "HTsidecr"

/* Prefix of sidecar names; "UID-PID-N" follows, in a folder shared by all users. */
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

/* How much of a ring is in the trace. */
struct trace_ring_durable {
    uint64_t position;      /* records before this are in the trace */
    uint64_t segment_bytes; /* inside a seal: bytes of segments after `position` in the trace */
};

/* One ring. Positions only increase; a byte's address is its position modulo `bytes`. */
struct trace_ring_slot {
    _Alignas(64) _Atomic uint32_t state;  /* enum trace_ring_state */
    uint32_t thread;                      /* thread number in the trace */
    uint64_t sequence;                    /* order of the rings of one thread */
    uint64_t offset, bytes;               /* in the sidecar; a power of two */
    struct trace_ring_durable durable[2]; /* indexed by the header's durable_index */
    _Alignas(64) _Atomic uint64_t head;   /* records before it are published */
    _Alignas(64) _Atomic uint64_t tail;   /* memory before it may be reused */
};

/* Where the trace is, apart from its name. If the name is missing, the trace may have been renamed,
 * or its disk or container may be invisible here. */
struct trace_sidecar_place {
    uint64_t mounts;                      /* the process's mount namespace; 0: unknown */
    uint64_t folder_device, folder_inode; /* 0: unknown */
    uint64_t file_device, file_inode;     /* 0: no file had the name yet */
};

/* A flight recorder's next file while it takes the name: once it has the name, these values apply,
 * and not the header's, which describe the previous file. */
struct trace_sidecar_successor {
    _Atomic int64_t start_ns; /* written last and cleared first; 0: no file takes the name */
    uint64_t skipped_tickets;
    uint64_t file_bytes;
};

struct trace_sidecar_header {
    char magic[8];
    uint32_t version;
    uint32_t slot_count;
    uint64_t process_id;
    int64_t start_ns;                   /* with the process, identifies the trace */
    char destination[TRACE_PATH_BYTES]; /* absolute path of the trace */
    struct trace_sidecar_place place;
    uint64_t staging_offset, staging_bytes;
    uint64_t rings_offset, rings_bytes;
    /* How much the file holds of all rings: one store of the index switches to the next state. */
    _Atomic uint32_t durable_index;
    _Atomic uint32_t next_alone; /* a flight recorder's next file begins: what the rings have beyond
                                    the durable positions is for that file only */
    uint64_t durable_file_bytes[2];
    uint64_t skipped_tickets; /* never in this trace: in a flight recorder's other files */
    struct trace_sidecar_successor successor;
    /* Why recording stopped, if it did; the message is written first. */
    _Atomic uint32_t stopped; /* enum hal_status */
    char stopped_message[512];
    /* Only the file could not be written: this sidecar has everything published until then. */
    _Atomic uint32_t stopped_by_file;
    _Atomic uint64_t lost_records;              /* since then; recorded nowhere */
    _Alignas(64) _Atomic uint64_t staging_head; /* claimed */
    _Alignas(64) _Atomic uint64_t staging_tail; /* memory before it may be reused */
    struct trace_ring_slot slots[TRACE_RING_SLOTS];
};

#endif
