/* SPDX-License-Identifier: Apache-2.0 */
/* Channels, and collectives submitted to queues. Their rules: check_channel.c. */
#include "hal/base/mem.h"
#include "hal/base/message.h"
#include "hal/core/core.h"

#include <inttypes.h>

/* ---- Channels ------------------------------------------------------------------------------ */

/* Called on release of the rank's last reference. */
struct hal_leaving {
    struct hal_deferred_call call;
    struct hal_group *group;
    uint32_t rank;
};

static void leave(struct hal_deferred_call *call)
{
    struct hal_leaving *leaving = (struct hal_leaving *)call;
    hal_group_leave(leaving->group, leaving->rank);
    free(leaving);
}

/* Leaving may notify the other ranks: outside of all gates. */
static void destroy_channel(struct hal_driver_device *top, struct hal_object *object)
{
    struct hal_channel *channel = (struct hal_channel *)(void *)object;
    struct hal_leaving *leaving = channel->leaving;
    top->ops->object_destroy(top, object);
    free(channel);
    hal_gate_defer(&leaving->call);
}

static enum hal_status create_rank(struct hal_device *device, struct hal_group *group,
                                   const char *label, uint32_t rank, uint32_t count,
                                   struct hal_channel **out_channel)
{
    struct hal_channel *channel = hal_alloc(1, sizeof *channel);
    struct hal_leaving *leaving = hal_alloc(1, sizeof *leaving);
    enum hal_status status = HAL_OK;
    if (!channel || !leaving) {
        status = hal_fail(HAL_NO_MEMORY, "no memory for rank %u of a channel", rank);
    } else {
        *leaving = (struct hal_leaving){.call = {.run = leave}, .group = group, .rank = rank};
        channel->group = group;
        channel->group_id = hal_group_id(group);
        channel->rank = rank;
        channel->count = count;
        channel->leaving = leaving;
        channel->object.destroy = destroy_channel;
        status = hal_object_announce(&channel->object, HAL_OBJECT_CHANNEL, device, label);
    }
    if (status != HAL_OK) {
        free(leaving);
        free(channel);
        return status;
    }
    *out_channel = channel;
    return HAL_OK;
}

enum hal_status hal_channel_create(struct hal_device *const *devices, size_t count,
                                   const struct hal_channel_desc *desc,
                                   struct hal_channel **out_channels)
{
    HAL_KNOW(hal_channel_desc, desc);
    static const struct hal_channel_desc nothing = {0};
    const struct hal_channel_desc *wanted = desc ? desc : &nothing;
    struct hal_group *group;
    HAL_TRY(hal_check_channel_desc(devices, count, wanted));
    HAL_TRY(hal_check_place(out_channels, "the channels"));
    const uint32_t ranks = (uint32_t)count;
    HAL_TRY(hal_group_create(wanted->label, ranks, &group));
    uint32_t made = 0;
    enum hal_status status = HAL_OK;
    for (; made < ranks && status == HAL_OK; made += status == HAL_OK)
        status = create_rank(devices[made], group, wanted->label, made, ranks, &out_channels[made]);
    if (status == HAL_OK)
        return HAL_OK;
    const struct hal_kept_message kept = hal_keep_message();
    for (uint32_t rank = made; rank < ranks; rank++)
        hal_group_leave(group, rank);
    for (uint32_t rank = 0; rank < made; rank++) {
        hal_channel_release(out_channels[rank]);
        out_channels[rank] = NULL;
    }
    return hal_restore_message(&kept, status);
}

HAL_REFERENCED(hal_channel)

enum hal_status hal_channel_get_info(const struct hal_channel *channel,
                                     struct hal_channel_info *out_info)
{
    HAL_TRY(hal_check_object(channel ? &channel->object : NULL, "channel"));
    HAL_TRY(hal_check_place(out_info, "the information about a channel"));
    const struct hal_channel_info info = {.label = channel->object.label,
                                          .rank = channel->rank,
                                          .count = channel->count,
                                          .group = channel->group_id};
    return HAL_GIVE(hal_channel_info, out_info, &info);
}

/* ---- Collectives --------------------------------------------------------------------------- */

/* How many elements a rank sends and receives. Their bytes fit into buffers: that was checked. */
static struct hal_collective_work resolve(const struct hal_collective_desc *desc)
{
    const struct hal_channel *channel = desc->channel;
    const uint64_t bytes = desc->count * hal_element_bytes(desc->type);
    const bool scatters = desc->operation == HAL_COLLECTIVE_REDUCE_SCATTER;
    const bool gathers = desc->operation == HAL_COLLECTIVE_ALL_GATHER;
    struct hal_collective_work work = {.channel = desc->channel,
                                       .operation = desc->operation,
                                       .type = desc->type,
                                       .reduction = desc->reduction,
                                       .peer = desc->peer,
                                       .count = desc->count};
    if (desc->send) {
        work.send_offset = desc->send_offset;
        work.send = hal_root_of(desc->send, &work.send_offset);
        work.send_bytes = scatters ? channel->count * bytes : bytes;
    }
    if (desc->receive) {
        work.receive_offset = desc->receive_offset;
        work.receive = hal_root_of(desc->receive, &work.receive_offset);
        work.receive_bytes = gathers ? channel->count * bytes : bytes;
    }
    return work;
}

enum hal_status hal_queue_collective(struct hal_device *device, const struct hal_submit_desc *desc,
                                     const struct hal_collective_desc *collective)
{
    HAL_KNOW(hal_submit_desc, desc);
    HAL_KNOW(hal_collective_desc, collective);
    static const struct hal_submit_desc nothing = {0};
    HAL_TRY(hal_check_operation(device, desc));
    HAL_TRY(hal_check_collective(device, collective));
    HAL_TRY(hal_device_check_here(device));
    struct hal_collective_work work = resolve(collective);
    struct hal_channel *channel = collective->channel;
    HAL_TRY(hal_rendezvous_join(channel->group, channel->rank, &work));
    const struct hal_submission what = {
        .operation = HAL_OPERATION_COLLECTIVE,
        .buffer = work.receive ? work.receive : work.send,
        .offset = work.receive ? work.receive_offset : work.send_offset,
        .bytes = work.receive ? work.receive_bytes : work.send_bytes,
        .collective = &work,
    };
    const enum hal_status status =
        hal_queue_submit_work(device, desc ? desc : &nothing, &what, NULL);
    if (status != HAL_OK)
        hal_rendezvous_unjoin(&work);
    return status;
}
