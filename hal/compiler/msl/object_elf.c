/* SPDX-License-Identifier: Apache-2.0 */
/* Objects on systems with ELF. The tables that the loader uses are in memory that the object cannot
 * change during loading, each in one segment, and no segment hides a part of another: so what is
 * read here is what the loader reads. */
#include "hal/compiler/msl/object.h"

#include "hal/compiler/msl/imports.h"

#include <elf.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#if defined(__x86_64__)
enum { MACHINE = EM_X86_64, PAGE_BYTES = 4096, RESOLVED = R_X86_64_IRELATIVE };
static const uint32_t relocations[] = {R_X86_64_RELATIVE, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT,
                                       R_X86_64_64};
#elif defined(__aarch64__)
enum { MACHINE = EM_AARCH64, PAGE_BYTES = 4096, RESOLVED = R_AARCH64_IRELATIVE };
static const uint32_t relocations[] = {R_AARCH64_RELATIVE, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT,
                                       R_AARCH64_ABS64};
#else
#error "which relocations need no code to run?"
#endif

enum { MOST_SEGMENTS = 16, MOST_DYNAMIC = 256, LAST_KNOWN_TAG = 37 };

struct object {
    const uint8_t *bytes;
    size_t length;
    const char *what;
    Elf64_Phdr loads[MOST_SEGMENTS];
    size_t load_count;
    Elf64_Phdr dynamic;
    uint64_t tags[LAST_KNOWN_TAG + 1]; /* by DT_...; those that come once */
    Elf64_Xword needed[8];
    size_t needed_count;
};

static enum hal_status corrupt(const struct object *o, const char *why)
{
    return hal_fail(HAL_CORRUPT, "%s: the compiled code is not a loadable object: %s", o->what,
                    why);
}

static bool read_at(const struct object *o, uint64_t offset, void *out, size_t bytes)
{
    if (offset > o->length || bytes > o->length - offset)
        return false;
    memcpy(out, o->bytes + offset, bytes);
    return true;
}

/* ---- Segments ------------------------------------------------------------------------------ */

/* NULL: not whole in one segment's part of the file. */
static const Elf64_Phdr *segment_of(const struct object *o, uint64_t address, uint64_t bytes)
{
    for (size_t i = 0; i < o->load_count; i++) {
        const Elf64_Phdr *const load = &o->loads[i];
        if (address >= load->p_vaddr && address - load->p_vaddr <= load->p_filesz &&
            bytes <= load->p_filesz - (address - load->p_vaddr))
            return load;
    }
    return NULL;
}

/* A table that nothing can change before the loader reads it; NULL: not found. */
static const uint8_t *constant_table(const struct object *o, uint64_t address, uint64_t bytes)
{
    const Elf64_Phdr *const load = segment_of(o, address, bytes);
    return load && !(load->p_flags & PF_W) ? o->bytes + load->p_offset + (address - load->p_vaddr)
                                           : NULL;
}

static enum hal_status add_load(struct object *o, const Elf64_Phdr *load)
{
    const Elf64_Phdr *const last = o->load_count ? &o->loads[o->load_count - 1] : NULL;
    const uint64_t mask = PAGE_BYTES - 1;
    uint64_t end, file_end;
    if (__builtin_add_overflow(load->p_vaddr, load->p_memsz, &end) || end > INT64_MAX ||
        __builtin_add_overflow(load->p_offset, load->p_filesz, &file_end) || file_end > o->length ||
        load->p_filesz > load->p_memsz)
        return corrupt(o, "a segment goes beyond the file");
    if ((load->p_offset & mask) != (load->p_vaddr & mask))
        return corrupt(o, "a segment is not at its page");
    if (last && (load->p_vaddr & ~mask) < ((last->p_vaddr + last->p_memsz + mask) & ~mask))
        return corrupt(o, "segments share a page");
    if ((load->p_flags & PF_W) && (load->p_flags & PF_X))
        return corrupt(o, "code is writable");
    o->loads[o->load_count++] = *load;
    return HAL_OK;
}

static enum hal_status take_segment(struct object *o, const Elf64_Phdr *header, bool *has_stack)
{
    switch (header->p_type) {
    case PT_LOAD: return add_load(o, header);
    case PT_DYNAMIC:
        if (o->dynamic.p_memsz)
            return corrupt(o, "it has two dynamic sections");
        o->dynamic = *header;
        return HAL_OK;
    case PT_GNU_STACK:
        *has_stack = true;
        return header->p_flags & PF_X ? corrupt(o, "it requires executable stacks") : HAL_OK;
    case PT_TLS:
        return hal_fail(HAL_UNSUPPORTED,
                        "%s: variables per host thread (thread_local) are not part of the language",
                        o->what);
    case PT_NULL:
    case PT_NOTE:
    case PT_PHDR:
    case PT_GNU_EH_FRAME:
    case PT_GNU_RELRO:
    case PT_GNU_PROPERTY: return HAL_OK;
    default: return corrupt(o, "it has a segment of an unknown kind");
    }
}

static enum hal_status read_segments(struct object *o)
{
    Elf64_Ehdr header;
    bool has_stack = false;
    if (!read_at(o, 0, &header, sizeof header) ||
        memcmp(header.e_ident, ELFMAG "\x02\x01\x01", SELFMAG + 3) != 0 ||
        header.e_type != ET_DYN || header.e_machine != MACHINE ||
        header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > MOST_SEGMENTS)
        return corrupt(o, "it is not a shared object for this machine");
    for (size_t i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr segment;
        if (header.e_phoff > o->length ||
            !read_at(o, header.e_phoff + i * sizeof segment, &segment, sizeof segment))
            return corrupt(o, "a segment is not in the file");
        HAL_TRY(take_segment(o, &segment, &has_stack));
    }
    return has_stack ? HAL_OK : corrupt(o, "it does not declare its stacks non-executable");
}

/* ---- The dynamic section ------------------------------------------------------------------- */

/* Code that the loader runs. NULL: the tag does not mean any. */
static const char *load_time_code(int64_t tag)
{
    switch (tag) {
    case DT_INIT: return "DT_INIT";
    case DT_FINI: return "DT_FINI";
    case DT_INIT_ARRAY:
    case DT_INIT_ARRAYSZ:
        return "DT_INIT_ARRAY: a constructor, or a variable with a computed value";
    case DT_FINI_ARRAY:
    case DT_FINI_ARRAYSZ: return "DT_FINI_ARRAY: a destructor";
    case DT_PREINIT_ARRAY: return "DT_PREINIT_ARRAY";
    default: return NULL;
    }
}

static enum hal_status runs_code(const struct object *o, const char *why)
{
    return hal_fail(HAL_UNSUPPORTED,
                    "%s: it would run code on loading (%s), which kernels must not do", o->what,
                    why);
}

/* Tags that make the loader neither run anything nor load anything else. */
static bool is_harmless(const Elf64_Dyn *entry)
{
    switch (entry->d_tag) {
    case DT_HASH:
    case DT_GNU_HASH:
    case DT_STRTAB:
    case DT_SYMTAB:
    case DT_STRSZ:
    case DT_RELA:
    case DT_RELASZ:
    case DT_RELACOUNT:
    case DT_PLTGOT:
    case DT_PLTRELSZ:
    case DT_JMPREL:
    case DT_VERSYM:
    case DT_VERNEED:
    case DT_VERNEEDNUM:
    case DT_BIND_NOW: return true;
    case DT_SYMENT: return entry->d_un.d_val == sizeof(Elf64_Sym);
    case DT_RELAENT: return entry->d_un.d_val == sizeof(Elf64_Rela);
    case DT_PLTREL: return entry->d_un.d_val == DT_RELA;
    case DT_FLAGS: return (entry->d_un.d_val & ~(Elf64_Xword)(DF_BIND_NOW | DF_SYMBOLIC)) == 0;
    case DT_FLAGS_1: return (entry->d_un.d_val & ~(Elf64_Xword)DF_1_NOW) == 0;
#if defined(__aarch64__)
    case 0x70000001: /* DT_AARCH64_BTI_PLT, and signed pointers */
    case 0x70000003: return true;
#endif
    default: return false;
    }
}

static enum hal_status take_tag(struct object *o, const Elf64_Dyn *entry)
{
    const char *const code = load_time_code(entry->d_tag);
    char why[64];
    if (code)
        return runs_code(o, code);
    if (entry->d_tag == DT_NEEDED && o->needed_count < sizeof o->needed / sizeof *o->needed) {
        o->needed[o->needed_count++] = entry->d_un.d_val;
        return HAL_OK;
    }
    if (!is_harmless(entry)) {
        snprintf(why, sizeof why, "its dynamic section has 0x%" PRIx64 " with tag 0x%" PRIx64,
                 entry->d_un.d_val, (uint64_t)entry->d_tag);
        return corrupt(o, why);
    }
    if (entry->d_tag > LAST_KNOWN_TAG)
        return HAL_OK;
    if (o->tags[entry->d_tag])
        return corrupt(o, "its dynamic section has an entry twice");
    o->tags[entry->d_tag] = entry->d_un.d_val;
    return HAL_OK;
}

/* Its address in memory, whatever the file's header contains. */
static enum hal_status read_dynamic(struct object *o)
{
    const uint64_t address = o->dynamic.p_vaddr, bytes = o->dynamic.p_memsz;
    const Elf64_Phdr *const load = segment_of(o, address, bytes);
    if (!bytes || !load || bytes > MOST_DYNAMIC * sizeof(Elf64_Dyn))
        return corrupt(o, "it has no dynamic section");
    const uint8_t *const table = o->bytes + load->p_offset + (address - load->p_vaddr);
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= bytes; at += sizeof(Elf64_Dyn)) {
        Elf64_Dyn entry;
        memcpy(&entry, table + at, sizeof entry);
        if (entry.d_tag == DT_NULL)
            return HAL_OK;
        HAL_TRY(take_tag(o, &entry));
    }
    return corrupt(o, "its dynamic section has no end");
}

/* ---- Names --------------------------------------------------------------------------------- */

/* NULL: it has no end inside the strings. */
static const char *string_at(const struct object *o, uint64_t offset)
{
    const uint64_t bytes = o->tags[DT_STRSZ];
    const uint8_t *const strings = constant_table(o, o->tags[DT_STRTAB], bytes);
    return strings && offset < bytes && memchr(strings + offset, 0, bytes - offset)
               ? (const char *)strings + offset
               : NULL;
}

static enum hal_status check_needed(const struct object *o)
{
    for (size_t i = 0; i < o->needed_count; i++) {
        const char *const name = string_at(o, o->needed[i]);
        if (!name || !msl_may_need(name))
            return corrupt(o, "it requires a library that kernels do not need");
    }
    return HAL_OK;
}

/* ---- Relocations --------------------------------------------------------------------------- */

static const char an_indirect_function[] = "the resolver of an indirect function";

static enum hal_status check_symbol(const struct object *o, uint64_t index)
{
    Elf64_Sym symbol;
    uint64_t offset, address;
    if (__builtin_mul_overflow(index, sizeof symbol, &offset) ||
        __builtin_add_overflow(o->tags[DT_SYMTAB], offset, &address))
        return corrupt(o, "a relocation has no symbol");
    const uint8_t *const at = constant_table(o, address, sizeof symbol);
    if (!at)
        return corrupt(o, "a relocation has no symbol");
    memcpy(&symbol, at, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) > STT_FUNC)
        return runs_code(o, an_indirect_function);
    const char *const name = string_at(o, symbol.st_name);
    if (!name)
        return corrupt(o, "a symbol has no name");
    if (symbol.st_shndx != SHN_UNDEF || msl_may_import(name))
        return HAL_OK;
    return hal_fail(HAL_UNSUPPORTED,
                    "%s: the compiled code refers to '%s', which is not part of the language",
                    o->what, name);
}

static bool is_known(uint32_t type)
{
    for (size_t i = 0; i < sizeof relocations / sizeof *relocations; i++)
        if (relocations[i] == type)
            return true;
    return false;
}

/* The loader changes data of the object, not the tables that it uses. */
static bool may_change(const struct object *o, uint64_t address)
{
    const uint64_t dynamic = o->dynamic.p_vaddr;
    for (size_t i = 0; i < o->load_count; i++) {
        const Elf64_Phdr *const load = &o->loads[i];
        if (address >= load->p_vaddr && load->p_memsz >= sizeof(uint64_t) &&
            address - load->p_vaddr <= load->p_memsz - sizeof(uint64_t))
            return (load->p_flags & PF_W) && (address + sizeof(uint64_t) <= dynamic ||
                                              address >= dynamic + o->dynamic.p_memsz);
    }
    return false;
}

static enum hal_status check_relocations(const struct object *o, uint64_t address, uint64_t bytes)
{
    const uint8_t *const table = constant_table(o, address, bytes);
    if (!bytes)
        return HAL_OK;
    if (!table || bytes % sizeof(Elf64_Rela))
        return corrupt(o, "its relocations are not in the file");
    for (uint64_t at = 0; at < bytes; at += sizeof(Elf64_Rela)) {
        Elf64_Rela relocation;
        memcpy(&relocation, table + at, sizeof relocation);
        const uint32_t type = (uint32_t)ELF64_R_TYPE(relocation.r_info);
        if (type == RESOLVED)
            return runs_code(o, an_indirect_function);
        if (!is_known(type))
            return corrupt(o, "it has a relocation of an unusual kind");
        if (!may_change(o, relocation.r_offset))
            return corrupt(o, "a relocation changes memory that is not its own");
        if (ELF64_R_SYM(relocation.r_info))
            HAL_TRY(check_symbol(o, ELF64_R_SYM(relocation.r_info)));
    }
    return HAL_OK;
}

enum hal_status msl_object_check(const void *bytes, size_t length, const char *what)
{
    struct object o = {.bytes = bytes, .length = length, .what = what};
    HAL_TRY(read_segments(&o));
    HAL_TRY(read_dynamic(&o));
    HAL_TRY(check_needed(&o));
    HAL_TRY(check_relocations(&o, o.tags[DT_RELA], o.tags[DT_RELASZ]));
    return check_relocations(&o, o.tags[DT_JMPREL], o.tags[DT_PLTRELSZ]);
}
