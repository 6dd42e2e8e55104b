/* SPDX-License-Identifier: Apache-2.0 */
/* Objects on macOS. Checked is what dyld runs by itself: initialiser sections, by their type, and
 * the command of an initial routine. Referenced names are not checked: they are in dyld's binding
 * data, not in the symbol table. */
#include "hal/compiler/msl/object.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { CPU_X86_64 = 0x01000007, CPU_ARM64 = 0x0100000c };
enum { FILE_DYLIB = 6, FILE_BUNDLE = 8 };
enum {
    SEGMENT = 0x19,
    ROUTINES = 0x11,
    ROUTINES_64 = 0x1a,
    LOAD_DYLIB = 0xc,
    LAZY_DYLIB = 0x20,
    ENVIRONMENT = 0x27,
};
#define WEAK_DYLIB     0x80000018u
#define REEXPORT_DYLIB 0x8000001fu
#define UPWARD_DYLIB   0x80000023u
#define MACHO_MAGIC    0xfeedfacfu

/* As <mach-o/loader.h> has them. */
struct header {
    uint32_t magic, cpu, subtype, file_type, command_count, command_bytes, flags, reserved;
};
struct command {
    uint32_t kind, bytes;
};
struct segment {
    struct command command;
    char name[16];
    uint64_t address, memory_bytes, offset, file_bytes;
    int32_t most, first;
    uint32_t section_count, flags;
};
struct section {
    char name[16], segment[16];
    uint64_t address, bytes;
    uint32_t offset, alignment, relocations, relocation_count, flags, reserved[3];
};
struct library {
    struct command command;
    uint32_t name, time, version, compatible;
};

struct object {
    const uint8_t *bytes;
    size_t length;
    const char *what;
};

static enum hal_status corrupt(const struct object *o, const char *why)
{
    return hal_fail(HAL_CORRUPT, "%s: the compiled code is not a loadable object: %s", o->what,
                    why);
}

static enum hal_status runs_code(const struct object *o, const char *why)
{
    return hal_fail(HAL_UNSUPPORTED,
                    "%s: it would run code on loading (%s), which kernels must not do", o->what,
                    why);
}

/* By the type of a section. NULL: dyld runs nothing of it. */
static const char *load_time_code(uint32_t type)
{
    enum {
        INIT = 9,
        TERM = 10,
        INTERPOSING = 13,
        THREAD_FIRST = 0x11,
        THREAD_LAST = 0x15,
        OFFSETS
    };
    if (type == INIT || type == OFFSETS)
        return "initialisers: a constructor, or a variable with a computed value";
    if (type == TERM)
        return "terminators: a destructor";
    if (type == INTERPOSING)
        return "functions that replace others";
    return type >= THREAD_FIRST && type <= THREAD_LAST ? "variables per host thread" : NULL;
}

static enum hal_status check_segment(const struct object *o, const uint8_t *at, uint32_t bytes)
{
    struct segment segment;
    if (bytes < sizeof segment)
        return corrupt(o, "a segment is cut off");
    memcpy(&segment, at, sizeof segment);
    if (segment.section_count > (bytes - sizeof segment) / sizeof(struct section))
        return corrupt(o, "a section is cut off");
    for (uint32_t i = 0; i < segment.section_count; i++) {
        struct section section;
        memcpy(&section, at + sizeof segment + i * sizeof section, sizeof section);
        const char *const code = load_time_code(section.flags & 0xff);
        if (code)
            return runs_code(o, code);
    }
    return HAL_OK;
}

/* Other libraries run code, too: the system's alone. */
static enum hal_status check_library(const struct object *o, const uint8_t *at, uint32_t bytes)
{
    static const char system[] = "/usr/lib/";
    struct library library;
    if (bytes < sizeof library)
        return corrupt(o, "the name of a library is cut off");
    memcpy(&library, at, sizeof library);
    if (library.name >= bytes || bytes - library.name < sizeof system ||
        memcmp(at + library.name, system, sizeof system - 1) != 0 ||
        !memchr(at + library.name, 0, bytes - library.name) ||
        strstr((const char *)at + library.name, ".."))
        return corrupt(o, "it requires a library that kernels do not need");
    return HAL_OK;
}

static enum hal_status check_command(const struct object *o, const uint8_t *at,
                                     const struct command *command)
{
    switch (command->kind) {
    case SEGMENT: return check_segment(o, at, command->bytes);
    case ROUTINES:
    case ROUTINES_64: return runs_code(o, "an initial routine");
    case ENVIRONMENT: return corrupt(o, "it changes how it is loaded");
    case LOAD_DYLIB:
    case LAZY_DYLIB:
    case WEAK_DYLIB:
    case REEXPORT_DYLIB:
    case UPWARD_DYLIB: return check_library(o, at, command->bytes);
    default: return HAL_OK;
    }
}

enum hal_status msl_object_check(const void *bytes, size_t length, const char *what)
{
    const struct object o = {bytes, length, what};
    struct header header;
    if (length < sizeof header)
        return corrupt(&o, "it is too short");
    memcpy(&header, bytes, sizeof header);
    if (header.magic != MACHO_MAGIC || (header.cpu != CPU_X86_64 && header.cpu != CPU_ARM64) ||
        (header.file_type != FILE_DYLIB && header.file_type != FILE_BUNDLE) ||
        header.command_bytes > length - sizeof header)
        return corrupt(&o, "it is not a library for this machine");
    size_t at = sizeof header;
    const size_t end = sizeof header + header.command_bytes;
    for (uint32_t i = 0; i < header.command_count; i++) {
        struct command command;
        if (end - at < sizeof command)
            return corrupt(&o, "a command is cut off");
        memcpy(&command, o.bytes + at, sizeof command);
        if (command.bytes < sizeof command || command.bytes > end - at)
            return corrupt(&o, "a command is cut off");
        HAL_TRY(check_command(&o, o.bytes + at, &command));
        at += command.bytes;
    }
    return HAL_OK;
}
