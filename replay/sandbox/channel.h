/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the parent, which verifies, and the sandboxed child, which runs the kernels:
 * the parent sends requests, the child executes and answers them. Private to replay/.
 *
 * The parent is trusted: a request is a struct of its memory, whose pointers are good in the child,
 * a copy of it. The child is not: native code of a file's making may write here what it likes. So
 * an answer says nothing but numbers and texts, each of a length that the parent knows before it
 * reads, and is about exactly what was asked: the parent names the read-back that comes next, and
 * anything else ends the replay. No bytes are used before they are checked, none is a pointer, an
 * index or a count.
 *
 * Answers to one request: bytes, any number of times, as asked for; then `done`. In between, how
 * far the run is, which keeps the limit on silence away as long as it can be (progress.c). */
#ifndef REPLAY_CHANNEL_H
#define REPLAY_CHANNEL_H

#include "replay/replay.h"
#include "replay/variant/serialized.h"

enum replay_ask {
    REPLAY_ASK_OPEN,       /* a device; the bytes are its struct hal_device_info */
    REPLAY_ASK_COMPILE,    /* what a player of the plan needs */
    REPLAY_ASK_RECORD,     /* a capture begins on the device */
    REPLAY_ASK_LOCK,       /* no process, no file any more; kernels are loaded from here on */
    REPLAY_ASK_CREATE,     /* a player */
    REPLAY_ASK_UNTIL,      /* a part of a run; the bytes are the read-backs, in order */
    REPLAY_ASK_END,        /* of the run */
    REPLAY_ASK_READ,       /* bytes of a buffer */
    REPLAY_ASK_WRITE,      /* bytes follow the request */
    REPLAY_ASK_SUBMIT,     /* a command buffer alone, or none */
    REPLAY_ASK_DESTROY,    /* the player */
    REPLAY_ASK_END_RECORD, /* the capture ends */
};

struct replay_request {
    enum replay_ask ask;
    uint32_t device;
    const struct replay_player *player; /* the parent's: for the child a name */
    uint32_t object;
    /* Of a player; a plan that is older than the child, or the one that `serial` is made of. */
    struct replay_plan *plan;
    struct replay_options options;
    uint64_t serial_number;                      /* 0: none */
    struct replay_serialized_options serialized; /* its list follows the request */
    uint64_t offset, bytes;
    size_t op;
    uint64_t shuffle;
    bool begins, ends, mute, wants_ends, whole, stay;
    enum hal_status status;
    char uri[256];
    struct hal_profiling_options recording;
};

/* How it went. */
struct replay_answer {
    uint32_t status; /* enum hal_status */
    uint32_t abandoned, hung;
    uint32_t reserved;
    uint64_t hung_submission, different_outcomes, unmet_losses, host_bytes;
    int64_t begin_ns, total_ns, wait_ns, took_ns;
    char message[HAL_MESSAGE_BYTES];
    char outcome[512];
};

enum { REPLAY_TELL_BYTES = 1, REPLAY_TELL_DONE, REPLAY_TELL_ALIVE, REPLAY_TELL_DOUBT };

struct replay_tell {
    uint32_t kind, reserved;
    uint64_t subject; /* the operation, or the buffer, that the bytes are of, or one of these: */
    uint64_t bytes;   /* that follow; ALIVE: none do, it is the moves of a struct replay_progress */
};

enum { REPLAY_MOST_DOUBTS = 1 << 16 };

#define REPLAY_SUBJECT_DEVICE (UINT64_MAX - 1)
#define REPLAY_SUBJECT_TIMES  UINT64_MAX

struct replay_channel {
    int from, to;
    /* The parent's, called before each read and write so that they do not block. NULL: they do. */
    enum hal_status (*wait)(void *user, int descriptor, short events);
    void *user;
    int64_t told_ns; /* when the child last sent a message */
    size_t in_begin, in_end;
    uint8_t in[64 << 10];
    /* Messages wait here for the flush, or until they are too many: a parent that wakes up to read
     * would take a processor from the work whose time is measured. */
    uint8_t *out;
    size_t out_bytes, out_capacity;
};

/* Queues `head` and `body`, in this order; the next flush sends them at the latest. */
enum hal_status replay_channel_send(struct replay_channel *channel, const void *head,
                                    size_t head_bytes, const void *body,
                                    size_t body_bytes) HAL_CHECKED;
enum hal_status replay_channel_flush(struct replay_channel *channel) HAL_CHECKED;

/* Frees the buffers; the descriptors belong to the caller. */
void replay_channel_finish(struct replay_channel *channel);

/* Receives exactly `bytes` bytes. HAL_IO: the other side has closed its end. */
enum hal_status replay_channel_receive(struct replay_channel *channel, void *out,
                                       size_t bytes) HAL_CHECKED;

/* The child sends the bytes of a subject; and how far it is, when its last message is old. */
enum hal_status replay_channel_tell(struct replay_channel *channel, uint64_t subject,
                                    const void *data, size_t bytes) HAL_CHECKED;
/* And, ahead of them, which of them nothing can be said of: struct replay_touch, rising and apart,
 * no more than REPLAY_MOST_DOUBTS. */
enum hal_status replay_channel_tell_doubt(struct replay_channel *channel, uint64_t subject,
                                          const void *ranges, size_t bytes) HAL_CHECKED;
void replay_channel_alive(struct replay_channel *channel, uint64_t op, uint64_t moves,
                          int64_t now_ns);

#endif
