/* How much libdw may unpack. Sections of an ELF file may be packed a thousand to one, and libdw
 * unpacks what it meets. So what a section would take is looked at before it is unpacked: all that
 * this process unpacks may be 256 MiB and 64 times what it was unpacked from, and at no time seven
 * eighths of the memory that is free. Honest debug information is packed 3 to 10 to one.
 * TIDEMARK_READ_MEMORY replaces the 256 MiB. Whose memory is bounded beside that (a collector in
 * its program's control group) unpacks all sections of a debug file or none: a part has no use.
 *
 * It works because unpack_limit.c stands before libelf's elf_compress() for all libraries. A
 * section that is refused stays packed, which libdw takes for a section that is damaged. */
#ifndef TIDEMARK_SYMBOLS_UNPACK_LIMIT_H
#define TIDEMARK_SYMBOLS_UNPACK_LIMIT_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of `bytes` that are packed, may `unpacked` be made? If so, they count from now on. */
bool unpack_limit_accepts(uint64_t bytes, uint64_t unpacked);

/* From now on `has_room` is asked whether there is room for so many bytes, which stay. Any thread
 * may ask. Before the first file is opened. */
void unpack_limit_bound(bool (*has_room)(uint64_t bytes));

/* This thread goes on with that ELF file (NULL: with none), or with the one at `fd`, which stays as
 * it is. */
void unpack_limit_begin(Elf *elf);
void unpack_limit_begin_file(int fd);

/* Whether this thread was refused anything since the last call. */
bool unpack_limit_was_met(void);

/* Takes .gnu_debugdata out of the file in `bytes`, where libdwfl unpacks it without elf_compress(),
 * if it would take too much. `elf` is that file. */
void unpack_limit_hide_debugdata(Elf *elf, void *bytes, size_t length);

/* What an .xz file of `length` bytes says that it would take. Its chunks are walked, and none is
 * unpacked. What is no .xz file takes nothing, and the older .lzma, which does not tell, all. */
uint64_t unpack_limit_of_xz(const uint8_t *bytes, size_t length);

#endif
