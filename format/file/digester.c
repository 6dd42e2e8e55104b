/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of announced contents. Who changes a place's state from waiting computes its digest. */
#include "format/file/digester.h"

#include "format/container/frames.h"
#include "format/trace.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"

enum state {
    EMPTY,
    WAITING,
    IN_WORK,
    DONE,
    FAILED,
};

struct place {
    const void *data;
    uint64_t bytes;
    _Atomic uint32_t state; /* enum state; the thread that waits for the digest sleeps on it */
    struct trace_digest digest;
};

/* A writer writes as fast as a few of them compute; most processors are the program's. */
enum { MOST_THREADS = 4, PROCESSORS_PER_THREAD = 4 };

struct trace_digester {
    struct place places[TRACE_DIGESTER_PLACES];
    _Atomic uint32_t first;     /* changed by the announcing thread; where the others look first */
    uint32_t count;             /* announced and not asked for */
    _Atomic uint32_t announced; /* counts; the threads sleep on it */
    _Atomic bool ending;
    _Atomic uint64_t computed; /* by the threads */
    uint32_t thread_count, thread_limit;
    pthread_t threads[MOST_THREADS];
    struct trace_identity *identity; /* of the announcing thread */
};

static bool claim(struct place *place)
{
    uint32_t waiting = WAITING;
    return atomic_compare_exchange_strong(&place->state, &waiting, IN_WORK);
}

static void compute(struct place *place, struct trace_identity *identity, bool with_checksum)
{
    const enum hal_status status =
        trace_identify(identity, place->data, (size_t)place->bytes, place->digest.identity);
    place->digest.has_checksum = with_checksum;
    if (with_checksum)
        place->digest.checksum = trace_checksum(place->data, (size_t)place->bytes);
    atomic_store(&place->state, status == HAL_OK ? DONE : FAILED);
    hal_word_wake(&place->state, 1);
}

/* In the order in which they will be requested. */
static bool compute_one(struct trace_digester *digester, struct trace_identity *identity)
{
    const uint32_t first = atomic_load(&digester->first);
    for (uint32_t i = 0; i < TRACE_DIGESTER_PLACES; i++) {
        struct place *place = &digester->places[(first + i) % TRACE_DIGESTER_PLACES];
        if (!claim(place))
            continue;
        compute(place, identity, true);
        return true;
    }
    return false;
}

static void *run(void *argument)
{
    struct trace_digester *digester = argument;
    struct trace_identity identity;
    if (trace_identity_copy(digester->identity, &identity) != HAL_OK)
        return NULL; /* the announcing thread computes everything */
    while (!atomic_load(&digester->ending)) {
        const uint32_t seen = atomic_load(&digester->announced);
        if (compute_one(digester, &identity))
            atomic_fetch_add_explicit(&digester->computed, 1, memory_order_relaxed);
        else if (!atomic_load(&digester->ending))
            hal_word_wait(&digester->announced, seen, HAL_FOREVER);
    }
    trace_identity_finish(&identity);
    return NULL;
}

/* As many as there are contents to work on. */
static void start_thread(struct trace_digester *digester)
{
    const uint32_t number = digester->thread_count;
    if (number < digester->count && number < digester->thread_limit &&
        hal_thread_start("hal-digests", run, digester, &digester->threads[number]) == HAL_OK)
        digester->thread_count++;
}

struct trace_digester *trace_digester_create(uint32_t threads, struct trace_identity *identity)
{
    struct trace_digester *digester = hal_alloc(1, sizeof *digester);
    if (!digester)
        return NULL;
    digester->thread_limit = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    digester->identity = identity;
    return digester;
}

bool trace_digester_announce(struct trace_digester **digester, struct trace_identity *identity,
                             const void *data, uint64_t bytes)
{
    if (bytes < TRACE_DIGESTER_LEAST_BYTES)
        return true;
    const uint32_t share = hal_processor_count() / PROCESSORS_PER_THREAD;
    if (!*digester && share)
        *digester = trace_digester_create(share, identity);
    struct trace_digester *to = *digester;
    if (!to)
        return true;
    if (to->count == TRACE_DIGESTER_PLACES)
        return false;
    struct place *place = &to->places[(to->first + to->count++) % TRACE_DIGESTER_PLACES];
    place->data = data;
    place->bytes = bytes;
    atomic_store(&place->state, WAITING);
    start_thread(to);
    atomic_fetch_add(&to->announced, 1);
    hal_word_wake(&to->announced, 1);
    return true;
}

/* Takes the first place back; with its digest if that is `wanted`. */
static uint32_t finish_first(struct trace_digester *digester, bool wanted)
{
    struct place *place = &digester->places[digester->first];
    if (claim(place)) {
        if (wanted)
            compute(place, digester->identity, false);
    } else {
        uint32_t state;
        while ((state = atomic_load(&place->state)) == IN_WORK)
            hal_word_wait(&place->state, state, HAL_FOREVER);
    }
    const uint32_t state = atomic_exchange(&place->state, EMPTY);
    atomic_store(&digester->first, (digester->first + 1) % TRACE_DIGESTER_PLACES);
    digester->count--;
    return state;
}

static bool is_announced(const struct trace_digester *digester, const void *data, uint64_t bytes)
{
    for (uint32_t i = 0; digester && i < digester->count; i++) {
        const struct place *place =
            &digester->places[(digester->first + i) % TRACE_DIGESTER_PLACES];
        if (place->data == data && place->bytes == bytes)
            return true;
    }
    return false;
}

enum hal_status trace_digester_take(struct trace_digester *digester,
                                    struct trace_identity *identity, const void *data,
                                    uint64_t bytes, struct trace_digest *out_digest)
{
    while (is_announced(digester, data, bytes)) {
        const uint32_t index = digester->first;
        const bool wanted =
            digester->places[index].data == data && digester->places[index].bytes == bytes;
        const uint32_t state = finish_first(digester, wanted);
        if (wanted && state == DONE) {
            *out_digest = digester->places[index].digest;
            return HAL_OK;
        }
        if (wanted)
            break;
    }
    *out_digest = (struct trace_digest){0};
    return trace_identify(identity, data, (size_t)bytes, out_digest->identity);
}

uint64_t trace_digester_computed(const struct trace_digester *digester)
{
    return atomic_load_explicit(&digester->computed, memory_order_relaxed);
}

void trace_digester_forget(struct trace_digester *digester)
{
    while (digester && digester->count)
        (void)finish_first(digester, false);
}

void trace_digester_free(struct trace_digester *digester)
{
    if (!digester)
        return;
    trace_digester_forget(digester);
    atomic_store(&digester->ending, true);
    atomic_fetch_add(&digester->announced, 1);
    hal_word_wake(&digester->announced, MOST_THREADS);
    for (uint32_t i = 0; i < digester->thread_count; i++)
        hal_thread_join(digester->threads[i]);
    free(digester);
}
