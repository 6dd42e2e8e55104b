/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of a buffer, cut into pieces of uniform state. The caller defines the state: a struct
 * that begins with a struct trace_piece.
 *
 *     struct trace_pieces pieces = {.piece_bytes = sizeof(struct my_piece)};
 *     trace_pieces_visit(&pieces, begin, end, update, user);     update(user, piece) for each
 *     trace_pieces_finish(&pieces);
 *
 * Pieces are disjoint and sorted. A visit creates pieces that are zero after their range;
 * neighbours that a visit leaves with equal bytes are merged. */
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

/* Borrowed until the next visit. */
struct trace_piece *trace_pieces_get(const struct trace_pieces *pieces, size_t index);

/* Visits the pieces of [begin, end), split at its ends, and creates pieces in gaps: at most three
 * more than before and one per gap. Stores the number visited. False if out of memory. */
bool trace_pieces_visit(struct trace_pieces *pieces, uint64_t begin, uint64_t end,
                        trace_piece_visit *visit, void *user, size_t *out_visited);

/* Removes every piece for which `is_done` returns true. */
void trace_pieces_remove(struct trace_pieces *pieces,
                         bool (*is_done)(void *user, const struct trace_piece *piece), void *user);

void trace_pieces_finish(struct trace_pieces *pieces);

#endif
