/* SPDX-License-Identifier: Apache-2.0 */
/* Which threads of two runs do the same work. The threads of a pool often share a name, and the
 * order in which they appear differs between runs: what they request and store identifies them. */
#include "format/tool/diff/diff.h"

#include "format/analysis/align.h"
#include "hal/base/hash.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_TRIED = 1 << 24, /* items whose contents are compared to find a partner */
    MOST_PAIRS = 1 << 16, /* of threads whose similarity is computed */
};

struct pair {
    size_t a, b, common;
};

struct matching {
    const struct diff_side *a, *b;
    size_t *match; /* of A's streams to B's */
    bool *is_taken;
    uint64_t *a_keys, *b_keys; /* of the sequence of items */
    diff_is_same *is_same;
    void *user;
    uint64_t tried;
};

static enum hal_status no_memory(void)
{
    return hal_fail(HAL_NO_MEMORY, "no memory to match the threads of two traces");
}

static uint64_t key_of(const struct diff_stream *stream)
{
    uint64_t key = 0;
    for (size_t i = 0; i < stream->count; i++)
        key = hal_hash_add(key, stream->items[i].hash);
    return key;
}

static bool may_match(const struct matching *m, size_t a, size_t b)
{
    const struct diff_stream *in_a = &m->a->streams[a], *in_b = &m->b->streams[b];
    return m->match[a] == TRACE_UNALIGNED && !m->is_taken[b] && in_a->count && in_b->count &&
           strcmp(in_a->name, in_b->name) == 0;
}

static void take(struct matching *m, size_t a, size_t b)
{
    m->match[a] = b;
    m->is_taken[b] = true;
}

/* ---- Threads with the same items ---------------------------------------------------------- */

static enum hal_status try_contents(struct matching *m, size_t a, size_t b, bool *out_is_same)
{
    const struct diff_stream *in_a = &m->a->streams[a];
    *out_is_same = false;
    if (m->tried + in_a->count > MOST_TRIED)
        return HAL_OK;
    m->tried += in_a->count;
    return m->is_same(m->user, in_a, &m->b->streams[b], out_is_same);
}

static bool is_equal(const struct matching *m, size_t a, size_t b)
{
    return may_match(m, a, b) && m->a_keys[a] == m->b_keys[b];
}

static bool has_rival(const struct matching *m, size_t a, size_t b)
{
    for (size_t i = 0; i < m->a->stream_count; i++) {
        if (i != a && is_equal(m, i, b))
            return true;
    }
    for (size_t i = 0; i < m->b->stream_count; i++) {
        if (i != b && is_equal(m, a, i))
            return true;
    }
    return false;
}

/* Several threads may request the same with other bytes. */
static enum hal_status match_equal(struct matching *m, bool with_contents)
{
    for (size_t a = 0; a < m->a->stream_count; a++) {
        for (size_t b = 0; b < m->b->stream_count; b++) {
            bool is_same = true;
            if (!is_equal(m, a, b))
                continue;
            if (with_contents && has_rival(m, a, b))
                HAL_TRY(try_contents(m, a, b, &is_same));
            if (is_same)
                take(m, a, b);
        }
    }
    return HAL_OK;
}

/* ---- Similar threads ---------------------------------------------------------------------- */

HAL_COMPARE_VALUES(compare_numbers, uint64_t)

/* The hashes and shapes of the items, sorted. */
static uint64_t *sorted_hashes(const struct diff_stream *stream)
{
    uint64_t *hashes = hal_alloc(stream->count, 2 * sizeof *hashes);
    for (size_t i = 0; hashes && i < stream->count; i++) {
        hashes[2 * i] = stream->items[i].hash;
        hashes[2 * i + 1] = stream->items[i].shape;
    }
    if (hashes)
        qsort(hashes, 2 * stream->count, sizeof *hashes, compare_numbers);
    return hashes;
}

static size_t count_common(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count)
{
    size_t common = 0;
    for (size_t i = 0, k = 0; i < a_count && k < b_count;) {
        const bool is_equal = a[i] == b[k], advances_a = a[i] <= b[k], advances_b = a[i] >= b[k];
        common += is_equal;
        i += advances_a;
        k += advances_b;
    }
    return common;
}

/* Most in common first, then in the order in which they appear. */
static int compare_pairs(const void *a, const void *b)
{
    const struct pair *first = a, *second = b;
    if (first->common != second->common)
        return first->common > second->common ? -1 : 1;
    if (first->a != second->a)
        return first->a < second->a ? -1 : 1;
    return (first->b > second->b) - (first->b < second->b);
}

/* Lists the pairs of streams that may match; `hashes` has an element for each stream of B. */
static enum hal_status list_pairs(const struct matching *m, uint64_t **hashes, struct pair *pairs,
                                  size_t *count)
{
    for (size_t a = 0; a < m->a->stream_count; a++) {
        const struct diff_stream *in_a = &m->a->streams[a];
        uint64_t *own = NULL;
        for (size_t b = 0; b < m->b->stream_count && *count < MOST_PAIRS; b++) {
            const struct diff_stream *in_b = &m->b->streams[b];
            if (!may_match(m, a, b))
                continue;
            if ((!own && !(own = sorted_hashes(in_a))) ||
                (!hashes[b] && !(hashes[b] = sorted_hashes(in_b)))) {
                free(own);
                return no_memory();
            }
            pairs[(*count)++] =
                (struct pair){a, b, count_common(own, 2 * in_a->count, hashes[b], 2 * in_b->count)};
        }
        free(own);
    }
    return HAL_OK;
}

static enum hal_status match_similar(struct matching *m)
{
    struct pair *pairs = hal_alloc(MOST_PAIRS, sizeof *pairs);
    uint64_t **hashes = hal_alloc(m->b->stream_count + 1, sizeof *hashes);
    size_t count = 0;
    const enum hal_status status =
        pairs && hashes ? list_pairs(m, hashes, pairs, &count) : no_memory();
    if (status == HAL_OK)
        qsort(pairs, count, sizeof *pairs, compare_pairs);
    for (size_t i = 0; status == HAL_OK && i < count; i++) {
        if (may_match(m, pairs[i].a, pairs[i].b))
            take(m, pairs[i].a, pairs[i].b);
    }
    for (size_t i = 0; hashes && i < m->b->stream_count; i++)
        free(hashes[i]);
    free(hashes);
    free(pairs);
    return status;
}

/* ---- All ---------------------------------------------------------------------------------- */

static enum hal_status match_all(struct matching *m)
{
    for (size_t i = 0; i < m->a->stream_count; i++) {
        m->match[i] = TRACE_UNALIGNED;
        m->a_keys[i] = key_of(&m->a->streams[i]);
    }
    for (size_t i = 0; i < m->b->stream_count; i++)
        m->b_keys[i] = key_of(&m->b->streams[i]);
    HAL_TRY(match_equal(m, true));
    HAL_TRY(match_equal(m, false));
    HAL_TRY(match_similar(m));
    for (size_t a = 0; a < m->a->stream_count; a++) {
        for (size_t b = 0; b < m->b->stream_count; b++) {
            if (may_match(m, a, b))
                take(m, a, b);
        }
    }
    return HAL_OK;
}

enum hal_status diff_threads_match(const struct diff_side *a, const struct diff_side *b,
                                   diff_is_same *is_same, void *user, size_t **out_match)
{
    const size_t count = a->stream_count + b->stream_count;
    struct matching m = {.a = a, .b = b, .is_same = is_same, .user = user};
    m.match = hal_alloc(a->stream_count + 1, sizeof *m.match);
    m.is_taken = hal_alloc(b->stream_count + 1, sizeof *m.is_taken);
    m.a_keys = hal_alloc(count + 1, sizeof *m.a_keys);
    m.b_keys = m.a_keys ? m.a_keys + a->stream_count : NULL;
    const enum hal_status status = m.match && m.is_taken && m.a_keys ? match_all(&m) : no_memory();
    free(m.is_taken);
    free(m.a_keys);
    if (status != HAL_OK) {
        free(m.match);
        m.match = NULL;
    }
    *out_match = m.match;
    return status;
}
