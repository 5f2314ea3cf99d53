/* SPDX-License-Identifier: MIT */
/*
 * What the file of a plugin tells without being loaded: its symbols and its sections. The file is
 * not trusted: every offset is checked before it is used.
 */
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/cmd/plugin_check.h"

/* What the C run time itself keeps in .data and .bss of a shared object. */
enum { RUNTIME_BYTES = 16 };

struct elf {
    const char *data;
    size_t size;
    const ElfW(Shdr) * sections;
    size_t section_count;
    const char *names; /* of the sections */
    size_t names_size;
};

/* Called for each symbol with the name of its section ("" when it has none); true: go on. */
typedef bool symbol_visitor(void *context, const ElfW(Sym) * symbol, const char *name,
                            const ElfW(Shdr) * section, const char *section_name);

static bool inside(const struct elf *elf, size_t offset, size_t size)
{
    return offset <= elf->size && size <= elf->size - offset;
}

static bool open_elf(struct elf *elf, const char *path)
{
    struct stat status;
    *elf = (struct elf){0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &status) != 0 || status.st_size < (off_t)sizeof(ElfW(Ehdr))) {
        return false;
    }
    elf->size = (size_t)status.st_size;
    elf->data = mmap(NULL, elf->size, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    if (elf->data == MAP_FAILED) {
        return false;
    }
    const ElfW(Ehdr) *head = (const void *)elf->data;
    size_t native = sizeof(void *) == 8 ? ELFCLASS64 : ELFCLASS32;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) != 0 || head->e_ident[EI_CLASS] != native ||
        head->e_shentsize != sizeof(ElfW(Shdr)) ||
        !inside(elf, head->e_shoff, (size_t)head->e_shnum * sizeof(ElfW(Shdr))) ||
        head->e_shstrndx >= head->e_shnum) {
        return false;
    }
    elf->sections = (const void *)(elf->data + head->e_shoff);
    elf->section_count = head->e_shnum;
    const ElfW(Shdr) *names = &elf->sections[head->e_shstrndx];
    elf->names = elf->data + names->sh_offset;
    elf->names_size = names->sh_size;
    return inside(elf, names->sh_offset, names->sh_size);
}

/* A text in a table, or "" when it does not end inside. */
static const char *text_at(const char *table, size_t size, size_t at)
{
    return at < size && memchr(table + at, '\0', size - at) ? table + at : "";
}

static const char *section_name(const struct elf *elf, const ElfW(Shdr) * section)
{
    return text_at(elf->names, elf->names_size, section->sh_name);
}

/* Visits the symbols of the table of a type; false when the file has none. */
static bool each_symbol(const struct elf *elf, unsigned type, symbol_visitor *visit, void *context)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const ElfW(Shdr) *table = &elf->sections[i];
        if (table->sh_type != type || table->sh_link >= elf->section_count) {
            continue;
        }
        const ElfW(Shdr) *texts = &elf->sections[table->sh_link];
        if (!inside(elf, table->sh_offset, table->sh_size) ||
            !inside(elf, texts->sh_offset, texts->sh_size)) {
            return false;
        }
        const ElfW(Sym) *symbols = (const void *)(elf->data + table->sh_offset);
        for (size_t n = 1; n < table->sh_size / sizeof *symbols; n++) {
            unsigned index = symbols[n].st_shndx;
            const ElfW(Shdr) *section = index < elf->section_count ? &elf->sections[index] : NULL;
            const char *name =
                text_at(elf->data + texts->sh_offset, texts->sh_size, symbols[n].st_name);
            if (!visit(context, &symbols[n], name, section,
                       section ? section_name(elf, section) : "")) {
                return true;
            }
        }
        return true;
    }
    return false;
}

static int no_elf(struct check *check)
{
    return check_say(check, VERDICT_FAIL, "'%s' is no shared object of this machine", check->path);
}

/* A list of names for a sentence, as long as it fits. */
struct names {
    char text[256];
    unsigned count;
    bool sanitized;
};

static void add_name(struct names *names, const char *name)
{
    size_t used = strlen(names->text);
    snprintf(names->text + used, sizeof names->text - used, "%s%s", names->count ? ", " : "", name);
    names->count++;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static bool of_sanitizer(const char *name)
{
    return begins(name, "__asan_") || begins(name, "__odr_asan") || begins(name, "__tsan_") ||
           begins(name, "__ubsan_") || begins(name, "__msan_");
}

/* ---- undefined symbols ----------------------------------------------------------------------- */

static bool find_undefined(void *context, const ElfW(Sym) * symbol, const char *name,
                           const ElfW(Shdr) * section, const char *its_section)
{
    (void)section;
    (void)its_section;
    if (symbol->st_shndx == SHN_UNDEF && begins(name, "tacho_")) {
        add_name(context, name);
    }
    return true;
}

int check_undefined(struct check *check)
{
    struct elf elf;
    struct names names = {0};
    if (!open_elf(&elf, check->path) || !each_symbol(&elf, SHT_DYNSYM, find_undefined, &names)) {
        return no_elf(check);
    }
    if (names.count > 0) {
        return check_say(check, VERDICT_FAIL,
                         "needs symbols that no tacho offers: %s; ask by way of struct tacho_host, "
                         "and link with -Wl,-z,defs",
                         names.text);
    }
    return check_say(check, VERDICT_PASS, "needs nothing of tacho's but the host table");
}

/* ---- exported symbols ------------------------------------------------------------------------ */

/* The linker's own, which some linkers export. */
static bool of_linker(const char *name)
{
    return strcmp(name, "_init") == 0 || strcmp(name, "_fini") == 0 || strcmp(name, "_end") == 0 ||
           strcmp(name, "_edata") == 0 || strcmp(name, "__bss_start") == 0;
}

static bool find_exported(void *context, const ElfW(Sym) * symbol, const char *name,
                          const ElfW(Shdr) * section, const char *its_section)
{
    unsigned bind = ELF64_ST_BIND(symbol->st_info);
    (void)section;
    (void)its_section;
    if (symbol->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) && name[0] &&
        !of_linker(name) && !of_sanitizer(name)) {
        add_name(context, name);
    }
    return true;
}

int check_exports(struct check *check)
{
    struct elf elf;
    struct names names = {0};
    if (!open_elf(&elf, check->path) || !each_symbol(&elf, SHT_DYNSYM, find_exported, &names)) {
        return no_elf(check);
    }
    if (names.count == 1 && strcmp(names.text, TACHO_PLUGIN_SYMBOL) == 0) {
        return check_say(check, VERDICT_PASS, "exports %s and nothing else", TACHO_PLUGIN_SYMBOL);
    }
    if (names.count == 0) {
        return check_say(check, VERDICT_FAIL, "exports nothing: define %s", TACHO_PLUGIN_SYMBOL);
    }
    return check_say(check, VERDICT_FAIL,
                     "exports %s: it should be %s alone; compile with -fvisibility=hidden",
                     names.text, TACHO_PLUGIN_SYMBOL);
}

/* ---- mutable state --------------------------------------------------------------------------- */

/* Sections that are writable only for the dynamic linker, before the program runs. */
static bool is_relocated(const char *name)
{
    static const char *const names[] = {".data.rel.ro", ".got",   ".dynamic", ".init_array",
                                        ".fini_array",  ".ctors", ".dtors",   ".tm_clone_table"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (begins(name, names[i])) {
            return true;
        }
    }
    return false;
}

static bool is_mutable(const ElfW(Shdr) * section, const char *name)
{
    return section && (section->sh_flags & SHF_WRITE) && (section->sh_flags & SHF_ALLOC) &&
           !is_relocated(name);
}

static bool find_state(void *context, const ElfW(Sym) * symbol, const char *name,
                       const ElfW(Shdr) * section, const char *its_section)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    bool runtime = begins(name, "completed.") || strcmp(name, "__dso_handle") == 0 ||
                   begins(name, "__TMC_") || of_sanitizer(name);
    if ((type == STT_OBJECT || type == STT_TLS || type == STT_COMMON) && symbol->st_size > 0 &&
        !runtime && is_mutable(section, its_section)) {
        add_name(context, name);
    }
    return true;
}

static bool find_sanitizer(void *context, const ElfW(Sym) * symbol, const char *name,
                           const ElfW(Shdr) * section, const char *its_section)
{
    struct names *names = context;
    (void)symbol;
    (void)section;
    (void)its_section;
    names->sanitized |= of_sanitizer(name);
    return true;
}

/* Without names, the sizes of the sections tell that there is something. */
static int check_stripped(struct check *check, const struct elf *elf)
{
    for (size_t i = 0; i < elf->section_count; i++) {
        const ElfW(Shdr) *section = &elf->sections[i];
        const char *name = section_name(elf, section);
        size_t allowed = section->sh_flags & SHF_TLS ? 0 : RUNTIME_BYTES;
        if (is_mutable(section, name) && section->sh_size > allowed) {
            return check_say(check, VERDICT_FAIL,
                             "has %zu bytes of mutable state in %s (the file is stripped: build it "
                             "with symbols to see which)",
                             (size_t)section->sh_size, name);
        }
    }
    return check_say(check, VERDICT_PASS, "has no mutable state at file scope");
}

int check_state(struct check *check)
{
    struct elf elf;
    struct names names = {0};
    if (!open_elf(&elf, check->path) || !each_symbol(&elf, SHT_DYNSYM, find_sanitizer, &names)) {
        return no_elf(check);
    }
    if (names.sanitized) {
        return check_say(check, VERDICT_SKIP, "a sanitizer adds state of its own");
    }
    if (!each_symbol(&elf, SHT_SYMTAB, find_state, &names)) {
        return check_stripped(check, &elf);
    }
    if (names.count > 0) {
        return check_say(check, VERDICT_FAIL,
                         "has mutable state at file scope: %s; two instances would share it, keep "
                         "it in what open makes, or say const",
                         names.text);
    }
    return check_say(check, VERDICT_PASS, "has no mutable state at file scope");
}
