/* SPDX-License-Identifier: Apache-2.0 */
/* What had to happen before what: the event that another one waited for, and the critical path,
 * which tells for every moment what the end of the work was waiting for. */
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

/* What the event belongs to; VIEW_NODE_NONE: to neither, like buffers that come and go. */
struct view_node view_node_of(const struct view_model *model, const struct view_track *track,
                              const struct view_span *event);

/* What it waited for last: of a submission what brought the last of the values that it waited for,
 * else the call that submitted it; of a wait the submission; of other calls the wait before. */
struct view_node view_node_producer(const struct view_model *model, struct view_node node);

/* What waited for it first: of a submission the next one that needed its values, else the wait that
 * saw it; of a submitting call the submission; of a wait the thread's next submission. */
struct view_node view_node_consumer(const struct view_model *model, struct view_node node);

/* The last submission whose signal the wait is for, or VIEW_NO_REF. */
uint32_t view_path_awaited(const struct view_model *model, const struct view_call *wait);

/* From the submission's end to the first moment at which something needed it: a submission that
 * waited for it, or a host thread. VIEW_NO_TIME: nothing in the file did. */
int64_t view_path_slack(const struct view_model *model, uint32_t submission);

/* ---- The critical path -------------------------------------------------------------------- */

enum view_path_kind {
    VIEW_PATH_HOST,   /* a host thread computes, records, submits; ref: thread */
    VIEW_PATH_LAUNCH, /* from there, or from what was waited for, until it runs; ref: submission */
    VIEW_PATH_DEVICE, /* it runs; ref: submission */
    VIEW_PATH_WAKE,   /* from its end until the waiting thread goes on; ref: thread */
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
    VIEW_TABLE(view_path_part, parts); /* one behind the other */
    int64_t ns[VIEW_PATH_KIND_COUNT];
    uint32_t longest[VIEW_PATH_KIND_COUNT]; /* part; VIEW_NO_REF: none */
};

/* Back from the execution that ends last to the first call that submits; `task` may be NULL.
 * HAL_NO_MEMORY; HAL_TIMEOUT when the task was stopped. */
enum hal_status view_path_find(const struct view_model *model, struct view_task *task,
                               struct view_path *out) HAL_CHECKED;
void view_path_finish(struct view_path *path);

/* The first part that ends after the moment; parts_count: none does. */
size_t view_path_first(const struct view_path *path, int64_t ns);

/* "host 52.1 %, launch 20.0 %, ..." */
void view_path_text(const struct view_path *path, char *out, size_t bytes);

#endif
