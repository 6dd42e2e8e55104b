/* SPDX-License-Identifier: Apache-2.0 */
/* Meetings: the ranks of a collective join, arrive and are told of its end. What is to be called is
 * taken out of the lists first, so that the lock is held during no call out. */
#include "hal/base/mem.h"
#include "hal/core/collectives/meeting_parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

/* ---- Names --------------------------------------------------------------------------------- */

/* "channel 'x'" */
static const char *group_name(const struct hal_group *group, char out[NAME_BYTES])
{
    if (group->label)
        snprintf(out, NAME_BYTES, "channel '%.120s'", group->label);
    else
        snprintf(out, NAME_BYTES, "channel of group %" PRIu64, group->id);
    return out;
}

/* "all-reduce 3 of channel 'x'". */
const char *hal_meeting_name(const struct hal_meeting *meeting,
                             const struct hal_collective_work *work, char out[2 * NAME_BYTES])
{
    char name[NAME_BYTES];
    group_name(meeting->group, name);
    if (meeting->is_pair)
        snprintf(out, 2 * NAME_BYTES, "send %" PRIu64 " from rank %u to rank %u of %s",
                 meeting->number, meeting->from, meeting->to, name);
    else
        snprintf(out, 2 * NAME_BYTES, "%s, number %" PRIu64 " of %s",
                 work ? hal_collective_name(work->operation) : "collective", meeting->number, name);
    return out;
}

/* "rank 1", "ranks 1, 2, 5". */
static void name_ranks(uint64_t ranks, char *out, size_t bytes)
{
    size_t length = (size_t)snprintf(out, bytes, "%s", ranks & (ranks - 1) ? "ranks" : "rank");
    const char *separator = " ";
    for (uint32_t rank = 0; rank < HAL_MAX_RANKS && length < bytes; rank++) {
        if (!(ranks >> rank & 1))
            continue;
        const int more = snprintf(out + length, bytes - length, "%s%u", separator, rank);
        length += more > 0 ? (size_t)more : 0;
        separator = ", ";
    }
}

void hal_meeting_name_missing(const struct hal_meeting *meeting, char *out, size_t bytes)
{
    uint64_t ranks = meeting->members & ~meeting->gone;
    for (const struct hal_arrival *arrival = meeting->first; arrival; arrival = arrival->next)
        ranks &= ~(UINT64_C(1) << arrival->work->channel->rank);
    name_ranks(ranks, out, bytes);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void tell(struct hal_arrival *first, enum hal_status status, const char *message,
                 int64_t begin_ns, int64_t end_ns)
{
    while (first) {
        struct hal_arrival *arrival = first;
        const struct hal_collective_work *work = arrival->work;
        first = arrival->next; /* `done` may free it */
        if (work->ends)
            work->ends(work->user, work, arrival->received, status, message);
        arrival->done(arrival, status, message, begin_ns, end_ns);
    }
}

/* All members have ended, or none is left that has handed it in. */
void hal_meeting_free_locked(struct hal_meeting *meeting)
{
    if (meeting->previous)
        meeting->previous->next = meeting->next;
    else
        meeting->group->meetings = meeting->next;
    if (meeting->next)
        meeting->next->previous = meeting->previous;
    free(meeting->message);
    free(meeting);
}

/* Those that wait have ended with the meeting's status. */
static struct hal_arrival *let_go_locked(struct hal_meeting *meeting)
{
    struct hal_arrival *first = meeting->first;
    for (const struct hal_arrival *arrival = first; arrival; arrival = arrival->next)
        meeting->gone |= UINT64_C(1) << arrival->work->channel->rank;
    meeting->first = NULL;
    meeting->arrived_count = 0;
    meeting->complain_ns = 0;
    return first;
}

/* The first failure counts. */
static void note_failure_locked(struct hal_meeting *meeting, enum hal_status status,
                                const char *message)
{
    if (meeting->status != HAL_OK)
        return;
    meeting->status = status;
    meeting->message = hal_copy_string(message);
}

/* Without the lock, which is taken: fails the meeting and tells those that wait. */
void hal_meeting_fail_and_unlock(struct hal_meeting *meeting, enum hal_status status,
                                 const char *message)
{
    note_failure_locked(meeting, status, message);
    struct hal_arrival *first = let_go_locked(meeting);
    const enum hal_status told = meeting->status;
    char *text = hal_copy_string(meeting->message);
    if (meeting->gone == meeting->members)
        hal_meeting_free_locked(meeting);
    pthread_mutex_unlock(&hal_meetings_lock);
    tell(first, told, text ? text : "", 0, 0);
    free(text);
}

/* ---- Joining ------------------------------------------------------------------------------- */

static bool is_pair(enum hal_collective operation)
{
    return operation == HAL_COLLECTIVE_SEND || operation == HAL_COLLECTIVE_RECEIVE;
}

static uint64_t *counter_of(struct hal_group *group, uint32_t rank,
                            const struct hal_collective_work *work)
{
    struct hal_rank *own = &group->ranks[rank];
    return work->operation == HAL_COLLECTIVE_SEND      ? &own->sends[work->peer]
           : work->operation == HAL_COLLECTIVE_RECEIVE ? &own->receives[work->peer]
                                                       : &own->common;
}

/* Ranks that have left will not come: the meeting has failed before it began. */
static void look_for_leavers(struct hal_meeting *meeting)
{
    char name[2 * NAME_BYTES], text[3 * NAME_BYTES];
    for (uint32_t rank = 0; rank < meeting->group->count; rank++) {
        const uint64_t bit = UINT64_C(1) << rank;
        if (!(meeting->members & bit) || !meeting->group->ranks[rank].left)
            continue;
        snprintf(text, sizeof text, "%s: rank %u was released before it handed it in",
                 hal_meeting_name(meeting, NULL, name), rank);
        meeting->gone |= bit;
        note_failure_locked(meeting, HAL_FAILED, text);
    }
}

static struct hal_meeting *find_locked(const struct hal_group *group,
                                       const struct hal_meeting *like)
{
    for (struct hal_meeting *meeting = group->meetings; meeting; meeting = meeting->next) {
        if (meeting->number == like->number && meeting->is_pair == like->is_pair &&
            meeting->from == like->from && meeting->to == like->to)
            return meeting;
    }
    return NULL;
}

static struct hal_meeting *add_locked(struct hal_group *group, const struct hal_meeting *like)
{
    struct hal_meeting *meeting = hal_alloc(1, sizeof *meeting);
    if (!meeting)
        return NULL;
    *meeting = *like;
    meeting->members = like->is_pair ? UINT64_C(1) << like->from | UINT64_C(1) << like->to
                                     : UINT64_MAX >> (64 - group->count);
    meeting->next = group->meetings;
    if (group->meetings)
        group->meetings->previous = meeting;
    group->meetings = meeting;
    look_for_leavers(meeting);
    return meeting;
}

enum hal_status hal_meeting_join(struct hal_group *group, uint32_t rank,
                                 struct hal_collective_work *work)
{
    const bool sends = work->operation == HAL_COLLECTIVE_SEND;
    struct hal_meeting like = {.group = group, .is_pair = is_pair(work->operation)};
    if (like.is_pair) {
        like.from = sends ? rank : work->peer;
        like.to = sends ? work->peer : rank;
    }
    pthread_mutex_lock(&hal_meetings_lock);
    uint64_t *counter = counter_of(group, rank, work);
    like.number = *counter;
    struct hal_meeting *meeting = find_locked(group, &like);
    if (!meeting)
        meeting = add_locked(group, &like);
    if (meeting) {
        ++*counter;
        meeting->joined |= UINT64_C(1) << rank;
        work->meeting = meeting;
        work->number = meeting->number;
    }
    pthread_mutex_unlock(&hal_meetings_lock);
    if (meeting)
        return HAL_OK;
    char name[NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory for a collective of %s", group_name(group, name));
}

void hal_meeting_unjoin(const struct hal_collective_work *work)
{
    struct hal_meeting *meeting = work->meeting;
    const uint32_t rank = work->channel->rank;
    pthread_mutex_lock(&hal_meetings_lock);
    --*counter_of(meeting->group, rank, work);
    meeting->joined &= ~(UINT64_C(1) << rank);
    if (!meeting->joined)
        hal_meeting_free_locked(meeting);
    pthread_mutex_unlock(&hal_meetings_lock);
}

/* ---- Agreeing ------------------------------------------------------------------------------ */

static void describe_work(const struct hal_collective_work *work, char *out, size_t bytes)
{
    const bool reduces = work->reduction != HAL_REDUCTION_NONE;
    char root[32] = "";
    if (work->operation == HAL_COLLECTIVE_BROADCAST)
        snprintf(root, sizeof root, " from rank %u", work->peer);
    snprintf(out, bytes, "%s%s of %" PRIu64 " %s%s%s%s", hal_collective_name(work->operation), root,
             work->count, hal_element_name(work->type), reduces ? " (" : "",
             reduces ? hal_reduction_name(work->reduction) : "", reduces ? ")" : "");
}

static bool agree(const struct hal_collective_work *a, const struct hal_collective_work *b)
{
    const bool broadcast = a->operation == HAL_COLLECTIVE_BROADCAST;
    return (a->operation == b->operation || is_pair(a->operation)) && a->type == b->type &&
           a->reduction == b->reduction && a->count == b->count &&
           (!broadcast || a->peer == b->peer);
}

static bool overlap(const void *a, uint64_t a_bytes, const void *b, uint64_t b_bytes)
{
    const uintptr_t left = (uintptr_t)a, right = (uintptr_t)b;
    return a_bytes && b_bytes && left < right + b_bytes && right < left + a_bytes;
}

/* What one rank receives may be nothing that another one sends or receives. */
static bool collide(const struct hal_arrival *a, const struct hal_arrival *b)
{
    return overlap(a->received, a->work->receive_bytes, b->received, b->work->receive_bytes) ||
           overlap(a->received, a->work->receive_bytes, b->sent, b->work->send_bytes) ||
           overlap(a->sent, a->work->send_bytes, b->received, b->work->receive_bytes);
}

/* Locked. `arrival` against those that have come before. False: why it cannot be is in `out`. */
static bool fits(const struct hal_meeting *meeting, const struct hal_arrival *arrival, char *out,
                 size_t bytes)
{
    char name[2 * NAME_BYTES], mine[NAME_BYTES], theirs[NAME_BYTES];
    for (const struct hal_arrival *other = meeting->first; other; other = other->next) {
        const uint32_t left = other->work->channel->rank, right = arrival->work->channel->rank;
        hal_meeting_name(meeting, arrival->work, name);
        if (!agree(other->work, arrival->work)) {
            describe_work(other->work, theirs, sizeof theirs);
            describe_work(arrival->work, mine, sizeof mine);
            snprintf(out, bytes, "%s: rank %u has %s, rank %u has %s", name, left, theirs, right,
                     mine);
            return false;
        }
        if (collide(other, arrival)) {
            snprintf(out, bytes, "%s: what ranks %u and %u send and receive overlaps", name, left,
                     right);
            return false;
        }
    }
    return true;
}

/* ---- Meeting ------------------------------------------------------------------------------- */

/* By rank; and for the log, since when somebody waits. */
static void enter_locked(struct hal_meeting *meeting, struct hal_arrival *arrival)
{
    struct hal_arrival **link = &meeting->first;
    while (*link && (*link)->work->channel->rank < arrival->work->channel->rank)
        link = &(*link)->next;
    arrival->next = *link;
    *link = arrival;
    if (meeting->arrived_count++ == 0) {
        meeting->since_ns = arrival->arrived_ns;
        meeting->complain_ns =
            hal_meetings_patience_ns ? arrival->arrived_ns + hal_meetings_patience_ns : 0;
        hal_watch_look_locked();
    }
}

/* All are here, by rank. */
static void move_data(struct hal_arrival *first)
{
    const void *sent[HAL_MAX_RANKS];
    void *received[HAL_MAX_RANKS];
    assert(first); /* who came last, at least */
    const struct hal_collective_work *work = first->work;
    struct hal_move move = {.operation = work->operation,
                            .type = work->type,
                            .reduction = work->reduction,
                            .root = is_pair(work->operation) ? 0 : work->peer,
                            .count = work->count,
                            .sent = sent,
                            .received = received};
    for (struct hal_arrival *arrival = first; arrival; arrival = arrival->next) {
        sent[move.rank_count] = arrival->sent;
        received[move.rank_count] = arrival->received;
        if (arrival->work->operation == HAL_COLLECTIVE_SEND)
            move.root = move.rank_count;
        move.rank_count++;
    }
    hal_move_data(&move);
}

void hal_meeting_arrive(struct hal_arrival *arrival)
{
    const struct hal_collective_work *work = arrival->work;
    struct hal_meeting *meeting = work->meeting;
    char text[5 * NAME_BYTES];
    arrival->arrived_ns = hal_clock_ns();
    arrival->next = NULL;
    pthread_mutex_lock(&hal_meetings_lock);
    const bool is_welcome = meeting->status == HAL_OK && fits(meeting, arrival, text, sizeof text);
    enter_locked(meeting, arrival);
    if (!is_welcome) {
        hal_meeting_fail_and_unlock(meeting, HAL_INVALID, text); /* or as it has failed before */
        return;
    }
    if (meeting->arrived_count < (uint32_t)__builtin_popcountll(meeting->members)) {
        pthread_mutex_unlock(&hal_meetings_lock);
        return;
    }
    struct hal_arrival *first = let_go_locked(meeting);
    hal_meeting_free_locked(meeting);
    pthread_mutex_unlock(&hal_meetings_lock);
    for (struct hal_arrival *each = first; each; each = each->next) {
        if (each->work->begins)
            each->work->begins(each->work->user, each->work, each->sent);
    }
    const int64_t begin_ns = hal_clock_ns();
    move_data(first);
    tell(first, HAL_OK, "", begin_ns, hal_clock_ns());
}

void hal_meeting_fail(const struct hal_collective_work *work, enum hal_status status,
                      const char *message)
{
    struct hal_meeting *meeting = work->meeting;
    char name[2 * NAME_BYTES], text[HAL_MESSAGE_BYTES];
    pthread_mutex_lock(&hal_meetings_lock);
    snprintf(text, sizeof text, "%s: rank %u failed: %.2000s",
             hal_meeting_name(meeting, work, name), work->channel->rank, message);
    meeting->gone |= UINT64_C(1) << work->channel->rank;
    hal_meeting_fail_and_unlock(meeting, status, text);
}

static bool waits_for(const struct hal_meeting *meeting, const void *owner, uint32_t *out_rank)
{
    for (const struct hal_arrival *arrival = meeting->first; arrival; arrival = arrival->next) {
        *out_rank = arrival->work->channel->rank;
        if (arrival->owner == owner)
            return true;
    }
    return false;
}

static struct hal_meeting *find_owner_locked(const void *owner, uint32_t *out_rank)
{
    for (const struct hal_group *group = hal_groups; group; group = group->next) {
        for (struct hal_meeting *meeting = group->meetings; meeting; meeting = meeting->next) {
            if (waits_for(meeting, owner, out_rank))
                return meeting;
        }
    }
    return NULL;
}

void hal_meetings_lose(const void *owner, enum hal_status status, const char *message)
{
    char name[2 * NAME_BYTES], text[HAL_MESSAGE_BYTES];
    uint32_t rank;
    for (;;) {
        pthread_mutex_lock(&hal_meetings_lock);
        struct hal_meeting *meeting = find_owner_locked(owner, &rank);
        if (!meeting)
            break;
        snprintf(text, sizeof text, "%s: rank %u failed: %.2000s",
                 hal_meeting_name(meeting, meeting->first->work, name), rank, message);
        hal_meeting_fail_and_unlock(meeting, status, text);
    }
    pthread_mutex_unlock(&hal_meetings_lock);
}

/* Its meeting may have ended, and be gone: the lists tell. */
static const struct hal_meeting *find_work_locked(const struct hal_collective_work *work)
{
    for (const struct hal_group *group = hal_groups; group; group = group->next) {
        for (const struct hal_meeting *meeting = group->meetings; meeting;
             meeting = meeting->next) {
            if (meeting == work->meeting && meeting->number == work->number)
                return meeting;
        }
    }
    return NULL;
}

bool hal_meeting_describe(const struct hal_collective_work *work, char *out_text, size_t bytes)
{
    char name[2 * NAME_BYTES], ranks[2 * NAME_BYTES];
    pthread_mutex_lock(&hal_meetings_lock);
    const struct hal_meeting *meeting = find_work_locked(work);
    const bool waits = meeting && meeting->first;
    if (waits) {
        hal_meeting_name_missing(meeting, ranks, sizeof ranks);
        snprintf(out_text, bytes, "waits for %s in %s", ranks,
                 hal_meeting_name(meeting, work, name));
    }
    pthread_mutex_unlock(&hal_meetings_lock);
    return waits;
}
