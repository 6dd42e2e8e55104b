/* SPDX-License-Identifier: Apache-2.0 */
/* Files that queues read: their identity, and with device_profiling_files=all their contents. A
 * file is recorded once, and again when its size or its time has changed. The caller is about to
 * read the file anyway, so this work is of the same kind; it happens where the driver calls the
 * host, never on a submitting thread. */
#include "capture/capture.h"

#include "format/limits.h"
#include "hal/base/log.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef __APPLE__
#define st_mtim st_mtimespec
#endif

static int64_t modified_ns(const struct stat *about)
{
    int64_t seconds_ns, ns;
    if (__builtin_mul_overflow((int64_t)about->st_mtim.tv_sec, (int64_t)1000000000, &seconds_ns) ||
        __builtin_add_overflow(seconds_ns, (int64_t)about->st_mtim.tv_nsec, &ns))
        return INT64_MIN;
    return ns;
}

static bool is_known(struct capture_stream *stream, const char *path, const struct stat *about)
{
    char key[PATH_MAX + 64];
    bool is_new;
    const int length = snprintf(key, sizeof key, "%llx %llx %s", (unsigned long long)about->st_size,
                                (unsigned long long)modified_ns(about), path);
    if (length < 0 || (size_t)length >= sizeof key)
        return true;
    return !capture_table_number(&stream->files, key, (size_t)length, &is_new) || !is_new;
}

static bool record_piece(struct capture_thread *thread, struct trace_file *file, uint64_t position,
                         uint64_t offset, uint64_t bytes)
{
    struct trace_file *record = capture_reserve(thread, sizeof *record);
    if (!record)
        return false;
    *record = *file;
    record->part.content = position;
    record->part.file_offset = offset;
    record->part.size = bytes;
    record->part.head.end_ns = hal_clock_ns();
    capture_publish(thread, sizeof *record);
    return true;
}

/* Up to its end, or to the first piece that cannot be read. */
static bool record_bytes(struct capture_thread *thread, struct trace_file *file, const char *path)
{
    const uint64_t most = capture_piece_bytes(thread->stream);
    const int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    uint8_t *data = malloc(most);
    uint64_t done = 0;
    int64_t got = -1;
    while (descriptor >= 0 && data && done < file->file_bytes) {
        const uint64_t left = file->file_bytes - done;
        uint64_t position;
        got = hal_read_at(descriptor, data, left < most ? left : most, done);
        if (got <= 0 || !capture_stage(thread, data, (uint64_t)got, &position) ||
            !record_piece(thread, file, position, done, (uint64_t)got))
            break;
        done += (uint64_t)got;
    }
    if (done < file->file_bytes)
        hal_log(HAL_LOG_WARN, "of file '%s' the capture has %llu of %s: %s", path,
                (unsigned long long)done,
                hal_count((unsigned long long)file->file_bytes, "byte", "bytes").text,
                got == 0 ? "it has been truncated" : strerror(data ? errno : ENOMEM));
    free(data);
    if (descriptor >= 0)
        close(descriptor);
    return done > 0;
}

void capture_record_file(struct capture_thread *thread, const char *path, uint32_t name)
{
    struct capture_stream *stream = thread->stream;
    struct stat about;
    if (stat(path, &about) != 0) {
        hal_log(HAL_LOG_WARN, "file '%s', which a queue reads: %s: the trace has no more about it",
                path, strerror(errno));
        return;
    }
    if (is_known(stream, path, &about))
        return;
    const int64_t begin_ns = hal_clock_ns();
    struct trace_file file = {.part = {.head = {.kind = TRACE_FILE,
                                                .bytes = sizeof file,
                                                .ticket = capture_ticket(stream),
                                                .begin_ns = begin_ns},
                                       .file = name},
                              .file_bytes = (uint64_t)about.st_size,
                              .modified_ns = modified_ns(&about)};
    const bool wanted = stream->policy.files == CAPTURE_FILES_ALL && S_ISREG(about.st_mode) &&
                        about.st_size > 0 && capture_budget_allows(stream, file.file_bytes);
    if (!wanted || !record_bytes(thread, &file, path))
        (void)record_piece(thread, &file, 0, 0, 0);
    capture_call_measure(thread, begin_ns);
}
