/* SPDX-License-Identifier: Apache-2.0 */
/* replay/cli/options.c, options_values.c: what hal-replay makes of its command line. */
#include "replay/cli/options.h"
#include "tests/support/test.h"

enum { MOST = 8 };

/* With those options, and a trace. They are cut into parts: each needs memory of its own. */
static struct replay_program *parse(const char *const options[MOST])
{
    static struct replay_program program;
    static char texts[MOST][64];
    char *argv[MOST + 3] = {"hal-replay"};
    int argc = 1;
    for (; argc <= MOST && options[argc - 1]; argc++) {
        snprintf(texts[argc - 1], sizeof texts[0], "%s", options[argc - 1]);
        argv[argc] = texts[argc - 1];
    }
    argv[argc++] = "t.pb.zst";
    assert_int_equal(replay_options_parse(argv, &program), HAL_OK);
    assert_string_equal(program.path, "t.pb.zst");
    return &program;
}

static bool is(double value, double wanted)
{
    return value >= wanted && value <= wanted;
}

TEST(a_pace_is_a_factor)
{
    assert_true(is(parse((const char *[MOST]){0})->replay.pace, 0));
    assert_true(is(parse((const char *[MOST]){"--pace=asap"})->replay.pace, 0));
    assert_true(is(parse((const char *[MOST]){"--pace=recorded"})->replay.pace, 1));
    assert_true(is(parse((const char *[MOST]){"--pace=2x"})->replay.pace, 2));
    assert_true(is(parse((const char *[MOST]){"--pace=0.25x"})->replay.pace, 0.25));
}

TEST(a_threshold_is_in_percent)
{
    assert_true(is(parse((const char *[MOST]){0})->threshold_percent, 0));
    assert_true(is(
        parse((const char *[MOST]){"--threshold=12.5", "--compare=/dev/null"})->threshold_percent,
        12.5));
}

/* Twenty pairs, and as many runs at random moments. */
TEST(runs_are_twenty)
{
    const struct replay_program *program =
        parse((const char *[MOST]){"--what-if=coalesce-submissions,queues=3"});
    assert_int_equal(program->runs, 20);
    assert_true(program->change.coalesce_submissions);
    assert_int_equal(program->change.queues, 3);
    assert_int_equal(parse((const char *[MOST]){"--runs=6", "--what-if=queues=3"})->runs, 6);
}

/* Whichever option they come in, all are done, and all are told. */
TEST(changes_add_up)
{
    const struct replay_program *program =
        parse((const char *[MOST]){"--what-if=drop-barriers=5", "--what-if=queues=2,queues=2"});
    assert_string_equal(program->what_if, "drop-barriers=5,queues=2");
    assert_int_equal(program->change.barriers, REPLAY_BARRIERS_ONE);
    assert_int_equal(program->change.barrier, 5);
    assert_int_equal(program->change.queues, 2);
    assert_false(program->change.coalesce_submissions || program->change.drop_host_waits ||
                 program->change.merge_dispatches);
    program = parse((const char *[MOST]){
        "--what-if=queues=0x000000000000000000040,drop-barriers", "--what-if=coalesce-submissions",
        "--what-if=merge-dispatches-into-one-command-buffer", "--what-if=drop-host-waits",
        "--what-if=merge-dispatches,drop-barriers,coalesce-submissions"});
    assert_string_equal(program->what_if,
                        "queues=0x000000000000000000040,drop-barriers,coalesce-submissions,"
                        "merge-dispatches-into-one-command-buffer,drop-host-waits");
    assert_int_equal(program->change.barriers, REPLAY_BARRIERS_NEEDED);
    assert_int_equal(program->change.queues, 64);
    assert_true(program->change.coalesce_submissions && program->change.drop_host_waits &&
                program->change.merge_dispatches);
    assert_null(parse((const char *[MOST]){0})->what_if);
}

TEST(types_are_those_of_buffers_and_of_the_rest)
{
    const struct replay_program *program =
        parse((const char *[MOST]){"--type=bf16", "--type=w*:f16", "--type=#17:i8"});
    const struct replay_options *replay = &program->replay;
    assert_int_equal(replay->type_count, 3);
    assert_int_equal(replay_type_of(replay->types, 3, "weights", 1), REPLAY_F16);
    assert_int_equal(replay_type_of(replay->types, 3, "x", 17), REPLAY_I8);
    assert_int_equal(replay_type_of(replay->types, 3, "x", 18), REPLAY_BF16);
}

TEST(a_tolerance_has_three_parts)
{
    const struct replay_tolerance *tolerance =
        &parse((const char *[MOST]){"--tolerance=abs:0.5,rel:0.25,ulp:3"})->replay.tolerance;
    assert_true(is(tolerance->absolute, 0.5) && is(tolerance->relative, 0.25));
    assert_int_equal(tolerance->ulp, 3);
}

TEST(places_are_taken)
{
    const struct replay_program *program =
        parse((const char *[MOST]){"--loop=#s12.d40", "--repeat=7"});
    assert_true(program->look.has_loop && program->look.loop.has_dispatch);
    assert_int_equal(program->look.loop.submission, 12);
    assert_int_equal(program->look.loop.dispatch, 40);
    assert_int_equal(program->repeat, 7);
}

/* "#s" may be left out, and labels may look like places. */
TEST(dumps_have_places)
{
    static const struct {
        const char *option, *buffer, *path;
        uint64_t submission;
        int dispatch; /* -1: none */
    } dumps[] = {
        {"--dump=result@#s12=x.npy", "result", "x.npy", 12, -1},
        {"--dump=result@12=x.npy", "result", "x.npy", 12, -1},
        {"--dump=result@12.d40=x=y", "result", "x=y", 12, 40},
        {"--dump=#7@3=@4=x", "#7", "@4=x", 3, -1},
        {"--dump=a@b@5=x", "a@b", "x", 5, -1},
        {"--dump=a@b=c@#s5.d6=x@#s1=", "a@b=c", "x@#s1=", 5, 6},
        {"--dump=a@@0=x", "a@", "x", 0, -1},
    };
    for (size_t i = 0; i < sizeof dumps / sizeof *dumps; i++) {
        const struct replay_program *program = parse((const char *[MOST]){dumps[i].option});
        const struct replay_dump *dump = &program->dumps[0];
        assert_int_equal(program->look.dump_count, 1);
        assert_string_equal(dump->buffer, dumps[i].buffer);
        assert_string_equal(dump->path, dumps[i].path);
        assert_string_equal(program->outputs[program->dump_outputs[0]], dumps[i].path);
        assert_int_equal(dump->where.submission, dumps[i].submission);
        assert_int_equal(dump->where.has_dispatch, dumps[i].dispatch >= 0);
        assert_true(!dump->where.has_dispatch || (int)dump->where.dispatch == dumps[i].dispatch);
    }
}
