/* SPDX-License-Identifier: Apache-2.0 */
/* Rendezvous: the ranks of a collective join, arrive and are notified of its end. Participants
 * leave the lists before they are notified, so that no call out holds the lock. */
#include "hal/base/mem.h"
#include "hal/core/collectives/rendezvous_parts.h"

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
const char *hal_rendezvous_name(const struct hal_rendezvous *rendezvous,
                                const struct hal_collective_work *work, char out[2 * NAME_BYTES])
{
    char name[NAME_BYTES];
    group_name(rendezvous->group, name);
    if (rendezvous->is_pair)
        snprintf(out, 2 * NAME_BYTES, "send %" PRIu64 " from rank %u to rank %u of %s",
                 rendezvous->number, rendezvous->from, rendezvous->to, name);
    else
        snprintf(out, 2 * NAME_BYTES, "%s, number %" PRIu64 " of %s",
                 work ? hal_collective_name(work->operation) : "collective", rendezvous->number,
                 name);
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

void hal_rendezvous_name_missing(const struct hal_rendezvous *rendezvous, char *out, size_t bytes)
{
    uint64_t ranks = rendezvous->members & ~rendezvous->gone;
    for (const struct hal_participant *participant = rendezvous->first; participant;
         participant = participant->next)
        ranks &= ~(UINT64_C(1) << participant->work->channel->rank);
    name_ranks(ranks, out, bytes);
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void notify(struct hal_participant *first, enum hal_status status, const char *message,
                   int64_t begin_ns, int64_t end_ns)
{
    while (first) {
        struct hal_participant *participant = first;
        const struct hal_collective_work *work = participant->work;
        first = participant->next; /* `done` may free it */
        if (work->ends)
            work->ends(work->user, work, participant->received, status, message);
        participant->done(participant, status, message, begin_ns, end_ns);
    }
}

/* All members have ended, or none is left that has submitted it. */
void hal_rendezvous_free_locked(struct hal_rendezvous *rendezvous)
{
    if (rendezvous->previous)
        rendezvous->previous->next = rendezvous->next;
    else
        rendezvous->group->pending = rendezvous->next;
    if (rendezvous->next)
        rendezvous->next->previous = rendezvous->previous;
    free(rendezvous->message);
    free(rendezvous);
}

/* The participants have ended with the rendezvous's status. */
static struct hal_participant *let_go_locked(struct hal_rendezvous *rendezvous)
{
    struct hal_participant *first = rendezvous->first;
    for (const struct hal_participant *participant = first; participant;
         participant = participant->next)
        rendezvous->gone |= UINT64_C(1) << participant->work->channel->rank;
    rendezvous->first = NULL;
    rendezvous->arrived_count = 0;
    rendezvous->warn_ns = 0;
    return first;
}

/* The first failure counts. */
static void note_failure_locked(struct hal_rendezvous *rendezvous, enum hal_status status,
                                const char *message)
{
    if (rendezvous->status != HAL_OK)
        return;
    rendezvous->status = status;
    rendezvous->message = hal_copy_string(message);
}

/* Without the lock, which is taken: fails the rendezvous and notifies its participants. */
void hal_rendezvous_fail_and_unlock(struct hal_rendezvous *rendezvous, enum hal_status status,
                                    const char *message)
{
    note_failure_locked(rendezvous, status, message);
    struct hal_participant *first = let_go_locked(rendezvous);
    const enum hal_status reported = rendezvous->status;
    char *text = hal_copy_string(rendezvous->message);
    if (rendezvous->gone == rendezvous->members)
        hal_rendezvous_free_locked(rendezvous);
    pthread_mutex_unlock(&hal_rendezvous_lock);
    notify(first, reported, text ? text : "", 0, 0);
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

/* Ranks that have left will not come: the rendezvous has failed before it began. */
static void look_for_leavers(struct hal_rendezvous *rendezvous)
{
    char name[2 * NAME_BYTES], text[3 * NAME_BYTES];
    for (uint32_t rank = 0; rank < rendezvous->group->count; rank++) {
        const uint64_t bit = UINT64_C(1) << rank;
        if (!(rendezvous->members & bit) || !rendezvous->group->ranks[rank].left)
            continue;
        snprintf(text, sizeof text, "%s: rank %u was released before it submitted it",
                 hal_rendezvous_name(rendezvous, NULL, name), rank);
        rendezvous->gone |= bit;
        note_failure_locked(rendezvous, HAL_FAILED, text);
    }
}

static struct hal_rendezvous *find_locked(const struct hal_group *group,
                                          const struct hal_rendezvous *like)
{
    for (struct hal_rendezvous *rendezvous = group->pending; rendezvous;
         rendezvous = rendezvous->next) {
        if (rendezvous->number == like->number && rendezvous->is_pair == like->is_pair &&
            rendezvous->from == like->from && rendezvous->to == like->to)
            return rendezvous;
    }
    return NULL;
}

static struct hal_rendezvous *add_locked(struct hal_group *group, const struct hal_rendezvous *like)
{
    struct hal_rendezvous *rendezvous = hal_alloc(1, sizeof *rendezvous);
    if (!rendezvous)
        return NULL;
    *rendezvous = *like;
    rendezvous->members = like->is_pair ? UINT64_C(1) << like->from | UINT64_C(1) << like->to
                                        : UINT64_MAX >> (64 - group->count);
    rendezvous->next = group->pending;
    if (group->pending)
        group->pending->previous = rendezvous;
    group->pending = rendezvous;
    look_for_leavers(rendezvous);
    return rendezvous;
}

enum hal_status hal_rendezvous_join(struct hal_group *group, uint32_t rank,
                                    struct hal_collective_work *work)
{
    const bool sends = work->operation == HAL_COLLECTIVE_SEND;
    struct hal_rendezvous like = {.group = group, .is_pair = is_pair(work->operation)};
    if (like.is_pair) {
        like.from = sends ? rank : work->peer;
        like.to = sends ? work->peer : rank;
    }
    pthread_mutex_lock(&hal_rendezvous_lock);
    uint64_t *counter = counter_of(group, rank, work);
    like.number = *counter;
    struct hal_rendezvous *rendezvous = find_locked(group, &like);
    if (!rendezvous)
        rendezvous = add_locked(group, &like);
    if (rendezvous) {
        ++*counter;
        rendezvous->joined |= UINT64_C(1) << rank;
        work->rendezvous = rendezvous;
        work->number = rendezvous->number;
    }
    pthread_mutex_unlock(&hal_rendezvous_lock);
    if (rendezvous)
        return HAL_OK;
    char name[NAME_BYTES];
    return hal_fail(HAL_NO_MEMORY, "no memory for a collective of %s", group_name(group, name));
}

void hal_rendezvous_unjoin(const struct hal_collective_work *work)
{
    struct hal_rendezvous *rendezvous = work->rendezvous;
    const uint32_t rank = work->channel->rank;
    pthread_mutex_lock(&hal_rendezvous_lock);
    --*counter_of(rendezvous->group, rank, work);
    rendezvous->joined &= ~(UINT64_C(1) << rank);
    if (!rendezvous->joined)
        hal_rendezvous_free_locked(rendezvous);
    pthread_mutex_unlock(&hal_rendezvous_lock);
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
static bool collide(const struct hal_participant *a, const struct hal_participant *b)
{
    return overlap(a->received, a->work->receive_bytes, b->received, b->work->receive_bytes) ||
           overlap(a->received, a->work->receive_bytes, b->sent, b->work->send_bytes) ||
           overlap(a->sent, a->work->send_bytes, b->received, b->work->receive_bytes);
}

/* Locked. `participant` against those that came before. False: `out` says why it cannot be. */
static bool fits(const struct hal_rendezvous *rendezvous, const struct hal_participant *participant,
                 char *out, size_t bytes)
{
    char name[2 * NAME_BYTES], mine[NAME_BYTES], theirs[NAME_BYTES];
    for (const struct hal_participant *other = rendezvous->first; other; other = other->next) {
        const uint32_t left = other->work->channel->rank, right = participant->work->channel->rank;
        hal_rendezvous_name(rendezvous, participant->work, name);
        if (!agree(other->work, participant->work)) {
            describe_work(other->work, theirs, sizeof theirs);
            describe_work(participant->work, mine, sizeof mine);
            snprintf(out, bytes, "%s: rank %u has %s, rank %u has %s", name, left, theirs, right,
                     mine);
            return false;
        }
        if (collide(other, participant)) {
            snprintf(out, bytes, "%s: what ranks %u and %u send and receive overlaps", name, left,
                     right);
            return false;
        }
    }
    return true;
}

/* ---- Arriving ------------------------------------------------------------------------------ */

/* By rank; and for the log, since when a rank waits. */
static void enter_locked(struct hal_rendezvous *rendezvous, struct hal_participant *participant)
{
    struct hal_participant **link = &rendezvous->first;
    while (*link && (*link)->work->channel->rank < participant->work->channel->rank)
        link = &(*link)->next;
    participant->next = *link;
    *link = participant;
    if (rendezvous->arrived_count++ == 0) {
        rendezvous->since_ns = participant->arrived_ns;
        rendezvous->warn_ns = hal_rendezvous_warn_after_ns
                                  ? participant->arrived_ns + hal_rendezvous_warn_after_ns
                                  : 0;
        hal_watch_look_locked();
    }
}

/* All are here, by rank. */
static void move_data(struct hal_participant *first)
{
    const void *sent[HAL_MAX_RANKS];
    void *received[HAL_MAX_RANKS];
    assert(first); /* at least the last one to arrive */
    const struct hal_collective_work *work = first->work;
    struct hal_move move = {.operation = work->operation,
                            .type = work->type,
                            .reduction = work->reduction,
                            .root = is_pair(work->operation) ? 0 : work->peer,
                            .count = work->count,
                            .sent = sent,
                            .received = received};
    for (struct hal_participant *participant = first; participant;
         participant = participant->next) {
        sent[move.rank_count] = participant->sent;
        received[move.rank_count] = participant->received;
        if (participant->work->operation == HAL_COLLECTIVE_SEND)
            move.root = move.rank_count;
        move.rank_count++;
    }
    hal_move_data(&move);
}

void hal_rendezvous_arrive(struct hal_participant *participant)
{
    const struct hal_collective_work *work = participant->work;
    struct hal_rendezvous *rendezvous = work->rendezvous;
    char text[5 * NAME_BYTES];
    participant->arrived_ns = hal_clock_ns();
    participant->next = NULL;
    pthread_mutex_lock(&hal_rendezvous_lock);
    const bool is_welcome =
        rendezvous->status == HAL_OK && fits(rendezvous, participant, text, sizeof text);
    enter_locked(rendezvous, participant);
    if (!is_welcome) {
        hal_rendezvous_fail_and_unlock(rendezvous, HAL_INVALID,
                                       text); /* or as it has failed before */
        return;
    }
    if (rendezvous->arrived_count < (uint32_t)__builtin_popcountll(rendezvous->members)) {
        pthread_mutex_unlock(&hal_rendezvous_lock);
        return;
    }
    struct hal_participant *first = let_go_locked(rendezvous);
    hal_rendezvous_free_locked(rendezvous);
    pthread_mutex_unlock(&hal_rendezvous_lock);
    for (struct hal_participant *each = first; each; each = each->next) {
        if (each->work->begins)
            each->work->begins(each->work->user, each->work, each->sent);
    }
    const int64_t begin_ns = hal_clock_ns();
    move_data(first);
    notify(first, HAL_OK, "", begin_ns, hal_clock_ns());
}

void hal_rendezvous_fail(const struct hal_collective_work *work, enum hal_status status,
                         const char *message)
{
    struct hal_rendezvous *rendezvous = work->rendezvous;
    char name[2 * NAME_BYTES], text[HAL_MESSAGE_BYTES];
    pthread_mutex_lock(&hal_rendezvous_lock);
    snprintf(text, sizeof text, "%s: rank %u failed: %.2000s",
             hal_rendezvous_name(rendezvous, work, name), work->channel->rank, message);
    rendezvous->gone |= UINT64_C(1) << work->channel->rank;
    hal_rendezvous_fail_and_unlock(rendezvous, status, text);
}

static bool waits_for(const struct hal_rendezvous *rendezvous, const void *owner,
                      uint32_t *out_rank)
{
    for (const struct hal_participant *participant = rendezvous->first; participant;
         participant = participant->next) {
        *out_rank = participant->work->channel->rank;
        if (participant->owner == owner)
            return true;
    }
    return false;
}

static struct hal_rendezvous *find_owner_locked(const void *owner, uint32_t *out_rank)
{
    for (const struct hal_group *group = hal_groups; group; group = group->next) {
        for (struct hal_rendezvous *rendezvous = group->pending; rendezvous;
             rendezvous = rendezvous->next) {
            if (waits_for(rendezvous, owner, out_rank))
                return rendezvous;
        }
    }
    return NULL;
}

void hal_rendezvous_abort_all(const void *owner, enum hal_status status, const char *message)
{
    char name[2 * NAME_BYTES], text[HAL_MESSAGE_BYTES];
    uint32_t rank;
    for (;;) {
        pthread_mutex_lock(&hal_rendezvous_lock);
        struct hal_rendezvous *rendezvous = find_owner_locked(owner, &rank);
        if (!rendezvous)
            break;
        snprintf(text, sizeof text, "%s: rank %u failed: %.2000s",
                 hal_rendezvous_name(rendezvous, rendezvous->first->work, name), rank, message);
        hal_rendezvous_fail_and_unlock(rendezvous, status, text);
    }
    pthread_mutex_unlock(&hal_rendezvous_lock);
}

/* Its rendezvous may have ended and be freed: only the lists show that. */
static const struct hal_rendezvous *find_work_locked(const struct hal_collective_work *work)
{
    for (const struct hal_group *group = hal_groups; group; group = group->next) {
        for (const struct hal_rendezvous *rendezvous = group->pending; rendezvous;
             rendezvous = rendezvous->next) {
            if (rendezvous == work->rendezvous && rendezvous->number == work->number)
                return rendezvous;
        }
    }
    return NULL;
}

bool hal_rendezvous_describe(const struct hal_collective_work *work, char *out_text, size_t bytes)
{
    char name[2 * NAME_BYTES], ranks[2 * NAME_BYTES];
    pthread_mutex_lock(&hal_rendezvous_lock);
    const struct hal_rendezvous *rendezvous = find_work_locked(work);
    const bool waits = rendezvous && rendezvous->first;
    if (waits) {
        hal_rendezvous_name_missing(rendezvous, ranks, sizeof ranks);
        snprintf(out_text, bytes, "waits for %s in %s", ranks,
                 hal_rendezvous_name(rendezvous, work, name));
    }
    pthread_mutex_unlock(&hal_rendezvous_lock);
    return waits;
}
