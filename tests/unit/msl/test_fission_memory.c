/* SPDX-License-Identifier: Apache-2.0 */
/* How kernels reach memory: what split functions ask for ahead
 * (hal/compiler/msl/fission/prefetch.c), which kernels that stream get narrow vectors (stream.c),
 * and which loops ask for pages (pages.c). */
#include "hal/compiler/msl/fission/ir.h"
#include "hal/compiler/msl/fission/pages.h"
#include "hal/compiler/msl/fission/stream.h"
#include "tests/support/test.h"
#include "tests/unit/msl/fission_fixture.h"

#include <llvm-c/Analysis.h>

/* ---- prefetch.c --------------------------------------------------------------------------------
 */

/* A loop in which each thread reads x[a], which AT makes, a sum that SECOND adds, and x[a + THIRD].
 */
#define STRIPS(AT, SECOND, THIRD, AGAIN)                                                           \
    "declare void @__msl_simdgroup_barrier() convergent\n"                                         \
    "define void @k" THREAD " {\n"                                                                 \
    "entry: %from = load ptr, ptr %l\n"                                                            \
    "  %own = getelementptr i32, ptr %l, i32 %index\n"                                             \
    "  br label %turn\n"                                                                           \
    "turn:\n"                                                                                      \
    "  %c = phi i32 [ 0, %entry ], [ %d, %turn ]\n"                                                \
    "  %u = shl i32 %c, 7\n" AT "  %b = add i32 " SECOND "\n"                                      \
    "  %e = add i32 %a, " THIRD "\n"                                                               \
    "  %i = zext i32 %a to i64\n"                                                                  \
    "  %j = zext i32 %b to i64\n"                                                                  \
    "  %k = zext i32 %e to i64\n"                                                                  \
    "  %p = getelementptr i32, ptr %from, i64 %i\n"                                                \
    "  %q = getelementptr i32, ptr %from, i64 %j\n"                                                \
    "  %r = getelementptr i32, ptr %from, i64 %k\n"                                                \
    "  %v = load i32, ptr %p\n"                                                                    \
    "  %w = load i32, ptr %q\n"                                                                    \
    "  %third = load i32, ptr %r\n"                                                                \
    "  %s = add i32 %v, %w\n"                                                                      \
    "  %t = add i32 %s, %third\n"                                                                  \
    "  store i32 %t, ptr %own\n"                                                                   \
    "  call void @__msl_simdgroup_barrier()\n"                                                     \
    "  %d = add i32 %c, 1\n"                                                                       \
    "  %more = icmp ult i32 %d, " AGAIN "\n"                                                       \
    "  br i1 %more, label %turn, label %end\n"                                                     \
    "end: ret void\n"                                                                              \
    "}\n"
#define BY_THREAD "  %a = add i32 %u, %index\n"

/* How many, and how far behind what is read the first lies. */
struct prefetches {
    size_t count;
    uint64_t least;
};

static struct prefetches prefetches_in(const char *text, uint32_t threads)
{
    LLVMModuleRef module = fission_parse(text);
    struct prefetches found = {0, UINT64_MAX};
    assert_true(fission_run_on(module, threads, HAL_OK).split);
    ir_each_block(block, LLVMGetNamedFunction(module, "k")) ir_each_instruction(item, block)
    {
        if (!ir_starts_with(ir_callee(item), "llvm.prefetch"))
            continue;
        const ir_value offset = LLVMGetOperand(LLVMGetOperand(item, 0), 1);
        const uint64_t bytes = LLVMConstIntGetZExtValue(LLVMGetOperand(offset, 1));
        found.least = bytes < found.least ? bytes : found.least;
        found.count++;
    }
    LLVMDisposeModule(module);
    return found;
}

/* Two strips of 64 threads are pieces of 512 bytes; each simdgroup asks for 256 of the next. */
TEST(strips_are_asked_for_ahead)
{
    const struct prefetches two = prefetches_in(STRIPS(BY_THREAD, "%a, 64", "5", "%nx"), 64);
    assert_int_equal(two.count, 4);
    assert_int_equal(two.least, 512);
    const struct prefetches three = prefetches_in(STRIPS(BY_THREAD, "%a, 64", "128", "%nx"), 64);
    assert_int_equal(three.count, 6);
    assert_int_equal(three.least, 768);
}

TEST(nothing_else_is_asked_for)
{
    static const struct {
        const char *why, *text;
        uint32_t threads;
    } none[] = {
        {"the strips lie apart", STRIPS(BY_THREAD, "%a, 64", "5", "%nx"), 32},
        {"any size of group", STRIPS(BY_THREAD, "%a, 1024", "5", "%nx"), 0},
        {"some lanes are missing", STRIPS(BY_THREAD, "%a, 63", "126", "%nx"), 63},
        {"more than pages", STRIPS(BY_THREAD, "%a, 1024", "2048", "%nx"), 1024},
        {"one turn",
         STRIPS("  %o = mul i32 %gy, %gx\n  %a = add i32 %o, %index\n", "%a, 64", "128", "0"), 64},
        {"the same piece in each turn",
         STRIPS("  %a = add i32 %gx, %index\n", "%a, 64", "128", "%nx"), 64},
        {"the same piece, computed before",
         STRIPS("  %o = mul i32 %gx, %gy\n  %a = add i32 %o, %index\n", "%a, 64", "128", "%nx"),
         64},
        {"no thread's index", STRIPS("  %a = add i32 %u, %lane\n", "%a, 64", "128", "%nx"), 64},
        {"each thread elsewhere",
         STRIPS("  %o = load i32, ptr %own\n  %a = add i32 %o, %index\n", "%a, 64", "128", "%nx"),
         64},
        {"the second one elsewhere",
         STRIPS(BY_THREAD "  %o = add i32 %gx, %index\n", "%o, 64", "5", "%nx"), 64},
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (prefetches_in(none[i].text, none[i].threads).count)
            fail_msg("%s: there are prefetches", none[i].why);
}

/* ---- stream.c ----------------------------------------------------------------------------------
 */

#define WIDE "<16 x float>"
#define FUNCTION                                                                                   \
    "declare " WIDE " @llvm.fma.v16f32(" WIDE ", " WIDE ", " WIDE ")\n"                            \
    "declare " WIDE " @llvm.exp.v16f32(" WIDE ")\n"                                                \
    "define void @k(ptr %p, ptr %q, ptr %l, i1 %c, float %s, i32 %i) #0 {\n"                       \
    "begin:\n"                                                                                     \
    "  %n = insertelement " WIDE " undef, float %s, i32 0\n"                                       \
    "  %all = shufflevector " WIDE " %n, " WIDE " undef, <16 x i32> zeroinitializer\n"             \
    "  br label %turn\n"                                                                           \
    "turn:\n"
#define LOADS                                                                                      \
    "  %a = load " WIDE ", ptr %p\n"                                                               \
    "  %b = load " WIDE ", ptr %q\n"
#define STORE(what)                                                                                \
    "  store " WIDE " " what ", ptr %q\n"                                                          \
    "  br i1 %c, label %turn, label %end\n"                                                        \
    "end: ret void\n"                                                                              \
    "}\n"                                                                                          \
    "attributes #0 = { \"min-legal-vector-width\"=\"0\" }\n"
#define MULTIPLY_AND_ADD                                                                           \
    "  %m = fmul " WIDE " %a, %all\n"                                                              \
    "  %r = fadd " WIDE " %m, %b\n"

/* "": the function has none. */
static const char *attribute(LLVMValueRef function, const char *name)
{
    unsigned length = 0;
    const LLVMAttributeRef found = LLVMGetStringAttributeAtIndex(
        function, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, name, (unsigned)strlen(name));
    return found ? LLVMGetStringAttributeValue(found, &length) : "";
}

static void expect_width(const char *why, const char *text, bool narrow)
{
    LLVMModuleRef module = fission_parse(text);
    const LLVMValueRef function = LLVMGetNamedFunction(module, "k");
    if (msl_stream_tune(module, function) != narrow)
        fail_msg("%s: the vectors are %s", why, narrow ? "wide" : "narrow");
    assert_string_equal(attribute(function, "prefer-vector-width"), narrow ? "256" : "");
    assert_string_equal(attribute(function, "min-legal-vector-width"), narrow ? "256" : "0");
    LLVMDisposeModule(module);
}

TEST(streams_have_narrow_vectors)
{
    expect_width("a sum", FUNCTION LOADS "  %r = fadd " WIDE " %a, %b\n" STORE("%r"), true);
    expect_width("saxpy", FUNCTION LOADS MULTIPLY_AND_ADD STORE("%r"), true);
    expect_width("as many operations as accesses",
                 FUNCTION LOADS MULTIPLY_AND_ADD "  %t = fneg " WIDE " %r\n" STORE("%t"), true);
    expect_width("a product that is added at once",
                 FUNCTION LOADS "  %r = call " WIDE " @llvm.fma.v16f32(" WIDE " %a, " WIDE
                                " %all, " WIDE " %b)\n" STORE("%r"),
                 true);
    expect_width("narrow work beside it",
                 FUNCTION LOADS "  %x = load <8 x i32>, ptr %p\n"
                                "  %y = mul <8 x i32> %x, %x\n"
                                "  %z = add <8 x i32> %y, %x\n"
                                "  %w = xor <8 x i32> %z, %x\n"
                                "  store <8 x i32> %w, ptr %p\n" MULTIPLY_AND_ADD STORE("%r"),
                 true);
}

TEST(other_vectors_stay)
{
    static const struct {
        const char *why, *text;
    } wide[] = {
        {"more operations than accesses",
         FUNCTION LOADS MULTIPLY_AND_ADD "  %t = fneg " WIDE " %r\n"
                                         "  %u = fmul " WIDE " %t, %b\n" STORE("%u")},
        {"a sum that turns", FUNCTION "  %o = phi " WIDE " [ %all, %begin ], [ %r, %turn ]\n" LOADS
                                      "  %r = fadd " WIDE " %o, %a\n" STORE("%b")},
        {"shuffles", FUNCTION LOADS
         "  %r = shufflevector " WIDE " %a, " WIDE
         " %b, <16 x i32> <i32 0, i32 16, i32 1, i32 17, i32 2, i32 18, i32 3, i32 "
         "19, i32 4, i32 20, i32 5, i32 21, i32 6, i32 22, i32 7, i32 23>\n" STORE("%r")},
        {"divisions", FUNCTION LOADS "  %r = fdiv " WIDE " %a, %b\n" STORE("%r")},
        {"one lane", FUNCTION LOADS "  %e = extractelement " WIDE " %a, i32 %i\n"
                                    "  store float %e, ptr %p\n" STORE("%b")},
        {"calls that compute much",
         FUNCTION LOADS "  %r = call " WIDE " @llvm.exp.v16f32(" WIDE " %a)\n" STORE("%r")},
        {"a call between blocks that touch memory",
         FUNCTION LOADS "  br label %next\n"
                        "next:\n"
                        "  %e = call " WIDE " @llvm.exp.v16f32(" WIDE " %a)\n"
                        "  br label %last\n"
                        "last:\n" STORE("%e")},
        {"a division between them", FUNCTION LOADS "  br label %next\n"
                                                   "next:\n"
                                                   "  %e = fdiv " WIDE " %a, %b\n"
                                                   "  br label %last\n"
                                                   "last:\n" STORE("%e")},
        {"a block that streams beside one that computes",
         FUNCTION LOADS "  br label %next\n"
                        "next:\n"
                        "  %d = load " WIDE ", ptr %p\n"
                        "  %x = fmul " WIDE " %d, %all\n"
                        "  %y = fmul " WIDE " %x, %all\n"
                        "  %z = fmul " WIDE " %y, %all\n" STORE("%z")},
        {"narrow vectors only", "define void @k(ptr %p) #0 {\n"
                                "  %a = load <8 x float>, ptr %p\n"
                                "  store <8 x float> %a, ptr %p\n"
                                "  ret void\n"
                                "}\n"
                                "attributes #0 = { \"min-legal-vector-width\"=\"0\" }\n"},
    };
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        expect_width(wide[i].why, wide[i].text, false);
}

/* ---- pages.c -----------------------------------------------------------------------------------
 */

/* q[i] += p[i], and where it ends. COUNTS: how `%next` follows `%i`, and where that is enough. */
#define BEGINS(from)                                                                               \
    "define " WIDE " @k(ptr %p, ptr %q, i64 %n, i1 %c) {\n"                                        \
    "begin: " from "\n"                                                                            \
    "skip: br label %end\n"                                                                        \
    "turn:\n"
#define COUNTER(start) "  %i = phi i64 [ " start ", %begin ], [ %next, %turn ]\n"
#define ADDS                                                                                       \
    "  %x = getelementptr float, ptr %p, i64 %i\n"                                                 \
    "  %y = getelementptr float, ptr %q, i64 %i\n"                                                 \
    "  %a = load " WIDE ", ptr %x\n"                                                               \
    "  %b = load " WIDE ", ptr %y\n"                                                               \
    "  %s = fadd " WIDE " %a, %b\n"                                                                \
    "  store " WIDE " %s, ptr %y\n"
#define COUNTS(next, until)                                                                        \
    "  %next = " next "\n"                                                                         \
    "  %done = icmp " until "\n"                                                                   \
    "  br i1 %done, label %end, label %turn\n"
#define ENDS(with)                                                                                 \
    "end:\n"                                                                                       \
    "  %o = phi " WIDE " [ zeroinitializer, %skip ], [ %s, %turn ]\n" with "}\n"
#define ONWARDS "br label %turn"
#define BY_16   COUNTS("add i64 %i, 16", "eq i64 %next, %n")
#define RETURNS ENDS("  ret " WIDE " %o\n")

static size_t prefetches_of(ir_block block)
{
    size_t count = 0;
    ir_each_instruction(item, block)
    {
        if (!ir_starts_with(ir_callee(item), "llvm.prefetch"))
            continue;
        const LLVMValueRef sum = LLVMGetOperand(LLVMGetOperand(item, 0), 0);
        const LLVMValueRef page = LLVMGetOperand(sum, 0);
        assert_true(ir_is(sum, LLVMAdd) && ir_is(page, LLVMAnd));
        assert_int_equal(LLVMConstIntGetSExtValue(LLVMGetOperand(sum, 1)), 16384);
        assert_int_equal(LLVMConstIntGetSExtValue(LLVMGetOperand(page, 1)), -4096);
        assert_int_equal(LLVMConstIntGetZExtValue(LLVMGetOperand(item, 2)), 2);
        count++;
    }
    return count;
}

static LLVMModuleRef with_pages(const char *text)
{
    LLVMModuleRef module = fission_parse(text);
    char *message = NULL;
    msl_pages_ask(module, LLVMGetNamedFunction(module, "k"));
    if (LLVMVerifyModule(module, LLVMReturnStatusAction, &message))
        fail_msg("%s", message);
    LLVMDisposeMessage(message);
    return module;
}

/* Two pieces with 4 bytes of each element: 2^17 of those are the million bytes. */
TEST(far_loops_ask_for_pages_ahead)
{
    LLVMModuleRef module = with_pages(BEGINS(ONWARDS) COUNTER("0") ADDS BY_16 RETURNS);
    const LLVMValueRef function = LLVMGetNamedFunction(module, "k");
    const ir_block begin = LLVMGetEntryBasicBlock(function), end = LLVMGetLastBasicBlock(function);
    assert_int_equal(ir_successor_count(begin), 2);
    const ir_block far = ir_successor(begin, 0), near = ir_successor(begin, 1);
    const LLVMValueRef is_far = LLVMGetCondition(LLVMGetBasicBlockTerminator(begin));
    assert_int_equal(LLVMGetICmpPredicate(is_far), LLVMIntUGT);
    assert_ptr_equal(LLVMGetOperand(is_far, 0), LLVMGetParam(function, 2));
    assert_int_equal(LLVMConstIntGetZExtValue(LLVMGetOperand(is_far, 1)), 131072);
    assert_int_equal(prefetches_of(far), 2);
    assert_int_equal(prefetches_of(near), 0);
    assert_ptr_equal(ir_successor(far, 0), end);
    assert_ptr_equal(ir_successor(far, 1), far);
    const LLVMValueRef out = LLVMGetFirstInstruction(end);
    assert_int_equal(LLVMCountIncoming(out), 3);
    assert_ptr_equal(LLVMGetIncomingBlock(out, 2), far);
    assert_ptr_equal(LLVMGetInstructionParent(LLVMGetIncomingValue(out, 2)), far);
    LLVMDisposeModule(module);
}

TEST(other_loops_ask_for_nothing)
{
    static const struct {
        const char *why, *text;
    } none[] = {
        {"no loop", BEGINS(ONWARDS) "  %i = add i64 %n, 0\n" ADDS "  br label %end\n" RETURNS},
        {"it counts from elsewhere", BEGINS(ONWARDS) COUNTER("16") ADDS BY_16 RETURNS},
        {"it counts something else",
         BEGINS(ONWARDS) COUNTER("0") ADDS COUNTS("add i64 %n, 16", "eq i64 %next, %n") RETURNS},
        {"another one is compared",
         BEGINS(ONWARDS) "  %i = phi i64 [ 0, %begin ], [ %z, %turn ]\n" ADDS
                         "  %z = add i64 %i, 32\n" BY_16 RETURNS},
        {"until a number that it reads", BEGINS(ONWARDS) COUNTER("0") ADDS
         "  %m = load i64, ptr %p\n" COUNTS("add i64 %i, 16", "eq i64 %next, %m") RETURNS},
        {"by an unknown step",
         BEGINS(ONWARDS) COUNTER("0") ADDS COUNTS("add i64 %i, %n", "eq i64 %next, %n") RETURNS},
        {"downwards",
         BEGINS(ONWARDS) COUNTER("0") ADDS COUNTS("sub i64 %i, 16", "eq i64 %next, %n") RETURNS},
        {"until something else",
         BEGINS(ONWARDS) COUNTER("0") ADDS COUNTS("add i64 %i, 16", "ne i64 %next, %n") RETURNS},
        {"a number of turns that is known",
         BEGINS(ONWARDS) COUNTER("0") ADDS COUNTS("add i64 %i, 16", "eq i64 %next, 256") RETURNS},
        {"who comes may go elsewhere",
         BEGINS("br i1 %c, label %turn, label %skip") COUNTER("0") ADDS BY_16 RETURNS},
        {"its values are used behind it",
         BEGINS(ONWARDS) COUNTER("0")
             ADDS COUNTS("add i64 %i, 16", "eq i64 %next, %n") "end:\n  ret " WIDE " %s\n}\n"},
        {"single elements",
         "define void @k(ptr %p, i64 %n) {\n"
         "begin: br label %turn\n"
         "turn:\n" COUNTER("0") "  %x = getelementptr float, ptr %p, i64 %i\n"
                                "  store float 0.0, ptr %x\n" BY_16 "end: ret void\n}\n"},
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        LLVMModuleRef module = with_pages(none[i].text);
        ir_each_block(block, LLVMGetNamedFunction(module, "k")) if (prefetches_of(block))
            fail_msg("%s: there are prefetches", none[i].why);
        LLVMDisposeModule(module);
    }
}

TEST_SUITE_FIXTURE(fission_set_up, fission_tear_down);
