/* A b-tree of SQLite, made of entries that come in the order of their keys and laid out as pages
 * (www.sqlite.org/fileformat2.html, "B-tree Pages"). Each page is filled before the next one is
 * begun, so no entry is moved and none is looked for. A table's entries have rowids; an entry of an
 * index, which a table without rowids is too, is its own key.
 *
 *   root page     │ child, separator │ child, separator │ … │ last child │
 *                    │                                         │
 *   leaf             └▶ │ entry │ entry │ …                    └▶ │ entry │ …
 *
 * A separator of a table is a rowid: no entry below its child is above it. In an index it is an
 * entry that stands nowhere else. Invariant: no page but the root is without an entry. Inside the
 * room. */
#ifndef TIDEMARK_PROFILE_BTREE_IMAGE_H
#define TIDEMARK_PROFILE_BTREE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"

struct btree_page;

/* The pages of one level from left to right, but for the last one. */
struct btree_level {
    struct btree_child *children;
    size_t count, room;
    struct strbuf separators;
};

struct btree_image {
    struct strbuf *file; /* the database; its pages but the root are appended */
    size_t root;         /* index of the page that the tree begins at, which is in the file */
    bool has_rowids;
    struct btree_page *page; /* the one that is filled at the moment */
    struct btree_level leaves;
    struct strbuf cell;
};

void btree_image_begin(struct btree_image *tree, struct strbuf *file, size_t root, bool has_rowids);
/* `rowid`: of a table's entry. */
void btree_image_add(struct btree_image *tree, int64_t rowid, const void *entry, size_t bytes);
/* Writes the root, and releases what the tree holds. */
void btree_image_end(struct btree_image *tree);

/* SQLite's numbers of seven bits, the highest first. Writes at most 9 bytes and returns their
 * end. */
enum { BTREE_VARINT_BYTES = 9 };
unsigned char *btree_varint(unsigned char *at, uint64_t number);

#endif
