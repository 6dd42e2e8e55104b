/* SPDX-License-Identifier: Apache-2.0 */
/* How a player accesses buffers: through a persistent mapping if the program had one, through
 * scoped mappings otherwise, and by copies on the device if the host cannot map (a trace has the
 * contents of such a buffer from a snapshot). */
#include "hal/base/mem.h"
#include "replay/player/remote.h"

static bool can_map(const struct trace_buffer_create *created)
{
    const uint32_t visible =
        HAL_MEMORY_HOST_VISIBLE | HAL_MEMORY_HOST_COHERENT | HAL_MEMORY_HOST_CACHED;
    return (created->memory == 0 || created->memory & visible) &&
           (created->usage == 0 || created->usage & HAL_USAGE_MAPPING);
}

/* ---- By the device ------------------------------------------------------------------------- */

/* One command, run to its end. */
struct transfer {
    struct hal_buffer *source, *target; /* source NULL: a fill */
    uint64_t source_offset, target_offset, bytes;
};

static enum hal_status make_staging(struct replay_player *player, uint64_t bytes)
{
    if (!player->staged)
        HAL_TRY(hal_semaphore_create(player->device, "replay staging", 0, &player->staged));
    if (player->staging && hal_buffer_bytes(player->staging) >= bytes)
        return HAL_OK;
    hal_buffer_release(player->staging);
    player->staging = NULL;
    const struct hal_buffer_desc desc = {.label = "replay staging", .bytes = bytes};
    return hal_buffer_create(player->device, &desc, &player->staging);
}

static enum hal_status run_transfer(struct replay_player *player, const struct transfer *transfer)
{
    struct hal_command_buffer *commands;
    const struct hal_command_buffer_desc desc = {.label = "replay staging"};
    HAL_TRY(hal_command_buffer_create(player->device, &desc, &commands));
    enum hal_status status =
        transfer->source
            ? hal_command_copy(commands, transfer->source, transfer->source_offset,
                               transfer->target, transfer->target_offset, transfer->bytes)
            : hal_command_fill(commands, transfer->target, transfer->target_offset, transfer->bytes,
                               player->fill, 1);
    if (status == HAL_OK)
        status = hal_command_buffer_end(commands);
    if (status == HAL_OK) {
        const struct hal_semaphore_value done = {player->staged, player->staged_value + 1};
        const struct hal_submit_desc submit = {
            .signals = &done, .signal_count = 1, .commands = &commands, .command_count = 1};
        status = hal_queue_submit(player->device, &submit);
        if (status == HAL_OK) {
            player->staged_value++;
            status = replay_await(player, HAL_WAIT_ALL, &done, 1);
        }
    }
    hal_command_buffer_release(commands);
    return status;
}

/* ---- By the host --------------------------------------------------------------------------- */

static enum hal_status fill_mapped(struct replay_player *player, struct hal_buffer *buffer,
                                   uint64_t offset, uint64_t bytes)
{
    struct hal_mapping mapping;
    HAL_TRY(hal_buffer_map(buffer, HAL_MAP_WRITE | HAL_MAP_DISCARD, offset, bytes, &mapping));
    memset(mapping.data, player->fill, (size_t)bytes);
    return hal_buffer_unmap(&mapping);
}

static enum hal_status map_persistently(struct replay_live *live, uint64_t bytes)
{
    live->mapping = hal_alloc(1, sizeof *live->mapping);
    if (!live->mapping)
        return hal_fail(HAL_NO_MEMORY, "no memory for a mapping");
    const enum hal_status status = hal_buffer_map(
        live->buffer, HAL_MAP_READ | HAL_MAP_WRITE | HAL_MAP_PERSISTENT, 0, bytes, live->mapping);
    if (status != HAL_OK) {
        free(live->mapping);
        live->mapping = NULL;
    }
    return status;
}

enum hal_status replay_memory_create(struct replay_player *player, uint32_t object)
{
    const struct replay_object *planned = &player->plan->objects[object];
    const struct trace_buffer_create *created = (const void *)planned->created;
    struct replay_live *live = &player->live[object];
    const bool mappable = can_map(created);
    const uint32_t transfer = mappable ? 0 : HAL_USAGE_TRANSFER; /* for the staging copies */
    const struct hal_buffer_desc desc = {
        .label = replay_object_label(player->plan, object),
        .bytes = created->size,
        .memory = created->memory,
        .usage = created->usage ? created->usage | transfer : 0,
    };
    HAL_TRY(hal_buffer_create(player->device, &desc, &live->buffer));
    const struct replay_range *fill = &planned->buffer.uninitialised.fill;
    const uint64_t offset = fill->begin, bytes = fill->end - fill->begin;
    if (bytes > 0 && mappable)
        HAL_TRY(fill_mapped(player, live->buffer, offset, bytes));
    if (bytes > 0 && !mappable) {
        HAL_TRY(make_staging(player, 1));
        HAL_TRY(run_transfer(
            player,
            &(struct transfer){.target = live->buffer, .target_offset = offset, .bytes = bytes}));
    }
    return planned->buffer.persistent ? map_persistently(live, created->size) : HAL_OK;
}

void replay_memory_destroy(struct replay_player *player, uint32_t object)
{
    struct replay_live *live = &player->live[object];
    if (live->mapping) {
        const enum hal_status ignored = hal_buffer_unmap(live->mapping);
        (void)ignored;
        free(live->mapping);
    }
    hal_buffer_release(live->buffer);
    *live = (struct replay_live){0};
}

enum hal_status replay_memory_write(struct replay_player *player, uint32_t object, uint64_t offset,
                                    const uint8_t *data, uint64_t bytes)
{
    struct replay_live *live = &player->live[object];
    if (player->remote)
        return replay_remote_write(player, object, offset, data, bytes);
    if (live->mapping) {
        memcpy((uint8_t *)live->mapping->data + offset, data, (size_t)bytes);
        return hal_mapping_flush(live->mapping, offset, bytes);
    }
    if (can_map((const void *)player->plan->objects[object].created))
        return hal_buffer_write(live->buffer, offset, data, bytes);
    HAL_TRY(make_staging(player, bytes));
    HAL_TRY(hal_buffer_write(player->staging, 0, data, bytes));
    return run_transfer(player, &(struct transfer){.source = player->staging,
                                                   .target = live->buffer,
                                                   .target_offset = offset,
                                                   .bytes = bytes});
}

enum hal_status replay_memory_read(struct replay_player *player, uint32_t object, uint64_t offset,
                                   uint64_t bytes, const uint8_t **out_data)
{
    struct replay_live *live = &player->live[object];
    if (player->remote)
        return replay_remote_read(player, object, offset, bytes, out_data);
    if (live->mapping) {
        *out_data = (const uint8_t *)live->mapping->data + offset;
        return hal_mapping_invalidate(live->mapping, offset, bytes);
    }
    struct hal_buffer *mapped = live->buffer;
    if (!can_map((const void *)player->plan->objects[object].created)) {
        HAL_TRY(make_staging(player, bytes));
        HAL_TRY(run_transfer(player, &(struct transfer){.source = live->buffer,
                                                        .source_offset = offset,
                                                        .target = player->staging,
                                                        .bytes = bytes}));
        mapped = player->staging;
        offset = 0;
    }
    HAL_TRY(hal_buffer_map(mapped, HAL_MAP_READ, offset, bytes, &player->reading));
    *out_data = player->reading.data;
    return HAL_OK;
}

enum hal_status replay_memory_read_end(struct replay_player *player)
{
    struct hal_mapping mapping = player->reading;
    player->reading = (struct hal_mapping){0};
    return mapping.buffer ? hal_buffer_unmap(&mapping) : HAL_OK;
}

void replay_memory_finish(struct replay_player *player)
{
    hal_buffer_release(player->staging);
    hal_semaphore_release(player->staged);
    player->staging = NULL;
    player->staged = NULL;
    player->staged_value = 0;
}
