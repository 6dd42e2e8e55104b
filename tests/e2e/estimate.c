/* SPDX-License-Identifier: Apache-2.0 */
/* estimate: what the viewer promises for dropping host waits, beside what a program without them
 * brings.
 *
 *     estimate OP TOKEN [OP TOKEN]...
 *
 * Traces of one program, which waited for every operation and for every token. Gained is what the
 * device was idle in the one and is not in the other. Other programs on the machine make single
 * gaps longer, never shorter: of each gap of the token traces, which all have the same, the
 * shortest counts; a long one of an operation's trace is in its promise as well. Status 1 unless
 * the median of promised over gained lies within a quarter of 1 and the first findings are what
 * they must be. */
#include "viewer/findings.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_PAIRS = 32, PERCENT = 25 };

static void die(const char *what)
{
    fprintf(stderr, "estimate: %s: %s\n", what, hal_message());
    exit(2);
}

static struct view_model *open_trace(const char *path)
{
    struct view_model *model;
    if (view_model_open(path, &model) != HAL_OK)
        die(path);
    return model;
}

static int compare_times(const void *left, const void *right)
{
    const int64_t *a = left, *b = right;
    return a[0] < b[0] ? -1 : a[0] > b[0];
}

/* When the last wait returned. */
static int64_t last_wait_end(const struct view_model *m)
{
    int64_t end_ns = INT64_MIN;
    for (size_t i = 0; i < m->calls_count; i++) {
        if (m->calls[i].kind == TRACE_SEMAPHORE_WAIT && m->calls[i].end_ns > end_ns)
            end_ns = m->calls[i].end_ns;
    }
    return end_ns;
}

/* The times between executions, in order, straight from the tables; the first one from the call
 * that submitted the first dispatch, the last one until the last wait's return. What lies before is
 * making ready, which is the same for both and takes as long as it likes. */
static size_t find_gaps(const struct view_model *m, int64_t **out_gaps)
{
    int64_t(*runs)[2] = calloc(m->submissions_count + 1, sizeof *runs);
    int64_t *gaps = calloc(m->submissions_count + 1, sizeof *gaps);
    size_t count = 0;
    if (!runs || !gaps || !m->submissions_count)
        exit(2);
    size_t first = 0;
    while (first + 1 < m->submissions_count && !m->submissions[first].dispatch_count)
        first++;
    for (size_t i = first; i < m->submissions_count; i++) {
        if (m->submissions[i].begin_ns == VIEW_NO_TIME)
            continue;
        runs[count][0] = m->submissions[i].begin_ns;
        runs[count++][1] = m->submissions[i].end_ns;
    }
    qsort(runs, count, sizeof *runs, compare_times);
    int64_t end_ns = view_submit_ns(m, &m->submissions[first]);
    for (size_t i = 0; i < count; i++) {
        gaps[i] = runs[i][0] > end_ns ? runs[i][0] - end_ns : 0;
        end_ns = runs[i][1];
    }
    gaps[count] = last_wait_end(m) - end_ns;
    free(runs);
    *out_gaps = gaps;
    return count + 1;
}

/* What dropping host waits is said to save; dies unless that is the first finding. */
static int64_t promised(const struct view_model *m)
{
    struct view_findings findings;
    if (view_findings_find(m, &findings) != HAL_OK)
        die(m->path);
    if (!findings.list_count || findings.list[0].kind != VIEW_FINDING_SYNCS) {
        printf("%s: the first finding is not about host waits\n", m->path);
        exit(1);
    }
    const int64_t ns = findings.list[0].cost_ns;
    view_findings_finish(&findings);
    return ns;
}

static void refuse_syncs(const struct view_model *m)
{
    struct view_findings findings;
    if (view_findings_find(m, &findings) != HAL_OK)
        die(m->path);
    for (size_t i = 0; i < findings.list_count; i++) {
        if (findings.list[i].kind == VIEW_FINDING_SYNCS) {
            printf("%s: %s\n", m->path, findings.list[i].title);
            exit(1);
        }
    }
    view_findings_finish(&findings);
}

/* What a run without needless waits leaves idle when nothing else runs on the machine. */
static int64_t least_idle(char **paths, int pairs)
{
    int64_t *least = NULL, sum = 0;
    size_t count = 0;
    for (int i = 0; i < pairs; i++) {
        struct view_model *m = open_trace(paths[2 * i + 1]);
        int64_t *gaps;
        const size_t found = find_gaps(m, &gaps);
        if (least && found != count) {
            printf("%s: %zu gaps, the others have %zu\n", m->path, found, count);
            exit(1);
        }
        for (size_t k = 0; least && k < count; k++)
            least[k] = gaps[k] < least[k] ? gaps[k] : least[k];
        if (!least)
            least = gaps;
        else
            free(gaps);
        count = found;
        refuse_syncs(m);
        view_model_close(m);
    }
    for (size_t k = 0; k < count; k++)
        sum += least[k];
    free(least);
    return sum;
}

static int compare_ratios(const void *left, const void *right)
{
    const double *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

int main(int argc, char **argv)
{
    const int pairs = (argc - 1) / 2;
    double ratios[MOST_PAIRS];
    if (pairs < 1 || pairs > MOST_PAIRS || argc % 2 == 0) {
        fputs("usage: estimate OP TOKEN [OP TOKEN]...\n", stderr);
        return 2;
    }
    const int64_t left_ns = least_idle(argv + 1, pairs);
    for (int i = 0; i < pairs; i++) {
        struct view_model *m = open_trace(argv[1 + 2 * i]);
        int64_t idle_ns = 0, *gaps;
        const size_t count = find_gaps(m, &gaps);
        for (size_t k = 0; k < count; k++)
            idle_ns += gaps[k];
        free(gaps);
        const int64_t promised_ns = promised(m);
        ratios[i] = (double)promised_ns / (double)(idle_ns - left_ns);
        printf("promised %.0f us, gained %.0f us of %.0f us: %.2f\n", (double)promised_ns / 1e3,
               (double)(idle_ns - left_ns) / 1e3, (double)idle_ns / 1e3, ratios[i]);
        view_model_close(m);
    }
    qsort(ratios, (size_t)pairs, sizeof *ratios, compare_ratios);
    const double median = ratios[pairs / 2];
    printf("median of %d: %.2f\n", pairs, median);
    return median * 100 >= 100 - PERCENT && median * 100 <= 100 + PERCENT ? 0 : 1;
}
