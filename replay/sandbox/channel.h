/* SPDX-License-Identifier: Apache-2.0 */
/* The protocol between the parent, which verifies, and the sandboxed child, which runs the kernels:
 * the parent sends requests, the child executes and answers them. Private to replay/.
 *
 * The parent is trusted: a request is a struct of its memory, whose pointers are valid in the
 * child, a copy of the parent. The child is not trusted: native code controlled by a file may write
 * anything here. Answers therefore contain only numbers and texts whose lengths the parent knows in
 * advance, and concern exactly the request: the parent names the next read-back, and anything else
 * ends the replay. No bytes are used unchecked, and none is a pointer, an index or a count.
 *
 * An answer consists of bytes, any number of times, as requested; then `done`. In between come
 * progress messages, which defer the limit on silence as long as progress is plausible
 * (progress.c). */
#ifndef REPLAY_CHANNEL_H
#define REPLAY_CHANNEL_H

#include "replay/replay.h"
#include "replay/variant/serialized.h"

enum replay_ask {
    REPLAY_ASK_OPEN,       /* opens a device; the bytes are its struct hal_device_info */
    REPLAY_ASK_COMPILE,    /* compiles what a player of the plan needs */
    REPLAY_ASK_RECORD,     /* begins a capture on the device */
    REPLAY_ASK_LOCK,       /* no more processes and files; kernels are loaded from now on */
    REPLAY_ASK_CREATE,     /* creates a player */
    REPLAY_ASK_UNTIL,      /* plays a part of a run; the bytes are the read-backs, in order */
    REPLAY_ASK_END,        /* ends the run */
    REPLAY_ASK_READ,       /* reads bytes of a buffer */
    REPLAY_ASK_WRITE,      /* writes the bytes that follow the request */
    REPLAY_ASK_SUBMIT,     /* submits a single command buffer, or none */
    REPLAY_ASK_DESTROY,    /* destroys the player */
    REPLAY_ASK_END_RECORD, /* ends the capture */
};

struct replay_request {
    enum replay_ask ask;
    uint32_t device;
    const struct replay_player *player; /* the parent's: only a name in the child */
    uint32_t object;
    /* Of a player: a plan older than the child, or the one that `serial` is made from. */
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

/* The result. */
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
    uint64_t subject; /* the operation or buffer that the bytes belong to, or one of these: */
    uint64_t bytes; /* size that follows; ALIVE: none, but the moves of a struct replay_progress */
};

enum { REPLAY_MOST_DOUBTS = 1 << 16 };

#define REPLAY_SUBJECT_DEVICE (UINT64_MAX - 1)
#define REPLAY_SUBJECT_TIMES  UINT64_MAX

struct replay_channel {
    int from, to;
    /* The parent's: called before each read and write so that they do not block, if not NULL. */
    enum hal_status (*wait)(void *user, int descriptor, short events);
    void *user;
    int64_t told_ns; /* when the child last sent a message */
    size_t in_begin, in_end;
    uint8_t in[64 << 10];
    /* Messages are buffered until the flush, or until there are too many: a parent that wakes up to
     * read takes a processor from the work being timed. */
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

/* The child sends the bytes of a subject, and its progress if its last message is old. */
enum hal_status replay_channel_tell(struct replay_channel *channel, uint64_t subject,
                                    const void *data, size_t bytes) HAL_CHECKED;
/* Sends, before the bytes, those in doubt: sorted, disjoint struct replay_touch. */
enum hal_status replay_channel_tell_doubt(struct replay_channel *channel, uint64_t subject,
                                          const void *ranges, size_t bytes) HAL_CHECKED;
void replay_channel_alive(struct replay_channel *channel, uint64_t op, uint64_t moves,
                          int64_t now_ns);

#endif
