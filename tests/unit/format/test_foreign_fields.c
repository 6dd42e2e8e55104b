/* SPDX-License-Identifier: Apache-2.0 */
/* Every field of bytes or text of every message of the format, one after the other, commands a
 * terminal: nothing of that may come out of any program, whether it takes the trace or refuses it.
 * The fields are those of protobuf-c's descriptors: new ones are swept as well. */
#include "format/file/reader.h"
#include "tests/support/foreign.h"
#include "tests/support/replay_trace.h"

enum { MOST_FIELDS = 200, FIELD_BYTES = 4096 };

struct target {
    const ProtobufCMessageDescriptor *message;
    const ProtobufCFieldDescriptor *field;
};

struct fixture {
    struct foreign foreign;
    char good[PATH_MAX], bad[PATH_MAX];
    struct target targets[MOST_FIELDS];
    size_t target_count;
    struct target now; /* what is changed */
    uint64_t changed;
    struct trace_arena arena;
};

/* ---- Fields -------------------------------------------------------------------------------- */

static bool is_text(const ProtobufCFieldDescriptor *field)
{
    return field->type == PROTOBUF_C_TYPE_BYTES || field->type == PROTOBUF_C_TYPE_STRING;
}

static void list_fields(struct fixture *f, const ProtobufCMessageDescriptor *message)
{
    for (size_t i = 0; i < f->target_count; i++) {
        if (f->targets[i].message == message)
            return;
    }
    assert_true(f->target_count < MOST_FIELDS);
    f->targets[f->target_count++] = (struct target){message, NULL}; /* was here */
    for (unsigned i = 0; i < message->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];
        assert_true(f->target_count < MOST_FIELDS);
        if (is_text(field))
            f->targets[f->target_count++] = (struct target){message, field};
        else if (field->type == PROTOBUF_C_TYPE_MESSAGE)
            list_fields(f, field->descriptor);
    }
}

/* Whether the target is in the message or in one that it can hold. */
static bool leads_to_target(const struct fixture *f, const ProtobufCMessageDescriptor *message,
                            int depth)
{
    bool leads = message == f->now.message;
    for (unsigned i = 0; i < message->n_fields && !leads && depth < 6; i++) {
        const ProtobufCFieldDescriptor *field = &message->fields[i];
        leads = field->type == PROTOBUF_C_TYPE_MESSAGE &&
                leads_to_target(f, field->descriptor, depth + 1);
    }
    return leads;
}

static void *room(struct fixture *f, size_t bytes)
{
    void *memory = trace_arena_alloc(&f->arena, bytes);
    assert_non_null(memory);
    memset(memory, 0, bytes);
    return memory;
}

/* What other fields count the bytes of keeps its length; else the text comes behind what was there.
 */
static void change_bytes(struct fixture *f, ProtobufCBinaryData *bytes)
{
    const ProtobufCMessageDescriptor *const message = f->now.message;
    const bool is_counted =
        message != &haltrace__header__descriptor && message != &haltrace__device__descriptor &&
        message != &haltrace__capture__descriptor && message != &haltrace__end__descriptor;
    const size_t added = sizeof foreign_text - 1;
    uint8_t *data = room(f, bytes->len + added);
    if (bytes->len)
        memcpy(data, bytes->data, bytes->len);
    if (is_counted && bytes->len) {
        for (size_t i = 0; i < bytes->len; i++)
            data[i] = (uint8_t)foreign_text[i % added];
    } else {
        memcpy(data + bytes->len, foreign_text, added);
        bytes->len += added;
    }
    bytes->data = data;
}

static void change_field(struct fixture *f, void *member)
{
    f->changed++;
    if (f->now.field->type == PROTOBUF_C_TYPE_BYTES)
        change_bytes(f, member);
    else
        *(const char **)member = foreign_text;
}

static void *new_message(struct fixture *f, const ProtobufCMessageDescriptor *descriptor)
{
    ProtobufCMessage *message = room(f, descriptor->sizeof_message);
    protobuf_c_message_init(descriptor, message);
    return message;
}

/* Changes all instances of the target, and makes one where there is none. */
static void change_message(struct fixture *f, ProtobufCMessage *message)
{
    for (unsigned i = 0; i < message->descriptor->n_fields; i++) {
        const ProtobufCFieldDescriptor *field = &message->descriptor->fields[i];
        uint8_t *const base = (uint8_t *)message;
        void *member = base + field->offset;
        const bool is_target = field == f->now.field;
        const bool is_list = field->label == PROTOBUF_C_LABEL_REPEATED;
        const bool leads =
            field->type == PROTOBUF_C_TYPE_MESSAGE && leads_to_target(f, field->descriptor, 0);
        size_t *const count = (void *)(base + field->quantifier_offset);
        uint32_t *const chosen = (void *)count; /* of a oneof */
        const bool is_other = (field->flags & PROTOBUF_C_FIELD_FLAG_ONEOF) && *chosen != field->id;
        if ((!is_target && !leads) || (is_other && leads))
            continue;
        if (is_other) {
            *chosen = field->id;
            *(void **)member = NULL;
        }
        if (is_list && *count == 0) {
            *(void **)member = room(f, sizeof(ProtobufCBinaryData));
            if (leads)
                **(void ***)member = new_message(f, field->descriptor);
            *count = 1;
        } else if (!is_list && leads && !*(void **)member) {
            *(void **)member = new_message(f, field->descriptor);
        }
        const size_t each = is_target && field->type == PROTOBUF_C_TYPE_BYTES
                                ? sizeof(ProtobufCBinaryData)
                                : sizeof(void *);
        for (size_t k = 0; k < (is_list ? *count : 1); k++) {
            uint8_t *at = is_list ? *(uint8_t **)member + k * each : member;
            if (is_target)
                change_field(f, at);
            else
                change_message(f, *(ProtobufCMessage **)(void *)at);
        }
    }
}

/* ---- Files --------------------------------------------------------------------------------- */

static const ProtobufCMessageDescriptor *descriptor_of(uint32_t number)
{
    const ProtobufCFieldDescriptor *field =
        protobuf_c_message_descriptor_get_field(&haltrace__trace__descriptor, number);
    assert_non_null(field);
    return field->descriptor;
}

static void change_frame(struct fixture *f, const struct trace_bytes *raw,
                         struct trace_bytes *changed)
{
    size_t at = 0;
    struct trace_field field;
    changed->count = 0;
    while (trace_field_next(raw, &at, &field) == HAL_OK) {
        ProtobufCMessage *message;
        assert_int_equal(trace_message_unpack(descriptor_of(field.number), field.data, field.bytes,
                                              &f->arena, &message),
                         HAL_OK);
        if (leads_to_target(f, message->descriptor, 0))
            change_message(f, message);
        assert_int_equal(trace_field_append(changed, field.number, message), HAL_OK);
    }
}

static void copy_data(struct fixture *f, struct trace_reader *reader,
                      const struct trace_data_frame *frame, struct trace_output *to,
                      struct trace_directory *directory)
{
    struct trace_bytes raw = {0}, changed = {0};
    uint64_t bytes;
    Haltrace__Note *note = trace_directory_new_note(directory);
    *note = *frame->note;
    assert_int_equal(trace_input_data_frame(&reader->input, frame->note, frame->note_bytes, &raw),
                     HAL_OK);
    change_frame(f, &raw, &changed);
    if (f->now.message == &haltrace__note__descriptor)
        change_message(f, &note->base);
    assert_int_equal(trace_output_data_frame(to, changed.data, changed.count, note, &bytes),
                     HAL_OK);
    (void)!trace_directory_add_data(directory, note, bytes); /* it may contradict itself */
    free(raw.data);
    free(changed.data);
}

static void copy_blobs(struct fixture *f, struct trace_reader *reader,
                       const struct trace_blobs_frame *frame, struct trace_output *to,
                       struct trace_directory *directory)
{
    struct trace_frame_head head;
    uint8_t *meta;
    uint64_t bytes;
    const uint64_t offset = to->offset;
    Haltrace__Blobs *blobs = room(f, sizeof *blobs);
    assert_int_equal(trace_input_head(&reader->input, frame->offset, frame->offset + frame->bytes,
                                      &head, &f->arena, &meta),
                     HAL_OK);
    uint8_t *data = room(f, head.raw_bytes + 1);
    assert_int_equal(trace_input_own_data(&reader->input, frame->offset, &head, data), HAL_OK);
    *blobs = *frame->blobs;
    if (f->now.message == &haltrace__blobs__descriptor)
        change_message(f, &blobs->base);
    assert_int_equal(
        trace_output_own_frame(to, TRACE_FRAME_BLOBS, &blobs->base, data, head.raw_bytes, &bytes),
        HAL_OK);
    (void)!trace_directory_add_blobs(directory, blobs, offset, bytes); /* they, too */
}

/* The good trace with the target changed. */
static void write_changed(struct fixture *f)
{
    struct trace_reader *reader;
    struct trace_output to;
    struct trace_directory directory;
    size_t data = 0, blobs = 0;
    f->changed = 0;
    trace_arena_init(&f->arena, SIZE_MAX);
    trace_directory_init(&directory);
    assert_int_equal(trace_reader_open(f->good, &reader), HAL_OK);
    assert_int_equal(trace_output_open(&to, f->bad, true, 0), HAL_OK);
    const struct trace_directory *from = &reader->directory;
    while (data < from->data_count || blobs < from->blobs_count) {
        if (blobs == from->blobs_count ||
            (data < from->data_count && from->data[data].note->offset < from->blobs[blobs].offset))
            copy_data(f, reader, &from->data[data++], &to, &directory);
        else
            copy_blobs(f, reader, &from->blobs[blobs++], &to, &directory);
    }
    if (trace_directory_write(&directory, &to) != HAL_OK)
        to.status = HAL_OK; /* it is walked, then */
    assert_int_equal(trace_output_flush(&to), HAL_OK);
    assert_int_equal(trace_destination_publish(&to.to), HAL_OK);
    assert_int_equal(trace_output_close(&to), HAL_OK);
    trace_directory_finish(&directory);
    trace_reader_close(reader);
    trace_arena_finish(&f->arena);
}

static void build_good(const char *path, const char *decoration)
{
    static struct trace_builder b;
    const struct trace_header header = builder_default_header();
    builder_open(&b, path, &header);
    b.decoration = decoration;
    builder_thread(&b, 2, 4712, "worker");
    b.thread = 2;
    builder_module(&b, "/lib/module", 0x1000, 0x100);
    b.stack = builder_stack(&b, (uint64_t[]){0x1010, 0x2020}, 2);
    builder_scope_begin(&b, "a scope");
    every_build(&b, false);
    builder_scope_end(&b);
    const struct trace_health health = {.status = HAL_IO, .message = "a message", .clock = "tsc"};
    if (builder_close(&b, &health) != HAL_OK)
        fail_msg("%s", hal_message());
}

/* ---- What comes out ------------------------------------------------------------------------ */

static const char *const commands[] = {
    "hal-trace info bad.pb.zst",
    "hal-trace info --json bad.pb.zst",
    "hal-trace dump bad.pb.zst",
    "hal-trace dump --json bad.pb.zst",
    "hal-trace stats bad.pb.zst",
    "hal-trace stats --json bad.pb.zst",
    "hal-trace verify bad.pb.zst",
    "hal-trace verify --json bad.pb.zst",
    "hal-trace races bad.pb.zst",
    "hal-trace symbolize bad.pb.zst",
    "hal-trace diff good.pb.zst bad.pb.zst",
    "hal-trace diff bad.pb.zst good.pb.zst",
    "hal-trace diff --json good.pb.zst bad.pb.zst",
    "hal-trace trim -f -o x.pb.zst --submissions=0.. bad.pb.zst",
    "hal-trace trim -f -o x.pb.zst --scope=nothing bad.pb.zst",
    "hal-trace strip -f -o x.pb.zst bad.pb.zst",
    "hal-trace merge -f -o x.pb.zst good.pb.zst bad.pb.zst",
    "hal-trace recompress -f -o x.pb.zst bad.pb.zst",
    "hal-trace recover -f -o x.pb.zst bad.pb.zst",
    "hal-trace extract --executables=kernels bad.pb.zst",
    "hal-trace extract --file=nothing -o x.bin bad.pb.zst",
    "hal-trace export --format=chrome bad.pb.zst",
    "hal-trace export --format=jsonl bad.pb.zst",
    "hal-trace export --format=perfetto -o x.perfetto bad.pb.zst",
    "hal-trace export --format=sqlite -o x.sqlite bad.pb.zst",
    "hal-view --utf8 --print=summary,timeline,submissions,gaps bad.pb.zst",
    "hal-view --utf8 --print=findings,kernels,memory,iterations bad.pb.zst",
    "hal-view --json --print=summary,timeline,submissions,gaps bad.pb.zst",
    "hal-view --json --print=findings,kernels,memory,iterations bad.pb.zst",
    "hal-view --print --fail-on='failures>0,races>0' bad.pb.zst",
    "hal-view --diff=good.pb.zst bad.pb.zst",
    "hal-view --diff=good.pb.zst --json bad.pb.zst",
    "hal-view --svg=- bad.pb.zst",
    "hal-view --dump-frame --color=never --utf8 --keys='j<Enter>S' bad.pb.zst",
    "hal-view --plain bad.pb.zst",
    "hal-replay bad.pb.zst",
    "hal-replay --trusted bad.pb.zst",
    "hal-replay --trusted --json bad.pb.zst",
    "hal-replay --trusted --bisect bad.pb.zst",
    "hal-replay --trusted --dump=b@#s0=x.bin bad.pb.zst",
};

static void run_all(const struct fixture *f)
{
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (foreign_run(&f->foreign, commands[i]) == 2)
            fail_msg("%s: %s", commands[i], output); /* it read nothing */
}

/* ---- Tests --------------------------------------------------------------------------------- */

TEST_ON(every_field_is_clean, struct fixture *f)
{
    size_t swept = 0;
    list_fields(f, &haltrace__trace__descriptor);
    list_fields(f, &haltrace__note__descriptor);
    list_fields(f, &haltrace__blobs__descriptor);
    for (size_t i = 0; i < f->target_count; i++) {
        f->now = f->targets[i];
        if (!f->now.field)
            continue;
        write_changed(f);
        if (!f->changed)
            fail_msg("no %s.%s was changed", f->now.message->name, f->now.field->name);
        print_message("%s.%s: %llu\n", f->now.message->short_name, f->now.field->name,
                      (unsigned long long)f->changed);
        run_all(f);
        swept++;
    }
    assert_true(swept >= 30);
}

/* Lines of --help that begin with a command's name, and not with an option. */
TEST_ON(every_command_is_swept, struct fixture *f)
{
    char command[64], name[32];
    size_t found = 0;
    assert_int_equal(foreign_run(&f->foreign, "hal-trace --help"), 0);
    for (const char *line = output; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (strncmp(line, "  hal-trace ", 12) == 0 || sscanf(line, "  %31[a-z] ", name) != 1 ||
            strncmp(line, "  ", 2) != 0)
            continue;
        snprintf(command, sizeof command, "hal-trace %s ", name);
        bool is_swept = false;
        for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
            is_swept |= strncmp(commands[i], command, strlen(command)) == 0;
        if (!is_swept)
            fail_msg("no command of the sweep begins with '%s'", command);
        found++;
    }
    assert_true(found >= 14);
}

TEST_ON(all_strings_are_clean, struct fixture *f)
{
    build_good(f->bad, foreign_text);
    run_all(f);
}

static int set_up(void **state)
{
    static struct fixture fixture;
    *state = &fixture;
    if (!foreign_begin(&fixture.foreign))
        return -1;
    test_folder_file(&fixture.foreign.folder, "good.pb.zst", fixture.good);
    test_folder_file(&fixture.foreign.folder, "bad.pb.zst", fixture.bad);
    build_good(fixture.good, NULL);
    return 0;
}

static int tear_down(void **state)
{
    const struct fixture *fixture = *state;
    test_folder_remove(&fixture->foreign.folder);
    return 0;
}

TEST_SUITE_FIXTURE(set_up, tear_down);
