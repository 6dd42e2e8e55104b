/* SPDX-License-Identifier: Apache-2.0 */
/* What msl_compile and msl_library_find say about sources and compilers that are wrong: the
 * status, the user's own file and line, and nothing of our own making. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

static void expect_message(const char *wanted)
{
    static const char *const foreign[] = {"__msl", "msl::", "/msl/",    "<stdin>",
                                          "/tmp",  ".h:",   "generated"};
    if (!strstr(hal_message(), wanted))
        fail_msg("the message is \"%s\", without \"%s\"", hal_message(), wanted);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(hal_message(), foreign[i]))
            fail_msg("the message shows \"%s\": \"%s\"", foreign[i], hal_message());
}

static void expect(enum hal_status status, const char *source, const char *message)
{
    const enum hal_status got = fixture_status(source);
    if (got != status)
        fail_msg("the status is %s: %s", hal_status_name(got), got ? hal_message() : "");
    expect_message(message);
}

TEST(syntax_and_names)
{
    expect(HAL_INVALID, HEAD "kernel void f(device int* o [[buffer(0)]]) {\n  o[0] = ;\n}\n",
           "kernel.metal:4: error: expected expression");
    expect(HAL_INVALID, HEAD "kernel void f(device int* o) {\n\n  o[0] = nowhere; }\n",
           "kernel.metal:5: error: use of undeclared identifier 'nowhere'");
    expect(HAL_INVALID, HEAD "kernel void f(device int* o) { o[0] = 1;\n",
           "kernel.metal:3: error: '{' is never closed");
    expect(HAL_INVALID, HEAD "}\n", "kernel.metal:3: error: '}' without an opening bracket");
    expect(HAL_INVALID, HEAD "#error not today\n", "kernel.metal:3: error: not today");
    expect(HAL_INVALID, HEAD "int twice(int); kernel void f(device int* o) { o[0] = twice(1); }\n",
           "kernel.metal: error: 'twice(int)' is declared but not defined");
    expect(HAL_INVALID, HEAD "int f() {\n threadgroup int a[2]; return a[0]; }\n",
           "kernel.metal:4: error: only kernels can declare threadgroup variables");
    expect(HAL_INVALID, HEAD "kernel void f(device float* o) {\n double d = 1; o[0] = d; }\n",
           "kernel.metal:4: error: 'double' is not a type of the language");
}

TEST(every_error_is_reported)
{
    assert_int_equal(
        fixture_status(HEAD "kernel void f(device int* o) {\n  o[0] = a;\n  o[1] = b;\n}\n"),
        HAL_INVALID);
    expect_message("kernel.metal:4: error: use of undeclared identifier 'a'");
    expect_message("kernel.metal:5: error: use of undeclared identifier 'b'");
    assert_null(strstr(hal_message(), "errors generated"));
}

/* Errors inside our headers, at the line that led there. */
TEST(misused_library)
{
    expect(HAL_INVALID,
           HEAD "struct wide { float v[5]; };\n"
                "kernel void f(device wide* o) {\n  o[0] = simd_shuffle(o[0], 1);\n}\n",
           "kernel.metal:5: error: simd operations take at most 16 bytes");
    expect(HAL_INVALID, HEAD "kernel void f(device int* o) {\n  o[0] = as_type<long>(o[0]);\n}\n",
           "kernel.metal:4: error: as_type needs types of the same size");
    expect(HAL_INVALID,
           HEAD "kernel void f(device int* o [[buffer(0)]],\n"
                "              device int* p [[buffer(31)]]) { o[0] = p[0]; }\n",
           "kernel.metal:4: error: parameter 'p': [[buffer(31)]] is out of range");
    expect(HAL_INVALID, HEAD "kernel void f(device float4* o) {\n  o[0] = float2(1, 2);\n}\n",
           "kernel.metal:4: error: no viable overloaded '='");
}

TEST(what_only_a_gpu_has)
{
    static const struct {
        const char *source, *message;
    } cases[] = {
        {HEAD
         "kernel void f(texture2d<float, access::read> t [[texture(0)]],\n device int* o) {}\n",
         "kernel.metal:3: error: 'texture2d': textures exist on a GPU only"},
        {HEAD "kernel void f(device int* o) {\n  constexpr sampler s(filter::linear);\n}\n",
         "kernel.metal:4: error: 'sampler': samplers exist on a GPU only"},
        {HEAD "\n\nvertex float4 v(uint i [[vertex_id]]) { return 0; }\n",
         "kernel.metal:5: error: 'vertex': graphics functions exist on a GPU only"},
        {HEAD "[[fragment]] float4 v() { return 0; }\n",
         "kernel.metal:3: error: 'fragment': graphics functions exist on a GPU only"},
        {HEAD
         "kernel void f(device int* o,\n  instance_acceleration_structure s [[buffer(1)]]) {}\n",
         "kernel.metal:4: error: 'instance_acceleration_structure': ray tracing exists on a GPU "
         "only"},
        {HEAD "kernel void f(device int* o) {\n asm volatile(\"nop\"); }\n",
         "kernel.metal:4: error: 'asm': inline assembly is not part of the language"},
        {HEAD "kernel void f(device int* o,\n uint i [[amplification_id]]) {}\n",
         "kernel.metal:4: error: unknown kernel attribute '[[amplification_id]]'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect(HAL_UNSUPPORTED, cases[i].source, cases[i].message);
}

TEST(only_the_languages_headers)
{
    assert_int_equal(fixture_status("#include <metal_math>\n#include <simd/simd.h>\n"
                                    "#include <metal_simdgroup_matrix>\n"
                                    "#if __has_include(\"/etc/passwd\")\n#error seen\n#endif\n"
                                    "#if 0\n#include \"own.h\"\n#endif\n"
                                    "kernel void f(device metal::float2* o) { o[0] = 1; }\n"),
                     HAL_OK);
    expect(HAL_INVALID, "#include <metal_stdlib>\n#include \"/etc/passwd\"\n",
           "kernel.metal:2: fatal error: '/etc/passwd' file not found");
    expect(HAL_INVALID, "#include \"own.h\"\n",
           "kernel.metal:1: fatal error: 'own.h' file not found");
    expect(HAL_INVALID, "#include <vector>\n",
           "kernel.metal:1: fatal error: 'vector' file not found");
    expect(HAL_INVALID, "#define NAME \"/etc/hosts\"\n#inc\\\nlude NAME\n",
           "'/etc/hosts' file not found");
    expect(HAL_INVALID, "%:include \"/proc/self/environ\"\n",
           "'/proc/self/environ' file not found");
    expect(HAL_INVALID, "#include \"../../kernel.metal\"\n", "'../../kernel.metal' file not found");
    /* Nothing can include itself without end: there is no file of the source's name. */
    expect(HAL_INVALID, "#include __FILE__\n", "'kernel.metal' file not found");
    expect(HAL_INVALID, "#include \"-\"\n", "'-' file not found");
    expect(HAL_INVALID, "#include \"/dev/stdin\"\n", "'/dev/stdin' file not found");
    expect(HAL_INVALID, "#include_next <metal_stdlib>\n#include \"/dev/zero\"\n",
           "'/dev/zero' file not found");
    expect(HAL_INVALID, "#embed \"/etc/passwd\"\n", "invalid preprocessing directive");
    assert_int_equal(fixture_status("__asm__(\".incbin \\\"/etc/passwd\\\"\");\n"),
                     HAL_UNSUPPORTED);
}

TEST(endless_sources_end)
{
    expect(HAL_INVALID,
           HEAD "template <int n> struct deep { static constexpr int v = deep<n + 1>::v; };\n"
                "kernel void f(device int* o) { o[0] = deep<0>::v; }\n",
           "kernel.metal:3: fatal error: recursive template instantiation exceeded maximum depth");
    expect(HAL_INVALID,
           HEAD "constexpr int spin(int n) { while (true) n++; return n; }\n"
                "kernel void f(device int* o) { constexpr int n = spin(0); o[0] = n; }\n",
           "error: constexpr variable 'n' must be initialized by a constant expression");
    /* Each level doubles: more text than the limit. */
    char *const source = malloc(1 << 16);
    size_t length = 0;
    length += (size_t)sprintf(source, HEAD "#define M0 int_variable_declaration_list,\n");
    for (int i = 1; i < 40; i++)
        length += (size_t)sprintf(source + length, "#define M%d M%d M%d\n", i, i - 1, i - 1);
    sprintf(source + length, "M39\n");
    assert_int_equal(fixture_status(source), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "wrote more than the limit of 67108864 bytes"));
    free(source);
}

TEST(names_and_lines_of_the_user)
{
    static const char text[] =
        "#line 40 \"original.metal\"\nkernel void f(device int* o) {\n oops; }\n";
    const struct msl_source first = {
        .name = "a \"strange\\ name: 7.metal", .text = text + 26, .bytes = sizeof text - 27};
    struct msl_library *library;
    assert_int_equal(msl_compile(&first, &library), HAL_INVALID);
    expect_message("a \"strange\\ name: 7.metal:2: error: use of undeclared identifier 'oops'");
    const struct msl_source second = {.name = "x.metal", .text = text, .bytes = sizeof text - 1};
    assert_int_equal(msl_compile(&second, &library), HAL_INVALID);
    expect_message("original.metal:41: error: use of undeclared identifier 'oops'");
}

/* Each source is another one, for the name is no part of what the cache compares. */
TEST(names_with_line_ends)
{
    static const char *const names[] = {"a\nb.metal", "a\rb.metal", "a.metal\r"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char text[256];
        const int bytes =
            snprintf(text, sizeof text, HEAD "kernel void f(device int *o) { o[0] = %zu; }\n", i);
        const struct msl_source source = {.name = names[i], .text = text, .bytes = (size_t)bytes};
        struct msl_library *library;
        assert_int_equal(msl_compile(&source, &library), HAL_OK);
        msl_library_destroy(library);
    }
}

TEST(sources_that_are_none)
{
    struct msl_library *library;
    assert_int_equal(msl_compile(&(struct msl_source){.name = "e.metal", .text = ""}, &library),
                     HAL_INVALID);
    assert_string_equal(hal_message(), "'e.metal' is empty");
    assert_int_equal(msl_compile(&(struct msl_source){.text = "a\0b", .bytes = 3}, &library),
                     HAL_INVALID);
    assert_string_equal(hal_message(), "'kernel.metal' is not text: it contains a zero byte");
    const size_t bytes = (size_t)100 << 20;
    char *const large = malloc(bytes);
    memset(large, ' ', bytes);
    assert_int_equal(msl_compile(&(struct msl_source){.text = large, .bytes = bytes}, &library),
                     HAL_INVALID);
    assert_string_equal(hal_message(), "'kernel.metal' has 104857600 bytes; the limit is 16777216");
    free(large);
    static const struct msl_constant twice[][5] = {
        {{4, MSL_INT32, 0}, {5, MSL_INT32, 0}, {4, MSL_INT32, 1}},
        {{4, MSL_INT32, 0}, {4, MSL_UINT32, 1}, {5, MSL_INT32, 0}},
        {{4, MSL_INT32}, {4, MSL_INT32}, {4, MSL_INT32}, {4, MSL_INT32}, {4, MSL_INT32}}};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        const struct msl_source source = {
            .text = "int a;", .bytes = 6, .constants = twice[i], .constant_count = i < 2 ? 3 : 5};
        assert_int_equal(msl_compile(&source, &library), HAL_INVALID);
        assert_string_equal(hal_message(), "function constant 4 has two values");
    }
    static const struct {
        struct msl_constant constants[3]; /* 3 and 67 are two constants */
        const char *message;
    } odd[] = {{{{3, MSL_INT32, 0}, {67, MSL_INT32, 0}, {4, (enum msl_constant_type)99, 0}},
                "function constant 4 has the unknown type 99"},
               {{{3, MSL_INT32, 0}, {67, MSL_INT32, 0}, {65536, MSL_INT32, 0}},
                "function constant index 65536; the limit is 65535"}};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        const struct msl_source source = {
            .text = "int a;", .bytes = 6, .constants = odd[i].constants, .constant_count = 3};
        assert_int_equal(msl_compile(&source, &library), HAL_INVALID);
        assert_string_equal(hal_message(), odd[i].message);
    }
}

/* Nothing is made up for other components, and nothing left out. */
TEST(constants_that_are_vectors)
{
    static const char text[] = HEAD "constant uint2 pair [[function_constant(4)]];\n"
                                    "kernel void k(device uint *o) { o[0] = pair.x; }\n";
    static const struct msl_constant values[] = {
        {4, MSL_UINT32, 7}, {4, MSL_UINT32, 8}, {4, MSL_UINT32, 9}};
    static const struct msl_constant another = {5, MSL_UINT32, 7};
    struct msl_source source = {.text = text, .bytes = sizeof text - 1, .constants = values};
    struct msl_library *library;
    for (source.constant_count = 1; source.constant_count <= 3; source.constant_count += 2) {
        assert_int_equal(msl_compile(&source, &library), HAL_INVALID);
        assert_string_equal(hal_message(),
                            "kernel.metal:3: error: function constant 'pair' has another number of"
                            " components than it is given");
    }
    source.constants = &another;
    source.constant_count = 1;
    assert_int_equal(msl_compile(&source, &library), HAL_OK);
    assert_int_equal(msl_library_constant_count(library), 1);
    assert_int_equal(msl_library_constant(library, 0).type, MSL_UINT32);
    assert_int_equal(msl_library_constant(library, 0).components, 2);
    msl_library_destroy(library);
    source.text = HEAD "constant uint one [[function_constant(4)]];\n"
                       "kernel void k(device uint *o) { o[0] = one; }\n";
    source.bytes = strlen(source.text);
    source.constants = values;
    source.constant_count = 2;
    assert_int_equal(msl_compile(&source, &library), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "function constant 'one' has another number"));
}

TEST(a_source_without_kernels)
{
    static const char text[] = HEAD "int unused(int a) { return a; }\n";
    const struct msl_source source = {.text = text, .bytes = sizeof text - 1};
    struct msl_library *library;
    const struct msl_function *function;
    assert_int_equal(msl_compile(&source, &library), HAL_OK);
    assert_int_equal(msl_library_function_count(library), 0);
    assert_null(msl_library_function(library, 0));
    assert_int_equal(msl_library_find(library, "f", &function), HAL_NOT_FOUND);
    assert_string_equal(hal_message(), "'kernel.metal' has no kernel 'f'; it has none");
    msl_library_destroy(library);
}

TEST(unknown_kernels_and_too_much_group_memory)
{
    static const char text[] = HEAD
        "kernel void small(device int* o) { threadgroup int a[8192]; a[0] = 1; o[0] = a[0]; }\n"
        "kernel void large(device int* o) { threadgroup int a[8192], b; a[0] = b = 1; o[0] = b; "
        "}\n";
    const struct msl_source source = {.name = "k.metal", .text = text, .bytes = sizeof text - 1};
    struct msl_library *library;
    const struct msl_function *function;
    assert_int_equal(msl_compile(&source, &library), HAL_OK);
    assert_int_equal(msl_library_find(library, "smal", &function), HAL_NOT_FOUND);
    assert_string_equal(hal_message(), "'k.metal' has no kernel 'smal'; it has 'small', 'large'");
    assert_int_equal(msl_library_find(library, "small", &function), HAL_OK);
    assert_int_equal(msl_library_find(library, "large", &function), HAL_INVALID);
    assert_string_equal(hal_message(), "kernel 'large' of 'k.metal' has 32772 bytes of threadgroup "
                                       "variables; the limit is 32768");
    msl_library_destroy(library);
}

TEST(compilers_that_cannot_be_used)
{
    static const char advice[] = "install clang 16 or later (Debian: apt-get install clang-16)";
    char programs[4096];
    assert_int_equal(msl_programs(programs, sizeof programs), HAL_OK);

    static const char *const wrong[] = {"/nonexistent/clang", "no-such-clang", "/bin/true", "/etc"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        setenv("HAL_MSL_CLANG", wrong[i], 1);
        assert_int_equal(fixture_status(HEAD), HAL_NOT_FOUND);
        assert_non_null(strstr(hal_message(), advice));
        assert_non_null(strstr(hal_message(), "HAL_MSL_CLANG"));
        assert_int_equal(msl_programs(programs, sizeof programs), HAL_NOT_FOUND);
    }
    unsetenv("HAL_MSL_CLANG");

    static const char *const limits[] = {"0", "86401", "ten", "-1", "999ms", "25h"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        setenv("HAL_MSL_TIME_LIMIT", limits[i], 1);
        assert_int_equal(msl_programs(programs, sizeof programs), HAL_INVALID);
        assert_non_null(strstr(hal_message(), limits[i]));
        assert_non_null(strstr(hal_message(), "a time from 1s to 24h"));
    }
    static const char *const taken[] = {"86400", "24h", "1.5s"};
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
        setenv("HAL_MSL_TIME_LIMIT", taken[i], 1);
        assert_int_equal(msl_programs(programs, sizeof programs), HAL_OK);
    }
    unsetenv("HAL_MSL_TIME_LIMIT");
}

/* All the failures above must not have left a file on its way. */
TEST(nothing_is_left_behind)
{
    char path[256];
    snprintf(path, sizeof path, "%s/msl", fixture_directory());
    DIR *const directory = opendir(path);
    assert_non_null(directory);
    size_t kept = 0;
    for (struct dirent *entry; (entry = readdir(directory)); kept++)
        if (strncmp(entry->d_name, "tmp-", 4) == 0 || strstr(entry->d_name, ".new"))
            fail_msg("'%s' was left behind", entry->d_name);
    closedir(directory);
    assert_true(kept > 2);
}

static enum hal_status compile_listed(const char *name, size_t *out_count)
{
    static const char text[] =
        "#include <metal_stdlib>\n"
        "using namespace metal;\n"
        "template <typename T> void spread(threadgroup T *t, uint i)\n"
        "{ t[i] = T(i); threadgroup_barrier(mem_flags::mem_threadgroup); }\n"
        "kernel void one(device uint *x, uint i [[thread_position_in_grid]]) { x[i] = 1; }\n"
        "kernel void two(device uint *x, uint i [[thread_position_in_grid]])\n"
        "{ threadgroup uint t[64]; spread(t, i); x[i] = t[63 - i]; }\n"
        "template <typename T> kernel void many(device T *x, uint i [[thread_position_in_grid]])\n"
        "{ x[i] = T(3); }\n"
        "template [[host_name(\"many_uint\")]] kernel void many<uint>(device uint *, uint);\n"
        "template [[host_name(\"many_half\")]] kernel void many<half>(device half *, uint);\n";
    const struct msl_group_size sizes[] = {{name, {64, 1, 1}}, {name, {32, 1, 1}}};
    const struct msl_source source = {.text = text,
                                      .bytes = sizeof text - 1,
                                      .group_sizes = sizes,
                                      .group_size_count = 2,
                                      .only_listed = true};
    struct msl_library *library;
    const struct msl_function *function;
    const enum hal_status status = msl_compile(&source, &library);
    if (status != HAL_OK)
        return status;
    *out_count = msl_library_function_count(library);
    const enum hal_status found = msl_library_find(library, name, &function);
    msl_library_destroy(library);
    return found;
}

TEST(only_what_is_listed_is_compiled)
{
    static const char *const names[] = {"one", "two", "many_uint", "many_half"};
    size_t count = 0;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(compile_listed(names[i], &count), HAL_OK);
        assert_int_equal(count, 1);
    }
    assert_int_equal(compile_listed("many_int", &count), HAL_INVALID);
    assert_string_equal(hal_message(), "'kernel.metal' has no kernel 'many_int'; it has "
                                       "'many_uint', 'many_half', 'one', 'two'");
}

/* One that fails when it is started directly, and works for the compiler. */
TEST(a_linker_that_cannot_is_no_harm)
{
    char path[256], text[160];
    char *const kept = strdup(getenv("PATH"));
    snprintf(path, sizeof path, "%s/ld", fixture_directory());
    FILE *const file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "#!/bin/sh\n"
            "PATH=%s\n"
            "echo \"$1\" >>%s.asked\n"
            "[ \"$1\" = -shared ] && exit 1\n"
            "exec ld \"$@\"\n",
            kept, path);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    snprintf(path, sizeof path, "%s:%s", fixture_directory(), kept);
    setenv("PATH", path, 1);
    snprintf(text, sizeof text, "kernel void k(device uint *x) { x[0] = 5; } // %d", (int)getpid());
    uint32_t x = 0;
    fixture_run_source(text, "k", (void *[]){&x}, 1, 1, 1);
    setenv("PATH", kept, 1);
    free(kept);
    assert_int_equal(x, 5);
    snprintf(path, sizeof path, "%s/ld.asked", fixture_directory());
    FILE *const asked = fopen(path, "r");
    assert_non_null(asked);
    assert_non_null(fgets(text, sizeof text, asked));
    assert_string_equal(text, "-shared\n");
    assert_non_null(fgets(text, sizeof text, asked));
    assert_string_not_equal(text, "-shared\n");
    fclose(asked);
}

/* The compiler is found without PATH (HAL_MSL_CLANG), its linker is not. */
TEST(no_linker)
{
    char *const kept = strdup(getenv("PATH")), text[128], folder[4096];
    snprintf(text, sizeof text, "kernel void k(device uint *x) { x[0] = 6; } // %d", (int)getpid());
    snprintf(folder, sizeof folder, "%s/nothing", fixture_directory());
    setenv("PATH", folder, 1);
    const enum hal_status status = fixture_status(text);
    setenv("PATH", kept, 1);
    free(kept);
    if (status == HAL_OK)
        skip(); /* this compiler looks elsewhere, too */
    assert_int_equal(status, HAL_NOT_FOUND);
    assert_non_null(strstr(hal_message(), "install "));
}

/* How many of its instructions name registers of 512 bits; SIZE_MAX: there is no objdump. */
static size_t wide_instructions(const char *expression)
{
    char text[512], path[256], command[512];
    snprintf(text, sizeof text,
             "kernel void k(device const float *a, device const float *b, device float *c,"
             " uint i [[thread_position_in_grid]]) { float v = a[i], w = b[i]; c[i] = %s; } // %d",
             expression, (int)getpid());
    struct fixture_kernel kernel = fixture_compile(text, "k");
    const struct msl_function_info *const info = msl_function_get_info(kernel.function);
    snprintf(path, sizeof path, "%s/code", fixture_directory());
    FILE *const code = fopen(path, "w");
    assert_non_null(code);
    assert_true(info->code_end > info->code_begin);
    assert_int_equal(
        fwrite((const void *)info->code_begin, info->code_end - info->code_begin, 1, code), 1);
    assert_int_equal(fclose(code), 0);
    fixture_release(&kernel);
    snprintf(command, sizeof command, "objdump -D -b binary -m i386:x86-64 '%s' 2>&1", path);
    FILE *const lines = popen(command, "r");
    assert_non_null(lines);
    size_t count = 0;
    while (fgets(text, sizeof text, lines))
        count += strstr(text, "zmm") != NULL;
    return pclose(lines) == 0 ? count : SIZE_MAX;
}

TEST(what_streams_has_narrow_vectors)
{
    const size_t computing = wide_instructions("((((v * w + 1) * v + w) * v + 1) * v + w) * v + 1");
    if (computing == 0 || computing == SIZE_MAX || !HAS_FISSION)
        skip(); /* this processor has none, the compiler uses none by itself, or who decides lacks
                 */
    assert_int_equal(wide_instructions("v + w"), 0);
}

/* More than the caches hold, and no multiple of any number of lanes. */
TEST(what_streams_far_is_right)
{
    enum { COUNT = 300 * 1001 };
    uint32_t *const a = calloc(COUNT, sizeof *a), *const b = calloc(COUNT + 1, sizeof *b);
    assert_true(a && b);
    for (uint32_t i = 0; i < COUNT; i++)
        a[i] = i, b[i] = 7 * i;
    b[COUNT] = 4711;
    void *const buffers[] = {a, b};
    fixture_run_source(HEAD "kernel void f(device uint* a, device uint* b,\n"
                            "              uint i [[thread_position_in_grid]]) { b[i] += a[i]; }\n",
                       "f", buffers, 2, 300, 1001);
    for (uint32_t i = 0; i < COUNT; i++)
        assert_int_equal(b[i], 8 * i);
    assert_int_equal(b[COUNT], 4711);
    free(a);
    free(b);
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
