/* SPDX-License-Identifier: Apache-2.0 */
/* The internals of a player. Private to replay/. */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "replay/plan/accesses.h"
#include "replay/plan/plan.h"

/* The device object for plan->objects[i]; NULL before it is created. */
struct replay_live {
    union {
        const void *any;
        struct hal_buffer *buffer;
        struct hal_executable *executable;
        struct hal_command_buffer *commands;
        struct hal_semaphore *semaphore;
        struct hal_event *event;
        struct hal_set_layout *set_layout;
        struct hal_pipeline_layout *pipeline_layout;
    };
    struct hal_mapping *mapping; /* of a persistently mapped buffer: its whole range */
};

/* doubt.c: state of a run. */
struct replay_doubt {
    struct replay_accesses
        bytes; /* written by the host or the device, and everything derived from them */
    struct trace_reflection reflection;
    size_t unfinished; /* the work of all operations before this one has ended */
    uint64_t *comes;   /* by object: the value that a semaphore will reach */
    uint8_t *before;   /* space for contents that stay in the file */
    size_t before_bytes;
    uint8_t *now; /* space for what memory holds */
    size_t now_capacity;
};

/* progress.c: state of a run. */
struct replay_progress {
    uint64_t moves; /* semaphore changes seen inside operations */
    /* In a parent, which gets the moves from its child: */
    size_t op;      /* last one that the child claims to play */
    size_t counted; /* operations before this one, whose moves are included in: */
    uint64_t most_moves;
};

struct replay_player {
    struct replay_plan *plan;
    struct hal_device *device;
    int64_t timeout_ns;
    uint8_t fill;
    struct replay_options options;
    uint64_t shuffle; /* not 0: calls come at random times; the generator's state */
    struct replay_live
        *live; /* by object index; executables and layouts live as long as the player */
    struct replay_report *report;       /* of the run */
    struct replay_report no_report;     /* used before the first run */
    size_t op;                          /* currently playing */
    int64_t begin_ns;                   /* of the run */
    int64_t *op_ends_ns;                /* if set: the end time of each operation */
    bool mute;                          /* read-backs are not compared */
    int64_t paced_from_ns;              /* recorded time of the first operation; 0: none yet */
    bool has_own_semaphores;            /* semaphores of the plan itself, with which a run begins */
    bool begun;                         /* the plan's own objects exist */
    bool abandoned;                     /* work hangs: nothing may be freed */
    struct hal_semaphore_value *values; /* space for plan->max_list, as are */
    struct hal_command_buffer **command_list;
    struct hal_buffer_barrier *barriers;
    struct hal_event **events;
    uint8_t *content; /* space for contents that stay in the file */
    size_t content_bytes;
    uint8_t *file_bytes; /* files.c: space for what a file holds */
    size_t file_capacity;
    struct replay_breadcrumbs *breadcrumbs; /* breadcrumbs.c; NULL: none */
    struct replay_doubt doubt;
    struct replay_progress progress;
    int64_t took_ns; /* duration of the last part of the run */
    /* In a sandboxed child: receives read-backs, which are not compared here. */
    struct replay_channel *channel;
    /* In its parent: refers to the player there; live objects exist in name only. */
    struct replay_remote *remote;
    uint8_t *received; /* space for what it sends */
    size_t received_capacity;
    /* For command buffers that run alone. */
    struct hal_semaphore *alone;
    uint64_t alone_value;
    struct hal_mapping reading; /* memory.c: the scoped mapping of a read */
    /* memory.c: for buffers that the host cannot map; created on first use. */
    struct hal_buffer *staging;
    struct hal_semaphore *staged;
    uint64_t staged_value;
};

/* Checks the live object first: most objects of a long trace are gone, their entries not cached. */
static inline bool replay_is_live(const struct replay_player *player, uint32_t object,
                                  enum replay_kind kind)
{
    return player->live[object].any && player->plan->objects[object].kind == kind;
}

/* ---- player.c: a run in parts --------------------------------------------------------------

 * Begin; play the operations before `op`, each once; end, with the status of the playing. `whole`:
 * waits for all work and checks how it ended; otherwise releases pending work. */
void replay_player_begin(struct replay_player *player, struct replay_report *report);
enum hal_status replay_player_until(struct replay_player *player, size_t op) HAL_CHECKED;
enum hal_status replay_player_end(struct replay_player *player, enum hal_status status,
                                  bool whole) HAL_CHECKED;

/* Submits one command buffer, or none (object 0), and waits for its end; *out_ns is their time. */
enum hal_status replay_player_submit_alone(struct replay_player *player, uint32_t object,
                                           int64_t *out_ns) HAL_CHECKED;

/* ---- pace.c -------------------------------------------------------------------------------- */

/* Call before an operation: waits until its time, if the player is paced or shuffled. */
void replay_pace_wait(struct replay_player *player, const struct replay_op *op);
/* A random delay for a call; advances the generator. */
int64_t replay_jitter_ns(uint64_t *state);
/* Time until a call recorded at `call_ns` is due, if the first one was recorded at `first_ns` and
 * `passed_ns` have passed since; 0: overdue. */
int64_t replay_pace_ns(double pace, int64_t first_ns, int64_t call_ns, int64_t passed_ns);

/* ---- waiting.c ----------------------------------------------------------------------------- */

/* Waits under the watchdog: HAL_TIMEOUT if no semaphore has changed within the player's limit. */
enum hal_status replay_await(struct replay_player *player, enum hal_wait_mode mode,
                             const struct hal_semaphore_value *values, size_t count) HAL_CHECKED;

/* Plays a recorded wait, which should end as it did then. */
enum hal_status replay_play_wait(struct replay_player *player,
                                 const struct trace_semaphore_wait *event) HAL_CHECKED;

/* ---- semaphores.c --------------------------------------------------------------------------

 * A semaphore ends as in the recording: the work that fails it had ended there, and may still be
 * running here. Checking compares how it ended, once, when nothing can change it any more. Settling
 * waits for what ended work has set, if the trace shows its end. */
enum hal_status replay_semaphore_create(struct replay_player *player, uint32_t object) HAL_CHECKED;
enum hal_status replay_semaphore_signal(struct replay_player *player,
                                        const struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_semaphore_fail(struct replay_player *player, uint32_t object,
                                      const struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_semaphore_end(struct replay_player *player, uint32_t object) HAL_CHECKED;
enum hal_status replay_semaphore_await(struct replay_player *player, uint32_t object) HAL_CHECKED;
void replay_semaphore_check(struct replay_player *player, uint32_t object);
void replay_semaphore_destroy(struct replay_player *player, uint32_t object);

/* ---- commands.c ---------------------------------------------------------------------------- */

/* Records the command buffer again and ends it. The caller owns the result. */
enum hal_status replay_record_commands(struct replay_player *player, uint32_t object,
                                       struct hal_command_buffer **out_commands) HAL_CHECKED;

/* ---- breadcrumbs.c ------------------------------------------------------------------------- */

/* A submission's command buffers write their progress to memory. NULL: no breadcrumbs. */
enum hal_status replay_breadcrumbs_create(struct replay_player *player,
                                          uint64_t submission) HAL_CHECKED;
void replay_breadcrumbs_destroy(struct replay_breadcrumbs *breadcrumbs);
/* Recording of `object` into `commands` begins; and it now has one more dispatch. Does nothing
 * unless the object is among them; otherwise adds a breadcrumb: once memory shows it, everything
 * before has ended and nothing after has begun. */
enum hal_status replay_breadcrumbs_begin(struct replay_breadcrumbs *breadcrumbs, uint32_t object,
                                         struct hal_command_buffer *commands) HAL_CHECKED;
enum hal_status replay_breadcrumbs_dispatch(struct replay_breadcrumbs *breadcrumbs,
                                            struct hal_command_buffer *commands) HAL_CHECKED;
/* A number that changes with every breadcrumb; 0 for NULL. */
uint64_t replay_breadcrumbs_progress(const struct replay_breadcrumbs *breadcrumbs);
/* Whether the submission has begun. */
bool replay_breadcrumbs_has_begun(const struct replay_breadcrumbs *breadcrumbs);
/* After a hang, for a player with breadcrumbs: the first dispatch that has not ended. Does not set
 * the signal of *out. False: all have ended. */
bool replay_breadcrumbs_running(const struct replay_player *player,
                                const struct trace_submit **out_submit, struct hal_running *out);

/* ---- progress.c ---------------------------------------------------------------------------- */

/* A child claims to be at that operation and to have seen that many moves. True: it has advanced
 * since its last claim, and not beyond what the parent waits for, so not forever. */
bool replay_progress_claim(struct replay_player *player, uint64_t op, uint64_t moves);

/* ---- executables.c ------------------------------------------------------------------------- */

/* Call before creating executables, whose entry points refer to layouts. */
enum hal_status replay_set_layout_create(struct replay_player *player, uint32_t object) HAL_CHECKED;
enum hal_status replay_pipeline_layout_create(struct replay_player *player,
                                              uint32_t object) HAL_CHECKED;

/* Creates all of the plan's executables in parallel. HAL_NOT_FOUND, HAL_UNSUPPORTED: a substitute
 * replaces nothing, or its parameters differ from the recorded kernel's. */
enum hal_status replay_executables_create(struct replay_player *player) HAL_CHECKED;

/* Compiles what that needs without creating any. */
enum hal_status replay_executables_compile(struct replay_player *player) HAL_CHECKED;

/* ---- memory.c ------------------------------------------------------------------------------ */

/* Creates the buffer, with the player's fill in bytes that may be read before they are written. */
enum hal_status replay_memory_create(struct replay_player *player, uint32_t object) HAL_CHECKED;
void replay_memory_destroy(struct replay_player *player, uint32_t object);
enum hal_status replay_memory_write(struct replay_player *player, uint32_t object, uint64_t offset,
                                    const uint8_t *data, uint64_t bytes) HAL_CHECKED;

/* The buffer as the host sees it; borrowed until replay_memory_read_end, which must follow. */
enum hal_status replay_memory_read(struct replay_player *player, uint32_t object, uint64_t offset,
                                   uint64_t bytes, const uint8_t **out_data) HAL_CHECKED;
enum hal_status replay_memory_read_end(struct replay_player *player) HAL_CHECKED;

/* Frees what belongs to no object. */
void replay_memory_finish(struct replay_player *player);

/* ---- doubt.c -------------------------------------------------------------------------------

 * Plays a change made by either the host or the device, after waiting for the work that may have
 * made it. Submissions and host writes propagate doubtful bytes or end the doubt. A read-back that
 * contains some is compared. */
enum hal_status replay_doubt_change(struct replay_player *player,
                                    const struct trace_mapped_change *change) HAL_CHECKED;
enum hal_status replay_doubt_submit(struct replay_player *player,
                                    const struct trace_submit *submit) HAL_CHECKED;
enum hal_status replay_doubt_write(struct replay_player *player,
                                   const struct trace_content_event *event) HAL_CHECKED;
enum hal_status replay_doubt_read(struct replay_player *player,
                                  const struct trace_content_event *event, const uint8_t *expected,
                                  const uint8_t **actual, bool *out_compare) HAL_CHECKED;
/* In two steps: which bytes of the read-back are doubtful (an empty list: none); and the
 * comparison. Doubtful bytes are kept where they decide something; otherwise the read-back counts
 * as doubtful and gets the expected bytes instead. False: none of it can be compared. */
enum hal_status replay_doubt_find(const struct replay_player *player,
                                  const struct trace_content_event *event,
                                  struct replay_accesses *out_ranges) HAL_CHECKED;
bool replay_doubt_decide(const struct replay_player *player,
                         const struct trace_content_event *event,
                         const struct replay_accesses *ranges, const uint8_t *expected,
                         uint8_t *actual);
void replay_doubt_reset(struct replay_player *player); /* before a run */
void replay_doubt_finish(struct replay_player *player);

/* ---- files.c ------------------------------------------------------------------------------- */

/* The bytes of the event's file, until the next call. HAL_NOT_FOUND; HAL_UNSUPPORTED: changed. */
enum hal_status replay_file_read(struct replay_player *player,
                                 const struct trace_content_event *event,
                                 const uint8_t digest[TRACE_DIGEST_BYTES],
                                 const uint8_t **out_data) HAL_CHECKED;

/* ---- verify.c ------------------------------------------------------------------------------ */

/* Counts the read of plan->ops[op], and describes it if it is the first that differs. `expected`:
 * the bytes, or the digest if the event has no bytes. */
void replay_verify_read(const struct replay_plan *plan, const struct replay_options *options,
                        size_t op, const uint8_t *expected, const uint8_t *actual,
                        struct replay_report *report);

/* A wait or a semaphore ended differently than in the recording. */
void replay_verify_outcome(struct replay_report *report, const char *format, ...) HAL_PRINTF(2, 3);

#endif
