/* A profile that is written at once, as rows that need no statement of SQLite: they are kept as
 * records, table by table, and end as the pages of a database (btree_image.h). A row costs a tenth
 * of what a statement takes. The database has the rows that the statements would have made
 * (unit/profile/row_image): a row with the key of another takes its place, and a drop takes away
 * what was put before it.
 *
 *   table   │ row │ row │ …      row: its key ─▶ │ record │ record │ … the bytes of all rows
 *
 * Rows mostly come in the order of their keys. Those of a table that did not are sorted at the end.
 * Inside the room. */
#ifndef TIDEMARK_PROFILE_ROW_IMAGE_H
#define TIDEMARK_PROFILE_ROW_IMAGE_H

#include "base/strbuf.h"
#include "profile/statements.h"
#include "profile/values.h"

struct row_image;

/* NULL: there is no memory for it. */
struct row_image *row_image_new(void);
void row_image_free(struct row_image *image);
/* What the statement would do. */
void row_image_put(struct row_image *image, enum statement which, const struct values *values);
/* Appends the database, page by page, to what is empty. More rows may follow, and be written with
 * these again. */
void row_image_write(struct row_image *image, struct strbuf *file);

#endif
