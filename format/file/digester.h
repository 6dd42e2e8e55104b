/* SPDX-License-Identifier: Apache-2.0 */
/* Identities and checksums of large contents, computed by other threads while the first one writes:
 * one, and more of them where there are many processors.
 *
 * Contents are announced in the order in which they will be asked for. One that nobody has begun
 * is computed by whoever asks, so that nothing ever waits for an idle thread; threads are started
 * when there is something for them to do. All functions are for one thread only. */
#ifndef FORMAT_DIGESTER_H
#define FORMAT_DIGESTER_H

#include "format/file/identity.h"

struct trace_digester;

struct trace_digest {
    uint8_t identity[TRACE_IDENTITY_BYTES];
    /* trace_checksum of the bytes, which not every content needs: known where another thread has
     * computed it. */
    uint64_t checksum;
    bool has_checksum;
};

enum { TRACE_DIGESTER_PLACES = 8, TRACE_DIGESTER_LEAST_BYTES = 64 << 10 };

/* With at least one thread and at most four, whatever is asked for; NULL: there is no memory. All
 * are told `identity`, which stays. */
struct trace_digester *trace_digester_create(uint32_t threads, struct trace_identity *identity);

/* `bytes` at `data` stay as they are until the digest was asked for, or trace_digester_forget.
 * Small ones, and those for which there is no memory, are forgotten at once. false: so is this one,
 * since there are as many as there are places; it may be announced later. `digester` may begin as
 * NULL: one is made that uses a share of the processors, where there are four or more: of fewer the
 * program needs all, and a writer alone is as fast. */
bool trace_digester_announce(struct trace_digester **digester, struct trace_identity *identity,
                             const void *data, uint64_t bytes);

/* The digest of the bytes, announced or not. May wait for another thread. */
enum hal_status trace_digester_take(struct trace_digester *digester,
                                    struct trace_identity *identity, const void *data,
                                    uint64_t bytes, struct trace_digest *out_digest) HAL_CHECKED;

/* How many contents its threads have computed digests of, so far. */
uint64_t trace_digester_computed(const struct trace_digester *digester);

/* Nothing is announced any more, and nobody looks at it. Accepts NULL, as taking and freeing do. */
void trace_digester_forget(struct trace_digester *digester);

void trace_digester_free(struct trace_digester *digester);

#endif
