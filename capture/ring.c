/* SPDX-License-Identifier: Apache-2.0 */
/* Setting up and taking down a ring; its hot functions are inline in the header. */
#include "capture/ring.h"

#include <string.h>

enum hal_status capture_ring_init(struct capture_ring *ring, const struct capture_sidecar *sidecar,
                                  struct trace_ring_slot *slot)
{
    memset(ring, 0, sizeof *ring);
    HAL_TRY(capture_sidecar_map_twice(sidecar, slot->offset, slot->bytes, &ring->base));
    capture_sidecar_prefault(ring->base, 2 * slot->bytes);
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
