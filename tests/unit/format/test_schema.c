/* SPDX-License-Identifier: Apache-2.0 */
/* format/trace.proto: zstd and protoc decode a trace with every kind of record, in which everything
 * has its name. Skipped without these tools. */
#include "format/trace.h"
#include "tests/support/random_records.h"
#include "tests/support/test.h"
#include "tests/support/trace_folder.h"

enum { KINDS = RANDOM_LAST_EVENT + 1 };

TEST(everything_has_its_name)
{
    const struct trace_writer_options options = {.path = path, .force = true};
    static const struct trace_header header = {.program = "/bin/x"};
    struct random_records r = {
        .state = 6, .thread = 1, .string_count = 2, .next_ticket = 1, .now_ns = 9};
    struct trace_writer *writer;
    assert_int_equal(trace_writer_open(&options, &header, &writer), HAL_OK);
    for (uint32_t kind = TRACE_BUFFER_CREATE; kind <= RANDOM_LAST_EVENT; kind++)
        random_event(&r, kind, 200);
    assert_int_equal(trace_writer_records(writer, 1, r.data, r.bytes), HAL_OK);
    assert_int_equal(trace_writer_close(writer, NULL), HAL_OK);
    random_finish(&r);

    char command[PATH_MAX + 512], line[65536];
    snprintf(command, sizeof command,
             "zstd -q -dc %s | protoc -I %s --decode=haltrace.Trace format/trace.proto", path,
             SOURCE_FOLDER);
    unsigned seen[KINDS] = {0}, segments[RANDOM_LAST_SEGMENT + 1] = {0};
    bool has_header = false, has_end = false;
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    while (fgets(line, sizeof line, pipe)) {
        char word[64];
        has_header |= strcmp(line, "header {\n") == 0;
        has_end |= strncmp(line, "end {", 5) == 0;
        if (sscanf(line, " %63[a-z_] {", word) != 1)
            continue;
        for (uint32_t kind = 1; kind < KINDS; kind++)
            seen[kind] += strcmp(word, trace_event_name(kind)) == 0;
        for (uint32_t kind = 1; kind <= RANDOM_LAST_SEGMENT; kind++)
            segments[kind] += strcmp(word, trace_segment_name(kind)) == 0;
    }
    assert_int_equal(pclose(pipe), 0);
    assert_true(has_header && has_end);
    for (uint32_t kind = 1; kind < KINDS; kind++) {
        const struct trace_event event = {.kind = (uint16_t)kind};
        if (!seen[kind] && !trace_is_table(&event) &&
            strcmp(trace_event_name(kind), "unknown event") != 0)
            fail_msg("no %s", trace_event_name(kind));
    }
    for (uint32_t kind = 1; kind <= RANDOM_LAST_SEGMENT; kind++) {
        if (!segments[kind] && kind != TRACE_DEBUG_END) /* which has no message */
            fail_msg("no %s", trace_segment_name(kind));
    }
}

TEST(zstd_finds_the_file_sound)
{
    char command[PATH_MAX + 64];
    snprintf(command, sizeof command, "zstd -q -t %s", path);
    assert_int_equal(system(command), 0);
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);

int main(void)
{
    if (system("(command -v zstd && command -v protoc) >/dev/null") != 0) {
        puts("skipped: needs the programs zstd and protoc");
        return 77;
    }
    return test_run();
}
