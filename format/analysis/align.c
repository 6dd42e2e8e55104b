/* SPDX-License-Identifier: Apache-2.0 */
/* Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): the linear-space variation,
 * which looks for the middle of a shortest path from both ends. A search that costs too much is
 * ended with the best that was reached. */
#include "format/analysis/align.h"

#include "hal/base/mem.h"

enum { MOST_COST = 512 };

struct box {
    int64_t a_begin, a_end, b_begin, b_end;
};

struct alignment {
    const uint64_t *a, *b;
    /* The furthest a on each diagonal a - b, from the front and from the back. */
    int64_t *forward, *backward;
    size_t *match;
};

struct reach {
    int64_t low, high; /* diagonals */
};

/* The search for the middle of a box. */
struct search {
    const struct alignment *al;
    const struct box *box;
    struct reach forward, backward;
    int64_t a, b; /* the point that was found */
};

/* One diagonal more on both sides, or one less at the box's edge. */
static void widen(struct reach *reach, const struct box *box, int64_t *furthest, int64_t outside)
{
    if (reach->low > box->a_begin - box->b_end)
        furthest[--reach->low - 1] = outside;
    else
        reach->low++;
    if (reach->high < box->a_end - box->b_begin)
        furthest[++reach->high + 1] = outside;
    else
        reach->high--;
}

static bool step_forward(struct search *s, bool meets)
{
    const struct alignment *al = s->al;
    const struct box *box = s->box;
    struct reach *reach = &s->forward, *other = &s->backward;
    int64_t *furthest = al->forward;
    widen(reach, box, furthest, -1);
    for (int64_t k = reach->high; k >= reach->low; k -= 2) {
        int64_t a = furthest[k - 1] < furthest[k + 1] ? furthest[k + 1] : furthest[k - 1] + 1;
        int64_t b = a - k;
        while (a < box->a_end && b < box->b_end && al->a[a] == al->b[b]) {
            a++;
            b++;
        }
        furthest[k] = a;
        if (meets && k >= other->low && k <= other->high && al->backward[k] <= a) {
            s->a = a;
            s->b = b;
            return true;
        }
    }
    return false;
}

static bool step_backward(struct search *s, bool meets)
{
    const struct alignment *al = s->al;
    const struct box *box = s->box;
    struct reach *reach = &s->backward, *other = &s->forward;
    int64_t *furthest = al->backward;
    widen(reach, box, furthest, INT64_MAX);
    for (int64_t k = reach->high; k >= reach->low; k -= 2) {
        int64_t a = furthest[k - 1] < furthest[k + 1] ? furthest[k - 1] : furthest[k + 1] - 1;
        int64_t b = a - k;
        while (a > box->a_begin && b > box->b_begin && al->a[a - 1] == al->b[b - 1]) {
            a--;
            b--;
        }
        furthest[k] = a;
        if (meets && k >= other->low && k <= other->high && a <= al->forward[k]) {
            s->a = a;
            s->b = b;
            return true;
        }
    }
    return false;
}

/* Where the search from the front came furthest. */
static void give_up(struct search *s)
{
    const struct box *box = s->box;
    const int64_t *furthest = s->al->forward;
    int64_t best = -1;
    for (int64_t k = s->forward.high; k >= s->forward.low; k -= 2) {
        int64_t a = furthest[k] < box->a_end ? furthest[k] : box->a_end;
        if (a - k > box->b_end)
            a = box->b_end + k;
        if (a + a - k > best) {
            best = a + a - k;
            s->a = a;
            s->b = a - k;
        }
    }
}

/* A point on a shortest path, both sides of which are smaller than the box. */
static void find_middle(const struct alignment *al, const struct box *box, int64_t *out_a,
                        int64_t *out_b)
{
    const int64_t front = box->a_begin - box->b_begin, back = box->a_end - box->b_end;
    const bool is_odd = (front - back) % 2 != 0;
    struct search s = {al, box, {front, front}, {back, back}, box->a_begin, box->b_begin};
    al->forward[front] = box->a_begin;
    al->backward[back] = box->a_end;
    for (unsigned cost = 1; !step_forward(&s, is_odd) && !step_backward(&s, !is_odd); cost++) {
        if (cost == MOST_COST) {
            give_up(&s);
            break;
        }
    }
    *out_a = s.a;
    *out_b = s.b;
}

static void align(struct alignment *al, struct box box)
{
    for (;;) {
        while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
               al->a[box.a_begin] == al->b[box.b_begin])
            al->match[box.a_begin++] = (size_t)box.b_begin++;
        while (box.a_begin < box.a_end && box.b_begin < box.b_end &&
               al->a[box.a_end - 1] == al->b[box.b_end - 1])
            al->match[--box.a_end] = (size_t)--box.b_end;
        if (box.a_begin == box.a_end || box.b_begin == box.b_end)
            return;
        int64_t a, b;
        find_middle(al, &box, &a, &b);
        if ((a == box.a_begin && b == box.b_begin) || (a == box.a_end && b == box.b_end))
            return; /* a search that was ended found nothing */
        /* The smaller part by a call, the larger one by going on: few calls inside each other. */
        const struct box first = {box.a_begin, a, box.b_begin, b};
        const struct box second = {a, box.a_end, b, box.b_end};
        const bool first_is_smaller = first.a_end - first.a_begin + first.b_end - first.b_begin <
                                      second.a_end - second.a_begin + second.b_end - second.b_begin;
        align(al, first_is_smaller ? first : second);
        box = first_is_smaller ? second : first;
    }
}

enum hal_status trace_align(const uint64_t *a, size_t a_count, const uint64_t *b, size_t b_count,
                            size_t *out_match)
{
    const size_t diagonals = a_count + b_count + 5;
    int64_t *memory = hal_alloc(diagonals, 2 * sizeof *memory);
    if (!memory)
        return hal_fail(HAL_NO_MEMORY, "no memory to align %zu with %zu elements", a_count,
                        b_count);
    for (size_t i = 0; i < a_count; i++)
        out_match[i] = TRACE_UNALIGNED;
    struct alignment al = {.a = a,
                           .b = b,
                           .forward = memory + b_count + 2,
                           .backward = memory + diagonals + b_count + 2,
                           .match = out_match};
    align(&al, (struct box){0, (int64_t)a_count, 0, (int64_t)b_count});
    free(memory);
    return HAL_OK;
}
