/* SPDX-License-Identifier: Apache-2.0 */
/* The rules for channels and collectives. */
#include "hal/base/mem.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <inttypes.h>

/* ---- Channels ------------------------------------------------------------------------------ */

static enum hal_status check_devices(struct hal_device *const *devices, size_t count,
                                     const char *label)
{
    for (size_t i = 0; i < count; i++) {
        HAL_TRY(hal_add_context(hal_check_device(devices[i]), "channel '%s', rank %zu", label, i));
        const struct hal_device_info *info = &devices[i]->info;
        if (!devices[i]->driver->ops->collectives)
            return hal_fail(HAL_UNSUPPORTED,
                            "channel '%s': the driver of device '%s' does not support collectives",
                            label, info->uri);
        if (strcmp(info->driver, devices[0]->info.driver) != 0)
            return hal_fail(HAL_INVALID,
                            "channel '%s': rank 0 is on '%s' and rank %zu on '%s': all must be on "
                            "devices of one driver",
                            label, devices[0]->info.uri, i, info->uri);
    }
    return HAL_OK;
}

enum hal_status hal_check_channel_desc(struct hal_device *const *devices, size_t count,
                                       const struct hal_channel_desc *desc)
{
    HAL_TRY(hal_check_label(desc->label));
    const char *label = desc->label ? desc->label : "";
    if (count == 0 || count > HAL_MAX_RANKS || !devices)
        return hal_fail(HAL_INVALID, "channel '%s' of %s%s: 1 to %d are supported", label,
                        hal_count(count, "rank", "ranks").text, devices ? "" : " at NULL",
                        HAL_MAX_RANKS);
    if (desc->group_id || desc->group_id_bytes)
        return hal_fail(HAL_UNSUPPORTED,
                        "channel '%s' with a group's id of %s: groups of several processes are not "
                        "supported yet",
                        label, hal_count(desc->group_id_bytes, "byte", "bytes").text);
    return check_devices(devices, count, label);
}

/* ---- Collectives --------------------------------------------------------------------------- */

static bool reduces(enum hal_collective operation)
{
    return operation == HAL_COLLECTIVE_ALL_REDUCE || operation == HAL_COLLECTIVE_REDUCE_SCATTER;
}

static enum hal_status check_words(const struct hal_collective_desc *desc)
{
    const char *name = hal_collective_name(desc->operation);
    if (desc->operation < HAL_COLLECTIVE_ALL_REDUCE || desc->operation > HAL_COLLECTIVE_RECEIVE)
        return hal_fail(HAL_INVALID, "there is no collective %d (1 to %d exist)",
                        (int)desc->operation, HAL_COLLECTIVE_RECEIVE);
    if (!hal_element_bytes(desc->type))
        return hal_fail(HAL_INVALID, "%s: there is no element type %d (1 to %d exist)", name,
                        (int)desc->type, HAL_ELEMENT_F64);
    const int first = reduces(desc->operation) ? HAL_REDUCTION_SUM : HAL_REDUCTION_NONE;
    const int last = reduces(desc->operation) ? HAL_REDUCTION_AVERAGE : HAL_REDUCTION_NONE;
    if ((int)desc->reduction < first || (int)desc->reduction > last)
        return hal_fail(HAL_INVALID, "%s with reduction %d: %d to %d exist", name,
                        (int)desc->reduction, first, last);
    return HAL_OK;
}

static enum hal_status check_peer(const struct hal_collective_desc *desc)
{
    const char *name = hal_collective_name(desc->operation);
    const struct hal_channel *channel = desc->channel;
    const bool is_pair =
        desc->operation == HAL_COLLECTIVE_SEND || desc->operation == HAL_COLLECTIVE_RECEIVE;
    const bool has_peer = is_pair || desc->operation == HAL_COLLECTIVE_BROADCAST;
    if (!has_peer && desc->peer)
        return hal_fail(HAL_INVALID, "%s with peer %u: it has no peer, which must be 0", name,
                        desc->peer);
    if (desc->peer >= channel->count)
        return hal_fail(HAL_INVALID, "%s with peer %u: the channel has %s", name, desc->peer,
                        hal_count(channel->count, "rank", "ranks").text);
    if (is_pair && desc->peer == channel->rank)
        return hal_fail(HAL_INVALID, "%s between rank %u and itself", name, desc->peer);
    return HAL_OK;
}

/* What this rank sends, or receives. */
struct side {
    const char *verb;
    const struct hal_buffer *buffer;
    uint64_t offset;
    uint64_t parts; /* of the collective's count; 0: there is nothing to send or receive */
};

/* The buffer is there when it is needed, and only then, and has the range. */
static enum hal_status check_side(const struct hal_device *device,
                                  const struct hal_collective_desc *desc, const struct side *side)
{
    const char *name = hal_collective_name(desc->operation);
    const uint32_t element = hal_element_bytes(desc->type);
    uint64_t bytes;
    if (!side->buffer != !side->parts)
        return hal_fail(HAL_INVALID, "%s: rank %u of %u has %s buffer to %s", name,
                        desc->channel->rank, desc->channel->count, side->buffer ? "a" : "no",
                        side->verb);
    if (!side->parts)
        return HAL_OK;
    if (!hal_mul_u64(desc->count, side->parts * element, &bytes))
        return hal_fail(HAL_INVALID, "%s of %" PRIu64 " %s: that is more than 2^64 bytes", name,
                        desc->count, hal_element_name(desc->type));
    if (side->offset % element)
        return hal_fail(HAL_INVALID,
                        "%s: offset %" PRIu64 " to %s is not a multiple of the %u of %s", name,
                        side->offset, side->verb, element, hal_element_name(desc->type));
    return hal_add_context(hal_check_transfer_of(device, side->buffer, side->offset, bytes),
                           "%s, buffer to %s", name, side->verb);
}

/* Where the smaller range must be if they overlap: in place. */
static enum hal_status check_place_of(const struct hal_collective_desc *desc,
                                      const struct side *sent, const struct side *received)
{
    if (!sent->buffer || !received->buffer || desc->count == 0)
        return HAL_OK;
    uint64_t send = sent->offset, receive = received->offset;
    const uint64_t bytes = desc->count * hal_element_bytes(desc->type);
    if (hal_root_of(sent->buffer, &send) != hal_root_of(received->buffer, &receive) ||
        send + sent->parts * bytes <= receive || receive + received->parts * bytes <= send)
        return HAL_OK;
    const uint64_t part = desc->channel->rank * bytes;
    const uint64_t wanted_send = receive + (received->parts > 1 ? part : 0);
    const uint64_t wanted_receive = send + (sent->parts > 1 ? part : 0);
    if (send == wanted_send || (sent->parts > 1 && receive == wanted_receive))
        return HAL_OK;
    char name[HAL_OBJECT_NAME_BYTES];
    return hal_fail(HAL_INVALID,
                    "%s: what rank %u sends, at offset %" PRIu64 " of %s, and receives, at %" PRIu64
                    ", overlap and are not in place",
                    hal_collective_name(desc->operation), desc->channel->rank, sent->offset,
                    hal_object_name(&sent->buffer->object, name), received->offset);
}

static enum hal_status check_parts(const struct hal_device *device,
                                   const struct hal_collective_desc *desc)
{
    const enum hal_collective operation = desc->operation;
    const uint64_t ranks = desc->channel->count;
    const bool sends = operation == HAL_COLLECTIVE_BROADCAST ? desc->peer == desc->channel->rank
                                                             : operation != HAL_COLLECTIVE_RECEIVE;
    const bool receives = operation != HAL_COLLECTIVE_SEND;
    const struct side sent = {
        .verb = "send",
        .buffer = desc->send,
        .offset = desc->send_offset,
        .parts = operation == HAL_COLLECTIVE_REDUCE_SCATTER ? ranks : sends,
    };
    const struct side received = {
        .verb = "receive",
        .buffer = desc->receive,
        .offset = desc->receive_offset,
        .parts = operation == HAL_COLLECTIVE_ALL_GATHER ? ranks : receives,
    };
    HAL_TRY(check_words(desc));
    HAL_TRY(check_peer(desc));
    HAL_TRY(check_side(device, desc, &sent));
    HAL_TRY(check_side(device, desc, &received));
    return check_place_of(desc, &sent, &received);
}

enum hal_status hal_check_collective(const struct hal_device *device,
                                     const struct hal_collective_desc *desc)
{
    char name[HAL_OBJECT_NAME_BYTES];
    if (!desc)
        return hal_fail(HAL_INVALID, "a collective needs a description");
    HAL_TRY(hal_check_belongs(desc->channel ? &desc->channel->object : NULL, "channel", device));
    return hal_add_context(check_parts(device, desc), "%s",
                           hal_object_name(&desc->channel->object, name));
}
