/* What stands behind a packed profile, in the same file: bytes that follow from the profile and
 * that a reader can have without unpacking it. Readers of profiles do not look at them, and to zstd
 * they are a frame to skip. A profile that is written anew has none.
 *
 *    0  u32  0x184d2a5d     zstd: skip the frame …
 *    4  u32                 … of as many bytes as follow
 *    8  a zstd frame        the bytes, with content size and checksum
 *       u64  offset         in the file, of this appendix: says that nothing before it went or came
 *       u32  packed_bytes   of the zstd frame
 *       u32  0              a reader takes an appendix that says otherwise for none
 *       u8×8 "TMKAPPX1"     the end of the file                          (all little-endian)
 */
#ifndef TIDEMARK_PROFILE_APPENDIX_H
#define TIDEMARK_PROFILE_APPENDIX_H

#include <stddef.h>
#include <stdint.h>

/* Appends `count` bytes to the packed profile at `path`, with one call of write. If that fails the
 * file is as it was. -EINVAL: it is no packed profile; else 0 or -errno (no sentence). */
int appendix_add(const char *path, const void *bytes, size_t count);

/* Copies the appendix at the end of a packed profile's file to the end of `out`, which has the same
 * profile packed anew from `from` on. Without one nothing is added. */
struct strbuf;
void appendix_move(struct strbuf *out, size_t from, const void *file, size_t bytes);

/* Reads the bytes of the appendix (free() them): the end of the file, and no more than that.
 * -ENODATA: there is none that is whole; else 0 or -errno (no sentence). */
int appendix_read(const char *path, void **bytes, size_t *count);

/* The same of a packed profile that is a part of a file: `part_bytes` of it, from `at` on. */
int appendix_read_part(const char *path, uint64_t at, uint64_t part_bytes, void **bytes,
                       size_t *count);

#endif
