/* Packed profiles: the plain database cut into equal pieces, each a zstd frame of its own with its
 * checksum, behind a small header. The header is a zstd skippable frame, so `zstd -dc` unpacks too.
 *
 *    0  u32  0x184d2a5e     zstd: skip the frame …
 *    4  u32  24             … of this many bytes
 *    8  u8×8 "TMKPACK1"
 *   16  u64  plain_bytes    size of the database
 *   24  u32  piece_bytes    of each frame's content; the last one's may be less
 *   28  u32  flags          1: packed against a model; a reader refuses what it does not know
 *   32  zstd frames         content size and checksum in each            (all little-endian)
 *
 * A model is another database that is much alike: of another rank on the same node. Each piece is
 * packed with what the model has at the same place as its prefix, and nobody reads it without the
 * model. Only a row of a node's file can be like that (doc/FORMAT-session.md). */
#ifndef TIDEMARK_PROFILE_PACK_H
#define TIDEMARK_PROFILE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PACK_HEADER_BYTES 32
enum { PACK_LEVEL = 3 }; /* of profiles; 5: 5 % smaller in twice the time (doc/FORMAT-profile.md) */

bool pack_is_packed(const void *head, size_t bytes);
/* What a packed profile's file says that it is unpacked; 0: its header is not all there. */
uint64_t pack_plain_bytes(const void *packed, size_t count);

struct pack_model {
    const void *plain; /* NULL: none */
    size_t bytes;
};

/* Writes the packed form of the file behind `from` to `to`. 0 or -errno (no sentence). */
int pack_write(int from, int to);

/* Appends the packed form of what is in memory. 0 or -ENOMEM. */
struct strbuf;
int pack_image(struct strbuf *out, const void *plain, size_t bytes, int level);

/* Appends a complete packed profile's file, packed anew against the model, with its appendix.
 * -EBADMSG: it is damaged; else 0 or -ENOMEM. */
int pack_again(struct strbuf *out, const void *packed, size_t count,
               const struct pack_model *model);

/* As pack_read(), of what is in memory. */
int pack_unpack(const void *packed, size_t count, const char *name, unsigned char **out,
                size_t *bytes, bool *damaged);

/* The same, of what may be packed against this model. */
int pack_unpack_against(const void *packed, size_t count, const char *name,
                        const struct pack_model *model, unsigned char **out, size_t *bytes,
                        bool *damaged);

/* Unpacks the file behind `fd` to memory, `*bytes` long (free() it). What follows a damaged or
 * missing frame is left out and `*damaged` set. 0 or -errno with a sentence; `name` is for it. */
int pack_read(int fd, const char *name, unsigned char **out, size_t *bytes, bool *damaged);

#endif
