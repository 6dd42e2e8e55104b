/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled kernels that would run code as they are loaded, or call what is not theirs, are neither
 * kept nor loaded, whatever the source looks like; and what claims to be a compiled kernel is
 * believed nothing. */
#include "hal/compiler/msl/object.h"
#include "tests/support/test.h"
#include "tests/unit/msl/msl_fixture.h"

#include <elf.h>
#include <glob.h>
#include <limits.h>

#define KERNEL "kernel void k(device int *x [[buffer(0)]]) { x[0] = "

/* A cache entry ends in a magic number, a key and a checksum: the rest is the object. */
enum { TRAILER_BYTES = 16 + 2 * 32 };

struct object {
    uint8_t *bytes;
    size_t length;
};

static size_t count_objects(const char *directory, char out_path[PATH_MAX])
{
    glob_t found;
    char pattern[PATH_MAX];
    snprintf(pattern, sizeof pattern, "%s/*.so", directory);
    const size_t count = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    if (count)
        snprintf(out_path, PATH_MAX, "%s", found.gl_pathv[0]);
    globfree(&found);
    return count;
}

static enum hal_status compile(const char *text)
{
    const struct msl_group_size size = {"k", {1, 1, 1}};
    const struct msl_source source = {.name = "hostile",
                                      .text = text,
                                      .bytes = strlen(text),
                                      .group_sizes = &size,
                                      .group_size_count = 1,
                                      .only_listed = true,
                                      .directory = fixture_directory()};
    return msl_compile(&source, NULL);
}

static struct object compile_good(void)
{
    struct object object;
    char path[PATH_MAX];
    if (compile("constant float table[4] = {1, 2, 3, 4};\nconstant float *constant at[2] = {table, "
                "table + 1};\nkernel void k(device float *x [[buffer(0)]]) { x[0] = metal::sin(x[1]"
                ") + *at[(int)x[2] & 1]; }") != HAL_OK)
        fail_msg("%s", hal_message());
    assert_int_equal(count_objects(fixture_directory(), path), 1);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    fseek(file, 0, SEEK_END);
    object.length = (size_t)ftell(file) - TRAILER_BYTES;
    rewind(file);
    object.bytes = malloc(object.length);
    assert_non_null(object.bytes);
    assert_int_equal(fread(object.bytes, 1, object.length, file), object.length);
    fclose(file);
    fixture_remove_directory();
    assert_int_equal(msl_object_check(object.bytes, object.length, "it"), HAL_OK);
    return object;
}

/* ---- What sources become -------------------------------------------------------------------- */

TEST(code_that_runs_at_load_time_is_refused)
{
    static const char *const sources[] = {
        "static volatile int z; __attribute__((constructor)) static void f() { z = 1; }\n" KERNEL
        "z; }",
        "static volatile int z; __attribute__((constructor(101))) static void f() { z = 1; "
        "}\n" KERNEL "z; }",
        "static volatile int z; __attribute__((destructor)) static void f() { z = 1; }\n" KERNEL
        "z; }",
        "volatile int seed = 3; static int z = seed * 2;\n" KERNEL "z; }",
        "struct s { int v; s() { v = *(volatile int *)&v + 1; } }; static s z;\n" KERNEL "z.v; }",
        "static void f() {}\n__attribute__((section(\".init_array\"), used)) static void (*p)() = "
        "f;\n" KERNEL "1; }",
        "static void f() {}\n__attribute__((section(\".ctors\"), used)) static void (*p)() = f;\n"
        "__attribute__((section(\".init_array.1\"), used)) static void (*q)() = f;\n" KERNEL "1; }",
        "extern \"C\" int real() { return 1; }\nstatic int (*pick())() { return real; }\n"
        "int chosen() __attribute__((ifunc(\"_ZL4pickv\")));\n" KERNEL "chosen(); }",
    };
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (compile(sources[i]) != HAL_UNSUPPORTED ||
            !strstr(hal_message(), "would run code on loading") ||
            !strstr(hal_message(), "kernel 'k' of 'hostile'"))
            fail_msg("taken, or not named: %s: %s", sources[i], hal_message());
    }
    assert_int_equal(count_objects(fixture_directory(), path), 0);
    fixture_remove_directory();
}

TEST(other_code_is_not_reached_by_name)
{
    static const char *const sources[] = {
        "static int f(const char *, unsigned) __attribute__((weakref(\"chmod\")));\n" KERNEL
        "f(\"/x\", 0); }",
        "static int f() __attribute__((weakref(\"fork\")));\nstatic int (*volatile g)() = "
        "f;\n" KERNEL "g(); }",
        "namespace n { int f(const char *, unsigned) __attribute__((weak)); }\n" KERNEL
        "n::f(\"/x\", 0); }",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        if (compile(sources[i]) != HAL_UNSUPPORTED ||
            !strstr(hal_message(), "which is not part of the language"))
            fail_msg("taken: %s: %s", sources[i], hal_message());
    }
    fixture_remove_directory();
}

TEST(assembly_is_refused_in_every_spelling)
{
    static const char *const sources[] = {
        KERNEL "1; asm(\"nop\"); }",
        KERNEL "1; asm volatile(\"nop\"); }",
        KERNEL "1; __asm__ __volatile__(\"nop\"); }",
        KERNEL "1; asm inline(\"nop\"); }",
        KERNEL "1; asm __inline__ volatile(\"nop\"); }",
        KERNEL "1; asm goto(\"nop\" : : : : out); out:; }",
        "#define LATER __asm__ __volatile__\n" KERNEL "1; LATER(\"nop\"); }",
        "#define HALF(x) x##m__\n" KERNEL "1; HALF(__as) __volatile__(\"nop\"); }",
        "asm(\".globl x\");\n" KERNEL "1; }",
        "__asm__ (\".incbin \\\"/etc/hostname\\\"\");\n" KERNEL "1; }",
    };
    for (size_t i = 0; i < sizeof sources / sizeof *sources; i++) {
        const enum hal_status status = compile(sources[i]);
        if ((status != HAL_INVALID && status != HAL_UNSUPPORTED) ||
            !strstr(hal_message(), "hostile:"))
            fail_msg("taken: %s: %s", sources[i], hal_message());
    }
    fixture_remove_directory();
}

/* ---- What claims to be an object ------------------------------------------------------------ */

typedef bool change(struct object *object);

static Elf64_Phdr *segment(struct object *object, uint32_t type)
{
    const Elf64_Ehdr *const header = (const void *)object->bytes;
    Elf64_Phdr *const all = (void *)(object->bytes + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++)
        if (all[i].p_type == type)
            return &all[i];
    return NULL;
}

static Elf64_Dyn *dynamic(struct object *object, int64_t tag)
{
    const Elf64_Phdr *const where = segment(object, PT_DYNAMIC);
    Elf64_Dyn *entry = (void *)(object->bytes + where->p_offset);
    while (entry->d_tag != tag && entry->d_tag != DT_NULL)
        entry++;
    return entry->d_tag == tag ? entry : NULL;
}

/* In the first segment, addresses are offsets. */
static Elf64_Rela *relocation(struct object *object)
{
    return (void *)(object->bytes + dynamic(object, DT_RELA)->d_un.d_ptr);
}

static bool retag(struct object *object, int64_t tag)
{
    dynamic(object, DT_RELACOUNT)->d_tag = tag;
    return true;
}

static bool has_init(struct object *object)
{
    return retag(object, DT_INIT);
}

static bool has_init_array(struct object *object)
{
    return retag(object, DT_INIT_ARRAY);
}

static bool has_preinit_array(struct object *object)
{
    return retag(object, DT_PREINIT_ARRAY);
}

static bool has_fini(struct object *object)
{
    return retag(object, DT_FINI);
}

static bool has_resolver(struct object *object)
{
#if defined(__x86_64__)
    relocation(object)->r_info = R_X86_64_IRELATIVE;
#else
    relocation(object)->r_info = R_AARCH64_IRELATIVE;
#endif
    return true;
}

static bool has_thread_variables(struct object *object)
{
    segment(object, PT_GNU_EH_FRAME)->p_type = PT_TLS;
    return true;
}

static bool loads_another(struct object *object)
{
    char *const strings = (char *)object->bytes + dynamic(object, DT_STRTAB)->d_un.d_ptr;
    strings[dynamic(object, DT_NEEDED)->d_un.d_val + 3] = 'x'; /* "libm..." */
    return false;
}

static bool is_audited(struct object *object)
{
    retag(object, DT_AUDIT);
    return false;
}

static bool is_filter(struct object *object)
{
    retag(object, DT_FILTER);
    return false;
}

static bool packs_relocations(struct object *object)
{
    retag(object, DT_RELR);
    return false;
}

static bool wants_code_on_stacks(struct object *object)
{
    segment(object, PT_GNU_STACK)->p_flags |= PF_X;
    return false;
}

static bool says_nothing_of_stacks(struct object *object)
{
    segment(object, PT_GNU_STACK)->p_type = PT_NULL;
    return false;
}

static bool writes_code(struct object *object)
{
    segment(object, PT_LOAD)->p_flags |= PF_W | PF_X;
    return false;
}

static bool changes_its_relocations(struct object *object)
{
    segment(object, PT_LOAD)->p_flags |= PF_W;
    return false;
}

static bool changes_its_dynamic_section(struct object *object)
{
    relocation(object)->r_offset = segment(object, PT_DYNAMIC)->p_vaddr + 8;
    return false;
}

static bool changes_somebody_else(struct object *object)
{
    relocation(object)->r_offset = UINT64_MAX - 64;
    return false;
}

static bool has_two_faces(struct object *object)
{
    segment(object, PT_DYNAMIC)[0].p_vaddr += 16; /* the loader goes by the address */
    return false;
}

TEST(nothing_is_believed)
{
    static change *const changes[] = {has_init,
                                      has_init_array,
                                      has_preinit_array,
                                      has_fini,
                                      has_resolver,
                                      has_thread_variables,
                                      loads_another,
                                      is_audited,
                                      is_filter,
                                      packs_relocations,
                                      wants_code_on_stacks,
                                      says_nothing_of_stacks,
                                      writes_code,
                                      changes_its_relocations,
                                      changes_its_dynamic_section,
                                      changes_somebody_else};
    struct object good = compile_good();
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        struct object object = {malloc(good.length), good.length};
        assert_non_null(object.bytes);
        memcpy(object.bytes, good.bytes, good.length);
        const enum hal_status wanted = changes[i](&object) ? HAL_UNSUPPORTED : HAL_CORRUPT;
        if (msl_object_check(object.bytes, object.length, "it") != wanted)
            fail_msg("change %zu is not refused as it should be: %s", i, hal_message());
        free(object.bytes);
    }
    /* Where the section would be by its address, it lacks an entry; that by its offset is whole. */
    struct object object = {malloc(good.length), good.length};
    memcpy(object.bytes, good.bytes, good.length);
    (void)has_two_faces(&object);
    *(Elf64_Dyn *)(void *)(object.bytes + segment(&object, PT_DYNAMIC)->p_offset + 16) =
        (Elf64_Dyn){.d_tag = DT_INIT};
    assert_int_equal(msl_object_check(object.bytes, object.length, "it"), HAL_UNSUPPORTED);
    free(object.bytes);
    free(good.bytes);
}

/* Each in memory of its own, so that a sanitizer sees a step too far. */
TEST(damage_is_no_harm)
{
    enum { ROUNDS = 20000, MOST_CHANGES = 4 };
    struct object good = compile_good();
    size_t needed = 0; /* behind it are tables for linkers and debuggers */
    const Elf64_Ehdr *const header = (const void *)good.bytes;
    const Elf64_Phdr *const all = (const void *)(good.bytes + header->e_phoff);
    for (size_t i = 0; i < header->e_phnum; i++) {
        const size_t end = all[i].p_offset + all[i].p_filesz;
        needed = all[i].p_type == PT_LOAD && end > needed ? end : needed;
    }
    for (size_t length = 0; length < needed; length += 1 + length / 8) {
        uint8_t *const part = malloc(length ? length : 1);
        memcpy(part, good.bytes, length);
        assert_int_not_equal(msl_object_check(part, length, "it"), HAL_OK);
        free(part);
    }
    uint8_t *const copy = malloc(good.length);
    memcpy(copy, good.bytes, good.length);
    const size_t dynamic_at = segment(&good, PT_DYNAMIC)->p_offset;
    for (int i = 0; i < ROUNDS; i++) {
        size_t at[MOST_CHANGES];
        for (size_t k = 0; k < MOST_CHANGES; k++) {
            const uint32_t random = fixture_random();
            at[k] = (random & 1 ? dynamic_at : 0) + (random >> 8) % 1024;
            at[k] = at[k] < good.length ? at[k] : 0;
            copy[at[k]] = (uint8_t)fixture_random();
        }
        (void)!msl_object_check(copy, good.length, "it");
        for (size_t k = 0; k < MOST_CHANGES; k++)
            copy[at[k]] = good.bytes[at[k]];
    }
    assert_int_equal(msl_object_check(copy, good.length, "it"), HAL_OK);
    free(copy);
    free(good.bytes);
}
