/* SPDX-License-Identifier: Apache-2.0 */
/* hal/compiler/msl/fission on small functions in LLVM's own notation: maps, control flow,
 * uniformity, regions, and what the whole pass answers. Results of split functions:
 * test_msl_lowering.c. */
#include "hal/compiler/msl/fission/fission.h"
#include "hal/compiler/msl/fission/pass.h"
#include "hal/compiler/msl/fission/pipeline.h"
#include "hal/compiler/msl/fission/positions.h"
#include "tests/support/test.h"
#include "tests/unit/msl/fission_fixture.h"

#include <llvm-c/Analysis.h>

/* ---- ir.c -------------------------------------------------------------------------------------
 */

TEST(maps_keep_what_was_set_last)
{
    static char keys[5000];
    struct ir_map map = {0};
    assert_int_equal(ir_map_get(&map, &keys[0]), 0);
    for (size_t i = 0; i < sizeof keys; i++)
        ir_map_set(&map, &keys[i], i + 1);
    for (size_t i = 0; i < sizeof keys; i += 2)
        ir_map_set(&map, &keys[i], 7);
    for (size_t i = 0; i < sizeof keys; i++)
        assert_int_equal(ir_map_get(&map, &keys[i]), i % 2 ? i + 1 : 7);
    assert_int_equal(map.count, sizeof keys);
    ir_map_finish(&map);
    assert_int_equal(ir_map_get(&map, &keys[1]), 0);
}

/* ---- cfg.c ------------------------------------------------------------------------------------
 */

static const char loop_text[] = "define void @f(i1 %c) {\n"
                                "a: br label %b\n"
                                "b: br i1 %c, label %c1, label %d\n"
                                "c1: br i1 %c, label %e, label %g\n"
                                "e: br label %h\n"
                                "g: br label %h\n"
                                "h: br label %b\n"
                                "d: ret void\n"
                                "}\n";
enum { A, B, C1, E, G, H, D };

TEST(control_flow_is_known)
{
    LLVMModuleRef module = fission_parse(loop_text);
    struct cfg cfg = {0};
    cfg_build(&cfg, LLVMGetNamedFunction(module, "f"));
    assert_int_equal(cfg.count, 7);
    cfg_find_post_dominators(&cfg);
    assert_int_equal(cfg_immediate_post_dominator(&cfg, C1), H);
    assert_int_equal(cfg_immediate_post_dominator(&cfg, H), B);
    assert_int_equal(cfg_immediate_post_dominator(&cfg, B), D);
    assert_true(cfg_immediate_post_dominator(&cfg, D) == SIZE_MAX);
    ir_bits set[1] = {0};
    cfg_reach(&cfg, C1, H, set);
    assert_int_equal(set[0], 1u << C1 | 1u << E | 1u << G);
    cfg_find_dominators(&cfg);
    assert_int_equal(cfg_loop(&cfg, B, set), 1);
    assert_int_equal(set[0], 1u << B | 1u << C1 | 1u << E | 1u << G | 1u << H);
    assert_int_equal(cfg_loop(&cfg, H, set), 0);
    cfg_finish(&cfg);
    LLVMDisposeModule(module);
}

TEST(cut_edges_do_not_count)
{
    LLVMModuleRef module = fission_parse("define void @f(i1 %c) {\n"
                                         "a: br i1 %c, label %early, label %b\n"
                                         "b: br label %end\n"
                                         "early: br label %end\n"
                                         "end: ret void\n"
                                         "}\n");
    struct cfg cfg = {0};
    cfg_build(&cfg, LLVMGetNamedFunction(module, "f"));
    cfg_find_post_dominators(&cfg);
    assert_int_equal(cfg_immediate_post_dominator(&cfg, 0), 3);
    cfg.cut[cfg.first_next[0]] = true;
    cfg_find_post_dominators(&cfg);
    assert_int_equal(cfg_immediate_post_dominator(&cfg, 0), 1);
    cfg_finish(&cfg);
    LLVMDisposeModule(module);
}

/* ---- uniform.c ----------------------------------------------------------------------------------
 */

static LLVMValueRef named(LLVMValueRef function, const char *name)
{
    ir_each_block(block, function) ir_each_instruction(item, block)
    {
        size_t length;
        if (strcmp(LLVMGetValueName2(item, &length), name) == 0)
            return item;
    }
    fail_msg("no value '%s'", name);
    return NULL;
}

static const char taint_text[] = "declare void @__msl_group_barrier()\n"
                                 "define void @k" THREAD " {\n"
                                 "entry: %a = load i32, ptr %l\n"
                                 "  %b = add i32 %a, %gx\n"
                                 "  %v = add i32 %b, %index\n"
                                 "  %c = icmp ult i32 %v, %nx\n"
                                 "  br i1 %c, label %yes, label %no\n"
                                 "yes: %w = add i32 %b, 1\n"
                                 "  %q = load i32, ptr %l\n"
                                 "  br label %join\n"
                                 "no: br label %join\n"
                                 "join: %p = phi i32 [ 1, %yes ], [ 2, %no ]\n"
                                 "  %s = phi i32 [ %b, %yes ], [ %b, %no ]\n"
                                 "  %u = cmpxchg ptr %l, i32 0, i32 1 seq_cst seq_cst\n"
                                 "  call void @__msl_group_barrier()\n"
                                 "  ret void\n"
                                 "}\n";

TEST(taint_follows_values_and_branches)
{
    LLVMModuleRef module = fission_parse(taint_text);
    const struct msl_fission_kernel kernel = {.function = "k", .workgroup_size = {64, 1, 1}};
    struct fission f = {.module = module,
                        .function = LLVMGetNamedFunction(module, "k"),
                        .kernel = &kernel,
                        .stage = FISSION_THREADS};
    f.last = LLVMGetLastBasicBlock(f.function);
    fission_find_varying(&f);
    static const char *const uniform[] = {"a", "b", "w", "s"};
    static const char *const varying[] = {"v", "c", "q", "p", "u"};
    for (size_t i = 0; i < sizeof uniform / sizeof *uniform; i++)
        if (fission_is_varying(&f, named(f.function, uniform[i])))
            fail_msg("%s is uniform", uniform[i]);
    for (size_t i = 0; i < sizeof varying / sizeof *varying; i++)
        if (!fission_is_varying(&f, named(f.function, varying[i])))
            fail_msg("%s is varying", varying[i]);
    const LLVMBasicBlockRef yes = LLVMGetInstructionParent(named(f.function, "w"));
    assert_int_not_equal(ir_map_get(&f.divergent, yes), 0);
    assert_int_equal(ir_map_get(&f.divergent, f.last), 0);
    cfg_finish(&f.cfg);
    ir_map_finish(&f.varying);
    ir_map_finish(&f.divergent);
    ir_map_finish(&f.leaving);
    LLVMDisposeModule(module);
}

/* ---- The whole pass -------------------------------------------------------------------------- */

static struct msl_fission_result run_pass(const char *text, enum hal_status expected)
{
    LLVMModuleRef module = fission_parse(text);
    const struct msl_fission_result result = fission_run_on(module, 64, expected);
    LLVMDisposeModule(module);
    return result;
}

#define BARRIER "declare void @__msl_group_barrier() convergent\n"

TEST(a_barrier_splits)
{
    const struct msl_fission_result result =
        run_pass(BARRIER "define void @k" THREAD " {\n"
                         "  %p = getelementptr i32, ptr %l, i32 %index\n"
                         "  store i32 %index, ptr %p\n"
                         "  call void @__msl_group_barrier()\n"
                         "  %n = xor i32 %index, 1\n"
                         "  %q = getelementptr i32, ptr %l, i32 %n\n"
                         "  %v = load i32, ptr %q\n"
                         "  call void @__msl_group_barrier()\n"
                         "  store i32 %v, ptr %p\n"
                         "  ret void\n"
                         "}\n",
                 HAL_OK);
    assert_true(result.split);
}

TEST(refusals_have_reasons)
{
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {BARRIER "define void @k" THREAD " {\n"
                 "  %c = icmp ult i32 %index, 5\n"
                 "  br i1 %c, label %a, label %b\n"
                 "a: call void @__msl_group_barrier()\n"
                 "  store i32 1, ptr %l\n"
                 "  call void @__msl_group_barrier()\n"
                 "  br label %e\n"
                 "b: call void @__msl_group_barrier()\n"
                 "  br label %e\n"
                 "e: ret void\n"
                 "}\n",
         "different branches"},
        {BARRIER "define void @k" THREAD " {\n"
                 "  %a = alloca i32, i32 %index\n"
                 "  store volatile i32 1, ptr %a\n"
                 "  call void @__msl_group_barrier()\n"
                 "  ret void\n"
                 "}\n",
         "known only at run time"},
        {BARRIER "define void @k" THREAD " {\n"
                 "  %f = load ptr, ptr %l\n"
                 "  call void %f()\n"
                 "  call void @__msl_group_barrier()\n"
                 "  ret void\n"
                 "}\n",
         "through a pointer"},
        {BARRIER "define void @k" THREAD " {\n"
                 "  br label %a\n"
                 "a: call void @__msl_group_barrier()\n"
                 "  br label %a\n"
                 "}\n",
         "never returns"},
        {BARRIER "define void @k" THREAD " {\n" /* 64 threads, a value of 20000 bytes */
                 "  %p = getelementptr i32, ptr %l, i32 %index\n"
                 "  %v = load [5000 x i32], ptr %p\n"
                 "  call void @__msl_group_barrier()\n"
                 "  store [5000 x i32] %v, ptr %p\n"
                 "  ret void\n"
                 "}\n",
         "its threads keep 1280000 bytes across barriers; 1048576 are allowed"},
        {BARRIER "define void @k" THREAD " {\n" /* the same of an array */
                 "  %a = alloca [5000 x i32], align 4\n"
                 "  %q = getelementptr i32, ptr %a, i32 %index\n"
                 "  store volatile i32 1, ptr %q\n"
                 "  call void @__msl_group_barrier()\n"
                 "  %v = load volatile i32, ptr %q\n"
                 "  store i32 %v, ptr %l\n"
                 "  ret void\n"
                 "}\n",
         "its threads keep 1280000 bytes across barriers; 1048576 are allowed"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct msl_fission_result result = run_pass(cases[i].text, HAL_OK);
        if (result.split || !strstr(result.reason, cases[i].reason))
            fail_msg("case %zu: '%s'", i, result.reason);
    }
}

/* ---- positions.c ----------------------------------------------------------------------------- */

#define OPERATIONS                                                                                 \
    "declare ptr @__msl_exchange(ptr, i32, ptr)\n"                                                 \
    "declare void @__msl_collect(ptr, ptr, i32)\n"                                                 \
    "declare void @__msl_simdgroup_barrier()\n"                                                    \
    "declare void @__msl_position(ptr, i32)\n"

/* The words of the positions before each operation, in the order of the code. */
static void expect_positions(const char *text, const uint64_t *words, size_t count)
{
    LLVMModuleRef module = fission_parse(text);
    const ir_value function = LLVMGetNamedFunction(module, "k");
    size_t found = 0;
    assert_true(msl_positions_are_needed(module));
    msl_positions_add(module, function);
    ir_each_block(block, function) ir_each_instruction(item, block)
    {
        const char *const callee = ir_callee(item);
        if (!ir_starts_with(callee, "__msl_") || strcmp(callee, "__msl_position") == 0)
            continue;
        const ir_value before = LLVMGetPreviousInstruction(item);
        if (!before || strcmp(ir_callee(before), "__msl_position") != 0)
            fail_msg("there is no position before '%s'", callee);
        assert_true(found < count);
        assert_int_equal(LLVMConstIntGetZExtValue(LLVMGetOperand(before, 1)), words[found++]);
    }
    assert_int_equal(found, count);
    assert_false(LLVMVerifyFunction(function, LLVMReturnStatusAction));
    LLVMDisposeModule(module);
}

/* A place; and for each loop around it the loop's place and the number of its turn. */
TEST(operations_have_positions)
{
    expect_positions(OPERATIONS "define void @k(ptr %l, i1 %c) {\n"
                                "  call void @__msl_simdgroup_barrier()\n"
                                "  br label %outer\n"
                                "outer: br label %inner\n"
                                "inner: %a = call ptr @__msl_exchange(ptr %l, i32 4, ptr %l)\n"
                                "  br i1 %c, label %inner, label %next\n"
                                "next: call void @__msl_collect(ptr %l, ptr %l, i32 4)\n"
                                "  br i1 %c, label %outer, label %end\n"
                                "end: ret void\n"
                                "}\n",
                     (const uint64_t[]){1, 5, 3}, 3);
}

/* A position has room for 15 loops, and what is deeper is told apart no further. */
TEST(deep_loops_fit_into_positions)
{
    enum { DEPTH = 20 };
    char text[8192];
    int length = sprintf(text, OPERATIONS "define void @k(i1 %%c) {\n br label %%h0\n");
    for (int i = 0; i < DEPTH - 1; i++)
        length += sprintf(text + length, "h%d: br label %%h%d\n", i, i + 1);
    length += sprintf(text + length, "h%d: call void @__msl_simdgroup_barrier()\n br label %%t%d\n",
                      DEPTH - 1, DEPTH - 1);
    for (int i = DEPTH - 1; i > 0; i--)
        length += sprintf(text + length, "t%d: br i1 %%c, label %%h%d, label %%t%d\n", i, i, i - 1);
    sprintf(text + length, "t0: br i1 %%c, label %%h0, label %%end\nend: ret void\n}\n");
    expect_positions(text, (const uint64_t[]){31}, 1);
}

TEST(what_does_not_wait_has_no_positions)
{
    LLVMModuleRef module = fission_parse(OPERATIONS "define void @k() { ret void }\n");
    assert_false(msl_positions_are_needed(module));
    LLVMDisposeModule(module);
}

TEST(other_functions_are_errors)
{
    run_pass("define void @other" THREAD " { ret void }\n", HAL_NOT_FOUND);
    run_pass("define void @k(ptr %l) { ret void }\n", HAL_INVALID);
    run_pass("define void @k(ptr %l, i64 %gx, i32 %gy, i32 %gz, i32 %nx, i32 %ny, i32 %nz, i32 %x,"
             " i32 %y, i32 %z, i32 %index, i32 %lane, i32 %simd) { ret void }\n",
             HAL_INVALID);
}

TEST_SUITE_FIXTURE(fission_set_up, fission_tear_down);
