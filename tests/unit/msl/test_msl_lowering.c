/* SPDX-License-Identifier: Apache-2.0 */
/* hal/compiler/msl/fission against fibers and against a model in C: generated kernels with
 * barriers, simd operations, uniform and divergent control flow, private arrays, early returns. All
 * values are 32-bit integers, so that every lowering must give the same bits. */
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

enum {
    VARIABLES = 4,
    MAX_THREADS = 256,
    GROUPS = 2,
    MAX_STATEMENTS = 400,
    KERNELS = 8,
    SOURCES = 3
};

enum kind {
    ASSIGN,       /* v[a] = v[b] * number + v[c] */
    SHARE,        /* s[index] = v[a]; barrier; v[b] ^= s[(index + number) % size]; barrier */
    SIMD_SUM,     /* v[a] += simd_sum(v[b]) */
    SIMD_MAX,     /* v[a] ^= simd_max(v[b]) */
    SHUFFLE,      /* v[a] += simd_shuffle_xor(v[b], number): only where no lane is missing */
    PRIVATE,      /* p[v[a] % 4] += v[b]; v[c] ^= p[(v[a] + 1) % 4] */
    IF_UNIFORM,   /* if (input >> number & 1) first else second */
    IF_DIVERGENT, /* if ((v[a] & 3) == number) first else second, without waits */
    LOOP,         /* for (i < number) { first; if (i == stop && input & 1) break; v[a] += i } */
    STRIDED,      /* for (i = index % 5; i < input % 40; i += 3) v[a] = v[a] * 3 + i */
    RETURN        /* if ((v[a] & 7) == number) { out = v[b]; return; } */
};

struct statement {
    enum kind kind;
    uint32_t a, b, c, number, stop;
    size_t first, second; /* blocks */
};
struct block {
    size_t statements[8], count;
};
struct program {
    struct statement statements[MAX_STATEMENTS];
    struct block blocks[MAX_STATEMENTS];
    size_t statement_count, block_count, loops;
    bool returns; /* some lanes may be missing */
    uint32_t size[3];
    bool sized;
};

/* ---- Generating -------------------------------------------------------------------------------
 */

static uint32_t below(uint32_t limit)
{
    return fixture_random() % limit;
}

static size_t make_block(struct program *p, int depth, bool may_wait, bool top);

static enum kind choose_kind(const struct program *p, int depth, bool may_wait, bool top)
{
    for (;;) {
        const enum kind kind = (enum kind)below(RETURN + 1);
        const bool waits = kind == SHARE || kind == SIMD_SUM || kind == SIMD_MAX || kind == SHUFFLE;
        const bool nests = kind == IF_UNIFORM || kind == IF_DIVERGENT || kind == LOOP;
        if ((waits && !may_wait) || (nests && depth >= 3) ||
            (kind == SHUFFLE && (p->returns || p->size[0] * p->size[1] * p->size[2] % 32)) ||
            (kind == RETURN && (!top || !p->returns)))
            continue;
        return kind;
    }
}

static size_t make_statement(struct program *p, int depth, bool may_wait, bool top)
{
    struct statement s = {.kind = choose_kind(p, depth, may_wait, top),
                          .a = below(VARIABLES),
                          .b = below(VARIABLES),
                          .c = below(VARIABLES),
                          .number = below(5) + 1,
                          .stop = below(4)};
    if (s.kind == IF_UNIFORM || s.kind == IF_DIVERGENT) {
        const bool inner = may_wait && s.kind == IF_UNIFORM;
        s.number %= 4;
        s.first = make_block(p, depth + 1, inner, false);
        s.second = make_block(p, depth + 1, inner, false);
    } else if (s.kind == LOOP) {
        s.first = make_block(p, depth + 1, may_wait, false);
    }
    p->statements[p->statement_count] = s;
    return p->statement_count++;
}

static size_t make_block(struct program *p, int depth, bool may_wait, bool top)
{
    struct block block = {.count = top ? 6 : below(3) + (depth < 2)};
    for (size_t i = 0; i < block.count; i++)
        block.statements[i] = make_statement(p, depth, may_wait, top);
    p->blocks[p->block_count] = block;
    return p->block_count++;
}

static size_t make_program(struct program *p)
{
    static const uint32_t sizes[][3] = {{32, 1, 1}, {64, 1, 1},  {256, 1, 1}, {50, 1, 1},
                                        {7, 3, 2},  {16, 16, 1}, {8, 8, 2},   {1, 1, 1}};
    *p = (struct program){.returns = below(2), .sized = below(3) != 0};
    memcpy(p->size, sizes[below(8)], sizeof p->size);
    return make_block(p, 0, true, true);
}

/* ---- As MSL
 * --------------------------------------------------------------------------------------- */

static void print_block(struct program *p, size_t block, FILE *out);

static void print_statement(struct program *p, const struct statement *s, FILE *out)
{
    const size_t loop = p->loops;
    switch (s->kind) {
    case ASSIGN: fprintf(out, "v%u = v%u * %u + v%u;\n", s->a, s->b, s->number, s->c); break;
    case SHARE:
        fprintf(out,
                "s[index] = v%u; threadgroup_barrier(mem_flags::mem_threadgroup);\n"
                "v%u ^= s[(index + %u) %% size];\n"
                "threadgroup_barrier(mem_flags::mem_threadgroup);\n",
                s->a, s->b, s->number);
        break;
    case SIMD_SUM: fprintf(out, "v%u += simd_sum(v%u);\n", s->a, s->b); break;
    case SIMD_MAX: fprintf(out, "v%u ^= simd_max(v%u);\n", s->a, s->b); break;
    case SHUFFLE: fprintf(out, "v%u += simd_shuffle_xor(v%u, %u);\n", s->a, s->b, s->number); break;
    case PRIVATE:
        fprintf(out, "p[v%u %% 4] += v%u; v%u ^= p[(v%u + 1) %% 4];\n", s->a, s->b, s->c, s->a);
        break;
    case IF_UNIFORM:
    case IF_DIVERGENT:
        if (s->kind == IF_UNIFORM)
            fprintf(out, "if (input >> %u & 1) {\n", s->number);
        else
            fprintf(out, "if ((v%u & 3) == %u) {\n", s->a, s->number);
        print_block(p, s->first, out);
        fprintf(out, "} else {\n");
        print_block(p, s->second, out);
        fprintf(out, "}\n");
        break;
    case LOOP:
        p->loops++;
        fprintf(out, "for (uint i%zu = 0; i%zu < %u; i%zu++) {\n", loop, loop, s->number, loop);
        print_block(p, s->first, out);
        fprintf(out, "if (i%zu == %u && (input & 1)) break;\nv%u += i%zu;\n}\n", loop, s->stop,
                s->a, loop);
        break;
    case STRIDED:
        fprintf(out, "for (uint i = index %% 5; i < input %% 40; i += 3) v%u = v%u * 3 + i;\n",
                s->a, s->a);
        break;
    case RETURN:
        fprintf(out, "if ((v%u & 7) == %u) { out[place] = v%u; return; }\n", s->a, s->number, s->b);
        break;
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
            "kernel void k%zu(device uint* out [[buffer(0)]], constant uint& input [[buffer(1)]],\n"
            "    uint index [[thread_index_in_threadgroup]], uint3 local"
            " [[thread_position_in_threadgroup]],\n"
            "    uint group [[threadgroup_position_in_grid]], uint3 sizes"
            " [[threads_per_threadgroup]])\n"
            "{\n"
            "    threadgroup uint s[256];\n"
            "    const uint size = sizes.x * sizes.y * sizes.z, place = group * size + index;\n"
            "    uint v0 = index, v1 = local.x * 3 + local.y * 5 + local.z, v2 = input, v3 = 7;\n"
            "    uint p[4] = {1, 2, 3, 4};\n"
            "    s[index] = index;\n",
            number);
    print_block(p, block, out);
    fprintf(out, "    out[place] = v0 ^ v1 * 3 ^ v2 * 5 ^ v3 * 7 ^ p[v0 %% 4];\n}\n");
}

/* ---- As a model: all threads of a group, statement by statement
 * ------------------------------------ */

struct model {
    const struct program *p;
    uint32_t input, threads;
    uint32_t v[MAX_THREADS][VARIABLES], private[MAX_THREADS][4], s[MAX_THREADS];
    bool done[MAX_THREADS];
    uint32_t result[MAX_THREADS];
};

static void run_block(struct model *m, size_t block, const bool *active);

static void run_simd(struct model *m, const struct statement *s, const bool *active)
{
    uint32_t seen[MAX_THREADS];
    for (uint32_t t = 0; t < m->threads; t++) {
        uint32_t sum = 0, largest = 0;
        for (uint32_t lane = t / 32 * 32; lane < t / 32 * 32 + 32 && lane < m->threads; lane++)
            if (active[lane] && !m->done[lane]) {
                sum += m->v[lane][s->b];
                largest = m->v[lane][s->b] > largest ? m->v[lane][s->b] : largest;
            }
        seen[t] = s->kind == SIMD_SUM   ? sum
                  : s->kind == SIMD_MAX ? largest
                                        : m->v[t ^ s->number][s->b];
    }
    for (uint32_t t = 0; t < m->threads; t++)
        if (active[t] && !m->done[t])
            m->v[t][s->a] = s->kind == SIMD_MAX ? m->v[t][s->a] ^ seen[t] : m->v[t][s->a] + seen[t];
}

static void run_share(struct model *m, const struct statement *s, const bool *active)
{
    for (uint32_t t = 0; t < m->threads; t++)
        if (active[t] && !m->done[t])
            m->s[t] = m->v[t][s->a];
    for (uint32_t t = 0; t < m->threads; t++)
        if (active[t] && !m->done[t])
            m->v[t][s->b] ^= m->s[(t + s->number) % m->threads];
}

static void run_if(struct model *m, const struct statement *s, const bool *active)
{
    bool yes[MAX_THREADS], no[MAX_THREADS];
    for (uint32_t t = 0; t < m->threads; t++) {
        const bool condition =
            s->kind == IF_UNIFORM ? m->input >> s->number & 1 : (m->v[t][s->a] & 3) == s->number;
        yes[t] = active[t] && condition;
        no[t] = active[t] && !condition;
    }
    run_block(m, s->first, yes);
    run_block(m, s->second, no);
}

static void run_loop(struct model *m, const struct statement *s, const bool *active)
{
    for (uint32_t i = 0; i < s->number; i++) {
        run_block(m, s->first, active);
        if (i == s->stop && (m->input & 1))
            break;
        for (uint32_t t = 0; t < m->threads; t++)
            if (active[t] && !m->done[t])
                m->v[t][s->a] += i;
    }
}

static void run_alone(struct model *m, const struct statement *s, uint32_t t)
{
    uint32_t *const v = m->v[t], *const p = m->private[t];
    if (s->kind == ASSIGN) {
        v[s->a] = v[s->b] * s->number + v[s->c];
    } else if (s->kind == PRIVATE) {
        p[v[s->a] % 4] += v[s->b];
        v[s->c] ^= p[(v[s->a] + 1) % 4];
    } else if (s->kind == STRIDED) {
        for (uint32_t i = t % 5; i < m->input % 40; i += 3)
            v[s->a] = v[s->a] * 3 + i;
    } else if ((v[s->a] & 7) == s->number) {
        m->result[t] = v[s->b];
        m->done[t] = true;
    }
}

static void run_statement(struct model *m, const struct statement *s, const bool *active)
{
    switch (s->kind) {
    case SHARE: run_share(m, s, active); break;
    case SIMD_SUM:
    case SIMD_MAX:
    case SHUFFLE: run_simd(m, s, active); break;
    case IF_UNIFORM:
    case IF_DIVERGENT: run_if(m, s, active); break;
    case LOOP: run_loop(m, s, active); break;
    case ASSIGN:
    case PRIVATE:
    case STRIDED:
    case RETURN:
        for (uint32_t t = 0; t < m->threads; t++)
            if (active[t] && !m->done[t])
                run_alone(m, s, t);
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
    m = (struct model){.p = p, .input = input, .threads = p->size[0] * p->size[1] * p->size[2]};
    for (uint32_t t = 0; t < m.threads; t++) {
        const uint32_t x = t % p->size[0], y = t / p->size[0] % p->size[1];
        const uint32_t z = t / p->size[0] / p->size[1];
        const uint32_t start[VARIABLES] = {t, x * 3 + y * 5 + z, input, 7};
        memcpy(m.v[t], start, sizeof start);
        memcpy(
            m.private [t], (const uint32_t[]) { 1, 2, 3, 4 }, sizeof m.private[t]);
        m.s[t] = t;
    }
    run_block(&m, block, all);
    for (uint32_t t = 0; t < m.threads; t++) {
        const uint32_t *const v = m.v[t];
        out[t] = m.done[t] ? m.result[t]
                           : (v[0] ^ v[1] * 3 ^ v[2] * 5 ^ v[3] * 7 ^ m.private[t][v[0] % 4]);
    }
}

/* ---- The comparison
 * ------------------------------------------------------------------------------------ */

struct library {
    struct program programs[KERNELS];
    size_t blocks[KERNELS];
    struct msl_group_size sizes[KERNELS];
    char names[KERNELS][8];
    char *text;
    size_t bytes, sized;
};

static struct library *make_library(void)
{
    struct library *const library = calloc(1, sizeof *library);
    assert_non_null(library);
    FILE *const out = open_memstream(&library->text, &library->bytes);
    fputs("#include <metal_stdlib>\nusing namespace metal;\n", out);
    for (size_t i = 0; i < KERNELS; i++) {
        library->blocks[i] = make_program(&library->programs[i]);
        print_kernel(&library->programs[i], i, library->blocks[i], out);
        snprintf(library->names[i], sizeof library->names[i], "k%zu", i);
        if (!library->programs[i].sized)
            continue;
        struct msl_group_size *const size = &library->sizes[library->sized++];
        size->kernel = library->names[i];
        memcpy(size->size, library->programs[i].size, sizeof size->size);
    }
    fclose(out);
    return library;
}

static void compare(const struct library *library, size_t kernel, const char *lowering)
{
    const struct program *const p = &library->programs[kernel];
    const uint32_t threads = p->size[0] * p->size[1] * p->size[2];
    const struct msl_source source = {.text = library->text,
                                      .bytes = library->bytes,
                                      .group_sizes = library->sizes,
                                      .group_size_count = library->sized};
    struct fixture_kernel compiled = fixture_compile_with(&source, library->names[kernel]);
    const char *const taken = msl_function_get_info(compiled.function)->lowering;
    if (strstr(taken, "internal error") || strstr(taken, "hal-msl-cc failed"))
        fail_msg("kernel k%zu: %s, in\n%s", kernel, taken, library->text);
    if (strcmp(lowering, "fibers") == 0)
        assert_ptr_equal(strstr(taken, "loops"), NULL);
    for (uint32_t input = 0; input < 64; input += 7) {
        uint32_t expected[MAX_THREADS], out[GROUPS * MAX_THREADS];
        uint32_t argument = input;
        memset(out, 0xff, sizeof out);
        run_model(p, library->blocks[kernel], input, expected);
        fixture_run(&compiled, (void *[]){out, &argument}, 2, NULL,
                    (const uint32_t[]){GROUPS, 1, 1}, p->size);
        for (uint32_t i = 0; i < GROUPS * threads; i++)
            if (out[i] != expected[i % threads])
                fail_msg("%s (%s), kernel k%zu, groups of %u x %u x %u%s, input %u: thread %u gave "
                         "%u, not %u, in\n%s",
                         lowering, taken, kernel, p->size[0], p->size[1], p->size[2],
                         p->sized ? ", known" : "", input, i, out[i], expected[i % threads],
                         library->text);
    }
    fixture_release(&compiled);
}

TEST(generated_kernels_agree_on_both_lowerings)
{
    for (size_t i = 0; i < SOURCES; i++) {
        struct library *const library = make_library();
        for (size_t kernel = 0; kernel < KERNELS; kernel++) {
            setenv("HAL_MSL_LOWERING", "fibers", 1);
            compare(library, kernel, "fibers");
            setenv("HAL_MSL_LOWERING", "auto", 1);
            compare(library, kernel, "auto");
            setenv("HAL_MSL_OPTIMISE", "0", 1);
            compare(library, kernel, "unoptimised");
            unsetenv("HAL_MSL_OPTIMISE");
        }
        free(library->text);
        free(library);
    }
    unsetenv("HAL_MSL_LOWERING");
}

/* ---- Choosing a lowering
 * --------------------------------------------------------------------------------- */

#define HEAD "#include <metal_stdlib>\nusing namespace metal;\n"

static const char divergent[] =
    HEAD "kernel void k(device uint* a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
         "{ if (a[i] & 1) a[i] = simd_sum(a[i]); else a[i] = simd_max(a[i]); }\n";
static const char uniform[] =
    HEAD "kernel void k(device uint* a [[buffer(0)]], uint i [[thread_position_in_grid]])\n"
         "{ a[i] = simd_sum(a[i]); }\n";

TEST(what_cannot_be_split_runs_on_fibers_and_says_why)
{
    uint32_t a[32], sum = 0, largest = 0;
    for (uint32_t i = 0; i < 32; i++) {
        a[i] = i * 7 % 32;
        sum += a[i] & 1 ? a[i] : 0;
        largest = !(a[i] & 1) && a[i] > largest ? a[i] : largest;
    }
    struct fixture_kernel kernel = fixture_compile(divergent, "k");
    assert_non_null(strstr(msl_function_get_info(kernel.function)->lowering, "fibers: "));
    fixture_run(&kernel, (void *[]){a}, 1, NULL, (const uint32_t[]){1, 1, 1},
                (const uint32_t[]){32, 1, 1});
    for (uint32_t i = 0; i < 32; i++)
        assert_int_equal(a[i], (i * 7 % 32) & 1 ? sum : largest);
    fixture_release(&kernel);
}

TEST(a_lowering_can_be_insisted_on)
{
    setenv("HAL_MSL_LOWERING", "fission", 1);
    assert_int_equal(fixture_status(divergent), HAL_UNSUPPORTED);
    assert_non_null(strstr(hal_message(), "cannot be split"));
    struct fixture_kernel kernel = fixture_compile(uniform, "k");
    assert_string_equal(msl_function_get_info(kernel.function)->lowering, "loops");
    fixture_release(&kernel);
    setenv("HAL_MSL_LOWERING", "fibers", 1);
    kernel = fixture_compile(uniform, "k");
    assert_string_equal(msl_function_get_info(kernel.function)->lowering,
                        "fibers: HAL_MSL_LOWERING asks for them");
    fixture_release(&kernel);
    setenv("HAL_MSL_LOWERING", "bridge", 1);
    assert_int_equal(fixture_status(uniform), HAL_INVALID);
    unsetenv("HAL_MSL_LOWERING");
}

/* HAL_MSL_ROAD is the former name; the new one comes first. */
TEST(the_former_variable_counts_where_the_new_one_is_not_set)
{
    setenv("HAL_MSL_ROAD", "bridge", 1);
    assert_int_equal(fixture_status(uniform), HAL_INVALID);
    assert_string_equal(hal_message(),
                        "HAL_MSL_ROAD is 'bridge'; it must be auto, fission or fibers");
    setenv("HAL_MSL_LOWERING", "auto", 1);
    struct fixture_kernel kernel = fixture_compile(uniform, "k");
    assert_string_equal(msl_function_get_info(kernel.function)->lowering, "loops");
    fixture_release(&kernel);
    setenv("HAL_MSL_LOWERING", "", 1);
    setenv("HAL_MSL_ROAD", "fibers", 1);
    kernel = fixture_compile(uniform, "k");
    assert_string_equal(msl_function_get_info(kernel.function)->lowering,
                        "fibers: HAL_MSL_LOWERING asks for them");
    fixture_release(&kernel);
    unsetenv("HAL_MSL_LOWERING");
    unsetenv("HAL_MSL_ROAD");
}

/* Variables that could live in registers, were there no other threads. */
static const char single_writers[] =
    HEAD "struct pair { uint first, second; };\n"
         "kernel void k(device uint* a [[buffer(0)]], uint i [[thread_index_in_threadgroup]])\n"
         "{\n"
         "    threadgroup uint scalar;\n"
         "    threadgroup pair both;\n"
         "    threadgroup uint list[4];\n"
         "    if (i == 0) { scalar = 3; list[1] = 5; }\n"
         "    if (i == 9) both.second = 7;\n"
         "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
         "    uint sum = scalar + 10 * list[1] + 100 * both.second;\n"
         "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
         "    if (i == 12) scalar = 1;\n"
         "    if (i == 40) list[1] = 6;\n"
         "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
         "    if (i == 41) scalar = 8;\n"
         "    threadgroup_barrier(mem_flags::mem_threadgroup);\n"
         "    a[i] = sum + 1000 * list[1] + 10000 * scalar;\n"
         "}\n";

TEST(what_one_thread_writes_all_read)
{
    static const char *const lowerings[] = {"fission", "fibers"};
    for (size_t lowering = 0; lowering < 2; lowering++) {
        uint32_t a[64] = {0};
        setenv("HAL_MSL_LOWERING", lowerings[lowering], 1);
        fixture_run_source(single_writers, "k", (void *[]){a}, 1, 1, 64);
        for (uint32_t i = 0; i < 64; i++)
            assert_int_equal(a[i], 86753);
    }
    unsetenv("HAL_MSL_LOWERING");
}

TEST(without_the_fission_pass_everything_runs_on_fibers)
{
    setenv("HAL_MSL_CC", "/nonexistent/hal-msl-cc", 1);
    struct fixture_kernel kernel = fixture_compile(uniform, "k");
    assert_string_equal(msl_function_get_info(kernel.function)->lowering,
                        "fibers: there is no hal-msl-cc beside the library");
    fixture_release(&kernel);
    setenv("HAL_MSL_CC", "/bin/false", 1); /* one that fails */
    kernel = fixture_compile(uniform, "k");
    assert_string_equal(msl_function_get_info(kernel.function)->lowering,
                        "fibers: hal-msl-cc failed");
    fixture_release(&kernel);
    setenv("HAL_MSL_LOWERING", "fission", 1);
    assert_int_equal(fixture_status(uniform), HAL_FAILED);
    unsetenv("HAL_MSL_LOWERING");
    unsetenv("HAL_MSL_CC");
}

TEST(any_size_works_when_one_is_known)
{
    const struct msl_group_size size = {"k", {64, 1, 1}};
    const struct msl_source source = {
        .text = uniform, .bytes = sizeof uniform - 1, .group_sizes = &size, .group_size_count = 1};
    struct fixture_kernel kernel = fixture_compile_with(&source, "k");
    for (uint32_t threads = 1; threads <= 96; threads += 5) {
        uint32_t a[96];
        for (uint32_t i = 0; i < threads; i++)
            a[i] = i;
        fixture_run(&kernel, (void *[]){a}, 1, NULL, (const uint32_t[]){1, 1, 1},
                    (const uint32_t[]){threads, 1, 1});
        for (uint32_t i = 0; i < threads; i++) {
            const uint32_t first = i / 32 * 32;
            const uint32_t last = first + 31 < threads - 1 ? first + 31 : threads - 1;
            assert_int_equal(a[i], (first + last) * (last - first + 1) / 2);
        }
    }
    fixture_release(&kernel);
}

TEST(impossible_sizes_are_refused)
{
    const struct msl_group_size size = {"k", {64, 32, 1}};
    const struct msl_source source = {
        .text = uniform, .bytes = sizeof uniform - 1, .group_sizes = &size, .group_size_count = 1};
    struct msl_library *library = NULL;
    assert_int_equal(msl_compile(&source, &library), HAL_INVALID);
    assert_non_null(strstr(hal_message(), "64 x 32 x 1"));
}

int main(void)
{
    unsetenv("HAL_MSL_LOWERING");
    unsetenv("HAL_MSL_CC");
    return test_run();
}
