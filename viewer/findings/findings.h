/* SPDX-License-Identifier: Apache-2.0 */
/* What costs time or makes no sense in a trace, with the evidence. Found on demand, since half of
 * it needs another pass over the file: timing.c and dispatches.c look at when things happened,
 * audit.c at what the recorded commands and contents are, usage.c at who reads what they wrote. */
#ifndef VIEWER_FINDINGS_H
#define VIEWER_FINDINGS_H

#include "viewer/model/model.h"
#include "viewer/model/task.h"

enum view_finding_kind {
    VIEW_FINDING_FAILURES,       /* submissions that failed or never finished */
    VIEW_FINDING_CALLS,          /* calls of the program that failed */
    VIEW_FINDING_RACES,          /* declared accesses that conflict, and that nothing orders */
    VIEW_FINDING_POSSIBLE_RACES, /* the same, of which the trace does not know the bytes */
    VIEW_FINDING_SYNCS,          /* the host waits, and then needs nothing of what it waited for */
    VIEW_FINDING_SUBMISSIONS,    /* submissions that could have been one */
    VIEW_FINDING_IDLE,           /* the device was idle, by cause */
    VIEW_FINDING_TINY,           /* submissions that end sooner than they start */
    VIEW_FINDING_DISPATCHES,     /* dispatches that are shorter than what lies between them */
    VIEW_FINDING_ORDERED,        /* the device was idle inside of submissions, at barriers */
    VIEW_FINDING_DEAD,           /* commands whose results nothing reads */
    VIEW_FINDING_UNREAD,         /* what the host wrote and nothing read */
    VIEW_FINDING_BARRIERS,       /* barriers that order nothing */
    VIEW_FINDING_STATE,          /* the same constants or bindings pushed again */
    VIEW_FINDING_UPLOADS,        /* the same bytes written again to the same place */
    VIEW_FINDING_PATH,           /* what the end waited for */
    VIEW_FINDING_MEMORY,         /* most bytes alive at once */
    VIEW_FINDING_KIND_COUNT
};

/* Machine-readable names: "host-syncs". */
extern const char *const view_finding_names[VIEW_FINDING_KIND_COUNT];

struct view_finding {
    enum view_finding_kind kind;
    int64_t cost_ns;     /* estimate of what fixing it saves; VIEW_NO_TIME: there is none */
    int64_t possible_ns; /* the most that it can save; likewise */
    uint64_t count;      /* of the things that it is about */
    uint64_t bytes;
    int64_t at_ns;         /* a moment to look at, VIEW_NO_TIME: no particular one */
    uint32_t track, event; /* the example that stands there; VIEW_NO_TRACK: none */
    char title[224];
    char evidence[480];
    char locator[32]; /* of the example: "#s12", or "" */
    char proof[96];   /* a command that proves it, the trace's name to follow; "": none does */
};

/* A barrier that is not known to be needed, by command buffer and number of the command. */
struct view_verdict {
    uint32_t commands, segment;
    uint32_t need; /* enum trace_barrier_need */
};

struct view_findings {
    struct view_finding
        *list; /* what is wrong, what can be changed, idle time, the rest; by cost */
    size_t list_count, list_capacity;
    struct view_verdict *verdicts; /* in order */
    size_t verdicts_count, verdicts_capacity;
    struct view_task *task; /* while they are looked for; may be NULL */
};

/* Reads the file again. HAL_NO_MEMORY, or what reading it meets. */
enum hal_status view_findings_find(const struct view_model *model,
                                   struct view_findings *out_findings) HAL_CHECKED;
/* Likewise, watched. Any thread; HAL_TIMEOUT when the task was stopped. */
enum hal_status view_findings_look(const struct view_model *model, struct view_task *task,
                                   struct view_findings *out_findings) HAL_CHECKED;
void view_findings_finish(struct view_findings *findings);

/* What is known about a barrier of a command buffer of the model. */
enum trace_barrier_need view_findings_barrier_need(const struct view_findings *findings,
                                                   uint32_t commands, uint32_t segment);

/* Share of the trace's time from first to last work, for sorting and for limits; 0 without cost. */
double view_finding_share(const struct view_model *model, const struct view_finding *finding);

/* The command that proves it, with the trace's name, as one types it; "" when there is none. */
const char *view_finding_command(const struct view_model *model, const struct view_finding *finding,
                                 char *out, size_t bytes);

/* What a command stands behind that proves the finding. */
#define VIEW_PROOF "to prove it: "

struct view_lines;
/* The finding as lines: its cost and title, then the evidence. `mark`, "" or of one column, stands
 * before the cost. */
void view_finding_lines(const struct view_model *model, const struct view_finding *finding,
                        const char *mark, struct view_lines *lines);

/* The parts, for findings.c alone. Each adds what it finds. */
enum hal_status view_findings_timing(const struct view_model *model,
                                     struct view_findings *findings) HAL_CHECKED;
enum hal_status view_findings_failures(const struct view_model *model,
                                       struct view_findings *findings) HAL_CHECKED;
enum hal_status view_findings_audit(const struct view_model *model,
                                    struct view_findings *findings) HAL_CHECKED;
/* Its part of the task begins there. */
enum hal_status view_findings_usage(const struct view_model *model, unsigned first,
                                    struct view_findings *findings) HAL_CHECKED;
enum hal_status view_findings_dispatches(const struct view_model *model,
                                         struct view_findings *findings) HAL_CHECKED;

/* A new, empty finding at the end of the list; NULL when memory is out. */
struct view_finding *view_findings_add(struct view_findings *findings, enum view_finding_kind kind);

/* Sets what the finding costs: the estimate, but no more than it can save. `possible_ns` is the
 * time that it is about (waited, idle, executing, copying): fixing it cannot save more than that,
 * nor more than the time that view_finding_share is a part of. Nothing else sets the cost. */
void view_finding_cost(const struct view_model *model, int64_t estimate_ns, int64_t possible_ns,
                       struct view_finding *finding);

/* Points the finding at a submission's execution, or at a call of a host thread. */
void view_finding_at_submission(const struct view_model *model, uint32_t submission,
                                struct view_finding *finding);
void view_finding_at_call(const struct view_model *model, uint32_t call,
                          struct view_finding *finding);

#endif
