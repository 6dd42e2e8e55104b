/* SPDX-License-Identifier: Apache-2.0 */
#include "format/analysis/symbols.h"

#include "hal/base/mem.h"
#include "hal/base/order.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_BYTES = 512 };

/* [offset, offset + bytes) of the file; NULL: not all of it is there, or not aligned. */
static const void *part(const struct trace_symbols *s, uint64_t offset, uint64_t bytes,
                        unsigned alignment)
{
    if (!hal_range_fits(offset, bytes, s->bytes) || offset % alignment)
        return NULL;
    return s->data + offset;
}

static const Elf64_Ehdr *header_of(const struct trace_symbols *s)
{
    const Elf64_Ehdr *header = part(s, 0, sizeof *header, 8);
    if (!header || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
        return NULL;
    return header;
}

static const Elf64_Phdr *segments_of(const struct trace_symbols *s, size_t *count)
{
    const Elf64_Ehdr *header = header_of(s);
    *count = header->e_phnum;
    return header->e_phentsize == sizeof(Elf64_Phdr)
               ? part(s, header->e_phoff, *count * sizeof(Elf64_Phdr), 8)
               : NULL;
}

static const Elf64_Shdr *sections_of(const struct trace_symbols *s, size_t *count)
{
    const Elf64_Ehdr *header = header_of(s);
    *count = header->e_shnum;
    return header->e_shentsize == sizeof(Elf64_Shdr)
               ? part(s, header->e_shoff, *count * sizeof(Elf64_Shdr), 8)
               : NULL;
}

/* ---- Build ids ---- */

static bool notes_have(const uint8_t *notes, uint64_t bytes, const uint8_t *id, size_t id_bytes)
{
    for (uint64_t at = 0; bytes - at >= sizeof(Elf64_Nhdr);) {
        Elf64_Nhdr note;
        memcpy(&note, notes + at, sizeof note);
        at += sizeof note;
        const uint64_t name = hal_align_up(note.n_namesz, 4), data = hal_align_up(note.n_descsz, 4);
        if (name > bytes - at || data > bytes - at - name)
            return false;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz == id_bytes &&
            memcmp(notes + at + name, id, id_bytes) == 0)
            return true;
        at += name + data;
    }
    return false;
}

static bool has_build_id(const struct trace_symbols *s, const uint8_t *id, size_t id_bytes)
{
    size_t count;
    const Elf64_Phdr *segments = segments_of(s, &count);
    for (size_t i = 0; segments && i < count; i++) {
        const uint8_t *notes = segments[i].p_type == PT_NOTE
                                   ? part(s, segments[i].p_offset, segments[i].p_filesz, 4)
                                   : NULL;
        if (notes && notes_have(notes, segments[i].p_filesz, id, id_bytes))
            return true;
    }
    return false;
}

/* ---- Symbols ---- */

HAL_COMPARE(compare_symbols, struct trace_symbol, address)

static enum hal_status add_table(struct trace_symbols *s, const Elf64_Shdr *table,
                                 const Elf64_Shdr *names)
{
    const size_t count = (size_t)(table->sh_size / sizeof(Elf64_Sym));
    const Elf64_Sym *symbols = part(s, table->sh_offset, count * sizeof *symbols, 8);
    if (!symbols || !hal_range_fits(names->sh_offset, names->sh_size, s->bytes) ||
        !names->sh_size || s->data[names->sh_offset + names->sh_size - 1])
        return HAL_OK;
    for (size_t i = 0; i < count; i++) {
        const Elf64_Sym *symbol = &symbols[i];
        if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_value ||
            symbol->st_name >= names->sh_size)
            continue;
        if (!HAL_GROW(s->symbols, &s->capacity, s->count + 1))
            return hal_fail(HAL_NO_MEMORY, "no memory for %zu symbols", s->count);
        s->symbols[s->count++] =
            (struct trace_symbol){symbol->st_value, symbol->st_size,
                                  (const char *)s->data + names->sh_offset + symbol->st_name};
    }
    return HAL_OK;
}

static enum hal_status load_symbols(struct trace_symbols *s)
{
    size_t count;
    const Elf64_Shdr *sections = sections_of(s, &count);
    for (size_t i = 0; sections && i < count; i++) {
        const uint32_t type = sections[i].sh_type;
        if ((type == SHT_SYMTAB || type == SHT_DYNSYM) && sections[i].sh_link < count)
            HAL_TRY(add_table(s, &sections[i], &sections[sections[i].sh_link]));
    }
    if (s->count)
        qsort(s->symbols, s->count, sizeof *s->symbols, compare_symbols);
    return HAL_OK;
}

static void find_first_address(struct trace_symbols *s)
{
    size_t count;
    const Elf64_Phdr *segments = segments_of(s, &count);
    s->first_address = UINT64_MAX;
    for (size_t i = 0; segments && i < count; i++) {
        const uint64_t begin = segments[i].p_vaddr & ~(uint64_t)4095;
        if (segments[i].p_type == PT_LOAD && begin < s->first_address)
            s->first_address = begin;
    }
    if (s->first_address == UINT64_MAX)
        s->first_address = 0;
}

/* ---- Files ---- */

static enum hal_status map_file(struct trace_symbols *s, const char *path)
{
    struct stat info;
    const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file < 0)
        return hal_fail(HAL_NOT_FOUND, "'%s': %s", path, strerror(errno));
    void *data = MAP_FAILED;
    if (fstat(file, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0)
        data = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    close(file);
    if (data == MAP_FAILED)
        return hal_fail(HAL_INVALID, "'%s' cannot be read", path);
    s->data = data;
    s->bytes = (size_t)info.st_size;
    if (!header_of(s))
        return hal_fail(HAL_INVALID, "'%s' is not a 64-bit ELF file", path);
    return HAL_OK;
}

static enum hal_status open_file(struct trace_symbols *s, const char *path, const uint8_t *id,
                                 size_t id_bytes)
{
    *s = (struct trace_symbols){0};
    HAL_TRY(map_file(s, path));
    if (id_bytes && !has_build_id(s, id, id_bytes))
        return hal_fail(HAL_INVALID, "'%s' is not the build that was captured", path);
    find_first_address(s);
    return load_symbols(s);
}

/* Where systems keep debug information by build id. */
static bool debug_path(const uint8_t *id, size_t id_bytes, char out[PATH_BYTES])
{
    if (id_bytes < 2 || id_bytes > 64)
        return false;
    size_t used = (size_t)snprintf(out, PATH_BYTES, "/usr/lib/debug/.build-id/%02x/", id[0]);
    for (size_t i = 1; i < id_bytes; i++)
        used += (size_t)snprintf(out + used, PATH_BYTES - used, "%02x", id[i]);
    snprintf(out + used, PATH_BYTES - used, ".debug");
    return true;
}

enum hal_status trace_symbols_open(const char *path, const uint8_t *build_id, size_t build_id_bytes,
                                   struct trace_symbols *out)
{
    char beside[PATH_BYTES];
    if (debug_path(build_id, build_id_bytes, beside)) {
        if (open_file(out, beside, build_id, build_id_bytes) == HAL_OK)
            return HAL_OK;
        trace_symbols_close(out);
    }
    const enum hal_status status = open_file(out, path, build_id, build_id_bytes);
    if (status != HAL_OK)
        trace_symbols_close(out);
    return status;
}

void trace_symbols_close(struct trace_symbols *symbols)
{
    if (symbols->data)
        munmap((void *)(uintptr_t)symbols->data, symbols->bytes);
    free(symbols->symbols);
    *symbols = (struct trace_symbols){0};
}

const struct trace_symbol *trace_symbols_find(const struct trace_symbols *symbols, uint64_t offset)
{
    uint64_t address;
    size_t first = 0, end = symbols->count;
    if (!hal_add_u64(symbols->first_address, offset, &address))
        return NULL;
    HAL_BISECT(first, end, middle, symbols->symbols[middle].address <= address)
    /* The nearest one below that reaches so far; a size of 0 reaches to the next. */
    for (size_t i = first; i-- > 0 && first - i <= 16;) {
        const struct trace_symbol *symbol = &symbols->symbols[i];
        if (!symbol->size || address - symbol->address < symbol->size)
            return symbol;
    }
    return NULL;
}
