/* SPDX-License-Identifier: Apache-2.0 */
/* The container: frames written, read and checked. */
#include "format/container/frames.h"

#include "format/limits.h"
#include "hal/base/os.h"
#include "hal/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

_Static_assert(sizeof(struct trace_frame_head) == 40, "these bytes are in the file");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the file is little-endian");

enum {
    BUFFER_BYTES = 1 << 20,
    DEFAULT_LEVEL = 3,
    CONTENT_LEVEL = 1,
    PROBE_BYTES = 16 << 10,
    FIRST_LOOK_BYTES = 4 << 10, /* of a frame whose size is not known: most are small */
    CHECKED_HEAD_BYTES = offsetof(struct trace_frame_head, head_checksum),
};

uint64_t trace_checksum(const void *data, size_t bytes)
{
    return XXH3_64bits(data, bytes);
}

static uint64_t head_checksum(const struct trace_frame_head *head, const void *meta)
{
    return XXH3_64bits_withSeed(meta, head->meta_bytes, XXH3_64bits(head, CHECKED_HEAD_BYTES));
}

/* ---- Writing ------------------------------------------------------------------------------ */

enum hal_status trace_output_latch(struct trace_output *output, enum hal_status status)
{
    if (status != HAL_OK && output->status == HAL_OK) {
        output->status = status;
        memcpy(output->message, hal_message(), strlen(hal_message()) + 1);
    }
    return status;
}

static enum hal_status latched(const struct trace_output *output)
{
    return output->status == HAL_OK ? HAL_OK : hal_fail(output->status, "%s", output->message);
}

static enum hal_status open_output(struct trace_output *output, const char *path, bool force,
                                   bool nameless, int level)
{
    *output = (struct trace_output){.level = level ? level : DEFAULT_LEVEL};
    output->buffer = malloc(BUFFER_BYTES);
    output->compressor = ZSTD_createCCtx();
    enum hal_status status = HAL_OK;
    if (!output->buffer || !output->compressor)
        status = hal_fail(HAL_NO_MEMORY, "no memory to write '%s'", path);
    else
        status = (nameless ? trace_destination_open_nameless : trace_destination_open)(path, force,
                                                                                       &output->to);
    if (status != HAL_OK)
        trace_output_close(output);
    return status;
}

enum hal_status trace_output_open(struct trace_output *output, const char *path, bool force,
                                  int level)
{
    return open_output(output, path, force, false, level);
}

enum hal_status trace_output_open_nameless(struct trace_output *output, const char *path,
                                           bool force, int level)
{
    return open_output(output, path, force, true, level);
}

static enum hal_status write_all(struct trace_output *output, const uint8_t *data, size_t bytes)
{
    if (bytes)
        HAL_TRY(
            trace_output_latch(output, hal_descriptor_check(&output->to.file, output->to.path)));
    if (!hal_write_all(output->to.file.number, data, bytes))
        return trace_output_latch(
            output, hal_fail(HAL_IO, "cannot write '%s' at byte %" PRIu64 ": %s", output->to.path,
                             output->offset - output->buffered, strerror(errno)));
    return HAL_OK;
}

enum hal_status trace_output_flush(struct trace_output *output)
{
    HAL_TRY(latched(output));
    HAL_TRY(write_all(output, output->buffer, output->buffered));
    output->buffered = 0;
    return HAL_OK;
}

enum hal_status trace_output_write(struct trace_output *output, const void *data, size_t bytes)
{
    HAL_TRY(latched(output));
    if (bytes > BUFFER_BYTES - output->buffered)
        HAL_TRY(trace_output_flush(output));
    if (bytes >= BUFFER_BYTES) {
        HAL_TRY(write_all(output, data, bytes));
    } else if (bytes) {
        memcpy(output->buffer + output->buffered, data, bytes);
        output->buffered += bytes;
    }
    output->offset += bytes;
    return HAL_OK;
}

enum hal_status trace_output_close(struct trace_output *output)
{
    if (output->to.file.is_open && output->status == HAL_OK)
        trace_output_latch(output, trace_output_flush(output));
    trace_output_latch(output, trace_destination_close(&output->to));
    ZSTD_freeCCtx(output->compressor);
    free(output->stored.data);
    free(output->buffer);
    const enum hal_status status = latched(output);
    *output = (struct trace_output){0};
    return status;
}

/* Compresses into output->stored. */
static enum hal_status compress(struct trace_output *output, const void *data, size_t bytes,
                                int level)
{
    output->stored.count = 0;
    if (!trace_bytes_reserve(&output->stored, ZSTD_compressBound(bytes)))
        return trace_output_latch(output, hal_fail(HAL_NO_MEMORY, "no memory to compress"));
    ZSTD_CCtx_reset(output->compressor, ZSTD_reset_session_and_parameters);
    ZSTD_CCtx_setParameter(output->compressor, ZSTD_c_compressionLevel, level);
    ZSTD_CCtx_setParameter(output->compressor, ZSTD_c_checksumFlag, 1);
    const size_t stored = ZSTD_compress2(output->compressor, output->stored.data,
                                         output->stored.capacity, data, bytes);
    if (ZSTD_isError(stored))
        return trace_output_latch(
            output, hal_fail(HAL_NO_MEMORY, "cannot compress: %s", ZSTD_getErrorName(stored)));
    output->stored.count = stored;
    return HAL_OK;
}

/* Sixteen KiB out of the middle predict how well the rest compresses. */
static enum hal_status pays_to_compress(struct trace_output *output, const uint8_t *data,
                                        size_t bytes, bool *out_pays)
{
    *out_pays = bytes > 0;
    if (bytes < 4 * PROBE_BYTES)
        return HAL_OK;
    HAL_TRY(compress(output, data + bytes / 2, PROBE_BYTES, CONTENT_LEVEL));
    const size_t saving = PROBE_BYTES / (output->low_latency ? 2u : 32u);
    *out_pays = output->stored.count < PROBE_BYTES - saving;
    return HAL_OK;
}

/* The head's checksum of the data is filled in. */
static enum hal_status write_own_frame(struct trace_output *output, struct trace_frame_head *head,
                                       const ProtobufCMessage *meta, const void *data, size_t bytes)
{
    uint8_t small[512], *packed = small;
    const size_t meta_bytes = meta ? protobuf_c_message_get_packed_size(meta) : 0;
    if (meta_bytes > sizeof small && !(packed = malloc(meta_bytes)))
        return trace_output_latch(output, hal_fail(HAL_NO_MEMORY, "no memory for a frame"));
    if (meta)
        protobuf_c_message_pack(meta, packed);
    head->magic = TRACE_FRAME_MAGIC;
    head->meta_bytes = (uint32_t)meta_bytes;
    head->payload_bytes = (uint32_t)(sizeof *head - 8 + meta_bytes + bytes);
    head->head_checksum = head_checksum(head, packed);
    enum hal_status status = trace_output_write(output, head, sizeof *head);
    if (status == HAL_OK)
        status = trace_output_write(output, packed, meta_bytes);
    if (status == HAL_OK)
        status = trace_output_write(output, data, bytes);
    if (packed != small)
        free(packed);
    return status;
}

enum hal_status trace_output_known_frame(struct trace_output *output, enum trace_frame_kind kind,
                                         const ProtobufCMessage *meta, const void *data,
                                         size_t bytes, const uint64_t *checksum)
{
    HAL_TRY(latched(output));
    struct trace_frame_head head = {.kind = (uint8_t)kind, .raw_bytes = (uint32_t)bytes};
    bool pays;
    HAL_TRY(pays_to_compress(output, data, bytes, &pays));
    if (pays) {
        HAL_TRY(compress(output, data, bytes, CONTENT_LEVEL));
        pays = output->stored.count < bytes;
    }
    head.is_compressed = pays;
    if (pays) {
        data = output->stored.data;
        bytes = output->stored.count;
    }
    head.data_checksum = checksum && !pays ? *checksum : trace_checksum(data, bytes);
    return write_own_frame(output, &head, meta, data, bytes);
}

enum hal_status trace_output_own_frame(struct trace_output *output, enum trace_frame_kind kind,
                                       const ProtobufCMessage *meta, const void *data, size_t bytes,
                                       uint64_t *out_bytes)
{
    const uint64_t begin = output->offset;
    HAL_TRY(trace_output_known_frame(output, kind, meta, data, bytes, NULL));
    *out_bytes = output->offset - begin;
    return HAL_OK;
}

enum hal_status trace_output_data_frame(struct trace_output *output, const void *raw, size_t bytes,
                                        Haltrace__Note *note, uint64_t *out_note_bytes)
{
    HAL_TRY(latched(output));
    HAL_TRY(compress(output, raw, bytes, output->level));
    note->offset = output->offset;
    note->stored_bytes = output->stored.count;
    note->raw_bytes = bytes;
    note->checksum = trace_checksum(output->stored.data, output->stored.count);
    HAL_TRY(trace_output_write(output, output->stored.data, output->stored.count));
    return trace_output_own_frame(output, TRACE_FRAME_NOTE, &note->base, NULL, 0, out_note_bytes);
}

/* ---- Reading ------------------------------------------------------------------------------ */

enum hal_status trace_input_open(struct trace_input *input, const char *path)
{
    *input = (struct trace_input){.path = hal_copy_string(path)};
    input->decompressor = ZSTD_createDCtx();
    input->descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat info;
    enum hal_status status = HAL_OK;
    if (input->descriptor < 0 && strcmp(path, "-") == 0)
        status = hal_fail(HAL_IO, "'-' is not a file (a trace cannot be read from standard input, "
                                  "since reading it requires seeking)");
    else if (input->descriptor < 0 || fstat(input->descriptor, &info) != 0)
        status = hal_fail(HAL_IO, "cannot open '%s': %s", path, strerror(errno));
    else if (S_ISDIR(info.st_mode))
        status = hal_fail(HAL_IO, "cannot open '%s': it is a directory", path);
    else if (!S_ISREG(info.st_mode))
        status = hal_fail(HAL_IO, "cannot open '%s': it is not a regular file", path);
    else if (!input->path || !input->decompressor)
        status = hal_fail(HAL_NO_MEMORY, "no memory to open '%s'", path);
    else
        input->bytes = (uint64_t)info.st_size;
    if (status != HAL_OK)
        trace_input_close(input);
    return status;
}

void trace_input_close(struct trace_input *input)
{
    if (input->descriptor >= 0)
        close(input->descriptor);
    ZSTD_freeDCtx(input->decompressor);
    free(input->stored.data);
    free(input->path);
    *input = (struct trace_input){.descriptor = -1};
}

enum hal_status trace_input_read(struct trace_input *input, uint64_t offset, void *out,
                                 size_t bytes)
{
    if (!hal_range_fits(offset, bytes, input->bytes))
        return hal_fail(HAL_CORRUPT, "%s at byte %" PRIu64 " are past the end",
                        hal_count(bytes, "byte", "bytes").text, offset);
    input->work_bytes += bytes;
    const int64_t got = hal_read_at(input->descriptor, out, bytes, offset);
    if (got < 0)
        return hal_fail(HAL_IO, "cannot read at byte %" PRIu64 ": %s", offset, strerror(errno));
    if ((uint64_t)got < bytes)
        return hal_fail(HAL_CORRUPT, "the file was truncated before byte %" PRIu64,
                        offset + (uint64_t)got);
    return HAL_OK;
}

/* Reads into input->stored. */
static enum hal_status read_stored(struct trace_input *input, uint64_t offset, uint64_t bytes)
{
    input->stored.count = 0;
    if (!hal_range_fits(offset, bytes, input->bytes))
        return hal_fail(HAL_CORRUPT, "%s at byte %" PRIu64 " are past the end",
                        hal_count(bytes, "byte", "bytes").text, offset);
    if (!trace_bytes_reserve(&input->stored, (size_t)bytes))
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes", bytes);
    input->stored.count = (size_t)bytes;
    return trace_input_read(input, offset, input->stored.data, (size_t)bytes);
}

static enum hal_status decompress(struct trace_input *input, const void *stored,
                                  size_t stored_bytes, void *out, size_t bytes)
{
    input->work_bytes += bytes;
    const size_t got = ZSTD_decompressDCtx(input->decompressor, out, bytes, stored, stored_bytes);
    if (ZSTD_isError(got))
        return hal_fail(HAL_CORRUPT, "cannot decompress: %s", ZSTD_getErrorName(got));
    if (got != bytes)
        return hal_fail(HAL_CORRUPT, "decompressed to %s, expected %zu",
                        hal_count(got, "byte", "bytes").text, bytes);
    return HAL_OK;
}

static enum hal_status check_head(const struct trace_frame_head *head, const void *meta,
                                  uint64_t offset)
{
    if (head->head_checksum != head_checksum(head, meta))
        return hal_fail(HAL_CORRUPT,
                        "damaged: wrong checksum of the head of the frame at byte "
                        "%" PRIu64,
                        offset);
    if (head->reserved || head->reserved2 || head->is_compressed > 1)
        return hal_fail(HAL_VERSION, "the frame at byte %" PRIu64 " needs a newer version", offset);
    return HAL_OK;
}

enum hal_status trace_input_head(struct trace_input *input, uint64_t offset, uint64_t limit,
                                 struct trace_frame_head *out_head, struct trace_arena *arena,
                                 uint8_t **out_meta)
{
    if (!hal_range_fits(offset, sizeof *out_head, limit))
        return hal_fail(HAL_CORRUPT, "damaged: not one of our frames at byte %" PRIu64, offset);
    HAL_TRY(trace_input_read(input, offset, out_head, sizeof *out_head));
    if (out_head->magic != TRACE_FRAME_MAGIC ||
        !hal_range_fits(offset, trace_frame_bytes(out_head), limit) ||
        trace_frame_bytes(out_head) < sizeof *out_head + (uint64_t)out_head->meta_bytes)
        return hal_fail(HAL_CORRUPT, "damaged: not one of our frames at byte %" PRIu64, offset);
    uint8_t *meta = trace_arena_alloc(arena, out_head->meta_bytes);
    if (!meta)
        return hal_fail(HAL_NO_MEMORY, "the frame at byte %" PRIu64 " takes too much memory",
                        offset);
    HAL_TRY(trace_input_read(input, offset + sizeof *out_head, meta, out_head->meta_bytes));
    *out_meta = meta;
    return check_head(out_head, meta, offset);
}

enum hal_status trace_input_check_data(struct trace_input *input, uint64_t offset,
                                       const struct trace_frame_head *head)
{
    const uint64_t skipped = sizeof *head + (uint64_t)head->meta_bytes;
    HAL_TRY(read_stored(input, offset + skipped, trace_frame_bytes(head) - skipped));
    if (head->data_checksum != trace_checksum(input->stored.data, input->stored.count))
        return hal_fail(HAL_CORRUPT, "damaged: wrong checksum of the frame at byte %" PRIu64,
                        offset);
    return HAL_OK;
}

enum hal_status trace_input_own_data(struct trace_input *input, uint64_t offset,
                                     const struct trace_frame_head *head, void *out)
{
    HAL_TRY(trace_input_check_data(input, offset, head));
    const size_t bytes = input->stored.count;
    if (!head->is_compressed && bytes != head->raw_bytes)
        return hal_fail(HAL_CORRUPT, "damaged: wrong size of the frame at byte %" PRIu64, offset);
    if (!head->is_compressed) {
        if (bytes)
            memcpy(out, input->stored.data, bytes);
        return HAL_OK;
    }
    return hal_add_context(
        decompress(input, input->stored.data, input->stored.count, out, head->raw_bytes),
        "damaged: the frame at byte %" PRIu64, offset);
}

/* The note's frame is the `bytes` bytes at `data`. */
static enum hal_status check_note(const uint8_t *data, uint64_t bytes, uint64_t offset)
{
    struct trace_frame_head head;
    if (bytes < sizeof head)
        return hal_fail(HAL_CORRUPT, "damaged: no note at byte %" PRIu64, offset);
    memcpy(&head, data, sizeof head);
    if (head.magic != TRACE_FRAME_MAGIC || trace_frame_bytes(&head) != bytes ||
        head.meta_bytes != bytes - sizeof head)
        return hal_fail(HAL_CORRUPT, "damaged: wrong note at byte %" PRIu64, offset);
    return check_head(&head, data + sizeof head, offset);
}

enum hal_status trace_input_data_frame(struct trace_input *input, const Haltrace__Note *note,
                                       uint64_t note_bytes, struct trace_bytes *raw)
{
    if (note->raw_bytes > TRACE_MAX_FRAME_BYTES)
        return hal_fail(HAL_CORRUPT, "the frame at byte %" PRIu64 " has %s, the limit is %u",
                        note->offset, hal_count(note->raw_bytes, "byte", "bytes").text,
                        TRACE_MAX_FRAME_BYTES);
    HAL_TRY(read_stored(input, note->offset, note->stored_bytes + note_bytes));
    const size_t stored = (size_t)note->stored_bytes;
    if (note->checksum != trace_checksum(input->stored.data, stored))
        return hal_fail(HAL_CORRUPT, "damaged: wrong checksum of the frame at byte %" PRIu64,
                        note->offset);
    HAL_TRY(check_note(input->stored.data + stored, note_bytes, note->offset + stored));
    raw->count = 0;
    if (!trace_bytes_reserve(raw, (size_t)note->raw_bytes))
        return hal_fail(HAL_NO_MEMORY, "no memory for %" PRIu64 " bytes", note->raw_bytes);
    raw->count = (size_t)note->raw_bytes;
    return hal_add_context(decompress(input, input->stored.data, stored, raw->data, raw->count),
                           "damaged: the frame at byte %" PRIu64, note->offset);
}

enum hal_status trace_input_frame_size(struct trace_input *input, uint64_t offset,
                                       uint64_t *out_bytes)
{
    const uint64_t left = input->bytes - offset;
    const uint64_t longest = ZSTD_compressBound(TRACE_MAX_FRAME_BYTES);
    for (uint64_t bytes = FIRST_LOOK_BYTES;; bytes *= 4) {
        const uint64_t part = bytes < left ? bytes : left;
        HAL_TRY(read_stored(input, offset, part));
        const size_t size = ZSTD_findFrameCompressedSize(input->stored.data, (size_t)part);
        if (!ZSTD_isError(size)) {
            *out_bytes = size;
            return HAL_OK;
        }
        if (ZSTD_getErrorCode(size) != ZSTD_error_srcSize_wrong || bytes > longest)
            return hal_fail(HAL_CORRUPT, "damaged: the frame at byte %" PRIu64 ": %s", offset,
                            ZSTD_getErrorName(size));
        if (part == left) {
            *out_bytes = 0;
            return HAL_OK;
        }
    }
}

size_t trace_input_peek(struct trace_input *input, uint64_t bytes, void *out, size_t capacity)
{
    if (read_stored(input, 0, bytes < input->bytes ? bytes : input->bytes) != HAL_OK)
        return 0;
    ZSTD_DCtx_reset(input->decompressor, ZSTD_reset_session_only);
    ZSTD_inBuffer in = {input->stored.data, input->stored.count, 0};
    ZSTD_outBuffer made = {out, capacity, 0};
    size_t left = 1;
    while (left && in.pos < in.size && made.pos < made.size) {
        left = ZSTD_decompressStream(input->decompressor, &made, &in);
        if (ZSTD_isError(left))
            break;
    }
    ZSTD_DCtx_reset(input->decompressor, ZSTD_reset_session_only);
    return made.pos;
}

/* ---- Fields of the message ---------------------------------------------------------------- */

enum { WIRE_LENGTH = 2, FIRST_OPTIONAL_FIELD = 1000, FIRST_UNKNOWN_FIELD = TRACE_FIELD_END + 1 };

static uint8_t *put_varint(uint8_t *to, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *to++ = (uint8_t)(value | 0x80);
    *to++ = (uint8_t)value;
    return to;
}

static bool get_varint(const struct trace_bytes *raw, size_t *at, uint64_t *out_value)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && *at < raw->count; shift += 7) {
        const uint8_t byte = raw->data[(*at)++];
        value |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80) {
            *out_value = value;
            return true;
        }
    }
    return false;
}

enum hal_status trace_field_append(struct trace_bytes *raw, uint32_t number,
                                   const ProtobufCMessage *message)
{
    const size_t bytes = protobuf_c_message_get_packed_size(message);
    if (bytes > TRACE_MAX_FIELD_BYTES)
        return hal_fail(HAL_INVALID, "%s of %s, the limit is %u",
                        hal_count(bytes, "byte", "bytes").text, message->descriptor->short_name,
                        TRACE_MAX_FIELD_BYTES);
    if (!trace_bytes_reserve(raw, bytes + 16))
        return hal_fail(HAL_NO_MEMORY, "no memory for %zu bytes", bytes);
    uint8_t *to = raw->data + raw->count;
    to = put_varint(to, (uint64_t)number << 3 | WIRE_LENGTH);
    to = put_varint(to, bytes);
    protobuf_c_message_pack(message, to);
    raw->count = (size_t)(to - raw->data) + bytes;
    return HAL_OK;
}

enum hal_status trace_field_next(const struct trace_bytes *raw, size_t *at,
                                 struct trace_field *out_field)
{
    uint64_t tag, bytes;
    for (;;) {
        if (*at == raw->count)
            return HAL_NOT_FOUND;
        if (!get_varint(raw, at, &tag) || (tag & 7) != WIRE_LENGTH || tag >> 3 > UINT32_MAX >> 3 ||
            !get_varint(raw, at, &bytes) || bytes > raw->count - *at)
            return hal_fail(HAL_CORRUPT, "damaged: not a field of a trace");
        const uint32_t number = (uint32_t)(tag >> 3);
        if (bytes > TRACE_MAX_FIELD_BYTES)
            return hal_fail(HAL_CORRUPT, "field %u has %s, the limit is %u", number,
                            hal_count(bytes, "byte", "bytes").text, TRACE_MAX_FIELD_BYTES);
        *out_field = (struct trace_field){number, raw->data + *at, (size_t)bytes};
        *at += (size_t)bytes;
        if (number >= FIRST_OPTIONAL_FIELD)
            continue;
        if (number >= FIRST_UNKNOWN_FIELD ||
            (number > TRACE_FIELD_PACKET && number < TRACE_FIELD_HEADER))
            return hal_fail(HAL_VERSION, "unknown field %u: written by a newer version", number);
        return HAL_OK;
    }
}

enum hal_status trace_message_unpack(const ProtobufCMessageDescriptor *descriptor, const void *data,
                                     size_t bytes, struct trace_arena *arena,
                                     ProtobufCMessage **out_message)
{
    *out_message = protobuf_c_message_unpack(descriptor, &arena->allocator, bytes, data);
    if (!*out_message)
        return hal_fail(HAL_CORRUPT,
                        "damaged: not a message %s, or one that takes over %zu bytes of memory",
                        descriptor->short_name, arena->limit);
    return trace_message_check(*out_message);
}
