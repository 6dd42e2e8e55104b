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
 * A plan is immutable once loaded. Loading distrusts the file and checks everything that a player
 * does. A player executes the recorded calls of all threads on the calling thread in ticket order,
 * which never requires waiting for a later call. Objects are created and destroyed where they were;
 * command buffers are recorded again through the public API at the point where they were ended.
 * A wait that succeeded, and a query that saw a value, become a wait for that value.
 * Waits that timed out and calls that returned an error are not repeated. Only executables are
 * created in advance, so that a run includes no compilation.
 *
 * Bytes of a buffer that were never written are unspecified. To make every run see the same, a
 * player fills those that may be read before they are written when it creates the buffer
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
    uint64_t memory_limit_bytes; /* for all buffers at once and the plan; 0: physical memory */
    bool allow_unsupported;      /* skip calls that no replay can repeat */
    /* Traces that hold contents that this one refers to; at most TRACE_MAX_BASES. */
    const char *const *bases;
    size_t base_count;
    /* Program and library files in which to look up functions of call stacks, besides their
     * original locations; must stay valid as long as the plan. */
    const char *const *symbols;
    size_t symbol_count;
    bool only_system_symbols; /* besides those, read only the system's files */
    /* If set: called when the file is open and its header permits a replay; loading continues. */
    void (*opened)(void *user, const struct trace_header *header);
    void *user;
};

struct replay_plan_info {
    const struct trace_header *header;
    const char *incomplete;   /* "" or one line: what is missing and its consequences */
    const char *cut;          /* "" or one line: other missing parts, which no replay needs */
    uint64_t events;          /* ordered events in the file */
    uint64_t replayed_events; /* of these, those before the end of an incomplete file */
    uint64_t submissions;     /* replayed, as in the following counts */
    uint64_t command_buffers;
    uint64_t commands;
    uint64_t dispatches;
    uint64_t reads; /* comparable ones */
    uint64_t read_bytes;
    uint64_t digest_reads;     /* of these, those with a digest instead of bytes */
    uint64_t unrecorded_reads; /* known to have happened, but not recorded */
    uint64_t skipped_reads;    /* whose contents are missing */
    uint64_t written_ranges;  /* ranges that submissions may have written, as recorded after them */
    uint64_t written_digests; /* of these, those with a digest */
    uint64_t skipped_calls;   /* calls that returned an error */
    uint64_t timed_out_waits;
    uint64_t unsupported_calls; /* skipped because no replay can repeat them */
    uint64_t left_out_commands; /* in command buffers that need an object of a skipped call */
    uint64_t unknown_changes;   /* changes of mapped memory without the bytes before */
    uint64_t peak_buffer_bytes;
    uint64_t content_bytes;
    bool contents_in_memory;  /* else they are read from the file during timed runs */
    uint32_t queue_count;     /* queues that submissions use */
    bool lost;                /* the recorded device was lost; see lost_submission */
    uint64_t lost_submission; /* the first that the loss kept from ending; UINT64_MAX: only calls
                                 report the loss */
    /* The largest values that the trace requires of its device: */
    uint64_t largest_buffer_bytes;
    uint32_t largest_group_size[3], largest_group_threads;
    uint32_t largest_constant_bytes;
};

/* Reads the file and checks everything that replaying relies on. An incomplete file loads up to the
 * first event that is missing or depends on something missing. HAL_IO, HAL_VERSION; HAL_CORRUPT:
 * damaged or inconsistent; the message names the event. HAL_NO_MEMORY: over the limit.
 * HAL_UNSUPPORTED: contents that the host wrote are missing or in a trace that is not among the
 * bases, or a call cannot be repeated by any replay. */
enum hal_status replay_plan_load(const char *path, const struct replay_load_options *options,
                                 struct replay_plan **out_plan) HAL_CHECKED;
void replay_plan_destroy(struct replay_plan *plan);
const struct replay_plan_info *replay_plan_get_info(const struct replay_plan *plan);

/* Checks that the device meets the trace's requirements. HAL_UNSUPPORTED: the message names
 * everything missing, each with the value and the limit. */
enum hal_status replay_target_check(const struct replay_plan_info *plan,
                                    const struct hal_device_info *device) HAL_CHECKED;

/* Writes the `index`-th device limit that the trace exceeds; false: there are no more. */
enum { REPLAY_NOTE_BYTES = 512 };
bool replay_target_limit(const struct replay_plan_info *plan, const struct hal_device_info *device,
                         size_t index, char out_limit[REPLAY_NOTE_BYTES]);

/* Writes the recorded device's URI with `queues` queues; false: too long. */
bool replay_target_uri(const char *recorded, uint32_t queues, char *out_uri, size_t bytes);

/* Writes the `index`-th difference from the recorded device that may make results differ; false:
 * there are no more. */
bool replay_target_note(const struct replay_plan_info *plan, const struct hal_device_info *device,
                        size_t index, char out_note[REPLAY_NOTE_BYTES]);

/* ---- Report ------------------------------------------------------------------------------- */

enum { REPLAY_SAMPLE_BYTES = 16, REPLAY_NAME_BYTES = 160 };

/* The first read that differs. */
struct replay_difference {
    uint64_t ticket;                  /* ticket of the read */
    bool by_digest;                   /* offset, counts and samples are unknown: 0 */
    uint64_t buffer;                  /* recorded id */
    char label[REPLAY_NAME_BYTES];    /* label of the buffer; may be "" */
    uint64_t read_offset, read_bytes; /* the range that the host read */
    uint64_t offset;                  /* first differing byte, relative to the buffer */
    uint64_t different_bytes;         /* in this read */
    uint64_t sample_offset;           /* offset of the samples in the buffer, a multiple of 4 */
    uint32_t sample_bytes;
    uint8_t expected[REPLAY_SAMPLE_BYTES], actual[REPLAY_SAMPLE_BYTES];
    char locator[REPLAY_NAME_BYTES]; /* possible last writer, as "#s12.d40", or "" */
    char writer[REPLAY_NAME_BYTES];  /* the same in words, or "" */
    struct replay_errors errors;     /* errors of this read; offsets are relative to read_offset */
};

struct replay_report {
    uint64_t compared_reads, compared_bytes;
    uint64_t digest_reads;       /* of the compared ones, those compared only by digest */
    uint64_t unjudged_reads;     /* digests differ, and a tolerance cannot be applied to them */
    struct replay_errors errors; /* errors of all reads compared byte by byte */
    char worst_label[REPLAY_NAME_BYTES]; /* buffer of the largest error; also the next two */
    uint64_t worst_buffer, worst_read_offset;
    /* Differing reads without a type that may be f32, and their errors as f32. */
    uint64_t float_reads;
    struct replay_errors floats;
    uint64_t different_reads;
    uint64_t different_bytes;       /* in reads compared byte by byte */
    struct replay_difference first; /* valid when different_reads > 0 */
    uint64_t different_outcomes;    /* waits and semaphores that failed only here or there */
    char first_outcome[512];
    uint64_t doubtful_reads; /* with bytes that either the host or the device wrote (doubt.c) */
    /* Only observed, with bytes that hold the fill: not known to have been read by the program. */
    uint64_t unwritten_reads;
    uint64_t host_bytes; /* attributed to the host because the recorded kernels do not write them */
    uint64_t unmet_losses; /* waits and semaphores that saw a loss that did not recur */
    int64_t total_ns;      /* from the first call to the end of all work */
    int64_t wait_ns;       /* part of that blocked on the device */
    bool abandoned;        /* work hangs: player and device cannot be destroyed */
    bool hung;             /* hung_submission has started; the hanging dispatch is unknown */
    uint64_t hung_submission;
};

/* ---- Player ------------------------------------------------------------------------------- */

struct replay_player;

/* Replaces the path prefix `from` by `to`. */
struct replay_path_map {
    const char *from, *to;
};

/* Replaces a recorded kernel: that of the executables with the entry point or label `kernel`. */
struct replay_substitute {
    const char *kernel;
    enum hal_executable_format format;
    const uint8_t *data;
    size_t bytes;
};

/* Replaces what the host writes into buffers, from byte 0 on. */
struct replay_buffer_substitute {
    const char *buffer; /* as in replay_type_rule */
    const uint8_t *data;
    uint64_t bytes;
};

struct replay_options {
    int64_t timeout_ns; /* longest wait without semaphore progress; 0: 60 s */
    double pace;        /* divides the recorded time between calls; 0: as fast as possible */
    uint8_t fill;       /* value of unwritten buffer bytes */
    /* Dispatches of this submission run one at a time, so that a hang can be attributed to one. */
    bool mark;
    uint64_t mark_submission;
    /* How to compare read-backs. Borrowed until the player is destroyed, as are the maps. */
    struct replay_tolerance tolerance;
    const struct replay_type_rule *types;
    size_t type_count;
    const struct replay_substitute *substitutes;
    size_t substitute_count;
    const struct replay_buffer_substitute *buffers;
    size_t buffer_count;
    /* Current locations of files that the trace refers to. */
    const struct replay_path_map *maps;
    size_t map_count;
    bool is_sandboxed; /* files outside the maps' `to` paths cannot be opened */
    /* The player and its device run in a sandboxed child (replay/player/remote.h), whose read-backs
     * are compared here; `device` is NULL then. NULL: both are in this process. */
    struct replay_remote *remote;
};

/* Returns the longest wait that the options allow. */
int64_t replay_timeout_ns(const struct replay_options *options);

/* Compiles what a player with these options needs without loading any of it: everything that can be
 * checked before code from the file is in the process. Blocks. Fails like replay_player_create. */
enum hal_status replay_player_compile(struct replay_plan *plan, struct hal_device *device,
                                      const struct replay_options *options) HAL_CHECKED;

/* Retains the device and borrows the plan. Compiles; blocks. HAL_UNSUPPORTED, HAL_INVALID, ...: the
 * device cannot do what the trace requires; the message names it. */
enum hal_status replay_player_create(struct replay_plan *plan, struct hal_device *device,
                                     const struct replay_options *options,
                                     struct replay_player **out_player) HAL_CHECKED;

/* Replays everything once and leaves nothing behind. HAL_OK: it ran to the end, with or without
 * differences. HAL_TIMEOUT: a wait reached its limit. HAL_FAILED, HAL_DEVICE_LOST: work failed that
 * did not fail in the recording. Others: the device refused a call. The report is always valid. */
enum hal_status replay_player_run(struct replay_player *player,
                                  struct replay_report *out_report) HAL_CHECKED;

/* Accepts NULL. After an abandoned run it frees nothing: end the process. */
void replay_player_destroy(struct replay_player *player);

/* For programs that mainly replay; call it first. Keeps used memory until the process ends instead
 * of returning it to the system. A modified replay has more live objects than the recorded one;
 * returning and reacquiring their memory would count as its time. */
void replay_keep_memory(void);

#endif
