/* SPDX-License-Identifier: Apache-2.0 */
/* format/file/orphan.c: sidecars by hand, of which one thing makes no sense. */
#include "format/file/orphan.h"

#include "format/file/recover.h"
#include "format/file/sidecar.h"
#include "format/limits.h"
#include "format/trace.h"
#include "tests/support/hal_fixture.h"
#include "tests/support/trace_folder.h"

#include <sys/wait.h>
#ifdef __linux__
#include <errno.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#endif

enum { PROCESS = 77, START_NS = 5, STAGING = 4096, RING = 4096, THREAD = 3 };

static struct trace_sidecar_header header;
static char sidecar[PATH_MAX];

/* A sidecar of one ring, of whose bytes 100 are in use; and the trace that it belongs to. */
static void prepare(void)
{
    memset(&header, 0, sizeof header);
    memcpy(header.magic, TRACE_SIDECAR_MAGIC, sizeof header.magic);
    header.version = TRACE_SIDECAR_VERSION;
    header.slot_count = TRACE_RING_SLOTS;
    header.process_id = PROCESS;
    header.start_ns = START_NS;
    header.staging_offset = sizeof header;
    header.staging_bytes = STAGING;
    header.rings_offset = sizeof header + STAGING;
    header.rings_bytes = RING;
    struct trace_ring_slot *slot = &header.slots[0];
    slot->state = TRACE_RING_LIVE;
    slot->thread = THREAD;
    slot->offset = header.rings_offset;
    slot->bytes = RING;
    slot->durable[0].position = 1000;
    slot->head = 1100;
    test_folder_file(&folder, "sidecar", sidecar);
}

static void write_sidecar(void)
{
    static const uint8_t zeros[STAGING + RING];
    FILE *file = fopen(sidecar, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(&header, sizeof header, 1, file), 1);
    assert_int_equal(fwrite(zeros, sizeof zeros, 1, file), 1);
    assert_int_equal(fclose(file), 0);
}

TEST(what_makes_sense_is_opened)
{
    struct trace_orphan orphan;
    uint8_t *records;
    prepare();
    write_sidecar();
    assert_ok(trace_orphan_open(sidecar, true, &orphan));
    assert_int_equal(orphan.ring_count, 1);
    assert_int_equal(orphan.rings[0].thread, THREAD);
    assert_int_equal(orphan.rings[0].position, 1000);
    assert_int_equal(orphan.rings[0].bytes, 100);
    assert_ok(trace_orphan_records(&orphan, &orphan.rings[0], &records));
    free(records);
    trace_orphan_close(&orphan);
}

static void assert_refused(enum hal_status status, const char *text)
{
    struct trace_orphan orphan;
    write_sidecar();
    assert_fails(trace_orphan_open(sidecar, true, &orphan), status, text);
    prepare();
}

TEST(what_makes_no_sense_is_refused)
{
    static const char ring[] = "its ring 0 is invalid", head[] = "its header is invalid";
    struct trace_ring_slot *slot = &header.slots[0];
    prepare();
    header.magic[0]++;
    assert_refused(HAL_CORRUPT, "not a sidecar");
    header.version++;
    assert_refused(HAL_VERSION, "this program reads");
    header.slot_count--;
    assert_refused(HAL_VERSION, "this program reads");
    header.staging_bytes = 0;
    assert_refused(HAL_CORRUPT, head);
    header.staging_bytes = STAGING + RING + 1;
    assert_refused(HAL_CORRUPT, head);
    header.staging_offset = UINT64_MAX;
    assert_refused(HAL_CORRUPT, head);
    header.rings_bytes = RING + 1;
    assert_refused(HAL_CORRUPT, head);
    header.rings_offset = UINT64_MAX;
    assert_refused(HAL_CORRUPT, head);
    header.durable_index = 2;
    assert_refused(HAL_CORRUPT, head);
    memset(header.destination, 'x', sizeof header.destination);
    assert_refused(HAL_CORRUPT, head);
    slot->bytes = 0;
    slot->head = slot->durable[0].position;
    assert_refused(HAL_CORRUPT, ring);
    slot->bytes = RING + 1;
    assert_refused(HAL_CORRUPT, ring);
    slot->offset--;
    assert_refused(HAL_CORRUPT, ring);
    slot->offset = UINT64_MAX;
    assert_refused(HAL_CORRUPT, ring);
    slot->thread = 0;
    assert_refused(HAL_CORRUPT, ring);
    slot->thread = TRACE_MAX_THREADS + 1;
    assert_refused(HAL_CORRUPT, ring);
    slot->head = slot->durable[0].position - 1;
    assert_refused(HAL_CORRUPT, ring);
    slot->head = slot->durable[0].position + RING + 1;
    assert_refused(HAL_CORRUPT, ring);
}

#ifdef __linux__
/* A trace names what it likes: what is no file is not even opened. */
TEST(what_is_no_file_is_not_opened)
{
    struct trace_orphan orphan;
    struct inotify_event event;
    char fifo[PATH_MAX];
    test_folder_file(&folder, "fifo", fifo);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int watch = inotify_init1(IN_NONBLOCK);
    assert_true(watch >= 0 && inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
    assert_fails(trace_orphan_peek(fifo, &orphan), HAL_CORRUPT, "not a regular file");
    assert_true(read(watch, &event, sizeof event) < 0 && errno == EAGAIN);
    close(watch);
    assert_int_equal(unlink(fifo), 0);
}
#endif

/* The file has the beginning of a seal; what follows in the ring are zeros. */
TEST(segments_of_no_bytes_do_not_hang)
{
    static const struct trace_header of_trace = {
        .program = "x", .process_id = PROCESS, .start_ns = START_NS};
    char output[PATH_MAX];
    struct trace_recovered recovered;
    struct trace_writer *writer;
    const struct trace_writer_options options = {.path = path};
    assert_ok(trace_writer_open(&options, &of_trace, &writer));
    assert_ok(trace_writer_flush(writer));
    prepare();
    header.durable_file_bytes[0] = trace_writer_bytes(writer);
    header.slots[0].durable[0].segment_bytes = 96;
    trace_writer_discard(writer);
    write_sidecar();
    test_folder_file(&folder, "output.pb.zst", output);
    const struct trace_recover_options both = {.path = path, .sidecar = sidecar, .output = output};
    assert_fails(trace_recover(&both, &recovered), HAL_CORRUPT, "the sidecar's ring of thread 3");
    assert_int_not_equal(access(output, F_OK), 0);
}

/* ---- Which may be recovered without asking ---- */

static bool is_due(void)
{
    struct trace_reader *reader;
    write_sidecar();
    assert_ok(trace_reader_open(path, &reader));
    const bool due = trace_recover_is_due(reader);
    trace_reader_close(reader);
    return due;
}

static uint64_t ended_process(void)
{
    const pid_t process = fork();
    if (process == 0)
        _exit(0);
    assert_int_equal(waitpid(process, NULL, 0), process);
    return (uint64_t)process;
}

/* Cut off. */
static void write_trace(uint64_t process_id)
{
    const struct trace_header of_trace = {
        .program = "x", .process_id = process_id, .start_ns = START_NS, .sidecar = sidecar};
    const struct trace_writer_options options = {.path = path, .force = true};
    struct trace_writer *writer;
    assert_ok(trace_writer_open(&options, &of_trace, &writer));
    assert_ok(trace_writer_flush(writer));
    header.process_id = process_id;
    header.durable_file_bytes[0] = trace_writer_bytes(writer);
    trace_writer_discard(writer);
}

TEST_WITH(of_a_process_that_ended_is_due, NULL, remove_trace)
{
    prepare();
    write_trace(ended_process());
    assert_true(is_due());
    header.start_ns++; /* of another capture */
    assert_false(is_due());
    header.start_ns--;
    header.stopped = HAL_IO;
    assert_true(is_due());
    header.stopped_by_file = 1; /* again there would be no room */
    assert_false(is_due());
    header.stopped_by_file = 0;
    header.version++;
    assert_false(is_due());
}

/* Its capture may go on, although nobody has the lock. */
TEST_WITH(of_a_process_that_runs_is_not_due, NULL, remove_trace)
{
    prepare();
    write_trace((uint64_t)getpid());
    assert_false(is_due());
}

TEST_SUITE_FIXTURE(make_trace_folder, remove_folder);
