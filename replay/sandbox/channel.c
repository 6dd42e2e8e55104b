/* SPDX-License-Identifier: Apache-2.0 */
#include "replay/sandbox/channel.h"

#include "hal/base/mem.h"
#include "hal/base/os.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_WAITING = 16 << 20, LARGE = 1 << 20 };

static enum hal_status ready(struct replay_channel *channel, int descriptor, short events)
{
    return channel->wait ? channel->wait(channel->user, descriptor, events) : HAL_OK;
}

static enum hal_status write_all(struct replay_channel *channel, const uint8_t *data, size_t bytes)
{
    while (bytes) {
        HAL_TRY(ready(channel, channel->to, POLLOUT));
        const ssize_t done = write(channel->to, data, bytes);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return hal_fail(HAL_IO, "nobody listens: %s", strerror(errno));
        data += done > 0 ? done : 0;
        bytes -= done > 0 ? (size_t)done : 0;
    }
    return HAL_OK;
}

enum hal_status replay_channel_flush(struct replay_channel *channel)
{
    const size_t bytes = channel->out_bytes;
    channel->out_bytes = 0;
    return write_all(channel, channel->out, bytes);
}

enum hal_status replay_channel_send(struct replay_channel *channel, const void *head,
                                    size_t head_bytes, const void *body, size_t body_bytes)
{
    const bool is_large = body_bytes > LARGE;
    const size_t bytes = head_bytes + (is_large ? 0 : body_bytes);
    if (channel->out_bytes + bytes > MOST_WAITING)
        HAL_TRY(replay_channel_flush(channel));
    if (!HAL_GROW(channel->out, &channel->out_capacity, channel->out_bytes + bytes))
        return hal_fail(HAL_NO_MEMORY, "no memory for a message of %zu bytes", bytes);
    memcpy(channel->out + channel->out_bytes, head, head_bytes);
    channel->out_bytes += head_bytes;
    if (is_large) {
        HAL_TRY(replay_channel_flush(channel));
        return write_all(channel, body, body_bytes);
    }
    if (body_bytes)
        memcpy(channel->out + channel->out_bytes, body, body_bytes);
    channel->out_bytes += body_bytes;
    return HAL_OK;
}

void replay_channel_finish(struct replay_channel *channel)
{
    free(channel->out);
    channel->out = NULL;
    channel->out_bytes = channel->out_capacity = 0;
}

static enum hal_status read_some(struct replay_channel *channel, uint8_t *out, size_t bytes,
                                 size_t *out_got)
{
    for (;;) {
        HAL_TRY(ready(channel, channel->from, POLLIN));
        const ssize_t got = read(channel->from, out, bytes);
        *out_got = got > 0 ? (size_t)got : 0;
        if (got > 0)
            return HAL_OK;
        if (got == 0 || (errno != EINTR && errno != EAGAIN))
            return hal_fail(HAL_IO, "nobody speaks");
    }
}

enum hal_status replay_channel_receive(struct replay_channel *channel, void *out, size_t bytes)
{
    uint8_t *to = out;
    while (bytes) {
        const size_t there = channel->in_end - channel->in_begin;
        size_t got = there < bytes ? there : bytes;
        if (!there && bytes >= sizeof channel->in) {
            HAL_TRY(read_some(channel, to, bytes, &got));
        } else if (!there) {
            channel->in_begin = 0;
            channel->in_end = 0;
            HAL_TRY(read_some(channel, channel->in, sizeof channel->in, &channel->in_end));
            continue;
        } else {
            memcpy(to, channel->in + channel->in_begin, got);
            channel->in_begin += got;
        }
        to += got;
        bytes -= got;
    }
    return HAL_OK;
}

enum hal_status replay_channel_tell(struct replay_channel *channel, uint64_t subject,
                                    const void *data, size_t bytes)
{
    const struct replay_tell tell = {.kind = REPLAY_TELL_BYTES, .subject = subject, .bytes = bytes};
    return replay_channel_send(channel, &tell, sizeof tell, data, bytes);
}

enum hal_status replay_channel_tell_doubt(struct replay_channel *channel, uint64_t subject,
                                          const void *ranges, size_t bytes)
{
    const struct replay_tell tell = {.kind = REPLAY_TELL_DOUBT, .subject = subject, .bytes = bytes};
    return replay_channel_send(channel, &tell, sizeof tell, ranges, bytes);
}

/* Less often than the parent's limit on silence passes by far. */
void replay_channel_alive(struct replay_channel *channel, uint64_t op, uint64_t moves,
                          int64_t now_ns)
{
    const struct replay_tell tell = {.kind = REPLAY_TELL_ALIVE, .subject = op, .bytes = moves};
    const int64_t often_ns = INT64_C(200000000);
    if (now_ns - channel->told_ns < often_ns)
        return;
    channel->told_ns = now_ns;
    (void)!replay_channel_send(channel, &tell, sizeof tell, NULL, 0);
    (void)!replay_channel_flush(channel);
}
