/* SPDX-License-Identifier: Apache-2.0 */
/* What a command buffer accesses, as far as races with others are concerned, and the races inside
 * it. Private to races.c and race_commands.c. */
#ifndef FORMAT_ANALYSIS_RACE_COMMANDS_H
#define FORMAT_ANALYSIS_RACE_COMMANDS_H

#include "format/analysis/pieces.h"
#include "format/analysis/races.h"

struct trace_race_buffer {
    struct trace_pieces pieces; /* of struct piece */
    uint64_t bytes;             /* 0: unknown */
    uint32_t mapped;            /* open persistent mappings */
};

/* How a command buffer accesses a range, and the first of its commands that does so. */
struct trace_race_access {
    uint64_t buffer, begin, end;
    struct trace_race_side side; /* without its place; dispatches count within the command buffer */
};

struct trace_race_commands {
    uint32_t references;
    uint32_t dispatch_count;
    struct trace_race_access *list; /* by buffer and range */
    size_t count, capacity;
    struct trace_race *races; /* inside; only those kept */
    size_t kept_count;
    uint64_t race_count, declared_count;
};

/* The entry points of an executable. */
struct trace_race_kernel {
    uint32_t name; /* string */
    uint64_t group_threads;
};

struct trace_race_kernels {
    struct trace_race_kernel *list;
    uint32_t count;
};

/* As ended, with one reference. */
enum hal_status trace_race_commands_make(struct trace_races *races,
                                         const struct trace_command_buffer_seal *seal,
                                         const struct trace_segment *segments,
                                         struct trace_race_commands **out_commands) HAL_CHECKED;
void trace_race_commands_release(struct trace_race_commands *commands);

/* Whether everything that races with the former races with the later one in the same way. */
static inline bool trace_race_stands_for(const struct trace_race_side *later,
                                         const struct trace_race_side *former)
{
    return later->writes >= former->writes && later->declared >= former->declared;
}

/* Saturates. */
static inline uint64_t trace_race_product(const uint32_t counts[3])
{
    uint64_t product;
    return __builtin_mul_overflow((uint64_t)counts[0] * counts[1], counts[2], &product) ? UINT64_MAX
                                                                                        : product;
}

#endif
