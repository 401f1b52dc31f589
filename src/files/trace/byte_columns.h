/* Columns of bytes, each packed by itself, as the body of a block (doc/FORMAT-trace.md, "Bodies").
 * Inside the room. */
#ifndef TIDEMARK_TRACE_BYTE_COLUMNS_H
#define TIDEMARK_TRACE_BYTE_COLUMNS_H

#include <stddef.h>
#include "trace/trace_format.h"
#include "trace/numbers.h"

enum pack_method { PACK_STORED = 0, PACK_ZSTD = 1, PACK_LZ4 = 2 };

struct packer {
    enum pack_method method;
    int level;
    void *zstd;
    struct byte_sink out; /* bodies are appended here */
};

int packer_init(struct packer *packer, enum pack_method method, int level); /* -ENOMEM */
void packer_release(struct packer *packer);
/* Appends a body; `count` <= FORMAT_COLUMNS. `noise`: a bit for each column in which nothing comes
 * again: looking for it takes time, and does not make it smaller. `bits`: those that are stored. */
int packer_pack(struct packer *packer, const struct byte_sink *columns, size_t count,
                uint64_t noise, uint64_t bits);

/* So many bytes behind the last column can be read, for readers that look for ends seldom. */
enum { UNPACKER_BEYOND = 4096 };

struct unpacker {
    void *zstd;
    unsigned char *plain;
    size_t room;
};

void unpacker_release(struct unpacker *unpacker);
/* The columns of a body, valid until the next call; columns that it does not have are empty.
 * -EBADMSG, -ENOMEM. */
int unpacker_unpack(struct unpacker *unpacker, const unsigned char *body, size_t bytes,
                    struct byte_source *columns, size_t count);

/* Makes room for so many more bytes; -ENOMEM. */
int sink_reserve(struct byte_sink *sink, size_t bytes);

#endif
