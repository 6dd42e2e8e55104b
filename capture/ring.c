/* SPDX-License-Identifier: Apache-2.0 */
/* Setting up and taking down a ring; its hot functions are inline in the header. */
#include "capture/ring.h"

#include <string.h>

enum { first_touched_bytes = 16 << 10 };

enum hal_status capture_ring_init(struct capture_ring *ring, const struct capture_sidecar *sidecar,
                                  struct trace_ring_slot *slot)
{
    memset(ring, 0, sizeof *ring);
    HAL_TRY(capture_sidecar_map_twice(sidecar, slot->offset, slot->bytes, &ring->base));
    /* Of the second mapping little more is touched than what crosses the end. */
    capture_sidecar_prefault(ring->base, slot->bytes + first_touched_bytes);
    ring->bytes = slot->bytes;
    ring->slot = slot;
    return HAL_OK;
}

void capture_ring_finish(struct capture_ring *ring)
{
    if (!ring->base)
        return;
    capture_sidecar_unmap_twice(ring->base, ring->bytes);
    ring->base = NULL;
}
