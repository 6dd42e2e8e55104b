/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/rewrite.c, format/file/recompress.c: random records of every kind come out as they
 * went in, whatever their numbers are by then; what a newer version wrote stays; a failure leaves
 * no file.
 */
#include "format/file/rewrite.h"

#include "format/columns/layout.h"
#include "format/container/index.h"
#include "format/limits.h"
#include "tests/support/folder.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"

#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CONTENTS = 9, STRINGS = 20, STACKS = 10, EVENTS = 300, CONTENT_BYTES = 100 };

static struct test_folder folder;
static char from[PATH_MAX], to[PATH_MAX];
static bool copied; /* what trace_recompress says */

static int make_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "from.pb.zst", from);
    test_folder_file(&folder, "to.pb.zst", to);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

/* Files in the folder. */
static unsigned count_files(void)
{
    unsigned count = 0;
    DIR *list = opendir(folder.path);
    assert_non_null(list);
    for (struct dirent *entry; (entry = readdir(list));)
        count += entry->d_name[0] != '.' || strlen(entry->d_name) > 2;
    closedir(list);
    return count;
}

/* Two threads with events of every kind. */
static void write_random(uint64_t seed)
{
    const struct trace_header header = {.program = "p", .writer = "w"};
    struct trace_writer *writer;
    assert_int_equal(trace_writer_open(&(struct trace_writer_options){.path = from, .force = true},
                                       &header, &writer),
                     HAL_OK);
    for (uint64_t i = 1; i <= CONTENTS; i++) {
        uint8_t data[CONTENT_BYTES];
        uint64_t number;
        memset(data, (int)i, sizeof data);
        assert_int_equal(trace_writer_content(writer, data, sizeof data, &number), HAL_OK);
    }
    struct random_records r = {.state = seed,
                               .string_count = STRINGS,
                               .stack_count = STACKS,
                               .content_count = CONTENTS,
                               .next_ticket = 1,
                               .thread = 1};
    random_tables(&r);
    for (uint32_t thread = 1; thread <= 2; thread++) {
        for (unsigned i = 0; i < EVENTS; i++)
            random_event(&r, random_kind(&r), 12);
        assert_int_equal(trace_writer_records(writer, thread, r.data, r.bytes), HAL_OK);
        random_clear(&r);
    }
    random_finish(&r);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
}

/* ---- What a number stands for ---- */

static uint64_t mix(uint64_t sum, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    for (size_t i = 0; i < bytes; i++)
        sum = (sum ^ at[i]) * 0x100000001b3u;
    return sum;
}

static uint64_t meaning(struct trace_reader *reader, const struct trace_column *column,
                        uint64_t value)
{
    if (!value)
        return 0;
    if (column->reference == TRACE_REFERENCE_STRING) {
        const char *text = trace_reader_string(reader, (uint32_t)value);
        assert_non_null(text);
        return mix(1, text, strlen(text));
    }
    if (column->reference == TRACE_REFERENCE_STACK) {
        const struct trace_stack *stack = trace_reader_stack(reader, (uint32_t)value);
        assert_non_null(stack);
        return mix(2, stack->frames, stack->frame_count * sizeof *stack->frames);
    }
    if (column->reference == TRACE_REFERENCE_CONTENT) {
        uint64_t bytes;
        uint8_t digest[32];
        assert_int_equal(trace_reader_content_info(reader, value, &bytes, digest), HAL_OK);
        return mix(bytes, digest, sizeof digest);
    }
    return value;
}

static uint64_t sum_columns(struct trace_reader *reader, uint64_t sum,
                            const struct trace_column *columns, uint32_t count, const uint8_t *base)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t value =
            meaning(reader, &columns[i], trace_load(base + columns[i].member_at, columns[i].width));
        sum = mix(sum, &value, sizeof value);
    }
    return sum;
}

static uint64_t sum_record(struct trace_reader *reader, uint64_t sum,
                           const struct trace_family *family, const void *record)
{
    const uint16_t kind = ((const struct trace_segment *)record)->kind;
    const struct trace_layout *layout = trace_family_layout(family, kind);
    sum = mix(sum, &kind, sizeof kind);
    sum = sum_columns(reader, sum, family->common, family->common_count, record);
    sum = sum_columns(reader, sum, layout->columns, layout->column_count, record);
    const uint8_t *at = (const uint8_t *)record + layout->record_bytes;
    for (uint32_t i = 0; i < layout->part_count; i++) {
        const struct trace_part *part = &layout->parts[i];
        const uint64_t count = trace_part_count(part, record);
        if (!part->columns)
            sum = mix(sum, at, count);
        for (uint64_t k = 0; part->columns && k < count; k++)
            sum = sum_columns(reader, sum, part->columns, part->column_count,
                              at + k * part->element_bytes);
        at += count * part->element_bytes;
    }
    return sum;
}

struct sums {
    struct trace_reader *reader;
    uint64_t of_thread[4], events;
};

static enum hal_status add_event(void *user, const struct trace_event *event,
                                 const struct trace_segment *segments)
{
    struct sums *sums = user;
    uint64_t *sum = &sums->of_thread[event->thread % 4];
    sums->events++;
    *sum = sum_record(sums->reader, *sum, &trace_event_family, event);
    const struct trace_command_buffer_seal *seal = (const void *)event;
    for (uint32_t i = 0; segments && i < seal->segment_count; i++) {
        *sum = sum_record(sums->reader, *sum, &trace_segment_family, segments);
        segments = trace_next_segment(segments);
    }
    return HAL_OK;
}

static struct sums sums_of(const char *path)
{
    struct sums sums = {0};
    assert_int_equal(trace_reader_open(path, &sums.reader), HAL_OK);
    assert_int_equal(trace_reader_each(sums.reader, add_event, &sums), HAL_OK);
    trace_reader_close(sums.reader);
    return sums;
}

static void assert_same(const struct sums *a, const struct sums *b)
{
    assert_int_equal(a->events, b->events);
    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(a->of_thread[i], b->of_thread[i]);
}

/* ---- Tests ---- */

static enum hal_status rewrite_all(struct trace_rewrite_source *source,
                                   const struct trace_rewrite_rules *rules)
{
    struct trace_rewrite rewrite;
    const struct trace_rewrite_options options = {.path = to, .force = true};
    HAL_TRY(trace_rewrite_open(&rewrite, &options, trace_reader_header(source->reader)));
    return trace_rewrite_close(&rewrite, trace_rewrite_add(&rewrite, source, rules), NULL);
}

TEST(every_record_stays_the_same)
{
    for (uint64_t seed = 1; seed <= 12; seed++) {
        struct trace_rewrite_source source = {0};
        const struct trace_rewrite_rules rules = {0};
        write_random(seed);
        assert_int_equal(trace_reader_open(from, &source.reader), HAL_OK);
        assert_int_equal(rewrite_all(&source, &rules), HAL_OK);
        trace_reader_close(source.reader);
        const struct sums before = sums_of(from), after = sums_of(to);
        assert_true(before.events > EVENTS);
        assert_same(&before, &after);
        const struct trace_rewrite_options options = {
            .path = to, .force = true, .compression_level = 9};
        assert_int_equal(trace_recompress(from, &options, "e", NULL, NULL, &copied), HAL_OK);
        const struct sums again = sums_of(to);
        assert_same(&before, &again);
    }
}

static bool keep_waits(void *user, struct trace_event *event, struct trace_segment *segments)
{
    (void)user;
    (void)segments;
    return event->kind == TRACE_SEMAPHORE_WAIT;
}

static enum hal_status count_waits(void *user, const struct trace_event *event,
                                   const struct trace_segment *segments)
{
    (void)segments;
    *(uint64_t *)user += event->kind == TRACE_SEMAPHORE_WAIT;
    return HAL_OK;
}

TEST(only_what_is_kept_comes_along)
{
    uint64_t waits = 0;
    struct trace_rewrite_source source = {0};
    const struct trace_rewrite_rules rules = {.keep = keep_waits};
    write_random(77);
    assert_int_equal(trace_reader_open(from, &source.reader), HAL_OK);
    assert_int_equal(trace_reader_each(source.reader, count_waits, &waits), HAL_OK);
    assert_int_equal(rewrite_all(&source, &rules), HAL_OK);
    trace_reader_close(source.reader);
    assert_true(waits > 0);
    struct trace_reader *reader;
    assert_int_equal(trace_reader_open(to, &reader), HAL_OK);
    assert_int_equal(trace_reader_counts(reader)->events, waits);
    assert_int_equal(trace_reader_counts(reader)->contents, 0);
    trace_reader_close(reader);
}

TEST(numbers_move_and_too_large_ones_are_refused)
{
    struct trace_rewrite_source source = {.object_base = UINT64_MAX};
    const struct trace_rewrite_rules rules = {0};
    write_random(5);
    unlink(to);
    assert_int_equal(trace_reader_open(from, &source.reader), HAL_OK);
    assert_int_equal(rewrite_all(&source, &rules), HAL_UNSUPPORTED);
    assert_int_equal(count_files(), 1);
    trace_reader_close(source.reader);
}

/* A file size limit that strikes in the middle: no file, and no half one under another name. */
TEST(a_failure_leaves_no_file)
{
    struct trace_rewrite_source source = {0};
    const struct trace_rewrite_rules rules = {0};
    write_random(6);
    unlink(to);
    assert_int_equal(trace_reader_open(from, &source.reader), HAL_OK);
    struct rlimit old, small;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 2000;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const enum hal_status status = rewrite_all(&source, &rules);
    const enum hal_status other = trace_recompress(
        from, &(struct trace_rewrite_options){.path = to}, "e", NULL, NULL, &copied);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, handler);
    assert_int_equal(status, HAL_IO);
    assert_int_equal(other, HAL_IO);
    assert_int_equal(count_files(), 1);
    trace_reader_close(source.reader);
}

/* Until the end there is nothing under the name, nor under another that a kill would leave. */
TEST(there_is_no_file_before_the_end)
{
    struct trace_rewrite rewrite;
    const struct trace_header header = {.program = "p"};
    unlink(from);
    unlink(to);
    const struct trace_rewrite_options options = {.path = to};
    assert_int_equal(trace_rewrite_open(&rewrite, &options, &header), HAL_OK);
    assert_int_equal(count_files(), 0);
    assert_int_equal(trace_rewrite_close(&rewrite, HAL_OK, NULL), HAL_OK);
    assert_int_equal(count_files(), 1);
}

/* ---- What a newer version wrote ---- */

static void add_note(struct trace_directory *directory, struct trace_output *output,
                     const struct trace_bytes *raw, Haltrace__Note__Kind kind)
{
    Haltrace__Note *note = trace_directory_new_note(directory);
    uint64_t note_bytes;
    note->kind = kind;
    assert_int_equal(trace_output_data_frame(output, raw->data, raw->count, note, &note_bytes),
                     HAL_OK);
    assert_int_equal(trace_directory_add_data(directory, note, note_bytes), HAL_OK);
}

static const uint8_t future_header[] = {0xFA, 0x7F, 3, 'n', 'e', 'w'};     /* field 2047, bytes */
static const uint8_t future_field[] = {0xAA, 0x7D, 4, 'l', 'a', 't', 'e'}; /* field 2005 */

static void append(struct trace_bytes *raw, const void *data, size_t bytes)
{
    assert_true(trace_bytes_reserve(raw, bytes));
    memcpy(raw->data + raw->count, data, bytes);
    raw->count += bytes;
}

/* Unknown optional fields in the header, beside it, and in the end. */
static void write_future(void)
{
    struct trace_output output;
    struct trace_directory directory;
    struct trace_bytes raw = {0};
    Haltrace__TracePacket packet = HALTRACE__TRACE_PACKET__INIT;
    Haltrace__Header header = HALTRACE__HEADER__INIT;
    Haltrace__End end = HALTRACE__END__INIT;
    ProtobufCMessageUnknownField unknown = {.tag = 2047,
                                            .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED,
                                            .len = 4,
                                            .data = (uint8_t *)(uintptr_t)future_header + 2};
    header.version_major = 1;
    header.version_minor = 99;
    header.contents = HALTRACE__HEADER__CONTENTS__CONTENTS_IN_FILE;
    header.base.n_unknown_fields = end.base.n_unknown_fields = 1;
    header.base.unknown_fields = end.base.unknown_fields = &unknown;
    trace_directory_init(&directory);
    /* Hardly compressed: compressing again makes the file smaller. */
    assert_int_equal(trace_output_open(&output, from, true, -100), HAL_OK);
    assert_int_equal(trace_destination_publish(&output.to), HAL_OK);
    for (int i = 0; i < 500; i++)
        assert_int_equal(trace_field_append(&raw, 1, &packet.base), HAL_OK);
    append(&raw, future_field, sizeof future_field);
    assert_int_equal(trace_field_append(&raw, 100, &header.base), HAL_OK);
    append(&raw, future_field, sizeof future_field);
    add_note(&directory, &output, &raw, HALTRACE__NOTE__KIND__HEADER);
    raw.count = 0;
    assert_int_equal(trace_field_append(&raw, 104, &end.base), HAL_OK);
    add_note(&directory, &output, &raw, HALTRACE__NOTE__KIND__END);
    assert_int_equal(trace_directory_write(&directory, &output), HAL_OK);
    assert_int_equal(trace_output_close(&output), HAL_OK);
    trace_directory_finish(&directory);
    free(raw.data);
}

/* How often `bytes` occur in the decompressed file. */
static unsigned occurrences(const char *path, const void *bytes, size_t count)
{
    static char command[PATH_MAX + 32];
    static uint8_t data[1 << 16];
    snprintf(command, sizeof command, "zstd -dcq '%s'", path);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    const size_t size = fread(data, 1, sizeof data, pipe);
    assert_int_equal(pclose(pipe), 0);
    unsigned found = 0;
    for (const uint8_t *at = data; (at = memmem(at, size - (size_t)(at - data), bytes, count));
         at++)
        found++;
    return found;
}

TEST(what_a_newer_version_wrote_stays)
{
    struct trace_rewrite_source source = {0};
    const struct trace_rewrite_rules rules = {0};
    const struct trace_rewrite_options options = {.path = to, .force = true};
    write_future();
    assert_int_equal(occurrences(from, future_field, sizeof future_field), 2);
    assert_int_equal(occurrences(from, future_header, sizeof future_header), 2);
    assert_int_equal(trace_recompress(from, &options, "squeezed", NULL, NULL, &copied), HAL_OK);
    assert_false(copied);
    assert_int_equal(occurrences(to, future_field, sizeof future_field), 2);
    assert_int_equal(occurrences(to, future_header, sizeof future_header), 2);
    assert_int_equal(trace_reader_open(to, &source.reader), HAL_OK);
    assert_int_equal(trace_reader_header(source.reader)->edit_count, 1);
    assert_string_equal(trace_reader_header(source.reader)->edits[0], "squeezed");
    trace_reader_close(source.reader);
    /* Record by record: header and end. */
    struct trace_rewrite rewrite;
    assert_int_equal(trace_reader_open(from, &source.reader), HAL_OK);
    assert_int_equal(trace_rewrite_open(&rewrite, &options, trace_reader_header(source.reader)),
                     HAL_OK);
    assert_int_equal(trace_rewrite_close(&rewrite, trace_rewrite_add(&rewrite, &source, &rules),
                                         trace_reader_health(source.reader)),
                     HAL_OK);
    trace_reader_close(source.reader);
    assert_int_equal(occurrences(to, future_header, sizeof future_header), 2);
}

/* Of a whole capture whose last bytes are lost, nothing but where things lie is lost. Another loss
 * is not repaired so. */
TEST(an_index_that_was_cut_off_is_written_anew)
{
    const struct trace_rewrite_options options = {.path = to, .force = true};
    struct trace_reader *reader;
    struct stat info;
    write_random(7);
    assert_int_equal(stat(from, &info), 0);
    assert_int_equal(trace_reader_open(from, &reader), HAL_OK);
    const struct trace_counts counts = *trace_reader_counts(reader);
    trace_reader_close(reader);
    assert_int_equal(truncate(from, info.st_size - 1), 0);
    assert_int_equal(trace_reader_open(from, &reader), HAL_OK);
    assert_true(*trace_reader_truncated(reader));
    trace_reader_close(reader);
    assert_int_equal(trace_recompress(from, &options, "e", NULL, NULL, &copied), HAL_OK);
    assert_int_equal(trace_reader_open(to, &reader), HAL_OK);
    assert_string_equal(trace_reader_truncated(reader), "");
    assert_int_equal(trace_reader_counts(reader)->events, counts.events);
    assert_int_equal(trace_reader_counts(reader)->contents, counts.contents);
    trace_reader_close(reader);
    assert_int_equal(truncate(from, info.st_size / 2), 0);
    assert_int_equal(trace_recompress(from, &options, "e", NULL, NULL, &copied), HAL_INVALID);
}

static size_t load(const char *path, uint8_t *data, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t bytes = fread(data, 1, capacity, file);
    assert_true(bytes < capacity);
    fclose(file);
    return bytes;
}

/* Whatever was in it, and whatever level is asked for: at worst it is the same file. */
TEST(no_file_becomes_larger)
{
    static uint8_t before[4 << 20], after[sizeof before];
    unsigned copies = 0;
    for (uint64_t seed = 1; seed <= 6; seed++) {
        write_random(seed);
        for (int level = 1; level <= 19; level += 9) {
            const struct trace_rewrite_options options = {
                .path = to, .force = true, .compression_level = level};
            copied = false;
            assert_int_equal(trace_recompress(from, &options, "e", NULL, NULL, &copied), HAL_OK);
            const size_t bytes = load(from, before, sizeof before);
            const size_t got = load(to, after, sizeof after);
            assert_true(got <= bytes);
            assert_int_equal(copied, got == bytes && memcmp(before, after, bytes) == 0);
            copies += copied;
        }
    }
    assert_true(copies > 0); /* those with level 1 */
}

TEST_SUITE_FIXTURE(make_folder, remove_folder);
