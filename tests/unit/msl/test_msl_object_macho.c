/* SPDX-License-Identifier: Apache-2.0 */
/* hal/compiler/msl/object_macho.c, on any system: it reads bytes. They are put together here by the
 * numbers of Apple's <mach-o/loader.h>. */
#include "hal/compiler/msl/object.h"
#include "tests/support/test.h"

struct file {
    uint8_t bytes[1024];
    uint32_t length;
};

static void put(struct file *file, uint64_t value, size_t bytes)
{
    assert_true(file->length + bytes <= sizeof file->bytes);
    for (size_t i = 0; i < bytes; i++)
        file->bytes[file->length++] = (uint8_t)(i < sizeof value ? value >> 8 * i : 0);
}

static void put_name(struct file *file, const char *name, size_t bytes)
{
    assert_true(file->length + bytes <= sizeof file->bytes && strlen(name) <= bytes);
    memset(file->bytes + file->length, 0, bytes);
    memcpy(file->bytes + file->length, name, strlen(name));
    file->length += (uint32_t)bytes;
}

/* A header whose counts come last. */
static struct file begin(uint32_t file_type)
{
    struct file file = {.length = 0};
    put(&file, 0xfeedfacf, 4); /* MH_MAGIC_64 */
    put(&file, 0x0100000c, 4); /* CPU_TYPE_ARM64 */
    put(&file, 0, 4);
    put(&file, file_type, 4);
    put(&file, 0, 4 * 4);
    return file;
}

static void end(struct file *file, uint32_t commands)
{
    const uint32_t counts[] = {commands, file->length - 32};
    memcpy(file->bytes + 16, counts, sizeof counts);
}

static void put_segment(struct file *file, const char *section, uint32_t type)
{
    put(file, 0x19, 4); /* LC_SEGMENT_64 */
    put(file, 72 + 80, 4);
    put_name(file, "__DATA", 16);
    put(file, 0, 4 * 8 + 2 * 4);
    put(file, 1, 4);
    put(file, 0, 4);
    put_name(file, section, 16);
    put_name(file, "__DATA", 16);
    put(file, 0, 2 * 8 + 4 * 4);
    put(file, type, 4);
    put(file, 0, 3 * 4);
}

static void put_library(struct file *file, uint32_t command, const char *name)
{
    put(file, command, 4);
    put(file, 24 + 40, 4);
    put(file, 24, 4);
    put(file, 0, 3 * 4);
    put_name(file, name, 40);
}

static enum hal_status check(const struct file *file)
{
    uint8_t *const copy = malloc(file->length); /* a sanitizer sees a step too far */
    assert_non_null(copy);
    memcpy(copy, file->bytes, file->length);
    const enum hal_status status = msl_object_check(copy, file->length, "it");
    free(copy);
    return status;
}

static enum hal_status check_section(uint32_t type)
{
    struct file file = begin(6); /* MH_DYLIB */
    put_segment(&file, "__any", type);
    put_library(&file, 0xc, "/usr/lib/libSystem.B.dylib");
    end(&file, 2);
    return check(&file);
}

TEST(sections_of_initialisers_are_refused)
{
    static const uint32_t refused[] = {0x9, 0xa, 0xd, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16};
    for (uint32_t type = 0; type < 0x20; type++) {
        bool wanted = true;
        for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
            wanted = wanted && refused[i] != type;
        assert_int_equal(check_section(type), wanted ? HAL_OK : HAL_UNSUPPORTED);
        /* S_ATTR_...: attributes stand above. */
        assert_int_equal(check_section(type | 0x80000400), wanted ? HAL_OK : HAL_UNSUPPORTED);
    }
}

TEST(other_ways_to_run_code_are_refused)
{
    static const uint32_t libraries[] = {0xc, 0x20, 0x80000018, 0x8000001f, 0x80000023};
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        struct file file = begin(8); /* MH_BUNDLE */
        put_library(&file, libraries[i], "/usr/lib/libSystem.B.dylib");
        end(&file, 1);
        assert_int_equal(check(&file), HAL_OK);
        static const char *const others[] = {"/tmp/lib.dylib", "@rpath/lib.dylib",
                                             "/usr/lib/../../tmp/lib.dylib", ""};
        for (size_t k = 0; k < sizeof others / sizeof *others; k++) {
            file = begin(8);
            put_library(&file, libraries[i], others[k]);
            end(&file, 1);
            assert_int_equal(check(&file), HAL_CORRUPT);
        }
    }
    static const uint32_t routines[] = {0x11, 0x1a};
    for (size_t i = 0; i < 2; i++) {
        struct file file = begin(6);
        put(&file, routines[i], 4);
        put(&file, 72, 4);
        put(&file, 0, 8);
        put_name(&file, "", 56);
        end(&file, 1);
        assert_int_equal(check(&file), HAL_UNSUPPORTED);
    }
}

TEST(what_is_cut_off_is_refused)
{
    struct file whole = begin(6);
    put_segment(&whole, "__const", 0);
    put_library(&whole, 0xc, "/usr/lib/libSystem.B.dylib");
    end(&whole, 2);
    assert_int_equal(check(&whole), HAL_OK);
    for (uint32_t length = 1; length < whole.length; length++) {
        struct file part = whole;
        part.length = length;
        assert_int_equal(check(&part), HAL_CORRUPT);
    }
    for (uint32_t at = 0; at < whole.length; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct file changed = whole;
            changed.bytes[at] ^= (uint8_t)(1U << bit);
            (void)!check(&changed);
        }
    }
    struct file program = begin(2); /* MH_EXECUTE */
    end(&program, 0);
    assert_int_equal(check(&program), HAL_CORRUPT);
}
