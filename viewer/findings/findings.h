/* SPDX-License-Identifier: Apache-2.0 */
/* What costs time or makes no sense in a trace, with evidence. Found on demand, since half of it
 * needs another pass over the file: timing.c and dispatches.c examine when things happened, audit.c
 * examines the recorded commands and contents, and usage.c examines which results are read. */
#ifndef VIEWER_FINDINGS_H
#define VIEWER_FINDINGS_H

#include "viewer/model/model.h"
#include "viewer/model/task.h"

enum view_finding_kind {
    VIEW_FINDING_FAILURES,       /* submissions that failed or never finished */
    VIEW_FINDING_CALLS,          /* failed calls of the program */
    VIEW_FINDING_RACES,          /* conflicting declared accesses that nothing orders */
    VIEW_FINDING_POSSIBLE_RACES, /* the same where the trace does not know the bytes */
    VIEW_FINDING_SYNCS,          /* the host waits for results that it does not need then */
    VIEW_FINDING_SUBMISSIONS,    /* submissions that could be merged */
    VIEW_FINDING_IDLE,           /* the device was idle, by cause */
    VIEW_FINDING_TINY,           /* submissions shorter than their launch overhead */
    VIEW_FINDING_DISPATCHES,     /* dispatches shorter than the gaps between them */
    VIEW_FINDING_ORDERED,        /* the device was idle inside submissions, at barriers */
    VIEW_FINDING_DEAD,           /* commands whose results nothing reads */
    VIEW_FINDING_UNREAD,         /* bytes that the host wrote and nothing read */
    VIEW_FINDING_BARRIERS,       /* barriers that order nothing */
    VIEW_FINDING_STATE,          /* constants or bindings pushed again unchanged */
    VIEW_FINDING_UPLOADS,        /* the same bytes written again to the same place */
    VIEW_FINDING_PATH,           /* the critical path */
    VIEW_FINDING_MEMORY,         /* peak memory */
    VIEW_FINDING_KIND_COUNT
};

/* Machine-readable names: "host-syncs". */
extern const char *const view_finding_names[VIEW_FINDING_KIND_COUNT];

struct view_finding {
    enum view_finding_kind kind;
    int64_t cost_ns;     /* estimated saving; VIEW_NO_TIME: none */
    int64_t possible_ns; /* upper bound for the saving; likewise */
    uint64_t count;      /* of affected things */
    uint64_t bytes;
    int64_t at_ns;         /* a moment to look at; VIEW_NO_TIME: none */
    uint32_t track, event; /* the example there; VIEW_NO_TRACK: none */
    char title[224];
    char evidence[480];
    char locator[32]; /* of the example: "#s12", or "" */
    char proof[96];   /* a command that proves it, without the trace's name; "": none */
};

/* A barrier not known to be needed, by command buffer and command index. */
struct view_verdict {
    uint32_t commands, segment;
    uint32_t need; /* enum trace_barrier_need */
};

struct view_findings {
    struct view_finding *list; /* errors, possible improvements, idle time, the rest; by cost */
    size_t list_count, list_capacity;
    struct view_verdict *verdicts; /* sorted */
    size_t verdicts_count, verdicts_capacity;
    struct view_task *task; /* while searching; may be NULL */
};

/* Reads the file again. HAL_NO_MEMORY, or the failure of reading it. */
enum hal_status view_findings_find(const struct view_model *model,
                                   struct view_findings *out_findings) HAL_CHECKED;
/* Likewise with a task. Any thread; HAL_TIMEOUT if the task was stopped. */
enum hal_status view_findings_look(const struct view_model *model, struct view_task *task,
                                   struct view_findings *out_findings) HAL_CHECKED;
void view_findings_finish(struct view_findings *findings);

/* What is known about a barrier in a command buffer of the model. */
enum trace_barrier_need view_findings_barrier_need(const struct view_findings *findings,
                                                   uint32_t commands, uint32_t segment);

/* Cost relative to the time from first to last work, for sorting and limits; 0 without cost. */
double view_finding_share(const struct view_model *model, const struct view_finding *finding);

/* The shell command that proves it, with the trace's name; "": none. */
const char *view_finding_command(const struct view_model *model, const struct view_finding *finding,
                                 char *out, size_t bytes);

/* Precedes a command that proves the finding. */
#define VIEW_PROOF "to prove it: "

struct view_lines;
/* The finding as lines: `mark` ("" or one column wide), cost and title, then the evidence. */
void view_finding_lines(const struct view_model *model, const struct view_finding *finding,
                        const char *mark, struct view_lines *lines);

/* The searches, only for findings.c. Each appends its findings. */
enum hal_status view_findings_timing(const struct view_model *model,
                                     struct view_findings *findings) HAL_CHECKED;
enum hal_status view_findings_failures(const struct view_model *model,
                                       struct view_findings *findings) HAL_CHECKED;
enum hal_status view_findings_audit(const struct view_model *model,
                                    struct view_findings *findings) HAL_CHECKED;
/* `first` is where its part of the task begins. */
enum hal_status view_findings_usage(const struct view_model *model, unsigned first,
                                    struct view_findings *findings) HAL_CHECKED;
enum hal_status view_findings_dispatches(const struct view_model *model,
                                         struct view_findings *findings) HAL_CHECKED;

/* Appends an empty finding; NULL if out of memory. */
struct view_finding *view_findings_add(struct view_findings *findings, enum view_finding_kind kind);

/* Sets the finding's cost: the estimate, limited to the possible saving. `possible_ns` is the time
 * that it is about (waiting, idle, executing, copying): fixing it can save neither more than that
 * nor more than the time that view_finding_share relates to. Nothing else sets the cost. */
void view_finding_cost(const struct view_model *model, int64_t estimate_ns, int64_t possible_ns,
                       struct view_finding *finding);

/* Points the finding at a submission's execution, or at a call of a host thread. */
void view_finding_at_submission(const struct view_model *model, uint32_t submission,
                                struct view_finding *finding);
void view_finding_at_call(const struct view_model *model, uint32_t call,
                          struct view_finding *finding);

#endif
