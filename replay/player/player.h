/* SPDX-License-Identifier: Apache-2.0 */
/* The inside of a player. Private to replay/. */
#ifndef REPLAY_PLAYER_H
#define REPLAY_PLAYER_H

#include "replay/plan/accesses.h"
#include "replay/plan/plan.h"

/* What stands for plan->objects[i] on the device; NULL before it is created. */
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
    struct hal_mapping *mapping; /* of a persistently mapped buffer: all of it */
};

/* doubt.c: of a run. */
struct replay_doubt {
    struct replay_accesses bytes; /* that the host or the device wrote, and what comes of them */
    struct trace_reflection reflection;
    size_t unfinished; /* work of the operations before has ended */
    uint64_t *comes;   /* by object: the value that a semaphore will reach */
    uint8_t *before;   /* room for contents that stay in the file */
    size_t before_bytes;
    uint8_t *now; /* room for what memory has */
    size_t now_capacity;
};

/* progress.c: of a run. */
struct replay_progress {
    uint64_t moves; /* times that semaphores were seen to move inside of operations */
    /* Of a parent, which has the moves from its child: */
    size_t op;      /* the last one that the child claimed to play */
    size_t counted; /* operations before this one, whose moves are in: */
    uint64_t most_moves;
};

struct replay_player {
    struct replay_plan *plan;
    struct hal_device *device;
    int64_t timeout_ns;
    uint8_t fill;
    struct replay_options options;
    uint64_t shuffle;             /* not 0: calls come at random moments; the generator's state */
    struct replay_live *live;     /* by object index; executables, layouts: as long as the player */
    struct replay_report *report; /* of the run */
    struct replay_report no_report;     /* before the first */
    size_t op;                          /* which runs now */
    int64_t begin_ns;                   /* of the run */
    int64_t *op_ends_ns;                /* if set: when each operation ended */
    bool mute;                          /* read-backs are not compared */
    int64_t paced_from_ns;              /* recorded time of the first operation; 0: none yet */
    bool has_own_semaphores;            /* the plan's own, which a run begins with */
    bool begun;                         /* the plan's own objects are there */
    bool abandoned;                     /* work hangs: nothing may be freed */
    struct hal_semaphore_value *values; /* room for plan->max_list, as are */
    struct hal_command_buffer **command_list;
    struct hal_buffer_barrier *barriers;
    struct hal_event **events;
    uint8_t *content; /* room for contents that stay in the file */
    size_t content_bytes;
    uint8_t *file_bytes; /* files.c: room for what a file holds */
    size_t file_capacity;
    struct replay_breadcrumbs *breadcrumbs; /* breadcrumbs.c; NULL: none */
    struct replay_doubt doubt;
    struct replay_progress progress;
    int64_t took_ns; /* the last part of the run */
    /* In a sandboxed child: where read-backs go, which nobody compares here. */
    struct replay_channel *channel;
    /* In its parent: the player is there, and what is live, by name alone. */
    struct replay_remote *remote;
    uint8_t *received; /* room for what comes from it */
    size_t received_capacity;
    /* For command buffers that run alone. */
    struct hal_semaphore *alone;
    uint64_t alone_value;
    struct hal_mapping reading; /* memory.c: the scoped mapping of a read */
    /* memory.c: for buffers that the host cannot map; made when first needed. */
    struct hal_buffer *staging;
    struct hal_semaphore *staged;
    uint64_t staged_value;
};

/* What is live is looked at first: most of a long trace's objects are gone, and their plans are not
 * in the caches. */
static inline bool replay_is_live(const struct replay_player *player, uint32_t object,
                                  enum replay_kind kind)
{
    return player->live[object].any && player->plan->objects[object].kind == kind;
}

/* ---- player.c: a run in parts --------------------------------------------------------------

 * Begin; play the operations up to, not with, `op`, each once; end, with the status of what was
 * played. `whole`: waits for all work and checks how it ended; else what still runs is set free. */
void replay_player_begin(struct replay_player *player, struct replay_report *report);
enum hal_status replay_player_until(struct replay_player *player, size_t op) HAL_CHECKED;
enum hal_status replay_player_end(struct replay_player *player, enum hal_status status,
                                  bool whole) HAL_CHECKED;

/* Hands one command buffer in, or none (object 0), and waits for its end; *out_ns is the time of
 * both. */
enum hal_status replay_player_submit_alone(struct replay_player *player, uint32_t object,
                                           int64_t *out_ns) HAL_CHECKED;

/* ---- pace.c -------------------------------------------------------------------------------- */

/* Before the operation: until its time has come, where the player has a pace or is shuffled. */
void replay_pace_wait(struct replay_player *player, const struct replay_op *op);
/* How much later a call comes; the generator goes on. */
int64_t replay_jitter_ns(uint64_t *state);
/* How long it is until a call that was recorded at `call_ns`, the first one at `first_ns`, when
 * `passed_ns` have passed since that one; 0: it is late. */
int64_t replay_pace_ns(double pace, int64_t first_ns, int64_t call_ns, int64_t passed_ns);

/* ---- waiting.c ----------------------------------------------------------------------------- */

/* Waits under the watchdog: HAL_TIMEOUT, with a message, when no semaphore has moved for the
 * player's limit. */
enum hal_status replay_await(struct replay_player *player, enum hal_wait_mode mode,
                             const struct hal_semaphore_value *values, size_t count) HAL_CHECKED;

/* A recorded wait, which should end as it did then. */
enum hal_status replay_play_wait(struct replay_player *player,
                                 const struct trace_semaphore_wait *event) HAL_CHECKED;

/* ---- semaphores.c --------------------------------------------------------------------------

 * The end is that of the recording: the work that fails a semaphore had ended then, and may be on
 its
 * way here. Checking compares how it ended, once, when nothing can move it any more. Settling waits
 * for what ended work set, where the trace has seen it end. */
enum hal_status replay_semaphore_create(struct replay_player *player, uint32_t object) HAL_CHECKED;
enum hal_status replay_semaphore_signal(struct replay_player *player,
                                        const struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_semaphore_fail(struct replay_player *player, uint32_t object,
                                      const struct trace_semaphore_event *event) HAL_CHECKED;
enum hal_status replay_semaphore_end(struct replay_player *player, uint32_t object) HAL_CHECKED;
enum hal_status replay_semaphore_settle(struct replay_player *player, uint32_t object) HAL_CHECKED;
void replay_semaphore_check(struct replay_player *player, uint32_t object);
void replay_semaphore_destroy(struct replay_player *player, uint32_t object);

/* ---- commands.c ---------------------------------------------------------------------------- */

/* Records the command buffer anew and ends it. The caller owns the result. */
enum hal_status replay_record_commands(struct replay_player *player, uint32_t object,
                                       struct hal_command_buffer **out_commands) HAL_CHECKED;

/* ---- breadcrumbs.c ------------------------------------------------------------------------- */

/* A submission's command buffers note in memory how far they have come. NULL is the player without
 * breadcrumbs. */
enum hal_status replay_breadcrumbs_create(struct replay_player *player,
                                          uint64_t submission) HAL_CHECKED;
void replay_breadcrumbs_destroy(struct replay_breadcrumbs *breadcrumbs);
/* Recording `object` begins, as `commands`; and it has got one more dispatch. Nothing, unless it is
 * among them; else a mark, so that everything before has ended, and nothing behind has begun, when
 * the memory says it. */
enum hal_status replay_breadcrumbs_begin(struct replay_breadcrumbs *breadcrumbs, uint32_t object,
                                         struct hal_command_buffer *commands) HAL_CHECKED;
enum hal_status replay_breadcrumbs_dispatch(struct replay_breadcrumbs *breadcrumbs,
                                            struct hal_command_buffer *commands) HAL_CHECKED;
/* A number that changes with every mark; of NULL 0. */
uint64_t replay_breadcrumbs_progress(const struct replay_breadcrumbs *breadcrumbs);
/* The submission runs. */
bool replay_breadcrumbs_has_begun(const struct replay_breadcrumbs *breadcrumbs);
/* After a hang, of a player with breadcrumbs: the first dispatch that has not ended. The signal of
 * *out is not set. False: all have ended. */
bool replay_breadcrumbs_running(const struct replay_player *player,
                                const struct trace_submit **out_submit, struct hal_running *out);

/* ---- progress.c ---------------------------------------------------------------------------- */

/* A child claims to be at that operation, and to have seen so many moves. True: it has come further
 * since the last claim, and not further than to what the parent waits for: it cannot claim this for
 * ever. */
bool replay_progress_claim(struct replay_player *player, uint64_t op, uint64_t moves);

/* ---- executables.c ------------------------------------------------------------------------- */

/* Before the executables, whose entry points name them. */
enum hal_status replay_set_layout_create(struct replay_player *player, uint32_t object) HAL_CHECKED;
enum hal_status replay_pipeline_layout_create(struct replay_player *player,
                                              uint32_t object) HAL_CHECKED;

/* All of the plan, in parallel. HAL_NOT_FOUND, HAL_UNSUPPORTED: a substitute has no place, or does
 * not take what the recorded kernel took. */
enum hal_status replay_executables_create(struct replay_player *player) HAL_CHECKED;

/* What that needs, without making any. */
enum hal_status replay_executables_compile(struct replay_player *player) HAL_CHECKED;

/* ---- memory.c ------------------------------------------------------------------------------ */

/* Creates the buffer with the player's fill where somebody may look before anybody writes. */
enum hal_status replay_memory_create(struct replay_player *player, uint32_t object) HAL_CHECKED;
void replay_memory_destroy(struct replay_player *player, uint32_t object);
enum hal_status replay_memory_write(struct replay_player *player, uint32_t object, uint64_t offset,
                                    const uint8_t *data, uint64_t bytes) HAL_CHECKED;

/* What the host sees in the buffer; borrowed until replay_memory_read_end, which follows at once.
 */
enum hal_status replay_memory_read(struct replay_player *player, uint32_t object, uint64_t offset,
                                   uint64_t bytes, const uint8_t **out_data) HAL_CHECKED;
enum hal_status replay_memory_read_end(struct replay_player *player) HAL_CHECKED;

/* Frees what belongs to no object. */
void replay_memory_finish(struct replay_player *player);

/* ---- doubt.c -------------------------------------------------------------------------------

 * Plays a change that the host or the device made, after a wait for the work that may have made it.
 * Submissions and writes of the host hand on what is in doubt, or end it. A read-back that has some
 * is judged. */
enum hal_status replay_doubt_change(struct replay_player *player,
                                    const struct trace_mapped_change *change) HAL_CHECKED;
enum hal_status replay_doubt_submit(struct replay_player *player,
                                    const struct trace_submit *submit) HAL_CHECKED;
enum hal_status replay_doubt_write(struct replay_player *player,
                                   const struct trace_content_event *event) HAL_CHECKED;
enum hal_status replay_doubt_read(struct replay_player *player,
                                  const struct trace_content_event *event, const uint8_t *expected,
                                  const uint8_t **actual, bool *out_compare) HAL_CHECKED;
/* In two parts: what of the read-back is in doubt (an empty list: nothing is); and the judgement.
 * Bytes in doubt stay as they are where they decide something, else the read-back is counted as
 * doubtful, and gets the expected bytes in their place; false: nothing of it can be compared. */
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

/* The bytes of the event's file; borrowed until the next call. HAL_NOT_FOUND, HAL_UNSUPPORTED: the
 * file is not there, or not what it was. */
enum hal_status replay_file_read(struct replay_player *player,
                                 const struct trace_content_event *event,
                                 const uint8_t digest[TRACE_DIGEST_BYTES],
                                 const uint8_t **out_data) HAL_CHECKED;

/* ---- verify.c ------------------------------------------------------------------------------ */

/* Counts the read of plan->ops[op], and describes it if it is the first that differs. `expected`:
 * the bytes, or the digest if that is all that the event has. */
void replay_verify_read(const struct replay_plan *plan, const struct replay_options *options,
                        size_t op, const uint8_t *expected, const uint8_t *actual,
                        struct replay_report *report);

/* A wait or a semaphore ended here in another way than it did in the recording. */
void replay_verify_outcome(struct replay_report *report, const char *format, ...) HAL_PRINTF(2, 3);

#endif
