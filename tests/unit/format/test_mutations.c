/* SPDX-License-Identifier: Apache-2.0 */
/* Files that were cut, flipped and changed in all ways, through everything that reads traces, in
 * one process: nothing crashes or hangs, memory stays bounded, and no flipped bit goes unnoticed.
 * Prints a table. HALTRACE_FUZZ_ROUNDS multiplies how much is tried (default 1), HALTRACE_FUZZ_SEED
 * chooses what; both are printed. */
#include "format/analysis/symbols.h"
#include "format/columns/columns.h"
#include "format/container/frames.h"
#include "format/container/index.h"
#include "format/file/orphan.h"
#include "format/file/rewrite.h"
#include "format/limits.h"
#include "tests/support/folder.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"

#include <inttypes.h>
#include <sys/resource.h>
#include <unistd.h>

enum { CONTENTS = 5, EVENTS = 60, MOST_BYTES = 1 << 22 };

/* How a changed file was taken. */
struct row {
    const char *name;
    unsigned tried, refused, cut_off, same, silent;
};

static struct test_folder folder;
static char good_path[PATH_MAX], bad_path[PATH_MAX], out_path[PATH_MAX];
static uint8_t *good;
static size_t good_bytes;
static uint64_t good_sum; /* of all that is in the file */
static struct random_records random_state;
static unsigned rounds = 1;

static void write_file(const char *path, const uint8_t *data, size_t bytes)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

static void write_good(void)
{
    const struct trace_header header = {.program = "p", .writer = "w"};
    struct random_records r = {.state = 7,
                               .string_count = 10,
                               .stack_count = 5,
                               .content_count = CONTENTS,
                               .next_ticket = 1,
                               .thread = 1};
    struct trace_writer *writer;
    assert_int_equal(
        trace_writer_open(&(struct trace_writer_options){.path = good_path, .force = true}, &header,
                          &writer),
        HAL_OK);
    for (unsigned i = 0; i < CONTENTS; i++) {
        uint8_t data[300];
        uint64_t number;
        memset(data, (int)i, sizeof data);
        assert_int_equal(trace_writer_content(writer, data, sizeof data, &number), HAL_OK);
    }
    random_tables(&r);
    for (uint32_t thread = 1; thread <= 2; thread++) {
        for (unsigned i = 0; i < EVENTS; i++)
            random_event(&r, random_kind(&r), 8);
        assert_int_equal(trace_writer_records(writer, thread, r.data, r.bytes), HAL_OK);
        assert_int_equal(trace_writer_flush(writer), HAL_OK);
        random_clear(&r);
    }
    random_finish(&r);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

static int prepare(void **state)
{
    (void)state;
    const char *text = getenv("HALTRACE_FUZZ_ROUNDS"), *seed = getenv("HALTRACE_FUZZ_SEED");
    rounds = text ? (unsigned)strtoul(text, NULL, 10) : 1;
    random_state.state = seed ? strtoull(seed, NULL, 10) : 20261122;
    printf("rounds %u, seed %" PRIu64 "\n", rounds, random_state.state);
    /* Thousands of small files: in memory, where the system has such a folder. */
    if (!getenv("TMPDIR") && access("/dev/shm", W_OK) == 0)
        setenv("TMPDIR", "/dev/shm", 1);
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "good.pb.zst", good_path);
    test_folder_file(&folder, "bad.pb.zst", bad_path);
    test_folder_file(&folder, "out.pb.zst", out_path);
    write_good();
    good = malloc(MOST_BYTES);
    FILE *file = fopen(good_path, "r");
    if (!good || !file)
        return -1;
    good_bytes = fread(good, 1, MOST_BYTES, file);
    return fclose(file);
}

static int clean_up(void **state)
{
    (void)state;
    free(good);
    test_folder_remove(&folder);
    return 0;
}

/* ---- Reading all of a file ---- */

static uint64_t mix(uint64_t sum, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static enum hal_status sum_event(void *user, const struct trace_event *event,
                                 const struct trace_segment *segments)
{
    uint64_t *sum = user;
    *sum = mix(*sum, event, event->bytes);
    if (segments)
        *sum = mix(
            *sum, segments,
            (size_t)((const struct trace_command_buffer_seal *)(const void *)event)->segment_bytes);
    return HAL_OK;
}

/* Everything that can be asked for. */
static enum hal_status read_all(const char *path, bool *out_cut, uint64_t *out_sum)
{
    struct trace_reader *reader;
    *out_sum = 1;
    HAL_TRY(trace_reader_open(path, &reader));
    *out_cut = *trace_reader_truncated(reader) != '\0';
    enum hal_status status = trace_reader_each(reader, sum_event, out_sum);
    for (uint64_t i = 1; status == HAL_OK && i <= trace_reader_counts(reader)->contents; i++) {
        uint64_t bytes;
        uint8_t digest[32];
        status = trace_reader_content_info(reader, i, &bytes, digest);
        uint8_t *data = status == HAL_OK ? malloc((size_t)bytes + 1) : NULL;
        if (data)
            status = trace_reader_content(reader, i, data, (size_t)bytes);
        if (data && status == HAL_OK)
            *out_sum = mix(*out_sum, data, (size_t)bytes);
        free(data);
    }
    trace_reader_close(reader);
    return status;
}

/* What is written from a file that can be read can be read again. */
static void rewrite_what_opens(void)
{
    struct trace_rewrite rewrite;
    struct trace_rewrite_source source = {0};
    const struct trace_rewrite_rules rules = {.reads = TRACE_REWRITE_DIGEST};
    const struct trace_rewrite_options options = {.path = out_path, .force = true};
    if (trace_reader_open(bad_path, &source.reader) != HAL_OK)
        return;
    assert_int_equal(trace_rewrite_open(&rewrite, &options, trace_reader_header(source.reader)),
                     HAL_OK);
    const enum hal_status status =
        trace_rewrite_close(&rewrite, trace_rewrite_add(&rewrite, &source, &rules), NULL);
    trace_reader_close(source.reader);
    if (status == HAL_OK) {
        bool cut;
        uint64_t sum;
        assert_int_equal(read_all(out_path, &cut, &sum), HAL_OK);
        assert_false(cut);
    }
    bool copied;
    (void)!trace_recompress(bad_path, &options, "e", NULL, NULL, &copied);
}

static void try_file(struct row *row, const uint8_t *data, size_t bytes)
{
    bool cut = false;
    uint64_t sum;
    write_file(bad_path, data, bytes);
    const enum hal_status status = read_all(bad_path, &cut, &sum);
    row->tried++;
    if (status != HAL_OK)
        row->refused++;
    else if (cut)
        row->cut_off++;
    else if (sum == good_sum)
        row->same++;
    else
        row->silent++;
    if (row->tried % 8 == 0)
        rewrite_what_opens();
}

static void print_row(const struct row *row)
{
    printf("%-12s %6u tried, %6u refused, %6u read as cut off, %4u unchanged, %u silent\n",
           row->name, row->tried, row->refused, row->cut_off, row->same, row->silent);
    assert_int_equal(row->silent, 0);
}

/* ---- Files ---- */

TEST(cuts_flips_and_changes)
{
    bool cut = true;
    struct row cuts = {"truncations"}, flips = {"bit flips"}, changes = {"changes"};
    uint8_t *data = malloc(2 * good_bytes + 64);
    assert_non_null(data);
    assert_int_equal(read_all(good_path, &cut, &good_sum), HAL_OK);
    assert_false(cut);
    for (unsigned i = 0; i < 200 * rounds; i++)
        try_file(&cuts, good, random_below(&random_state, good_bytes));
    for (unsigned i = 0; i < 2000 * rounds; i++) {
        memcpy(data, good, good_bytes);
        data[random_below(&random_state, good_bytes)] ^=
            (uint8_t)(1 << random_below(&random_state, 8));
        try_file(&flips, data, good_bytes);
    }
    /* Ranges that move, vanish, are repeated, or become zeros. */
    for (unsigned i = 0; i < 500 * rounds; i++) {
        const size_t at = random_below(&random_state, good_bytes);
        const size_t most = good_bytes - at < 4096 ? good_bytes - at : 4096;
        const size_t bytes = 1 + random_below(&random_state, most);
        size_t size = good_bytes;
        memcpy(data, good, good_bytes);
        switch (random_below(&random_state, 4)) {
        case 0: memset(data + at, 0, bytes); break;
        case 1:
            memmove(data + at, data + at + bytes, good_bytes - at - bytes);
            size -= bytes;
            break;
        case 2:
            memmove(data + at + bytes, data + at, good_bytes - at);
            size += bytes;
            break;
        default:
            memmove(data + at, data + random_below(&random_state, good_bytes - bytes + 1), bytes);
        }
        try_file(&changes, data, size);
    }
    print_row(&cuts);
    print_row(&flips);
    print_row(&changes);
    assert_int_equal(flips.same, 0);
    assert_int_equal(cuts.same, 0);
    free(data);
}

/* ---- Messages: behind the checksums ---- */

static bool exists(void *user, enum trace_reference reference, uint64_t *number)
{
    (void)user;
    (void)reference;
    return *number <= 10;
}

static void decode_message(const ProtobufCMessageDescriptor *descriptor,
                           const struct trace_family *family, const uint8_t *data, size_t bytes)
{
    struct trace_arena arena;
    struct trace_bytes records = {0};
    ProtobufCMessage *message;
    size_t count = 0;
    trace_arena_init(&arena, TRACE_MAX_DECODE_BYTES);
    if (trace_message_unpack(descriptor, data, bytes, &arena, &message) == HAL_OK && family &&
        trace_columns_decode(family, message, &arena, &(struct trace_resolver){exists, NULL},
                             &records, &count) == HAL_OK) {
        /* What was decoded are records that a writer would take. */
        size_t at = 0;
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(trace_record_check(family, records.data + at, records.count - at),
                             HAL_OK);
            at += ((const struct trace_segment *)(const void *)(records.data + at))->bytes;
        }
        assert_int_equal(at, records.count);
    }
    free(records.data);
    trace_arena_finish(&arena);
}

/* All decompressed frames of the file, one after the other. */
static struct trace_bytes raw_frames(void)
{
    struct trace_input input;
    struct trace_directory directory;
    struct trace_bytes all = {0}, raw = {0};
    assert_int_equal(trace_input_open(&input, good_path), HAL_OK);
    trace_directory_init(&directory);
    assert_int_equal(trace_directory_load(&directory, &input), HAL_OK);
    for (size_t i = 0; i < directory.data_count; i++) {
        assert_int_equal(trace_input_data_frame(&input, directory.data[i].note,
                                                directory.data[i].note_bytes, &raw),
                         HAL_OK);
        assert_true(trace_bytes_reserve(&all, raw.count));
        memcpy(all.data + all.count, raw.data, raw.count);
        all.count += raw.count;
    }
    free(raw.data);
    trace_directory_finish(&directory);
    trace_input_close(&input);
    return all;
}

static void decode_fields(const struct trace_bytes *raw)
{
    size_t at = 0;
    struct trace_field field;
    while (trace_field_next(raw, &at, &field) == HAL_OK) {
        switch (field.number) {
        case TRACE_FIELD_HEADER:
            decode_message(&haltrace__header__descriptor, NULL, field.data, field.bytes);
            break;
        case TRACE_FIELD_TABLES:
            decode_message(&haltrace__tables__descriptor, &trace_table_family, field.data,
                           field.bytes);
            break;
        case TRACE_FIELD_CHUNK:
            decode_message(&haltrace__chunk__descriptor, &trace_event_family, field.data,
                           field.bytes);
            break;
        case TRACE_FIELD_SEGMENTS:
            decode_message(&haltrace__segments__descriptor, &trace_segment_family, field.data,
                           field.bytes);
            break;
        default: break;
        }
    }
}

static void change_bytes(uint8_t *data, size_t bytes)
{
    for (uint64_t i = 1 + random_below(&random_state, 4); i-- > 0;) {
        uint8_t *at = data + random_below(&random_state, bytes);
        switch (random_below(&random_state, 4)) {
        case 0: *at ^= (uint8_t)(1 << random_below(&random_state, 8)); break;
        case 1: *at = (uint8_t)random_below(&random_state, 256); break;
        case 2: *at = 0xFF; break;
        default: *at = (uint8_t)(*at + 1); break;
        }
    }
}

TEST(messages_behind_the_checksums)
{
    struct trace_bytes good_raw = raw_frames(), raw = {0};
    assert_true(good_raw.count > 1000 && trace_bytes_reserve(&raw, good_raw.count));
    for (unsigned i = 0; i < 3000 * rounds; i++) {
        memcpy(raw.data, good_raw.data, good_raw.count);
        raw.count = good_raw.count;
        change_bytes(raw.data, raw.count);
        decode_fields(&raw);
    }
    free(good_raw.data);
    free(raw.data);
}

/* ---- Others: what is not a trace ---- */

TEST(symbols_of_changed_programs)
{
    uint8_t *data = malloc(MOST_BYTES), *changed = malloc(MOST_BYTES);
    FILE *file = fopen("/proc/self/exe", "r");
    assert_true(data && changed && file);
    const size_t bytes = fread(data, 1, MOST_BYTES, file);
    fclose(file);
    for (unsigned i = 0; i < 60 * rounds; i++) {
        struct trace_symbols symbols;
        const size_t size = i % 3 ? bytes : 1 + random_below(&random_state, bytes);
        memcpy(changed, data, size);
        /* Where the tables are: at the beginning, and at the end. */
        change_bytes(changed, size < 1024 ? size : 1024);
        if (size > 8192)
            change_bytes(changed + size - 4096, 4096);
        write_file(bad_path, changed, size);
        if (trace_symbols_open(bad_path, NULL, 0, &symbols) != HAL_OK)
            continue;
        for (unsigned k = 0; k < 50; k++) {
            const struct trace_symbol *symbol =
                trace_symbols_find(&symbols, random_sized(&random_state));
            assert_true(!symbol || strlen(symbol->name) < MOST_BYTES);
        }
        trace_symbols_close(&symbols);
    }
    free(data);
    free(changed);
}

TEST(sidecars_of_any_bytes)
{
    static const char magic[8] = "HALTRACE";
    uint8_t data[8192];
    for (unsigned i = 0; i < 100 * rounds; i++) {
        struct trace_orphan orphan;
        for (size_t k = 0; k < sizeof data; k++)
            data[k] = (uint8_t)(i % 2 ? random_below(&random_state, 256) : 0);
        memcpy(data, magic, sizeof magic);
        change_bytes(data, 256);
        write_file(bad_path, data, 1 + random_below(&random_state, sizeof data));
        if (trace_orphan_open(bad_path, true, &orphan) == HAL_OK)
            trace_orphan_close(&orphan);
    }
}

/* What all of this took at most. */
TEST(memory_stayed_bounded)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    printf("at most %ld MiB of memory\n", usage.ru_maxrss >> 10);
    assert_true(usage.ru_maxrss >> 10 < 1024);
}

TEST_SUITE_FIXTURE(prepare, clean_up);
