/* SPDX-License-Identifier: Apache-2.0 */
/* Re-executes a trace on a device and compares what the host reads back with what was recorded.
 *
 *     replay_plan_load("trace.pb.zst", &load_options, &plan);     reads and checks everything
 *     hal_device_open(uri, &device);
 *     replay_player_create(plan, device, &options, &player);      compiles the kernels
 *     replay_player_run(player, &report);                         any number of times
 *     replay_player_destroy(player);
 *     hal_device_release(device);
 *     replay_plan_destroy(plan);
 *
 * A plan is immutable once loaded and distrusts the file: whatever a player does was checked
 * while loading. A player executes the recorded calls of all threads on the calling thread in the
 * order of their tickets, which never has to wait for a later call: objects come and go where
 * they did; command buffers are recorded anew through the public API when they were sealed;
 * a wait that succeeded, and a query that saw a value, become a wait for that value; a wait that
 * timed out is not repeated, nor is a call that returned an error. Executables alone are made
 * beforehand, so that compiling is no part of a run.
 *
 * Bytes of a buffer that nobody wrote are unspecified. So that every run sees the same, a player
 * fills those that somebody may look at before anybody writes them, when it creates the buffer
 * (docs/decisions/unwritten-bytes.md).
 *
 * Threads: a plan may be used by one player at a time, a player by one thread at a time. */
#ifndef REPLAY_REPLAY_H
#define REPLAY_REPLAY_H

#include "format/trace.h"
#include "hal/hal.h"
#include "replay/compare/compare_bytes.h"

/* ---- Plan --------------------------------------------------------------------------------- */

struct replay_plan;

struct replay_load_options {
    uint64_t memory_limit_bytes; /* of all buffers at once, and of the plan; 0: physical memory */
    bool allow_unsupported;      /* leave out calls that no replay can repeat */
    /* Traces with contents that this one refers to; at most TRACE_MAX_BASES. */
    const char *const *bases;
    size_t base_count;
    /* Files of programs and libraries, which functions of call stacks are looked for in, beside
     * where they were; they must stay valid as long as the plan. */
    const char *const *symbols;
    size_t symbol_count;
    bool only_system_symbols; /* of the others, read none but the system's */
    /* If set: the file is open and can be replayed as far as its header tells; loading goes on. */
    void (*opened)(void *user, const struct trace_header *header);
    void *user;
};

struct replay_plan_info {
    const struct trace_header *header;
    const char *incomplete;   /* "" or one line: what is missing, and what that means */
    const char *cut;          /* "" or one line: what else the file lacks, and no replay needs */
    uint64_t events;          /* ordered events in the file */
    uint64_t replayed_events; /* of these, before the point where an incomplete file ends */
    uint64_t submissions;     /* that are replayed, as are the following */
    uint64_t command_buffers;
    uint64_t commands;
    uint64_t dispatches;
    uint64_t reads; /* that can be compared */
    uint64_t read_bytes;
    uint64_t digest_reads;     /* of these, with a digest in place of bytes */
    uint64_t unrecorded_reads; /* of which the trace knows that they happened */
    uint64_t skipped_reads;    /* whose contents are missing */
    uint64_t written_ranges;   /* that submissions may have written, as recorded behind them */
    uint64_t written_digests;  /* of these, with a digest */
    uint64_t skipped_calls;    /* that returned an error */
    uint64_t timed_out_waits;
    uint64_t unsupported_calls; /* that are left out, since no replay can repeat them */
    uint64_t left_out_commands; /* of command buffers that need what such a call had made */
    uint64_t unknown_changes;   /* of mapped memory, of which the trace lacks the bytes before */
    uint64_t peak_buffer_bytes;
    uint64_t content_bytes;
    bool contents_in_memory; /* else they are read from the file while the clock runs */
    uint32_t queue_count;    /* that submissions use */
    bool lost;               /* the recorded device was: see lost_submission */
    uint64_t
        lost_submission; /* the first that did not end for that; UINT64_MAX: calls alone tell */
    /* The largest that the trace asks of its device: */
    uint64_t largest_buffer_bytes;
    uint32_t largest_group_size[3], largest_group_threads;
    uint32_t largest_constant_bytes;
};

/* Reads the file and checks everything that replaying relies on. An incomplete file loads up to
 * the first event that is missing or that needs something missing. HAL_IO, HAL_VERSION;
 * HAL_CORRUPT: damaged or contradicting itself, the message names the event; HAL_NO_MEMORY: over
 * the limit; HAL_UNSUPPORTED: without the contents that the host wrote,
 * with contents in a trace that is not among the bases, or with calls that no replay can repeat. */
enum hal_status replay_plan_load(const char *path, const struct replay_load_options *options,
                                 struct replay_plan **out_plan) HAL_CHECKED;
void replay_plan_destroy(struct replay_plan *plan);
const struct replay_plan_info *replay_plan_get_info(const struct replay_plan *plan);

/* Whether the device has what the trace asks for. HAL_UNSUPPORTED: the message names all that is
 * missing, each with the value and the limit. */
enum hal_status replay_target_check(const struct replay_plan_info *plan,
                                    const struct hal_device_info *device) HAL_CHECKED;

/* Writes the `index`-th limit of the device that the trace is over; false: there are no more. */
enum { REPLAY_NOTE_BYTES = 512 };
bool replay_target_limit(const struct replay_plan_info *plan, const struct hal_device_info *device,
                         size_t index, char out_limit[REPLAY_NOTE_BYTES]);

/* The recorded device's URI with so many queues; false: too long. */
bool replay_target_uri(const char *recorded, uint32_t queues, char *out_uri, size_t bytes);

/* Writes the `index`-th thing in which the device is not like the recorded one, and which may
 * make results differ; false: there are no more. */
bool replay_target_note(const struct replay_plan_info *plan, const struct hal_device_info *device,
                        size_t index, char out_note[REPLAY_NOTE_BYTES]);

/* ---- Report ------------------------------------------------------------------------------- */

enum { REPLAY_SAMPLE_BYTES = 16, REPLAY_NAME_BYTES = 160 };

/* The first read that differs. */
struct replay_difference {
    uint64_t ticket;                  /* of the read */
    bool by_digest;                   /* offset, counts and samples are not known: 0 */
    uint64_t buffer;                  /* recorded id */
    char label[REPLAY_NAME_BYTES];    /* of the buffer; may be "" */
    uint64_t read_offset, read_bytes; /* the range that the host read */
    uint64_t offset;                  /* the first differing byte, from the buffer's start */
    uint64_t different_bytes;         /* in this read */
    uint64_t sample_offset;           /* of the samples: a multiple of 4 in the buffer */
    uint32_t sample_bytes;
    uint8_t expected[REPLAY_SAMPLE_BYTES], actual[REPLAY_SAMPLE_BYTES];
    char locator[REPLAY_NAME_BYTES]; /* "#s12.d40": what may have written it last, or "" */
    char writer[REPLAY_NAME_BYTES];  /* the same in words, or "" */
    struct replay_errors errors;     /* of this read; offsets count from read_offset */
};

struct replay_report {
    uint64_t compared_reads, compared_bytes;
    uint64_t digest_reads;       /* of the compared ones, by digest alone */
    uint64_t unjudged_reads;     /* other digests, of which a tolerance cannot say what they mean */
    struct replay_errors errors; /* of all reads that are compared byte by byte */
    char worst_label[REPLAY_NAME_BYTES]; /* the buffer with the largest error, as are */
    uint64_t worst_buffer, worst_read_offset;
    /* Of the different reads, those that had no type and may be f32, taken as that. */
    uint64_t float_reads;
    struct replay_errors floats;
    uint64_t different_reads;
    uint64_t different_bytes;       /* of those that are compared byte by byte */
    struct replay_difference first; /* valid when different_reads > 0 */
    uint64_t different_outcomes;    /* waits and semaphores that failed only here, or only there */
    char first_outcome[512];
    uint64_t doubtful_reads; /* with bytes that the host or the device had written (doubt.c) */
    /* Observed alone, with bytes that hold the fill: nobody is known to have looked at them. */
    uint64_t unwritten_reads;
    uint64_t host_bytes;   /* that the recorded kernels leave alone: the host stored them */
    uint64_t unmet_losses; /* waits and semaphores that met the loss of the recorded device */
    int64_t total_ns;      /* first call to the end of all work */
    int64_t wait_ns;       /* of that, blocked until the device had done something */
    bool abandoned;        /* work hangs: neither player nor device can be destroyed */
    bool hung;             /* hung_submission has begun; nobody knows which dispatch hangs */
    uint64_t hung_submission;
};

/* ---- Player ------------------------------------------------------------------------------- */

struct replay_player;

/* Paths that begin with `from` begin with `to` instead. */
struct replay_path_map {
    const char *from, *to;
};

/* A kernel in place of the recorded one: of the executables with an entry point, or the label,
 * `kernel`. */
struct replay_substitute {
    const char *kernel;
    enum hal_executable_format format;
    const uint8_t *data;
    size_t bytes;
};

/* What the host writes into buffers, from byte 0 on, in place of what was recorded. */
struct replay_buffer_substitute {
    const char *buffer; /* as in replay_type_rule */
    const uint8_t *data;
    uint64_t bytes;
};

struct replay_options {
    int64_t timeout_ns; /* longest wait in which no semaphore moves; 0: 60 s */
    double pace;  /* calls come as far apart as they did, divided by this; 0: as fast as possible */
    uint8_t fill; /* what buffers hold before anybody writes them */
    /* Dispatches of this submission run one at a time, so that a hang can name the one that does
     * not end. */
    bool mark;
    uint64_t mark_submission;
    /* How read-backs are compared. Borrowed until the player is destroyed, as are the maps. */
    struct replay_tolerance tolerance;
    const struct replay_type_rule *types;
    size_t type_count;
    const struct replay_substitute *substitutes;
    size_t substitute_count;
    const struct replay_buffer_substitute *buffers;
    size_t buffer_count;
    /* Where files are now that the trace refers to. */
    const struct replay_path_map *maps;
    size_t map_count;
    bool is_sandboxed; /* files that are not under a new place of the maps cannot be opened */
    /* The player, and its device, are in a sandboxed child (replay/player/remote.h), whose
     * read-backs come here to be compared; `device` is NULL then. NULL: both are in this process.
     */
    struct replay_remote *remote;
};

/* The longest wait that the options allow. */
int64_t replay_timeout_ns(const struct replay_options *options);

/* Compiles what a player with these options needs, and loads none of it: what can be known before
 * code of the file's making is in the process. Blocks. Fails as replay_player_create. */
enum hal_status replay_player_compile(struct replay_plan *plan, struct hal_device *device,
                                      const struct replay_options *options) HAL_CHECKED;

/* Retains the device, borrows the plan. Compiles; blocks. HAL_UNSUPPORTED, HAL_INVALID, ...: the
 * device cannot do what the trace asks for; the message names the thing. */
enum hal_status replay_player_create(struct replay_plan *plan, struct hal_device *device,
                                     const struct replay_options *options,
                                     struct replay_player **out_player) HAL_CHECKED;

/* Replays everything once and leaves nothing behind. HAL_OK: it ran to the end, with or without
 * differences. HAL_TIMEOUT: a wait met its limit. HAL_FAILED, HAL_DEVICE_LOST: work failed that
 * had not. Others: the device refused a call. The report is valid in every case. */
enum hal_status replay_player_run(struct replay_player *player,
                                  struct replay_report *out_report) HAL_CHECKED;

/* Accepts NULL. After an abandoned run it frees nothing: end the process. */
void replay_player_destroy(struct replay_player *player);

/* For programs that do little but replay, before anything else: memory that was used once is not
 * given back to the system until the end. A changed replay has more objects alive at a time than
 * the recorded one; giving their memory back and asking for it anew would be counted as its time.
 */
void replay_keep_memory(void);

#endif
