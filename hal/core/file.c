/* SPDX-License-Identifier: Apache-2.0 */
/* Files that queues read and write: each transfer is a host call of a submission. */
#include "hal/base/mem.h"
#include "hal/base/os.h"
#include "hal/base/text.h"
#include "hal/core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>

struct hal_file {
    _Atomic uint32_t references;
    int descriptor;
    uint32_t mode;
    char path[];
};

/* ---- Files -------------------------------------------------------------------------------- */

static enum hal_status fail_system(const char *what, const char *path)
{
    const int error = errno;
    return hal_fail(error == ENOENT ? HAL_NOT_FOUND : HAL_IO, "cannot %s '%s': %s", what, path,
                    strerror(error));
}

static enum hal_status fail_kind(const char *path)
{
    return hal_fail(HAL_UNSUPPORTED, "'%s' is neither a regular file nor a block device", path);
}

/* A folder to write, a pipe without a reader, a socket: what cannot be opened at all. */
static enum hal_status fail_open(const char *path)
{
    struct stat about;
    const int error = errno;
    if ((error == EISDIR || error == ENXIO) && stat(path, &about) == 0 && !S_ISREG(about.st_mode) &&
        !S_ISBLK(about.st_mode))
        return fail_kind(path);
    errno = error;
    return fail_system("open", path);
}

/* What has no size or place cannot be read in any order. */
static enum hal_status check_kind(const struct hal_file *file)
{
    struct stat about;
    if (fstat(file->descriptor, &about) != 0)
        return fail_system("look at", file->path);
    if (S_ISREG(about.st_mode) || S_ISBLK(about.st_mode))
        return HAL_OK;
    return fail_kind(file->path);
}

enum hal_status hal_file_open(const char *path, uint32_t mode, struct hal_file **out_file)
{
    HAL_TRY(hal_check_file_mode(path, mode));
    HAL_TRY(hal_check_place(out_file, "the file"));
    const size_t length = strlen(path) + 1;
    struct hal_file *file = hal_alloc(1, sizeof *file + length);
    if (!file)
        return hal_fail(HAL_NO_MEMORY, "no memory for file '%s'", path);
    memcpy(file->path, path, length);
    atomic_init(&file->references, 1);
    file->mode = mode;
    const int access = !(mode & HAL_FILE_WRITE)  ? O_RDONLY
                       : !(mode & HAL_FILE_READ) ? O_WRONLY
                                                 : O_RDWR;
    const int flags = (mode & HAL_FILE_CREATE ? O_CREAT : 0) |
                      (mode & HAL_FILE_TRUNCATE ? O_TRUNC : 0) | O_CLOEXEC | O_NONBLOCK;
    do
        file->descriptor = open(path, access | flags, 0666);
    while (file->descriptor < 0 && errno == EINTR);
    enum hal_status status = file->descriptor < 0 ? fail_open(path) : check_kind(file);
    if (status == HAL_OK) {
        *out_file = file;
        return HAL_OK;
    }
    if (file->descriptor >= 0)
        close(file->descriptor);
    free(file);
    return status;
}

void hal_file_retain(struct hal_file *file)
{
    if (file)
        atomic_fetch_add_explicit(&file->references, 1, memory_order_relaxed);
}

void hal_file_release(struct hal_file *file)
{
    if (!file || atomic_fetch_sub_explicit(&file->references, 1, memory_order_acq_rel) != 1)
        return;
    close(file->descriptor);
    free(file);
}

enum hal_status hal_file_bytes(struct hal_file *file, uint64_t *out_bytes)
{
    if (!file)
        return hal_fail(HAL_INVALID, "the file is NULL");
    HAL_TRY(hal_check_place(out_bytes, "the size of a file"));
    const off_t end = lseek(file->descriptor, 0, SEEK_END);
    if (end < 0)
        return fail_system("find the end of", file->path);
    *out_bytes = (uint64_t)end;
    return HAL_OK;
}

/* ---- Transfers ---------------------------------------------------------------------------- */

struct transfer {
    struct hal_completion completion;
    struct hal_file *file; /* retained */
    uint64_t file_offset;
};

static enum hal_status read_file(void *user, void *data, uint64_t bytes)
{
    const struct transfer *transfer = user;
    const struct hal_file *file = transfer->file;
    const int64_t got = hal_read_at(file->descriptor, data, bytes, transfer->file_offset);
    if (got < 0)
        return fail_system("read", file->path);
    if ((uint64_t)got < bytes)
        return hal_fail(HAL_IO, "'%s' ends at %" PRIu64 ": cannot read %s at %" PRIu64, file->path,
                        transfer->file_offset + (uint64_t)got,
                        hal_count(bytes, "byte", "bytes").text, transfer->file_offset);
    return HAL_OK;
}

static enum hal_status write_file(void *user, void *data, uint64_t bytes)
{
    const struct transfer *transfer = user;
    const struct hal_file *file = transfer->file;
    const int64_t put = hal_write_at(file->descriptor, data, bytes, transfer->file_offset);
    if (put < 0)
        return fail_system("write", file->path);
    if ((uint64_t)put < bytes)
        return hal_fail(HAL_IO, "'%s' is full at %" PRIu64 ": cannot write %s at %" PRIu64,
                        file->path, transfer->file_offset + (uint64_t)put,
                        hal_count(bytes, "byte", "bytes").text, transfer->file_offset);
    return HAL_OK;
}

static void end_transfer(struct transfer *transfer)
{
    hal_file_release(transfer->file);
    free(transfer);
}

static void retired(struct hal_completion *completion, const struct hal_submission_result *result)
{
    (void)result;
    end_transfer((struct transfer *)completion);
}

struct parts {
    struct hal_file *file;
    uint64_t file_offset;
    struct hal_buffer *buffer;
    uint64_t offset, bytes;
};

static enum hal_status submit(struct hal_device *device, const struct hal_submit_desc *desc,
                              bool reads, const struct parts *parts)
{
    HAL_KNOW(hal_submit_desc, desc);
    static const struct hal_submit_desc nothing = {0};
    HAL_TRY(hal_check_operation(device, desc));
    HAL_TRY(hal_check_transfer_of(device, parts->buffer, parts->offset, parts->bytes));
    uint64_t offset = parts->offset, bytes = parts->bytes;
    if (bytes == HAL_WHOLE_BUFFER)
        bytes = parts->buffer->bytes - offset;
    const struct hal_file *file = parts->file;
    HAL_TRY(hal_check_file_use(file ? file->path : NULL, file ? file->mode : 0,
                               reads ? HAL_FILE_READ : HAL_FILE_WRITE, parts->file_offset, bytes));
    struct transfer *transfer = hal_alloc(1, sizeof *transfer);
    if (!transfer)
        return hal_fail(HAL_NO_MEMORY, "no memory for a transfer of file '%s'", parts->file->path);
    *transfer = (struct transfer){{.run = retired}, parts->file, parts->file_offset};
    hal_file_retain(parts->file);
    struct hal_submission what = {
        .operation = reads ? HAL_OPERATION_READ : HAL_OPERATION_WRITE,
        .buffer = hal_root_of(parts->buffer, &offset),
        .bytes = bytes,
        .file = parts->file->path,
        .file_offset = parts->file_offset,
        .host = {.run = reads ? read_file : write_file, .user = transfer, .writes = reads},
    };
    what.offset = offset;
    const enum hal_status status =
        hal_queue_submit_work(device, desc ? desc : &nothing, &what, &transfer->completion);
    if (status != HAL_OK)
        end_transfer(transfer);
    return status;
}

/* The parameters are those of hal.h. NOLINTNEXTLINE(readability-function-size) */
enum hal_status hal_queue_read(struct hal_device *device, const struct hal_submit_desc *desc,
                               struct hal_file *file, uint64_t file_offset,
                               struct hal_buffer *target, uint64_t offset, uint64_t bytes)
{
    return submit(device, desc, true, &(struct parts){file, file_offset, target, offset, bytes});
}

/* The parameters are those of hal.h. NOLINTNEXTLINE(readability-function-size) */
enum hal_status hal_queue_write(struct hal_device *device, const struct hal_submit_desc *desc,
                                struct hal_buffer *source, uint64_t offset, struct hal_file *file,
                                uint64_t file_offset, uint64_t bytes)
{
    return submit(device, desc, false, &(struct parts){file, file_offset, source, offset, bytes});
}
