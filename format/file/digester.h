/* SPDX-License-Identifier: Apache-2.0 */
/* Computes identities and checksums of large contents on other threads while the first thread
 * writes: on one, or on several where there are many processors.
 *
 * Contents are announced in the order in which they are asked for. A content that no thread has
 * begun is computed by the caller that asks for it, so nothing ever waits for an idle thread;
 * threads start when there is work. One thread calls all functions. */
#ifndef FORMAT_DIGESTER_H
#define FORMAT_DIGESTER_H

#include "format/file/identity.h"

struct trace_digester;

struct trace_digest {
    uint8_t identity[TRACE_IDENTITY_BYTES];
    /* trace_checksum of the bytes, if another thread computed it: not every content needs it. */
    uint64_t checksum;
    bool has_checksum;
};

enum { TRACE_DIGESTER_PLACES = 8, TRACE_DIGESTER_LEAST_BYTES = 64 << 10 };

/* Starts one to four threads, clamping `threads`; NULL: out of memory. All of them use copies of
 * `identity`, which must stay valid. */
struct trace_digester *trace_digester_create(uint32_t threads, struct trace_identity *identity);

/* Announces `bytes` at `data`, which must stay unchanged until the digest is taken or
 * trace_digester_forget. Small contents, and those for which there is no memory, are ignored.
 * False: all places are taken; announce it again later. `*digester` may be NULL at first: it is
 * then created with a share of the processors if there are four or more; with fewer the program
 * needs them all, and a writer alone is as fast. */
bool trace_digester_announce(struct trace_digester **digester, struct trace_identity *identity,
                             const void *data, uint64_t bytes);

/* Returns the digest of the bytes, announced or not. May wait for another thread. */
enum hal_status trace_digester_take(struct trace_digester *digester,
                                    struct trace_identity *identity, const void *data,
                                    uint64_t bytes, struct trace_digest *out_digest) HAL_CHECKED;

/* Number of digests that the threads have computed so far. */
uint64_t trace_digester_computed(const struct trace_digester *digester);

/* Drops all announcements; no thread reads the bytes any more. Accepts NULL, like take and free. */
void trace_digester_forget(struct trace_digester *digester);

void trace_digester_free(struct trace_digester *digester);

#endif
