/* SPDX-License-Identifier: Apache-2.0 */
/* Generated expressions over integers, floats and vectors against an interpreter in C, which walks
 * the same tree with one component at a time; optimised and not, they give the same bits. Every
 * operation is rounded or wrapped to its type in the source, too. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <math.h>

enum { KERNELS = 24, MAX_NODES = 4096, INPUTS = 64, THREADS = 37, DEPTH = 5 };

enum type { CHAR, UCHAR, SHORT, USHORT, INT, UINT, LONG, ULONG, HALF, FLOAT, TYPES };
static const struct {
    const char *name, *wide; /* where integers are computed: without overflow */
    int bits;
    bool is_signed;
} types[TYPES] = {
    {"char", "uint", 8, true},     {"uchar", "uint", 8, false},   {"short", "uint", 16, true},
    {"ushort", "uint", 16, false}, {"int", "uint", 32, true},     {"uint", "uint", 32, false},
    {"long", "ulong", 64, true},   {"ulong", "ulong", 64, false}, {"half", "half", 16, true},
    {"float", "float", 32, true},
};

enum kind {
    INPUT,
    CONSTANT,
    CONVERT, /* from integers: the value of another type */
    SPREAD,  /* a scalar becomes a vector */
    SWIZZLE, /* components turned by `number` */
    ADD,
    SUBTRACT,
    MULTIPLY,
    LEAST,
    GREATEST,
    CHOOSE, /* first < second ? second : third, by component */
    FMA,    /* float */
    FLOOR,  /* float and half */
    XOR,    /* from here on integers */
    AND,
    LEFT,
    RIGHT,
    DIVIDE,
    REMAINDER,
    KINDS
};

struct node {
    enum kind kind;
    enum type type;
    int width;
    uint32_t number;
    size_t child[3];
};
static struct node nodes[MAX_NODES];
static size_t node_count;

static bool is_float(enum type type)
{
    return type >= HALF;
}

/* ---- Generating ---- */

static enum kind choose_kind(enum type type, int width, int depth)
{
    for (;;) {
        const enum kind kind = (enum kind)(fixture_random() % KINDS);
        if ((depth == 0 && kind > CONSTANT) || (depth > 2 && kind <= CONSTANT) ||
            (kind == FMA && type != FLOAT) || (kind == FLOOR && !is_float(type)) ||
            (kind >= XOR && is_float(type)) || ((kind == SPREAD || kind == SWIZZLE) && width == 1))
            continue;
        return kind;
    }
}

static size_t make(enum type type, int width, int depth)
{
    struct node node = {.kind = choose_kind(type, width, depth),
                        .type = type,
                        .width = width,
                        .number = fixture_random()};
    const int below = depth - 1;
    if (node.kind == CONVERT) {
        /* To half only what it holds, so that nothing becomes infinite. */
        const enum type from = (enum type)(fixture_random() % (type == HALF ? SHORT : HALF));
        node.child[0] = make(from, width, below);
    } else if (node.kind == SPREAD) {
        node.child[0] = make(type, 1, below);
    } else if (node.kind >= SWIZZLE) {
        for (size_t i = 0; i < 3; i++)
            if (i == 0 || (i == 1 && node.kind != SWIZZLE && node.kind != FLOOR) ||
                (i == 2 && (node.kind == CHOOSE || node.kind == FMA)))
                node.child[i] = make(type, width, below);
    }
    assert_true(node_count < MAX_NODES);
    nodes[node_count] = node;
    return node_count++;
}

static bool has_input(size_t index)
{
    const struct node *const node = &nodes[index];
    for (size_t i = 0; i < 3; i++)
        if (node->child[i] && has_input(node->child[i]))
            return true;
    return node->kind == INPUT;
}

/* ---- As MSL ---- */

static void print_type(FILE *out, const char *name, int width)
{
    fputs(name, out);
    if (width > 1)
        fprintf(out, "%d", width);
}

static void print(FILE *out, size_t index);

static void print_call(FILE *out, const char *function, const struct node *node, size_t count)
{
    fprintf(out, "%s(", function);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", out);
        print(out, node->child[i]);
    }
    fputs(")", out);
}

static void print_as(FILE *out, const char *type, int width, size_t child)
{
    print_type(out, type, width);
    fputs("(", out);
    print(out, child);
    fputs(")", out);
}

/* T(W(a) op W(b)): in the unsigned type that is wide enough, where the sign makes no difference.
 * Shifts are by any distance, but where it is a constant: C++ has no value for
 * the constant 1 << 99. Divisors are 1 to 8. */
static void print_operator(FILE *out, const struct node *node, const char *text)
{
    const char *const own = types[node->type].name;
    const char *const wide = node->kind >= RIGHT ? own : types[node->type].wide;
    const bool divides = node->kind == DIVIDE || node->kind == REMAINDER;
    print_type(out, own, node->width);
    fputs("(", out);
    print_as(out, wide, node->width, node->child[0]);
    fprintf(out, " %s %s", text, divides ? "((" : "(");
    print_as(out, wide, node->width, node->child[1]);
    if (divides || (node->kind >= LEFT && !has_input(node->child[1]))) {
        fputs(" & ", out);
        print_type(out, wide, node->width);
        fputs("(7)", out);
    }
    if (divides) {
        fputs(") + ", out);
        print_type(out, wide, node->width);
        fputs("(1)", out);
    }
    fputs("))", out);
}

static void print_leaf(FILE *out, const struct node *node)
{
    print_type(out, types[node->type].name, node->width);
    fputs("(", out);
    for (int i = 0; i < node->width; i++) {
        const uint32_t number = node->number / 7 + (uint32_t)i * 5;
        if (node->kind == CONSTANT)
            fprintf(out, "%s%u", i ? ", " : "", number % 100);
        else
            fprintf(out, "%s%s(%s[(i + %u) %% %d])", i ? ", " : "", types[node->type].name,
                    is_float(node->type) ? "f" : "u", number % INPUTS, INPUTS);
    }
    fputs(")", out);
}

static void print(FILE *out, size_t index)
{
    static const char *const operators[KINDS] = {
        [ADD] = "+",   [SUBTRACT] = "-", [MULTIPLY] = "*", [XOR] = "^",       [AND] = "&",
        [LEFT] = "<<", [RIGHT] = ">>",   [DIVIDE] = "/",   [REMAINDER] = "%",
    };
    const struct node *const node = &nodes[index];
    if (operators[node->kind]) {
        print_operator(out, node, operators[node->kind]);
        return;
    }
    switch ((int)node->kind) {
    case INPUT:
    case CONSTANT: print_leaf(out, node); break;
    case CONVERT:
    case SPREAD:
        print_type(out, types[node->type].name, node->width);
        print_call(out, "", node, 1);
        break;
    case SWIZZLE:
        print_call(out, "", node, 1);
        fputs(".", out);
        for (int i = 0; i < node->width; i++)
            fputc("xyzw"[(node->number + (uint32_t)i) % (uint32_t)node->width], out);
        break;
    case LEAST: print_call(out, "min", node, 2); break;
    case GREATEST: print_call(out, "max", node, 2); break;
    case CHOOSE:
        fputs("select(", out);
        print(out, node->child[2]);
        fputs(", ", out);
        print(out, node->child[1]);
        fputs(", ", out);
        print(out, node->child[0]);
        fputs(" < ", out);
        print(out, node->child[1]);
        fputs(")", out);
        break;
    case FMA: print_call(out, "fma", node, 3); break;
    case FLOOR: print_call(out, "floor", node, 1); break;
    default: fail_msg("kind %d", (int)node->kind);
    }
}

static void print_kernel(FILE *out, size_t number, size_t root)
{
    const struct node *const node = &nodes[root];
    fprintf(out,
            "kernel void k%zu(device ulong *o, device const uint *u, device const float *f,\n"
            "    uint i [[thread_position_in_grid]])\n{\n    const ",
            number);
    print_type(out, types[node->type].name, node->width);
    fputs(" r = ", out);
    print(out, root);
    fputs(";\n", out);
    for (int c = 0; c < node->width; c++) {
        char value[16];
        snprintf(value, sizeof value, node->width > 1 ? "r[%d]" : "r", c);
        fprintf(out, "    o[i * 4 + %d] = ", c);
        if (node->type == FLOAT)
            fprintf(out, "ulong(as_type<uint>(%s));\n", value);
        else if (node->type == HALF)
            fprintf(out, "ulong(as_type<ushort>(%s));\n", value);
        else
            fprintf(out, "ulong(%s);\n", value);
    }
    fputs("}\n", out);
}

/* ---- As a model: one component ---- */

struct inputs {
    uint32_t u[INPUTS];
    float f[INPUTS];
};

union value {
    uint64_t bits; /* integers, sign- or zero-extended to 64 bits */
    float real;
};

static uint64_t wrap(enum type type, uint64_t bits)
{
    const int unused = 64 - types[type].bits;
    bits <<= unused;
    return types[type].is_signed ? (uint64_t)((int64_t)bits >> unused) : bits >> unused;
}

static float narrow(enum type type, float value)
{
    return type == HALF ? fixture_from_half(fixture_to_half(value)) : value;
}

static bool is_less(enum type type, union value a, union value b)
{
    if (is_float(type))
        return a.real < b.real;
    return types[type].is_signed ? (int64_t)a.bits < (int64_t)b.bits : a.bits < b.bits;
}

static float compute_real(const struct node *node, const union value *v)
{
    switch ((int)node->kind) {
    case ADD: return narrow(node->type, v[0].real + v[1].real);
    case SUBTRACT: return narrow(node->type, v[0].real - v[1].real);
    case MULTIPLY: return narrow(node->type, v[0].real * v[1].real);
    case LEAST: return fminf(v[0].real, v[1].real);
    case GREATEST: return fmaxf(v[0].real, v[1].real);
    case FMA: return fmaf(v[0].real, v[1].real, v[2].real);
    default: return floorf(v[0].real);
    }
}

/* As many low bits of a shift's distance as count; a scalar is an int at least. */
static uint64_t distance(const struct node *node, uint64_t b)
{
    if (!has_input(node->child[1]))
        return b & 7;
    const int least = node->width > 1 && node->kind == RIGHT ? 8 : 32, own = types[node->type].bits;
    return b & (uint64_t)((own > least ? own : least) - 1);
}

static uint64_t compute_bits(const struct node *node, const union value *v)
{
    const bool is_signed = types[node->type].is_signed;
    const uint64_t a = v[0].bits, b = v[1].bits, divisor = (b & 7) + 1;
    const int64_t s = (int64_t)a;
    const bool less = is_less(node->type, v[0], v[1]);
    switch ((int)node->kind) {
    case ADD: return a + b;
    case SUBTRACT: return a - b;
    case MULTIPLY: return a * b;
    case LEAST: return less ? a : b;
    case GREATEST: return less ? b : a;
    case XOR: return a ^ b;
    case AND: return a & b;
    case LEFT: return a << distance(node, b);
    case RIGHT: return is_signed ? (uint64_t)(s >> distance(node, b)) : a >> distance(node, b);
    case DIVIDE: return is_signed ? (uint64_t)(s / (int64_t)divisor) : a / divisor;
    default: return is_signed ? (uint64_t)(s % (int64_t)divisor) : a % divisor;
    }
}

static union value evaluate(size_t index, const struct inputs *inputs, uint32_t thread, int c);

static union value leaf(const struct node *node, const struct inputs *inputs, uint32_t thread,
                        int c)
{
    const uint32_t number = node->number / 7 + (uint32_t)c * 5;
    const uint32_t place = (thread + number % INPUTS) % INPUTS;
    if (is_float(node->type))
        return (union value){.real = node->kind == CONSTANT ? (float)(number % 100)
                                                            : narrow(node->type, inputs->f[place])};
    return (union value){
        .bits = wrap(node->type, node->kind == CONSTANT ? number % 100 : inputs->u[place])};
}

/* Rounded once: half takes small numbers alone. */
static union value convert(const struct node *node, const struct inputs *inputs, uint32_t thread,
                           int c)
{
    const enum type from = nodes[node->child[0]].type;
    const union value value = evaluate(node->child[0], inputs, thread, c);
    if (!is_float(node->type))
        return (union value){.bits = wrap(node->type, value.bits)};
    return (union value){.real = types[from].is_signed ? (float)(int64_t)value.bits
                                                       : (float)value.bits};
}

static union value evaluate(size_t index, const struct inputs *inputs, uint32_t thread, int c)
{
    const struct node *const node = &nodes[index];
    union value v[3];
    switch ((int)node->kind) {
    case INPUT:
    case CONSTANT: return leaf(node, inputs, thread, c);
    case CONVERT: return convert(node, inputs, thread, c);
    case SPREAD: return evaluate(node->child[0], inputs, thread, 0);
    case SWIZZLE:
        return evaluate(node->child[0], inputs, thread,
                        (int)((node->number + (uint32_t)c) % (uint32_t)node->width));
    default: break;
    }
    for (size_t i = 0; i < 3; i++)
        v[i] = node->child[i] ? evaluate(node->child[i], inputs, thread, c) : (union value){0};
    if (node->kind == CHOOSE)
        return is_less(node->type, v[0], v[1]) ? v[1] : v[2];
    if (is_float(node->type))
        return (union value){.real = compute_real(node, v)};
    return (union value){.bits = wrap(node->type, compute_bits(node, v))};
}

/* ---- The comparison ---- */

static bool same(enum type type, uint64_t got, union value wanted)
{
    uint32_t bits;
    float real;
    if (!is_float(type))
        return got == wanted.bits;
    bits = (uint32_t)got;
    memcpy(&real, &bits, sizeof real);
    if (type == HALF)
        real = fixture_from_half((uint16_t)got);
    /* The least and the greatest of two zeros may be either. */
    return (isnan(real) && isnan(wanted.real)) || real == wanted.real;
}

static void compare(const struct msl_library *library, const char *level, const size_t *roots,
                    const struct inputs *inputs, const char *text)
{
    struct msl_worker *worker;
    assert_int_equal(msl_worker_create(&worker), HAL_OK);
    for (size_t k = 0; k < KERNELS; k++) {
        uint64_t out[2 * THREADS * 4];
        char name[16];
        struct inputs copy = *inputs;
        struct fixture_kernel kernel = {.worker = worker};
        snprintf(name, sizeof name, "k%zu", k);
        assert_int_equal(msl_library_find(library, name, &kernel.function), HAL_OK);
        fixture_run(&kernel, (void *[]){out, copy.u, copy.f}, 3, NULL, (const uint32_t[]){2, 1, 1},
                    (const uint32_t[]){THREADS, 1, 1});
        const struct node *const root = &nodes[roots[k]];
        for (uint32_t t = 0; t < 2 * THREADS; t++)
            for (int c = 0; c < root->width; c++) {
                const union value wanted = evaluate(roots[k], inputs, t, c);
                const uint64_t got = out[t * 4 + (uint32_t)c];
                if (same(root->type, got, wanted))
                    continue;
                fputs(text, stderr); /* messages of the library have a limit */
                fail_msg("%s, %s, thread %u, component %d: %#llx, not %#llx", name, level, t, c,
                         (unsigned long long)got, (unsigned long long)wanted.bits);
            }
    }
    msl_worker_destroy(worker);
}

TEST(generated_expressions_agree_with_c)
{
    static const char *const levels[] = {"3", "0"};
    size_t roots[KERNELS], bytes;
    struct inputs inputs;
    char *text;
    node_count = 1; /* 0: none */
    FILE *const out = open_memstream(&text, &bytes);
    fputs("#include <metal_stdlib>\nusing namespace metal;\n", out);
    for (size_t k = 0; k < KERNELS; k++) {
        roots[k] = make((enum type)(k % TYPES), (int)(fixture_random() % 4) + 1, DEPTH);
        print_kernel(out, k, roots[k]);
    }
    fclose(out);
    for (size_t i = 0; i < INPUTS; i++) {
        inputs.u[i] = fixture_random() << 1 ^ fixture_random() >> (fixture_random() % 32);
        inputs.f[i] = 16.0f * fixture_random_float();
    }
    for (size_t i = 0; i < 2; i++) {
        struct msl_library *library;
        const struct msl_source source = {.text = text, .bytes = bytes};
        setenv("HAL_MSL_OPTIMISE", levels[i], 1);
        if (msl_compile(&source, &library) != HAL_OK)
            fail_msg("%s\n%s", hal_message(), text);
        compare(library, i ? "-O0" : "-O3", roots, &inputs, text);
        msl_library_destroy(library);
    }
    unsetenv("HAL_MSL_OPTIMISE");
    free(text);
}

/* ---- Precise and fast math ---- */

static const char math[] =
    "#include <metal_stdlib>\nusing namespace metal;\n"
    "kernel void k(device float *o, device const float *a) {\n"
    "    o[0] = a[0] * a[1] + a[2];\n"
    "    float sum = 0; for (int i = 0; i < 64; i++) sum += a[8 + i];\n"
    "    o[1] = sum;\n"
    "    o[2] = a[3] * 0.5f; o[3] = a[3] + a[3];\n" /* the least denormals */
    "    o[4] = a[4] - a[4]; o[5] = a[4] * 2.0f; o[6] = float(isnan(a[5])); o[7] = a[5];\n"
    "    o[8] = float(isinf(a[4])); o[9] = 1.0f / a[6]; o[10] = a[7] * 2.0f;\n"
    "    o[11] = max(a[5], 1.0f); o[12] = precise::exp(a[0]); o[13] = fast::exp(a[0]);\n"
    "    o[14] = sqrt(a[2]);\n"
    "    for (int i = 0; i < 200; i++) {\n"
    "        const float x = float(i);\n"
    "        o[16 + 4 * i] = precise::divide(x, 3.0f);\n"
    "        o[17 + 4 * i] = precise::sqrt(x + 0.1f);\n"
    "        o[18 + 4 * i] = precise::fma(x, 0.1f, -x);\n"
    "        o[19 + 4 * i] = precise::fract(x * 0.7f);\n    }\n"
    "#if __METAL_FAST_MATH__ == __METAL_PRECISE_MATH__\n#error neither\n#endif\n"
    "    o[15] = __METAL_FAST_MATH__;\n}\n";

static void run_math(const char *mode, float *o)
{
    float a[72] = {
        1.0f + 0x1p-12f, 1.0f + 0x1p-12f, -1.0f - 0x1p-11f, 0x1p-149f, INFINITY, NAN, 0.0f,
        0x1p-127f};
    for (size_t i = 8; i < 72; i++)
        a[i] = i % 2 ? -1e8f : 1e8f + (float)i;
    setenv("HAL_MSL_MATH", mode, 1);
    fixture_run_source(math, "k", (void *[]){o, a}, 2, 1, 1);
    unsetenv("HAL_MSL_MATH");
}

static bool has_fma(void)
{
#if defined(__x86_64__)
    return __builtin_cpu_supports("fma");
#else
    return true;
#endif
}

/* IEEE's own results, whatever the mode. */
static void check_precise_functions(const float *o)
{
    for (int i = 0; i < 200; i++) {
        const float *const own = &o[16 + 4 * i], x = (float)i;
        volatile float third = x / 3.0f, more = x + 0.1f, part = x * 0.7f;
        if (own[0] != third || own[1] != sqrtf(more) || own[2] != fmaf(x, 0.1f, -x) ||
            own[3] != part - floorf(part))
            fail_msg("%d: %a %a %a %a", i, (double)own[0], (double)own[1], (double)own[2],
                     (double)own[3]);
    }
}

/* By hand: (1 + e)^2 - (1 + 2e) with e = 2^-12 is e^2 = 2^-24, which the rounded product loses. */
TEST(modes_of_math)
{
    float precise[816], fast[816], in_order = 0;
    run_math("precise", precise);
    run_math("fast", fast);
    for (size_t i = 8; i < 72; i++) {
        volatile float next = in_order + (i % 2 ? -1e8f : 1e8f + (float)i);
        in_order = next;
    }
    assert_true(precise[0] == 0.0f);
    assert_true(fast[0] == (has_fma() ? 0x1p-24f : 0.0f));
    assert_true(precise[1] == in_order);
    /* Sums in any order: each of the 64 additions is off by half a step of 1e8 at most. */
    assert_true(fabsf(fast[1] - in_order) <= 64 * 4.0f);
    for (size_t i = 0; i < 2; i++) {
        const float *const o = i ? fast : precise;
        assert_true(o[15] == (float)i);
        check_precise_functions(o);
        assert_true(o[2] == 0.0f && o[3] == 0x1p-148f); /* denormals are kept; to even */
        assert_true(o[10] == 0x1p-126f);
        assert_true(isnan(o[4]) && isinf(o[5]) && o[6] == 1.0f && isnan(o[7]) && o[8] == 1.0f);
        assert_true(isinf(o[9]) && o[11] == 1.0f && isnan(o[14]));
        assert_true(fabs((double)o[12] - exp(1.0 + 0x1p-12)) < 1e-6);
        assert_true(fabs((double)o[13] - exp(1.0 + 0x1p-12)) < 1e-5);
    }
    setenv("HAL_MSL_MATH", "quick", 1);
    assert_int_equal(fixture_status(math), HAL_INVALID);
    assert_string_equal(hal_message(), "HAL_MSL_MATH is 'quick'; it must be precise or fast");
    unsetenv("HAL_MSL_MATH");
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);
