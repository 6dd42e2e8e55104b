/* SPDX-License-Identifier: Apache-2.0 */
/* Reading sidecars. */
#include "format/file/orphan.h"

#include "format/limits.h"
#include "hal/base/mem.h"
#include "hal/base/order.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

static enum hal_status read_at(int descriptor, uint64_t offset, void *out, uint64_t bytes)
{
    const int64_t got = hal_read_at(descriptor, out, bytes, offset);
    if (got < 0)
        return hal_fail(HAL_IO, "cannot read the sidecar at byte %" PRIu64 ": %s", offset,
                        strerror(errno));
    if ((uint64_t)got < bytes)
        return hal_fail(HAL_CORRUPT, "the sidecar ends at byte %" PRIu64, offset + (uint64_t)got);
    return HAL_OK;
}

/* Out of memory that is used round and round. */
static enum hal_status read_round(int descriptor, uint64_t offset, uint64_t capacity,
                                  uint64_t position, uint8_t *out, uint64_t bytes)
{
    const uint64_t at = position % capacity, until_end = capacity - at;
    const uint64_t first = bytes < until_end ? bytes : until_end;
    HAL_TRY(read_at(descriptor, offset + at, out, first));
    return read_at(descriptor, offset, out + first, bytes - first);
}

/* ---- Opening ---- */

/* A zombie has a number, and has ended, unless threads go on without the first one. */
static bool is_zombie(uint64_t process)
{
    enum { COUNT_BEHIND_STATE = 17 }; /* the field of how many threads there are */
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRIu64 "/stat", process);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    const ssize_t got = file < 0 ? -1 : read(file, text, sizeof text - 1);
    if (file >= 0)
        close(file);
    text[got > 0 ? got : 0] = '\0';
    const char *at = strrchr(text, ')'); /* the name may have any characters */
    if (!at || strncmp(at, ") Z ", 4) != 0)
        return false;
    at += 2;
    for (int i = 0; at && i < COUNT_BEHIND_STATE; i++)
        at = strchr(at + 1, ' ');
    return at && strtoul(at, NULL, 10) <= 1;
}

bool trace_orphan_process_runs(const struct trace_orphan *orphan)
{
    const uint64_t process = orphan->process_id;
    return process > 0 && process <= INT32_MAX &&
           (kill((pid_t)process, 0) == 0 || errno == EPERM) && !is_zombie(process);
}

bool trace_orphan_locked(const struct trace_orphan *orphan)
{
    return flock(orphan->descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
}

/* A child of the captured process may hold the lock for longer. */
bool trace_orphan_in_use(const struct trace_orphan *orphan)
{
    return trace_orphan_locked(orphan) && trace_orphan_process_runs(orphan);
}

static enum hal_status open_file(const char *path, int *out_descriptor, uint64_t *out_bytes)
{
    struct stat info;
    /* Opening a device may start something, and a trace of strangers names what it likes. */
    if (lstat(path, &info) == 0 && !S_ISREG(info.st_mode))
        return hal_fail(HAL_CORRUPT, "'%s' is not a sidecar: not a regular file", path);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (descriptor < 0 && errno == ENOENT)
        return hal_fail(HAL_NOT_FOUND, "the sidecar '%s' does not exist (any more)", path);
    if (descriptor < 0)
        return hal_fail(HAL_IO, "cannot open the sidecar '%s': %s", path, strerror(errno));
    if (fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
        close(descriptor);
        return hal_fail(HAL_CORRUPT, "'%s' is not a sidecar: not a regular file", path);
    }
    *out_descriptor = descriptor;
    *out_bytes = (uint64_t)info.st_size;
    return HAL_OK;
}

static enum hal_status check_header(const struct trace_sidecar_header *header, uint64_t bytes)
{
    if (memcmp(header->magic, TRACE_SIDECAR_MAGIC, sizeof header->magic) != 0)
        return hal_fail(HAL_CORRUPT, "not a sidecar, or its capture had not begun");
    if (header->version != TRACE_SIDECAR_VERSION || header->slot_count != TRACE_RING_SLOTS)
        return hal_fail(HAL_VERSION,
                        "a sidecar of version %u; this program reads version %d: use the hal-trace "
                        "of the version that captured",
                        header->version, TRACE_SIDECAR_VERSION);
    if (!header->staging_bytes ||
        !hal_range_fits(header->staging_offset, header->staging_bytes, bytes) ||
        !hal_range_fits(header->rings_offset, header->rings_bytes, bytes) ||
        header->durable_index > 1 || !memchr(header->destination, '\0', sizeof header->destination))
        return hal_fail(HAL_CORRUPT, "its header is invalid");
    return HAL_OK;
}

static enum hal_status take_slot(struct trace_orphan *orphan,
                                 const struct trace_sidecar_header *header, uint32_t index)
{
    const struct trace_ring_slot *slot = &header->slots[index];
    const struct trace_ring_durable *durable = &slot->durable[header->durable_index];
    const uint64_t rings_end = header->rings_offset + header->rings_bytes;
    if (slot->state != TRACE_RING_LIVE || orphan->next_alone)
        return HAL_OK;
    if (!slot->bytes || slot->offset < header->rings_offset ||
        !hal_range_fits(slot->offset, slot->bytes, rings_end) || slot->thread == 0 ||
        slot->thread > TRACE_MAX_THREADS || durable->position > slot->head ||
        slot->head - durable->position > slot->bytes)
        return hal_fail(HAL_CORRUPT, "its ring %u is invalid", index);
    orphan->rings[orphan->ring_count++] = (struct trace_orphan_ring){
        .thread = slot->thread,
        .sequence = slot->sequence,
        .segment_bytes = durable->segment_bytes,
        .offset = slot->offset,
        .capacity = slot->bytes,
        .position = durable->position,
        .bytes = slot->head - durable->position,
    };
    return HAL_OK;
}

HAL_COMPARE_2(compare_rings, struct trace_orphan_ring, thread, sequence)

static enum hal_status read_header(int descriptor, uint64_t bytes,
                                   struct trace_sidecar_header *header)
{
    if (bytes < sizeof *header)
        return hal_fail(HAL_CORRUPT, "not a sidecar, or its capture had not begun");
    HAL_TRY(read_at(descriptor, 0, header, sizeof *header));
    return check_header(header, bytes);
}

static void take_header(struct trace_orphan *orphan, const struct trace_sidecar_header *header)
{
    orphan->process_id = header->process_id;
    orphan->start_ns = header->start_ns;
    orphan->file_bytes = header->durable_file_bytes[header->durable_index];
    orphan->next_alone = header->next_alone != 0;
    orphan->skipped_tickets = header->skipped_tickets;
    orphan->successor_start_ns = header->successor.start_ns;
    orphan->successor_skipped_tickets = header->successor.skipped_tickets;
    orphan->successor_file_bytes = header->successor.file_bytes;
    orphan->stopped = header->stopped;
    orphan->stopped_by_file = header->stopped_by_file != 0;
    orphan->lost_records = header->lost_records;
    memcpy(orphan->stopped_message, header->stopped_message, sizeof orphan->stopped_message);
    orphan->staging_offset = header->staging_offset;
    orphan->staging_bytes = header->staging_bytes;
    memcpy(orphan->destination, header->destination, sizeof orphan->destination);
    orphan->place = header->place;
}

static enum hal_status take_rings(struct trace_orphan *orphan,
                                  const struct trace_sidecar_header *header)
{
    orphan->rings = hal_alloc(TRACE_RING_SLOTS, sizeof *orphan->rings);
    if (!orphan->rings)
        return hal_fail(HAL_NO_MEMORY, "no memory to read it");
    for (uint32_t i = 0; i < TRACE_RING_SLOTS; i++)
        HAL_TRY(take_slot(orphan, header, i));
    qsort(orphan->rings, orphan->ring_count, sizeof *orphan->rings, compare_rings);
    return HAL_OK;
}

typedef enum hal_status take(struct trace_orphan *orphan,
                             const struct trace_sidecar_header *header);

/* `more`: what is taken besides the header, or NULL. */
static enum hal_status open_with(const char *path, take *more, struct trace_orphan *out_orphan)
{
    uint64_t bytes = 0;
    int descriptor = -1;
    *out_orphan = (struct trace_orphan){0};
    if (strlen(path) >= sizeof out_orphan->path)
        return hal_fail(HAL_INVALID, "the sidecar's path is too long");
    HAL_TRY(open_file(path, &descriptor, &bytes));
    out_orphan->descriptor = descriptor;
    strcpy(out_orphan->path, path);
    struct trace_sidecar_header *header = NULL;
    enum hal_status status = HAL_OK;
    if (posix_memalign((void **)&header, _Alignof(struct trace_sidecar_header), sizeof *header)) {
        header = NULL;
        status = hal_fail(HAL_NO_MEMORY, "no memory to read it");
    }
    if (status == HAL_OK)
        status = read_header(descriptor, bytes, header);
    if (status == HAL_OK)
        take_header(out_orphan, header);
    if (status == HAL_OK && more)
        status = more(out_orphan, header);
    free(header);
    if (status == HAL_OK)
        return HAL_OK;
    hal_add_context(status, "the sidecar '%s'", path);
    trace_orphan_close(out_orphan);
    return status;
}

static enum hal_status take_rings_of_ended(struct trace_orphan *orphan,
                                           const struct trace_sidecar_header *header)
{
    if (trace_orphan_in_use(orphan))
        return hal_fail(HAL_EXISTS, "process %" PRIu64 " is still capturing", orphan->process_id);
    return take_rings(orphan, header);
}

enum hal_status trace_orphan_open(const char *path, bool force, struct trace_orphan *out_orphan)
{
    return open_with(path, force ? take_rings : take_rings_of_ended, out_orphan);
}

enum hal_status trace_orphan_peek(const char *path, struct trace_orphan *out_orphan)
{
    return open_with(path, NULL, out_orphan);
}

void trace_orphan_close(struct trace_orphan *orphan)
{
    if (orphan->path[0])
        close(orphan->descriptor);
    free(orphan->rings);
    *orphan = (struct trace_orphan){0};
}

bool trace_orphan_belongs(struct trace_orphan *orphan, uint64_t process_id, int64_t start_ns)
{
    if (orphan->process_id != process_id)
        return false;
    if (orphan->successor_start_ns && orphan->successor_start_ns == start_ns) {
        orphan->start_ns = start_ns;
        orphan->skipped_tickets = orphan->successor_skipped_tickets;
        orphan->file_bytes = orphan->successor_file_bytes;
    }
    return orphan->start_ns == start_ns;
}

/* ---- Reading ---- */

enum hal_status trace_orphan_records(const struct trace_orphan *orphan,
                                     const struct trace_orphan_ring *ring, uint8_t **out_records)
{
    uint8_t *records = malloc(ring->bytes ? (size_t)ring->bytes : 1);
    if (!records)
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes of records", ring->bytes);
    const enum hal_status status = read_round(orphan->descriptor, ring->offset, ring->capacity,
                                              ring->position, records, ring->bytes);
    if (status != HAL_OK) {
        free(records);
        return status;
    }
    *out_records = records;
    return HAL_OK;
}

enum hal_status trace_orphan_content(const struct trace_orphan *orphan, uint64_t position,
                                     uint64_t bytes, void *out)
{
    if (bytes > orphan->staging_bytes)
        return hal_fail(HAL_CORRUPT, "a content of %s is not in the sidecar",
                        hal_count(bytes, "byte", "bytes").text);
    return read_round(orphan->descriptor, orphan->staging_offset, orphan->staging_bytes, position,
                      out, bytes);
}
