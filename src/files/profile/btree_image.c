/* Lays out a b-tree of SQLite (btree_image.h). Leaves come first; then each level above is made of
 * the children of the one below, until one page has all, which is the root. */
#include "profile/btree_image.h"

#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "base/memory.h"
#include "profile/schema.h"

enum {
    LEAF_OF_TABLE = 0x0d,
    LEAF_OF_INDEX = 0x0a,
    INNER_OF_TABLE = 0x05,
    INNER_OF_INDEX = 0x02,
    COUNT_AT = 3, /* places in a page's header */
    CONTENT_AT = 5,
    LAST_CHILD_AT = 8,
    CHILD_BYTES = 4, /* and of the number of an overflow page */
    CELL_BYTES_MIN = 4,
    OVERFLOW_BYTES = SCHEMA_PAGE_BYTES - CHILD_BYTES, /* of an entry, on a page of its rest */
    LOCAL_MIN = (SCHEMA_PAGE_BYTES - 12) * 32 / 255 - 23,
    LOCAL_MAX_OF_TABLE = SCHEMA_PAGE_BYTES - 35,
    LOCAL_MAX_OF_INDEX = (SCHEMA_PAGE_BYTES - 12) * 64 / 255 - 23,
};

/* SQLite locks bytes from here on, and has nothing on their page. */
#define LOCKED_AT 0x40000000u

/* Cells grow from the page's end, and pointers to them from its header. */
struct btree_page {
    unsigned char bytes[SCHEMA_PAGE_BYTES];
    size_t header; /* its bytes */
    size_t count, content;
};

struct btree_child {
    size_t page; /* index */
    size_t at, bytes;
};

static void btree_put_number(unsigned char *at, uint64_t number, int bytes)
{
    while (bytes--)
        *at++ = (unsigned char)(number >> 8 * bytes);
}

static size_t btree_get_number(const unsigned char *at, int bytes)
{
    size_t number = 0;
    while (bytes--)
        number = number << 8 | *at++;
    return number;
}

unsigned char *btree_varint(unsigned char *at, uint64_t number)
{
    int sevens = 1;
    if (number >> 56) { /* the ninth byte has eight bits */
        for (int i = 0; i < 8; i++)
            *at++ = (unsigned char)(0x80 | number >> (57 - 7 * i));
        *at++ = (unsigned char)number;
        return at;
    }
    while (number >> 7 * sevens)
        sevens++;
    while (--sevens)
        *at++ = (unsigned char)(0x80 | number >> 7 * sevens);
    *at++ = (unsigned char)(number & 0x7f);
    return at;
}

/* ---- Pages --------------------------------------------------------------------------------- */

/* The index of a new page, all of it 0. */
static size_t btree_file_extend(struct strbuf *file)
{
    size_t at = file->length;
    if (at == LOCKED_AT) {
        memset(strbuf_extend(file, SCHEMA_PAGE_BYTES), 0, SCHEMA_PAGE_BYTES);
        at = file->length;
    }
    memset(strbuf_extend(file, SCHEMA_PAGE_BYTES), 0, SCHEMA_PAGE_BYTES);
    return at / SCHEMA_PAGE_BYTES;
}

static unsigned char *btree_file_page(struct strbuf *file, size_t index)
{
    return (unsigned char *)file->data + index * SCHEMA_PAGE_BYTES;
}

static void btree_page_begin(struct btree_page *page, bool is_leaf, bool has_rowids)
{
    memset(page->bytes, 0, sizeof page->bytes);
    page->bytes[0] = is_leaf      ? has_rowids ? LEAF_OF_TABLE : LEAF_OF_INDEX
                     : has_rowids ? INNER_OF_TABLE
                                  : INNER_OF_INDEX;
    page->header = is_leaf ? 8 : 12;
    page->count = 0;
    page->content = sizeof page->bytes;
}

static bool btree_page_has_room(const struct btree_page *page, size_t bytes)
{
    size_t cell = bytes < CELL_BYTES_MIN ? CELL_BYTES_MIN : bytes;
    return page->header + 2 * (page->count + 1) + cell <= page->content;
}

static void btree_page_add(struct btree_page *page, const void *cell, size_t bytes)
{
    page->content -= bytes < CELL_BYTES_MIN ? CELL_BYTES_MIN : bytes;
    memcpy(page->bytes + page->content, cell, bytes);
    btree_put_number(page->bytes + page->header + 2 * page->count, page->content, 2);
    page->count++;
}

static void btree_page_write(struct btree_page *page, struct strbuf *file, size_t index)
{
    btree_put_number(page->bytes + COUNT_AT, page->count, 2);
    btree_put_number(page->bytes + CONTENT_AT, page->content, 2);
    memcpy(btree_file_page(file, index), page->bytes, sizeof page->bytes);
}

static void btree_page_set_last_child(struct btree_page *page, size_t index)
{
    btree_put_number(page->bytes + LAST_CHILD_AT, index + 1, CHILD_BYTES);
}

/* ---- Levels -------------------------------------------------------------------------------- */

static void btree_level_add(struct btree_level *level, size_t page, const void *separator,
                            size_t bytes)
{
    array_need_room(&level->children, &level->room, level->count, sizeof *level->children);
    level->children[level->count++] = (struct btree_child){page, level->separators.length, bytes};
    strbuf_add(&level->separators, separator, bytes);
}

static void btree_level_release(struct btree_level *level)
{
    free(level->children);
    strbuf_release(&level->separators);
}

static const char *btree_level_separator(const struct btree_level *level, size_t index)
{
    return level->separators.data + level->children[index].at;
}

/* The last cell of a page that was written, which goes out of it, into `cell`. */
static void btree_take_last_cell(struct strbuf *file, size_t index, size_t header,
                                 struct strbuf *cell)
{
    unsigned char *page = btree_file_page(file, index);
    size_t count = btree_get_number(page + COUNT_AT, 2) - 1;
    size_t from = btree_get_number(page + CONTENT_AT, 2);
    size_t to = count ? btree_get_number(page + header + 2 * (count - 1), 2) : SCHEMA_PAGE_BYTES;
    strbuf_reset(cell);
    strbuf_add(cell, page + from, to - from);
    memset(page + from, 0, to - from);
    memset(page + header + 2 * count, 0, 2);
    btree_put_number(page + COUNT_AT, count, 2);
    btree_put_number(page + CONTENT_AT, to, 2);
}

/* The last separator of a level becomes a cell of the page that is filled, and the last cell of the
 * page before becomes the separator: so the page that is filled is not without one. */
static void btree_lend_a_cell(struct btree_page *page, struct strbuf *file,
                              struct btree_level *level)
{
    struct strbuf cell = STRBUF_INIT;
    struct btree_child last = level->children[--level->count];
    bool is_leaf = page->header == 8;
    size_t skip = is_leaf ? 0 : CHILD_BYTES;
    if (!is_leaf) {
        unsigned char *before = btree_file_page(file, last.page) + LAST_CHILD_AT;
        strbuf_add(&cell, before, CHILD_BYTES);
    }
    strbuf_add(&cell, level->separators.data + last.at, last.bytes);
    btree_page_add(page, cell.data, cell.length);
    btree_take_last_cell(file, last.page, page->header, &cell);
    if (!is_leaf)
        memcpy(btree_file_page(file, last.page) + LAST_CHILD_AT, cell.data, CHILD_BYTES);
    strbuf_truncate(&level->separators, last.at);
    btree_level_add(level, last.page, cell.data + skip, cell.length - skip);
    strbuf_release(&cell);
}

/* Ends a level with the page that is filled: as the root where it is alone, else as a new page,
 * whose index is in *last. */
static bool btree_level_is_root(struct btree_image *tree, struct btree_level *level, size_t *last)
{
    struct btree_page *page = tree->page;
    if (level->count && !page->count)
        btree_lend_a_cell(page, tree->file, level);
    *last = level->count ? btree_file_extend(tree->file) : tree->root;
    btree_page_write(page, tree->file, *last);
    return !level->count;
}

/* The pages above `below`, whose last page is `last`. */
static void btree_level_make(struct btree_image *tree, const struct btree_level *below, size_t last,
                             struct btree_level *level)
{
    struct btree_page *page = tree->page;
    btree_page_begin(page, false, tree->has_rowids);
    for (size_t i = 0; i < below->count; i++) {
        const struct btree_child *child = &below->children[i];
        const char *separator = btree_level_separator(below, i);
        if (btree_page_has_room(page, CHILD_BYTES + child->bytes)) {
            strbuf_reset(&tree->cell);
            btree_put_number((unsigned char *)strbuf_extend(&tree->cell, CHILD_BYTES),
                             child->page + 1, CHILD_BYTES);
            strbuf_add(&tree->cell, separator, child->bytes);
            btree_page_add(page, tree->cell.data, tree->cell.length);
            continue;
        }
        btree_page_set_last_child(page, child->page);
        size_t index = btree_file_extend(tree->file);
        btree_page_write(page, tree->file, index);
        btree_level_add(level, index, separator, child->bytes);
        btree_page_begin(page, false, tree->has_rowids);
    }
    btree_page_set_last_child(page, last);
}

/* ---- Entries ------------------------------------------------------------------------------- */

void btree_image_begin(struct btree_image *tree, struct strbuf *file, size_t root, bool has_rowids)
{
    *tree = (struct btree_image){.file = file, .root = root, .has_rowids = has_rowids};
    tree->leaves.separators = tree->cell = STRBUF_INIT;
    tree->page = memory_need(malloc(sizeof *tree->page));
    btree_page_begin(tree->page, true, has_rowids);
}

/* How much of an entry stands in its cell. */
static size_t btree_local_bytes(const struct btree_image *tree, size_t bytes)
{
    size_t most = tree->has_rowids ? LOCAL_MAX_OF_TABLE : LOCAL_MAX_OF_INDEX;
    if (bytes <= most)
        return bytes;
    size_t local = LOCAL_MIN + (bytes - LOCAL_MIN) % OVERFLOW_BYTES;
    return local <= most ? local : LOCAL_MIN;
}

/* The rest of an entry, each page with the number of the next one. */
static size_t btree_put_overflow(struct strbuf *file, const char *rest, size_t bytes)
{
    size_t first = btree_file_extend(file);
    for (size_t index = first; bytes;) {
        size_t part = bytes < OVERFLOW_BYTES ? bytes : OVERFLOW_BYTES;
        size_t next = bytes > part ? btree_file_extend(file) : 0;
        unsigned char *page = btree_file_page(file, index);
        btree_put_number(page, next ? next + 1 : 0, CHILD_BYTES);
        memcpy(page + CHILD_BYTES, rest, part);
        rest += part;
        bytes -= part;
        index = next;
    }
    return first;
}

static void btree_make_cell(struct btree_image *tree, int64_t rowid, const void *entry,
                            size_t bytes)
{
    struct strbuf *cell = &tree->cell;
    unsigned char head[2 * BTREE_VARINT_BYTES], *end = btree_varint(head, bytes);
    size_t local = btree_local_bytes(tree, bytes);
    if (tree->has_rowids)
        end = btree_varint(end, (uint64_t)rowid);
    strbuf_reset(cell);
    strbuf_add(cell, head, (size_t)(end - head));
    strbuf_add(cell, entry, local);
    if (local == bytes)
        return;
    size_t page = btree_put_overflow(tree->file, (const char *)entry + local, bytes - local);
    btree_put_number((unsigned char *)strbuf_extend(cell, CHILD_BYTES), page + 1, CHILD_BYTES);
}

/* The page is full: it is written, and what comes next divides it from the next one. A table's
 * separator is the rowid before that. */
static void btree_end_leaf(struct btree_image *tree, int64_t rowid)
{
    size_t index = btree_file_extend(tree->file);
    unsigned char separator[BTREE_VARINT_BYTES];
    btree_page_write(tree->page, tree->file, index);
    btree_page_begin(tree->page, true, tree->has_rowids);
    if (tree->has_rowids)
        btree_level_add(&tree->leaves, index, separator,
                        (size_t)(btree_varint(separator, (uint64_t)rowid - 1) - separator));
    else
        btree_level_add(&tree->leaves, index, tree->cell.data, tree->cell.length);
}

void btree_image_add(struct btree_image *tree, int64_t rowid, const void *entry, size_t bytes)
{
    btree_make_cell(tree, rowid, entry, bytes);
    bool is_full = !btree_page_has_room(tree->page, tree->cell.length);
    if (is_full)
        btree_end_leaf(tree, rowid);
    if (!is_full || tree->has_rowids)
        btree_page_add(tree->page, tree->cell.data, tree->cell.length);
}

void btree_image_end(struct btree_image *tree)
{
    struct btree_level level = tree->leaves;
    size_t last;
    while (!btree_level_is_root(tree, &level, &last)) {
        struct btree_level above = {.separators = STRBUF_INIT};
        btree_level_make(tree, &level, last, &above);
        btree_level_release(&level);
        level = above;
    }
    btree_level_release(&level);
    strbuf_release(&tree->cell);
    free(tree->page);
}
