/* SPDX-License-Identifier: Apache-2.0 */
/* Simd operations in branches and loops that some threads of a simdgroup take and others do not:
 * generated kernels against a model in C that runs all threads side by side, statement by
 * statement, with a mask of those that are there. Threads that parted meet again where their ways
 * do: after the branch, at the next turn of the loop, after the loop. Lanes that are missing read
 * as zero. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

enum {
    VARIABLES = 4,
    MAX_THREADS = 128,
    GROUPS = 2,
    MAX_STATEMENTS = 500,
    KERNELS = 6,
    MAX_TURNS = 4
};

enum kind {
    ASSIGN, /* v[a] = v[b] * number + v[c] */
    SIMD,   /* v[a] += an operation on v[b] */
    SHARE,  /* through threadgroup memory, with barriers: only where all threads come */
    IF,     /* if ((v[a] & 3) == number) first else second */
    SWITCH, /* switch (v[a] & 3) { case 1: first; break; case 2: second; break; default: third } */
    LOOP,   /* for (i = 0, end = v[a] & 3; i < end; i++) { first; v[b] += i } */
    UNTIL,  /* do { first; v[a] = v[a] / 2 } while (v[a] % 5 > 2), MAX_TURNS at most */
    LEAVE   /* if ((v[a] & 7) == number) break, continue, or return v[b] */
};
enum leave { BREAK, CONTINUE, RETURN };
enum operation {
    SUM,
    MAX,
    MIN,
    XOR,
    BALLOT,
    INCLUSIVE,
    EXCLUSIVE,
    SHUFFLE,
    SHUFFLE_XOR,
    SHUFFLE_DOWN,
    FIRST,
    ACTIVE,
    QUAD_SUM,
    QUAD_XOR,
    OPERATIONS
};

struct statement {
    enum kind kind;
    enum leave leave;
    enum operation operation;
    uint32_t a, b, c, number;
    size_t block[3];
};
struct block {
    size_t statements[6], count;
};
struct program {
    struct statement statements[MAX_STATEMENTS];
    struct block blocks[MAX_STATEMENTS];
    size_t statement_count, block_count, names;
    uint32_t threads;
};

/* ---- Generating --------------------------------------------------------------------------- */

static uint32_t below(uint32_t limit)
{
    return fixture_random() % limit;
}

/* Where a statement stands. */
struct place {
    int depth;
    bool in_loop, in_switch, apart; /* apart: not all threads may come here */
};

static size_t make_block(struct program *p, struct place place);

static enum kind choose_kind(struct place place)
{
    for (;;) {
        const uint32_t roll = below(12);
        const enum kind kind = roll <= LEAVE ? (enum kind)roll : SIMD;
        const bool nests = kind == IF || kind == SWITCH || kind == LOOP || kind == UNTIL;
        if ((kind == SHARE && place.apart) || (nests && place.depth >= 3) ||
            (kind == LEAVE && !place.apart && below(3)))
            continue;
        return kind;
    }
}

static size_t make_statement(struct program *p, struct place place)
{
    struct statement s = {.kind = choose_kind(place),
                          .operation = (enum operation)below(OPERATIONS),
                          .a = below(VARIABLES),
                          .b = below(VARIABLES),
                          .c = below(VARIABLES),
                          .number = below(4)};
    struct place inner = {place.depth + 1, place.in_loop, place.in_switch, true};
    s.leave = place.in_loop && !place.in_switch ? (enum leave)below(3) : RETURN;
    const bool loops = s.kind == LOOP || s.kind == UNTIL;
    const size_t blocks = s.kind == IF ? 2 : s.kind == SWITCH ? 3 : loops;
    inner.in_loop |= loops;
    inner.in_switch = s.kind == SWITCH || (inner.in_switch && !loops); /* whose break it would be */
    if (blocks)
        for (size_t i = 0; i < blocks; i++)
            s.block[i] = make_block(p, inner);
    p->statements[p->statement_count] = s;
    return p->statement_count++;
}

static size_t make_block(struct program *p, struct place place)
{
    struct block block = {.count = place.depth ? below(4) : 6};
    for (size_t i = 0; i < block.count; i++)
        block.statements[i] = make_statement(p, place);
    p->blocks[p->block_count] = block;
    return p->block_count++;
}

/* ---- As MSL ------------------------------------------------------------------------------- */

static void print_block(struct program *p, size_t block, FILE *out);

static void print_operation(const struct statement *s, FILE *out)
{
    static const char *const texts[OPERATIONS] = {
        "simd_sum(v%u)",
        "simd_max(v%u)",
        "simd_min(v%u)",
        "simd_xor(v%u)",
        "uint(ulong(simd_ballot(v%u & 1)))",
        "simd_prefix_inclusive_sum(v%u)",
        "simd_prefix_exclusive_sum(v%u)",
        "simd_shuffle(v%u, ushort(v%u & 31))",
        "simd_shuffle_xor(v%u, ushort(%u))",
        "simd_shuffle_down(v%u, ushort(%u))",
        "simd_broadcast_first(v%u)",
        "uint(ulong(simd_active_threads_mask())) * (v%u | 1)",
        "quad_sum(v%u)",
        "quad_shuffle_xor(v%u, ushort(%u))",
    };
    fprintf(out, "v%u += ", s->a);
    fprintf(out, texts[s->operation], s->b, s->operation == SHUFFLE ? s->c : s->number);
    fprintf(out, ";\n");
}

static void print_leave(const struct statement *s, FILE *out)
{
    fprintf(out, "if ((v%u & 7) == %u) ", s->a, s->number);
    if (s->leave == RETURN)
        fprintf(out, "{ out[place] = v%u; return; }\n", s->b);
    else
        fprintf(out, "%s;\n", s->leave == BREAK ? "break" : "continue");
}

static void print_loop(struct program *p, const struct statement *s, FILE *out)
{
    const size_t i = p->names++;
    fprintf(out, "for (uint i%zu = 0, e%zu = v%u & 3; i%zu < e%zu; i%zu++) {\n", i, i, s->a, i, i,
            i);
    print_block(p, s->block[0], out);
    fprintf(out, "v%u += i%zu;\n}\n", s->b, i);
}

static void print_statement(struct program *p, const struct statement *s, FILE *out)
{
    const size_t loop = p->names;
    switch (s->kind) {
    case ASSIGN: fprintf(out, "v%u = v%u * %u + v%u;\n", s->a, s->b, s->number, s->c); break;
    case SIMD: print_operation(s, out); break;
    case SHARE:
        fprintf(out,
                "s[index] = v%u; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                "v%u ^= s[(index + %u) %% size];\n"
                "threadgroup_barrier(mem_flags::mem_threadgroup);\n",
                s->a, s->b, s->number);
        break;
    case IF:
        fprintf(out, "if ((v%u & 3) == %u) {\n", s->a, s->number);
        print_block(p, s->block[0], out);
        fprintf(out, "} else {\n");
        print_block(p, s->block[1], out);
        fprintf(out, "}\n");
        break;
    case SWITCH:
        fprintf(out, "switch (v%u & 3) {\ncase 1: {\n", s->a);
        print_block(p, s->block[0], out);
        fprintf(out, "break; }\ncase 2: {\n");
        print_block(p, s->block[1], out);
        fprintf(out, "break; }\ndefault: {\n");
        print_block(p, s->block[2], out);
        fprintf(out, "}\n}\n");
        break;
    case LOOP: print_loop(p, s, out); break;
    case UNTIL:
        fprintf(out, "uint i%zu = 0;\ndo {\n", loop);
        p->names++;
        print_block(p, s->block[0], out);
        fprintf(out, "} while ((v%u /= 2) %% 5 > 2 && ++i%zu < %d);\n", s->a, loop, MAX_TURNS);
        break;
    case LEAVE: print_leave(s, out); break;
    }
}

static void print_block(struct program *p, size_t block, FILE *out)
{
    for (size_t i = 0; i < p->blocks[block].count; i++)
        print_statement(p, &p->statements[p->blocks[block].statements[i]], out);
}

static void print_kernel(struct program *p, size_t number, size_t block, FILE *out)
{
    fprintf(out,
            "kernel void k%zu(device uint *out [[buffer(0)]], constant uint &input [[buffer(1)]],\n"
            "    uint index [[thread_index_in_threadgroup]], uint size"
            " [[threads_per_threadgroup]],\n"
            "    uint group [[threadgroup_position_in_grid]])\n"
            "{\n"
            "    threadgroup uint s[%d];\n"
            "    const uint place = group * size + index;\n"
            "    uint v0 = index, v1 = index * 5 / 3, v2 = input + index / 7, v3 = 7 + input;\n"
            "    s[index] = index;\n",
            number, MAX_THREADS);
    print_block(p, block, out);
    fprintf(out, "    out[place] = v0 ^ v1 * 3 ^ v2 * 5 ^ v3 * 7;\n}\n");
}

/* ---- As a model --------------------------------------------------------------------------- */

/* Why a thread sits out. */
enum state { RUNS, CONTINUES, BREAKS, RETURNED };

struct model {
    const struct program *p;
    uint32_t threads, v[MAX_THREADS][VARIABLES], s[MAX_THREADS], result[MAX_THREADS];
    enum state state[MAX_THREADS];
};

static void run_block(struct model *m, size_t block, const bool *active);

static bool takes_part(const struct model *m, const bool *active, uint32_t t)
{
    return t < m->threads && active[t] && m->state[t] == RUNS;
}

/* Folds lanes [first, last) of a simdgroup. */
static uint32_t fold(const struct model *m, const struct statement *s, const bool *active,
                     uint32_t first, uint32_t last)
{
    uint32_t sum = 0, least = UINT32_MAX, most = 0, odd = 0, bits = 0, here = 0,
             leader = UINT32_MAX;
    for (uint32_t t = first; t < last; t++) {
        if (!takes_part(m, active, t))
            continue;
        const uint32_t v = m->v[t][s->b];
        sum += v;
        least = v < least ? v : least;
        most = v > most ? v : most;
        odd ^= v;
        bits |= (v & 1) << t % 32;
        here |= UINT32_C(1) << t % 32;
        leader = leader == UINT32_MAX ? t : leader;
    }
    switch ((int)s->operation) {
    case MAX: return most;
    case MIN: return least;
    case XOR: return odd;
    case BALLOT: return bits;
    case FIRST: return leader == UINT32_MAX ? 0 : m->v[leader][s->b];
    case ACTIVE: return here;
    default: return sum;
    }
}

static uint32_t value_of(const struct model *m, const struct statement *s, const bool *active,
                         uint32_t t)
{
    return takes_part(m, active, t) ? m->v[t][s->b] : 0;
}

static uint32_t operate(const struct model *m, const struct statement *s, const bool *active,
                        uint32_t t)
{
    const uint32_t first = t / 32 * 32, quad = t / 4 * 4;
    switch ((int)s->operation) {
    case INCLUSIVE: return fold(m, s, active, first, t + 1);
    case EXCLUSIVE: return fold(m, s, active, first, t);
    case SHUFFLE: return value_of(m, s, active, first + (m->v[t][s->c] & 31));
    case SHUFFLE_XOR: return value_of(m, s, active, t ^ s->number);
    case SHUFFLE_DOWN:
        return t - first + s->number < 32 ? value_of(m, s, active, t + s->number) : m->v[t][s->b];
    case QUAD_SUM: return fold(m, s, active, quad, quad + 4);
    case QUAD_XOR: return value_of(m, s, active, t ^ s->number);
    case ACTIVE: return fold(m, s, active, first, first + 32) * (m->v[t][s->b] | 1);
    default: return fold(m, s, active, first, first + 32);
    }
}

static void run_simd(struct model *m, const struct statement *s, const bool *active)
{
    uint32_t seen[MAX_THREADS];
    for (uint32_t t = 0; t < m->threads; t++)
        seen[t] = takes_part(m, active, t) ? operate(m, s, active, t) : 0;
    for (uint32_t t = 0; t < m->threads; t++)
        if (takes_part(m, active, t))
            m->v[t][s->a] += seen[t];
}

static void run_share(struct model *m, const struct statement *s, const bool *active)
{
    for (uint32_t t = 0; t < m->threads; t++)
        if (takes_part(m, active, t))
            m->s[t] = m->v[t][s->a];
    for (uint32_t t = 0; t < m->threads; t++)
        if (takes_part(m, active, t))
            m->v[t][s->b] ^= m->s[(t + s->number) % m->threads];
}

static void run_choice(struct model *m, const struct statement *s, const bool *active)
{
    bool sides[3][MAX_THREADS] = {{false}};
    const size_t count = s->kind == IF ? 2 : 3;
    for (uint32_t t = 0; t < m->threads; t++) {
        const uint32_t value = m->v[t][s->a] & 3;
        const size_t side = s->kind == IF ? value != s->number
                            : value == 1  ? 0
                            : value == 2  ? 1
                                          : 2;
        sides[side][t] = takes_part(m, active, t);
    }
    for (size_t i = 0; i < count; i++)
        run_block(m, s->block[i], sides[i]);
}

/* Those that have left the loop run again after it. */
static void run_loop(struct model *m, const struct statement *s, const bool *active)
{
    bool entered[MAX_THREADS], inside[MAX_THREADS];
    uint32_t end[MAX_THREADS];
    bool some = true;
    for (uint32_t t = 0; t < m->threads; t++) {
        entered[t] = inside[t] = takes_part(m, active, t);
        end[t] = m->v[t][s->a] & 3;
    }
    for (uint32_t i = 0; some; i++) {
        some = false;
        for (uint32_t t = 0; t < m->threads; t++) {
            inside[t] = inside[t] && (s->kind == UNTIL || i < end[t]);
            some |= inside[t];
        }
        run_block(m, s->block[0], inside);
        for (uint32_t t = 0; t < m->threads; t++) {
            if (inside[t] && m->state[t] == RUNS && s->kind == LOOP)
                m->v[t][s->b] += i;
            if (inside[t] && m->state[t] == CONTINUES)
                m->state[t] = RUNS;
            if (!takes_part(m, inside, t))
                inside[t] = false;
            else if (s->kind == UNTIL)
                inside[t] = (m->v[t][s->a] /= 2) % 5 > 2 && i + 1 < MAX_TURNS;
        }
    }
    for (uint32_t t = 0; t < m->threads; t++)
        if (entered[t] && m->state[t] == BREAKS)
            m->state[t] = RUNS;
}

static void run_leave(struct model *m, const struct statement *s, uint32_t t)
{
    static const enum state states[] = {BREAKS, CONTINUES, RETURNED};
    if ((m->v[t][s->a] & 7) != s->number)
        return;
    m->result[t] = m->v[t][s->b];
    m->state[t] = states[s->leave];
}

static void run_statement(struct model *m, const struct statement *s, const bool *active)
{
    switch (s->kind) {
    case SIMD: run_simd(m, s, active); break;
    case SHARE: run_share(m, s, active); break;
    case IF:
    case SWITCH: run_choice(m, s, active); break;
    case LOOP:
    case UNTIL: run_loop(m, s, active); break;
    case ASSIGN:
    case LEAVE:
        for (uint32_t t = 0; t < m->threads; t++) {
            if (!takes_part(m, active, t))
                continue;
            if (s->kind == LEAVE)
                run_leave(m, s, t);
            else
                m->v[t][s->a] = m->v[t][s->b] * s->number + m->v[t][s->c];
        }
        break;
    }
}

static void run_block(struct model *m, size_t block, const bool *active)
{
    for (size_t i = 0; i < m->p->blocks[block].count; i++)
        run_statement(m, &m->p->statements[m->p->blocks[block].statements[i]], active);
}

static void run_model(const struct program *p, size_t block, uint32_t input, uint32_t *out)
{
    static struct model m;
    bool all[MAX_THREADS];
    memset(all, true, sizeof all);
    m = (struct model){.p = p, .threads = p->threads};
    for (uint32_t t = 0; t < m.threads; t++) {
        const uint32_t start[VARIABLES] = {t, t * 5 / 3, input + t / 7, 7 + input};
        memcpy(m.v[t], start, sizeof start);
        m.s[t] = t;
    }
    run_block(&m, block, all);
    for (uint32_t t = 0; t < m.threads; t++) {
        const uint32_t *const v = m.v[t];
        out[t] = m.state[t] == RETURNED ? m.result[t] : (v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7);
    }
}

/* ---- The comparison ----------------------------------------------------------------------- */

struct library {
    struct program programs[KERNELS];
    size_t blocks[KERNELS];
    char *text;
    size_t bytes;
};

static struct library *make_library(void)
{
    static const uint32_t sizes[] = {32, 64, 128, 50, 75, 20, 7, 1};
    struct library *const library = calloc(1, sizeof *library);
    assert_non_null(library);
    FILE *const out = open_memstream(&library->text, &library->bytes);
    fputs("#include <metal_stdlib>\nusing namespace metal;\n", out);
    for (size_t i = 0; i < KERNELS; i++) {
        library->programs[i].threads = sizes[below(8)];
        library->blocks[i] = make_block(&library->programs[i], (struct place){0});
        print_kernel(&library->programs[i], i, library->blocks[i], out);
    }
    fclose(out);
    return library;
}

static void compare_kernel(const struct library *library, struct fixture_kernel *compiled,
                           size_t kernel, const char *level)
{
    const struct program *const p = &library->programs[kernel];
    for (uint32_t input = 0; input < 64; input += 7) {
        uint32_t expected[MAX_THREADS], out[GROUPS * MAX_THREADS], argument = input;
        memset(out, 0xff, sizeof out);
        run_model(p, library->blocks[kernel], input, expected);
        fixture_run(compiled, (void *[]){out, &argument}, 2, NULL, (const uint32_t[]){GROUPS, 1, 1},
                    (const uint32_t[]){p->threads, 1, 1});
        for (uint32_t i = 0; i < GROUPS * p->threads; i++)
            if (out[i] != expected[i % p->threads]) {
                fputs(library->text, stderr); /* messages of the library have a limit */
                fail_msg("%s (%s), kernel k%zu, %u threads, input %u: thread %u gave %u, not %u",
                         level, msl_function_get_info(compiled->function)->lowering, kernel,
                         p->threads, input, i, out[i], expected[i % p->threads]);
            }
    }
}

static void compare(const struct library *library, const char *level)
{
    const struct msl_source source = {.text = library->text, .bytes = library->bytes};
    setenv("HAL_MSL_OPTIMISE", level, 1);
    struct fixture_kernel compiled = fixture_compile_with(&source, "k0");
    for (size_t kernel = 0; kernel < KERNELS; kernel++) {
        char name[16];
        snprintf(name, sizeof name, "k%zu", kernel);
        assert_int_equal(msl_library_find(compiled.library, name, &compiled.function), HAL_OK);
        compare_kernel(library, &compiled, kernel, level);
    }
    fixture_release(&compiled);
    unsetenv("HAL_MSL_OPTIMISE");
}

TEST(threads_that_parted_meet_again)
{
    const char *const rounds = getenv("HALTRACE_ROUNDS");
    for (long i = rounds ? atol(rounds) : 2; i > 0; i--) {
        struct library *const library = make_library();
        compare(library, "3");
        compare(library, "0");
        setenv("HAL_MSL_LOWERING", "fibers", 1);
        compare(library, "3");
        unsetenv("HAL_MSL_LOWERING");
        free(library->text);
        free(library);
    }
}

TEST_SUITE_FIXTURE(fixture_set_up, fixture_tear_down);

int main(void)
{
    unsetenv("HAL_MSL_LOWERING");
    unsetenv("HAL_MSL_CC");
    return test_run();
}
