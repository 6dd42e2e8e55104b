/* SPDX-License-Identifier: Apache-2.0 */
/* Setting up a ring; its hot functions are inline in the header. */
#include "capture/stream/ring.h"

#include <string.h>

enum { FIRST_TOUCHED_BYTES = 16 << 10 };

enum hal_status capture_ring_map(const struct capture_sidecar *sidecar,
                                 const struct trace_ring_slot *slot, uint8_t **out_base)
{
    HAL_TRY(capture_sidecar_map_twice(sidecar, slot->offset, slot->bytes, out_base));
    /* Of the second mapping little more is touched than what crosses the end. */
    capture_sidecar_prefault(*out_base, slot->bytes + FIRST_TOUCHED_BYTES);
    return HAL_OK;
}

void capture_ring_init(struct capture_ring *ring, struct trace_ring_slot *slot, uint8_t *base)
{
    memset(ring, 0, sizeof *ring);
    ring->base = base;
    ring->bytes = slot->bytes;
    ring->wake_bytes = slot->bytes;
    ring->slot = slot;
}
