/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a buffer, cut into pieces about which the same is known. What is known is the
 * caller's: a struct of his own that begins with a struct trace_piece.
 *
 *     struct trace_pieces pieces = {.piece_bytes = sizeof(struct my_piece)};
 *     trace_pieces_visit(&pieces, begin, end, update, user);     update(user, piece) for each
 *     trace_pieces_finish(&pieces);
 *
 * Pieces are disjoint and in order. Those that a visit makes are zero behind their range; those
 * that a visit leaves beside each other with equal bytes become one. */
#ifndef FORMAT_ANALYSIS_PIECES_H
#define FORMAT_ANALYSIS_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_piece {
    uint64_t begin, end;
};

struct trace_pieces {
    size_t piece_bytes;
    uint8_t *list;
    size_t count, capacity;
};

typedef void trace_piece_visit(void *user, struct trace_piece *piece);

/* Borrowed: until the next visit. */
struct trace_piece *trace_pieces_get(const struct trace_pieces *pieces, size_t index);

/* Visits the pieces of [begin, end), cut at its ends, with new ones where there are none; at most
 * three more than before and one per gap. Returns how many there were. False: no memory. */
bool trace_pieces_visit(struct trace_pieces *pieces, uint64_t begin, uint64_t end,
                        trace_piece_visit *visit, void *user, size_t *out_visited);

/* Removes those for which `is_done` holds. */
void trace_pieces_remove(struct trace_pieces *pieces,
                         bool (*is_done)(void *user, const struct trace_piece *piece), void *user);

void trace_pieces_finish(struct trace_pieces *pieces);

#endif
