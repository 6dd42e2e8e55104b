/* SPDX-License-Identifier: Apache-2.0 */
/* Sources that skip the preprocessor are those that it would not change: clang's own is asked. */
#include "hal/compiler/msl/lex.h"
#include "hal/compiler/msl/preprocessor.h"
#include "hal/compiler/msl/text.h"
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

static bool plain(const char *text)
{
    return msl_needs_no_preprocessor(text, strlen(text));
}

/* Each alone, in one file: clang is started once for all. */
static const char *const unchanged[] = {
    "",
    "int a;",
    "#include <metal_stdlib>\nusing namespace metal;\n",
    "  #  include  <metal_atomic>  // and why\nint a;\n",
    "#include <simd/simd.h>\n",
    "/* a comment\n of two lines */ int a; // #define\n",
    ("kernel void k(device float *a [[buffer(0)]], uint i [[thread_position_in_grid]]) "
     "{ a[i] = a[i] * 2.5e-3f; }\n"),
    "#pragma unroll\n",
    "#pragma unroll 4\n",
    "#pragma clang loop unroll(full)\n",
    "#pragma METAL internals : enable\n",
    ("constant char text[] = \"// \\\" /* #define \\\\\"; constant char quote = '\\'', other = "
     "'\"';\n"),
    "constant int million = 1'000'000; constant int b = 0x1p3 + .5;\n",
    "int a = b / c /d; int e = f<g>::h; int i = j ? k : l;\n",
    "int a_define; int define; int include; int _b; int c__; int INFINITY_ = 2, NAN2;\n",
    "template <typename T> struct s { T t; };\n",
};

/* What might be changed, or has an end that only clang should judge. */
static const char *const changed[] = {
    "#define A 1\n",
    "# define A 1\n",
    "#if 1\n#endif\n",
    "#ifdef A\n#endif\n",
    "#undef A\n",
    "#line 7\n",
    "#error no\n",
    "#\n",
    "#include <unknown>\n",
    "#include \"metal_stdlib\"\n",
    "#include <metal_stdlib> int a;\n",
    "#include <metal_stdlib> /* begins\n ends */\n",
    "#include <metal_stdlib\n",
    "#include metal_stdlib\n",
    "#import <metal_stdlib>\n",
    "#pragma once\n",
    "#pragma GCC poison a\n",
    "#pragma unroll 4 /* begins\n ends */\n",
    "/* before */ #define A 1\n",
    "/* before\n */ #define A 1\n",
    "int a;\f#define A 1\n",
    "%:define A 1\n",
    "?\?=define A 1\n",
    "int a = INFINITY;\n",
    "float a = M_PI_F, b = FLT_MAX;\n",
    "METAL_FUNC int f();\n",
    "int a = __LINE__;\n",
    "int a = __METAL_VERSION__;\n",
    "_Pragma(\"unroll\") int a;\n",
    "int a = _LP64;\n",
    "// continued \\\n int a;\n",
    "// continued \\  \n int a;\n",
    "int a\\\nb;\n",
    "constant char a[] = \"one \\\n two\";\n",
    "constant char a[] = R\"(#define)\";\n",
    "constant char a[] = u8R\"(#define)\";\n",
    "constant char a[] = \"never ends;\n",
    "char a = 'n;\n",
    "/* never ends",
    "/*/",
    "int a;\r\n",
    "int \xc3\xa4;\n",
    "int a@;\n",
};

TEST(judged_by_hand)
{
    for (size_t i = 0; i < sizeof unchanged / sizeof *unchanged; i++)
        if (!plain(unchanged[i]))
            fail_msg("'%s' would not be changed", unchanged[i]);
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        if (plain(changed[i]))
            fail_msg("'%s' may be changed", changed[i]);
}

/* A text may end anywhere; nothing behind its end is read. */
TEST(cut_off_anywhere)
{
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++)
        for (size_t bytes = 0; bytes < strlen(changed[i]); bytes++) {
            char *const part = malloc(bytes ? bytes : 1);
            assert_non_null(part);
            memcpy(part, changed[i], bytes);
            (void)msl_needs_no_preprocessor(part, bytes);
            free(part);
        }
}

/* Pieces that mean something else beside each other. */
static const char *const pieces[] = {
    "#",
    "include",
    "<metal_stdlib>",
    "define",
    "pragma unroll",
    "if 1",
    "\n",
    "\n",
    "\n",
    " ",
    "/",
    "//",
    "/*",
    "*/",
    "\"",
    "'",
    "\\",
    "\\\n",
    "INFINITY",
    "M_PI_F",
    "INT_MAX",
    "X",
    "__LINE__",
    "name",
    "R\"(a)\"",
    "1'0",
    "1e+5",
    "0x1p-3",
    ".5f",
    ";",
    "::",
    "->",
    "%:",
    "?\?=",
    "<",
    ">",
    "u8",
    "_a",
    "\t",
    "+",
    "METAL_FUNC",
    "(1)",
    "{ a }",
    "[[b(c)]]",
    "\"text\"",
    "'c'",
    "\"\\\"\"",
    "\n#",
    "\n#include <metal_math>\n",
    "/* c */",
    "// d\n",
};

static void write_sources(struct msl_text *text)
{
    enum { COUNT = 3000, MOST_PIECES = 9 };
    size_t taken = 0;
    for (size_t n = 0; n < COUNT; n++) {
        struct msl_text one = {0};
        const uint32_t count = 1 + fixture_random() % MOST_PIECES;
        for (uint32_t i = 0; i < count; i++)
            msl_text_append_string(&one,
                                   pieces[fixture_random() % (sizeof pieces / sizeof *pieces)]);
        msl_text_append_string(&one, "\n");
        if (plain(one.bytes)) {
            msl_text_append(text, one.bytes, one.length);
            taken++;
        }
        msl_text_finish(&one);
    }
    assert_true(taken > COUNT / 20);
    assert_int_equal(msl_text_check(text), HAL_OK);
}

static void write_file(const char *name, const char *text, char *out_path, size_t bytes)
{
    snprintf(out_path, bytes, "%s/%s", fixture_directory(), name);
    FILE *const file = fopen(out_path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void preprocess(const char *source, struct msl_text *out_text)
{
    char command[4096], errors[1024];
    snprintf(errors, sizeof errors, "%s/errors", fixture_directory());
    snprintf(command, sizeof command,
             "%s -E -x c++ -std=c++17 -nostdinc -nostdinc++ -w -I%s %s 2>%s", TEST_CLANG,
             fixture_directory(), source, errors);
    FILE *const pipe = popen(command, "r");
    assert_non_null(pipe);
    char buffer[4096];
    for (size_t count; (count = fread(buffer, 1, sizeof buffer, pipe));)
        msl_text_append(out_text, buffer, count);
    const bool done = pclose(pipe) == 0;
    if (!done)
        fail_msg("clang finds errors in what is said to be plain (HALTRACE_SEED above)");
    assert_int_equal(msl_text_check(out_text), HAL_OK);
}

static size_t next(const struct msl_tokens *tokens, size_t i)
{
    do
        i++;
    while (i < tokens->count &&
           (tokens->list[i].kind == MSL_BLANK || tokens->list[i].kind == MSL_DIRECTIVE));
    return i;
}

static void expect_the_same(const struct msl_text *text, const struct msl_text *other)
{
    struct msl_tokens ours, theirs;
    assert_int_equal(msl_lex(text->bytes, text->length, "ours", &ours), HAL_OK);
    assert_int_equal(msl_lex(other->bytes, other->length, "theirs", &theirs), HAL_OK);
    size_t i = next(&ours, 0), k = next(&theirs, 0);
    for (; i < ours.count && k < theirs.count; i = next(&ours, i), k = next(&theirs, k)) {
        const struct msl_token *const a = &ours.list[i], *const b = &theirs.list[k];
        if (a->length != b->length || memcmp(a->text, b->text, a->length) != 0)
            fail_msg("line %u: '%.*s' has become '%.*s'", a->line, (int)a->length, a->text,
                     (int)b->length, b->text);
    }
    assert_true(i >= ours.count && k >= theirs.count);
    msl_tokens_finish(&ours);
    msl_tokens_finish(&theirs);
}

TEST(clang_changes_nothing)
{
    static const char macros[] =
        "#include \"" SOURCE_FOLDER "/hal/compiler/msl/include/msl/macros.h\"\n";
    struct msl_text text = {0}, preprocessed = {0};
    char path[1024];
    write_file("metal_stdlib", macros, path, sizeof path);
    write_file("metal_math", macros, path, sizeof path);
    msl_text_append_string(&text, "#include <metal_stdlib>\n");
    write_sources(&text);
    write_file("sources", text.bytes, path, sizeof path);
    preprocess(path, &preprocessed);
    expect_the_same(&text, &preprocessed);
    msl_text_finish(&text);
    msl_text_finish(&preprocessed);
}

static int tear_down(void **state)
{
    (void)state;
    fixture_remove_directory();
    return 0;
}

TEST_SUITE_FIXTURE(NULL, tear_down);
