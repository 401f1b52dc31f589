/* How much libdw may unpack. Sections of an ELF file may be packed a thousand to one, and libdw
 * unpacks every section that it needs. So the unpacked size of a section is checked first. In all,
 * this process may unpack 256 MiB plus 64 times the packed bytes, and at no time more than seven
 * eighths of the free memory. Real debug information is packed 3 to 10 to one. TIDEMARK_READ_MEMORY
 * replaces the 256 MiB. A process with a bound of its own (a collector in its program's control
 * group) unpacks all sections of a debug file or none, because a part is of no use.
 *
 * It works because unpack_limit.c stands before libelf's elf_compress() for all libraries. A
 * section that is refused stays packed, which libdw takes for a section that is damaged. */
#ifndef TIDEMARK_SYMBOLS_UNPACK_LIMIT_H
#define TIDEMARK_SYMBOLS_UNPACK_LIMIT_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether `bytes` packed bytes may be unpacked to `unpacked` bytes. If so, they count from now
 * on. */
bool unpack_limit_accepts(uint64_t bytes, uint64_t unpacked);

/* From now on `has_room` is asked, from any thread, whether there is room for so many bytes. Call
 * it before the first file is opened. */
void unpack_limit_bound(bool (*has_room)(uint64_t bytes));

/* Says which ELF file this thread reads next (NULL: none), or the one at `fd`, whose position does
 * not change. */
void unpack_limit_begin(Elf *elf);
void unpack_limit_begin_file(int fd);

/* Whether this thread was refused anything since the last call. */
bool unpack_limit_was_met(void);

/* Hides .gnu_debugdata of the file in `bytes` if it would take too much: libdwfl unpacks it without
 * elf_compress(). `elf` is that file. */
void unpack_limit_hide_debugdata(Elf *elf, void *bytes, size_t length);

/* The unpacked size of an .xz file of `length` bytes, by the heads of its chunks; nothing is
 * unpacked. 0 if it is no .xz file; UINT64_MAX for the older .lzma, which does not tell its
 * size. */
uint64_t unpack_limit_of_xz(const uint8_t *bytes, size_t length);

#endif
