/* SPDX-License-Identifier: Apache-2.0 */
/* hal-trace dump's filters, symbolize, and what the reader knows of chunks without reading them. */
#include "tests/support/folder.h"
#include "tests/support/trace_builder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct test_folder folder;
static char path[PATH_MAX];
static char output[1 << 14];

static int make_folder(void **state)
{
    (void)state;
    if (!test_folder_make(&folder))
        return -1;
    test_folder_file(&folder, "t.pb.zst", path);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    test_folder_remove(&folder);
    return 0;
}

static int run(const char *arguments)
{
    static char command[2 * PATH_MAX];
    snprintf(command, sizeof command, "cd %s && %s/hal-trace %s t.pb.zst 2>&1", folder.path,
             HAL_TRACE_FOLDER, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    output[fread(output, 1, sizeof output - 1, pipe)] = '\0';
    const int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static unsigned lines(void)
{
    unsigned count = 0;
    for (const char *at = output; *at; at++)
        count += *at == '\n';
    return count;
}

static void says(const char *text)
{
    if (!strstr(output, text))
        fail_msg("'%s' does not say '%s'", output, text);
}

/* Ten submissions in ten frames, 1 ms apart from 1 ms on. */
static void write_steps(void)
{
    struct trace_builder b;
    builder_open(&b, path, NULL);
    builder_semaphore_create(&b, 5, "s", 0);
    for (uint64_t i = 0; i < 10; i++) {
        const struct trace_semaphore_value value = {5, i + 1};
        builder_flush(&b);
        b.begin_ns = 1000 + 1000000 * (int64_t)(i + 1);
        builder_submit(&b, i, 0, NULL, 0, &value, 1, NULL, 0);
        builder_submission_done(&b, i, 0, b.begin_ns, b.begin_ns, b.begin_ns + 50);
        builder_buffer_create(&b, 100 + i, NULL, 64);
    }
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static void filters_show_what_was_asked_for(void **state)
{
    (void)state;
    write_steps();
    assert_int_equal(run("dump"), 0);
    assert_int_equal(lines(), 31);
    assert_int_equal(run("dump --submission=#s4"), 0);
    assert_int_equal(lines(), 2);
    says("submit submission=4");
    says("submission_done submission=4");
    assert_int_equal(run("dump --kind=submit,semaphore_create"), 0);
    assert_int_equal(lines(), 11);
    assert_int_equal(run("dump --from=2999.5 --to=4500 --kind=submit"), 0);
    assert_int_equal(lines(), 2);
    says("submission=2 ");
    says("submission=3 ");
    assert_int_equal(run("dump --object=104"), 0);
    assert_int_equal(lines(), 1);
    assert_int_equal(run("dump --object=5 --kind=submit --json"), 0);
    assert_int_equal(lines(), 10); /* in the list of signals */
    assert_int_equal(run("dump --from=1e9"), 0);
    assert_int_equal(lines(), 0);
    static const char *const wrong[] = {
        "--from=x", "--kind=sub", "--kind=", "--object=-1", "--submission=#q", "--to="};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char command[64];
        snprintf(command, sizeof command, "dump %s", wrong[i]);
        assert_int_equal(run(command), 2);
        assert_int_equal(lines(), 1);
    }
}

/* The index tells the times and the submissions of each chunk, and they are those of its events. */
static void chunks_are_known_without_reading_them(void **state)
{
    (void)state;
    struct trace_reader *reader;
    write_steps();
    assert_int_equal(trace_reader_open(path, &reader), HAL_OK);
    assert_int_equal(trace_reader_chunk_count(reader), 11);
    for (size_t i = 0; i < 11; i++) {
        const struct trace_span span = trace_reader_chunk_span(reader, i);
        assert_true(span.has_submissions);
        if (i == 0) {
            assert_true(span.first_submission > span.last_submission);
            continue;
        }
        assert_int_equal(span.first_submission, i - 1);
        assert_int_equal(span.last_submission, i - 1);
        assert_int_equal(span.first_ns, 1000 + 1000000 * (int64_t)i);
        assert_int_equal(span.last_ns, 1000 + 1000000 * (int64_t)i + 300);
    }
    trace_reader_close(reader);
}

/* ---- Symbols ---- */

extern const char __ehdr_start; /* where this program was loaded */

__attribute__((noinline)) void function_with_a_name(void);
void function_with_a_name(void)
{
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop");
}

static void write_stack(const uint8_t *build_id, uint32_t build_id_bytes)
{
    struct trace_builder b;
    char self[PATH_MAX];
    uint64_t memory[16] = {0};
    struct trace_module *module = (void *)memory;
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    assert_true(length > 0);
    self[length] = '\0';
    const uint64_t base = (uint64_t)(uintptr_t)&__ehdr_start;
    builder_open(&b, path, NULL);
    module->head = (struct trace_event){
        .kind = TRACE_MODULE, .bytes = (uint32_t)(sizeof *module + (build_id_bytes + 7) / 8 * 8)};
    module->base = base;
    module->size = 1 << 24;
    module->path = builder_string(&b, self);
    module->build_id_bytes = build_id_bytes;
    if (build_id_bytes)
        memcpy(module->build_id, build_id, build_id_bytes);
    builder_record(&b, &module->head);
    const uint64_t frames[] = {(uint64_t)(uintptr_t)function_with_a_name + 3, 0x10};
    b.stack = builder_stack(&b, frames, 2);
    builder_buffer_create(&b, 1, NULL, 64);
    assert_int_equal(builder_close(&b, NULL), HAL_OK);
}

static void stacks_get_names(void **state)
{
    (void)state;
    write_stack(NULL, 0);
    assert_int_equal(run("symbolize"), 0);
    assert_string_equal(output, "stack 1, used 1 times\n"
                                "    function_with_a_name+0x3\n"
                                "    0x10\n"
                                "1 of 2 frames have names\n");
}

static void another_build_gives_no_names(void **state)
{
    (void)state;
    write_stack((const uint8_t *)"not the one", 11);
    assert_int_equal(run("symbolize"), 0);
    says("is another build than the one that was captured");
    says("    test_trace_look+0x");
    says("0 of 2 frames have names\n");
    assert_int_equal(run("symbolize --wrong"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(filters_show_what_was_asked_for),
        cmocka_unit_test(chunks_are_known_without_reading_them),
        cmocka_unit_test(stacks_get_names),
        cmocka_unit_test(another_build_gives_no_names),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
