/* SPDX-License-Identifier: Apache-2.0 */
/* Dependencies: the event that another one waited for, and the critical path, which shows for every
 * moment what the end of the work was waiting for. */
#ifndef VIEWER_PATH_H
#define VIEWER_PATH_H

#include "viewer/model/model.h"
#include "viewer/model/task.h"

/* ---- Neighbours --------------------------------------------------------------------------- */

enum view_node_kind { VIEW_NODE_NONE, VIEW_NODE_SUBMISSION, VIEW_NODE_CALL };

struct view_node {
    enum view_node_kind kind;
    uint32_t index; /* of the model's submissions or calls */
};

/* What the event belongs to; VIEW_NODE_NONE: to neither, such as buffers created and destroyed. */
struct view_node view_node_of(const struct view_model *model, const struct view_track *track,
                              const struct view_span *event);

/* What it waited for last. For a submission: the signaller of the last value that it waited for,
 * else the call that submitted it. For a wait: the submission. Else: the previous wait. */
struct view_node view_node_producer(const struct view_model *model, struct view_node node);

/* What first waited for it. For a submission: the next one that needed its values, else the wait
 * that observed it. For its call: the submission. For a wait: the thread's next one. */
struct view_node view_node_consumer(const struct view_model *model, struct view_node node);

/* The last submission whose signal the wait needs, or VIEW_NO_REF. */
uint32_t view_path_awaited(const struct view_model *model, const struct view_call *wait);

/* From the submission's end until something first needed it: a submission that waited for it, or a
 * host thread. VIEW_NO_TIME: nothing in the file did. */
int64_t view_path_slack(const struct view_model *model, uint32_t submission);

/* ---- The critical path -------------------------------------------------------------------- */

enum view_path_kind {
    VIEW_PATH_HOST,   /* a host thread computes, records, submits; ref: thread */
    VIEW_PATH_LAUNCH, /* from there, or from what it waited for, until execution; ref: submission */
    VIEW_PATH_DEVICE, /* execution; ref: submission */
    VIEW_PATH_WAKE,   /* from its end until the waiting thread continues; ref: thread */
    VIEW_PATH_KIND_COUNT
};
extern const char *const view_path_names[VIEW_PATH_KIND_COUNT]; /* "host" */

struct view_path_part {
    int64_t begin_ns, end_ns;
    uint32_t ref;
    enum view_path_kind kind;
};

/* All zero is empty. */
struct view_path {
    VIEW_TABLE(view_path_part, parts); /* contiguous */
    int64_t ns[VIEW_PATH_KIND_COUNT];
    uint32_t longest[VIEW_PATH_KIND_COUNT]; /* index of a part; VIEW_NO_REF: none */
};

/* Traces back from the last execution to end to the first submitting call; `task` may be NULL.
 * HAL_NO_MEMORY; HAL_TIMEOUT if the task was stopped. */
enum hal_status view_path_find(const struct view_model *model, struct view_task *task,
                               struct view_path *out) HAL_CHECKED;
void view_path_finish(struct view_path *path);

/* The first part that ends after that moment; parts_count: none. */
size_t view_path_first(const struct view_path *path, int64_t ns);

/* "host 52.1 %, launch 20.0 %, ..." */
void view_path_text(const struct view_path *path, char *out, size_t bytes);

#endif
