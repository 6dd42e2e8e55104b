/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that a trace leaves in the files that queues read, taken only with the recorded digest. */
#include "hal/base/digest.h"
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "replay/player/player.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The current place of a recorded path, by the first mapping whose old part is a prefix of it. */
static enum hal_status find_path(const struct replay_player *player, const char *recorded,
                                 char *out_path, size_t bytes, bool *out_given)
{
    const char *rest = recorded, *folder = "";
    *out_given = false;
    for (size_t i = 0; i < player->options.map_count; i++) {
        const struct replay_path_map *map = &player->options.maps[i];
        const size_t length = strlen(map->from);
        if (strncmp(recorded, map->from, length) != 0)
            continue;
        folder = map->to;
        rest = recorded + length;
        *out_given = true;
        break;
    }
    const int length = snprintf(out_path, bytes, "%s%s", folder, rest);
    if (length < 0 || (size_t)length >= bytes)
        return hal_fail(HAL_INVALID, "the path of file '%s' is longer than %zu bytes", recorded,
                        bytes - 1);
    return HAL_OK;
}

static enum hal_status read_range(int file, const char *path, uint64_t offset, uint8_t *out,
                                  uint64_t bytes)
{
    struct stat about;
    if (fstat(file, &about) != 0)
        return hal_fail(HAL_NOT_FOUND, "cannot access '%s': %s", path, strerror(errno));
    if (!S_ISREG(about.st_mode) && !S_ISBLK(about.st_mode))
        return hal_fail(HAL_UNSUPPORTED, "'%s' is neither a regular file nor a block device", path);
    if (offset > INT64_MAX || bytes > INT64_MAX - offset)
        return hal_fail(HAL_CORRUPT, "file '%s' is read at %" PRIu64, path, offset);
    const int64_t got = hal_read_at(file, out, bytes, offset);
    if (got < 0)
        return hal_fail(HAL_NOT_FOUND, "cannot read '%s': %s", path, strerror(errno));
    if ((uint64_t)got < bytes)
        return hal_fail(
            HAL_UNSUPPORTED,
            "file '%s' has changed: it ends at %" PRIu64 ", and %s from %" PRIu64 " were read",
            path, offset + (uint64_t)got, hal_count(bytes, "byte", "bytes").text, offset);
    return HAL_OK;
}

/* The option that gives the sandbox access to the folder of a recorded path, quoted for a shell;
 * the trace's author chose the path, so nothing in it may end the quotes or the old part. */
static void suggest(const char *recorded, char *out, size_t bytes)
{
    const char *slash = strrchr(recorded, '/');
    const int length = slash ? (int)(slash + 1 - recorded) : (int)strlen(recorded);
    bool plain = length > 0 && length < 1024;
    for (int i = 0; i < length && plain; i++)
        plain = (unsigned char)recorded[i] >= ' ' && recorded[i] != '\'' && recorded[i] != '=' &&
                recorded[i] != 0x7f;
    if (plain)
        snprintf(out, bytes, "'--map=%.*s=%.*s'", length, recorded, length, recorded);
    else
        snprintf(out, bytes, "--map=OLD=NEW");
}

static enum hal_status refuse_open(const struct replay_player *player, const char *recorded,
                                   const char *path, bool given, int error)
{
    char option[2200];
    if (given || !player->options.is_sandboxed || (error != EACCES && error != EPERM))
        return hal_fail(HAL_NOT_FOUND,
                        "the trace refers to file '%s', which cannot be opened: %s (--map=OLD=NEW "
                        "gives its new place)",
                        path, strerror(error));
    suggest(recorded, option, sizeof option);
    return hal_fail(HAL_NOT_FOUND,
                    "the trace refers to file '%s', which the sandbox hides: %s lets the replay "
                    "read that place",
                    path, option);
}

enum hal_status replay_file_read(struct replay_player *player,
                                 const struct trace_content_event *event,
                                 const uint8_t digest[TRACE_DIGEST_BYTES], const uint8_t **out_data)
{
    const char *recorded = trace_reader_string(player->plan->reader, event->file);
    char path[PATH_MAX];
    uint8_t found[TRACE_DIGEST_BYTES];
    const bool grown = HAL_GROW(player->file_bytes, &player->file_capacity, (size_t)event->size);
    if (!grown)
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes of a file", event->size);
    bool given;
    HAL_TRY(find_path(player, recorded, path, sizeof path, &given));
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file < 0)
        return refuse_open(player, recorded, path, given, errno);
    enum hal_status status =
        read_range(file, path, event->file_offset, player->file_bytes, event->size);
    close(file);
    HAL_TRY(status);
    HAL_TRY(hal_sha256(player->file_bytes, (size_t)event->size, found));
    if (memcmp(found, digest, sizeof found) != 0)
        return hal_fail(HAL_UNSUPPORTED,
                        "file '%s' has changed: its %s from %" PRIu64
                        " have another SHA-256 than when they were read",
                        path, hal_count(event->size, "byte", "bytes").text, event->file_offset);
    *out_data = player->file_bytes;
    return HAL_OK;
}
