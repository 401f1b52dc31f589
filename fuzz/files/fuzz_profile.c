/* Any bytes as a profile: the file itself, or strokes by which a golden one's rows are changed, so
 * that what is behind compression and SQLite's own checks is reached. Refused with a sentence, or a
 * profile that every report can show.
 *
 * The first byte: 0, the rest is the file. Else strokes: table, column, row, a byte each; what (a
 * number, a text, bytes, NULL, or bytes within what is there), and what that needs. */
#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/strbuf.h"
#include "base/error.h"
#include "profile/pack.h"
#include "profile/profile.h"
#include "report/report.h"
#include "fuzz.h"
#include "input.h"

enum { COLUMNS = 1024, STROKES = 64 };

/* ---- The golden one ---- */

static unsigned char *golden;
static size_t golden_bytes;
static struct column {
    char table[48], name[48];
} columns[COLUMNS];
static size_t column_count;

static void load(void)
{
    FILE *file = fopen(GOLDEN_DIR "/profile-v2-details.plain.tmk", "rb");
    golden = malloc(1 << 20);
    must(file && golden);
    golden_bytes = fread(golden, 1, 1 << 20, file);
    must(golden_bytes > 0 && golden_bytes < 1 << 20);
    fclose(file);
}

static sqlite3 *open_copy(void)
{
    sqlite3 *database = NULL;
    unsigned char *copy = sqlite3_malloc64(golden_bytes);
    must(copy && sqlite3_open(":memory:", &database) == SQLITE_OK);
    memcpy(copy, golden, golden_bytes);
    must(sqlite3_deserialize(
             database, "main", copy, (sqlite3_int64)golden_bytes, (sqlite3_int64)golden_bytes,
             SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE) == SQLITE_OK);
    return database;
}

static void list_columns(void)
{
    sqlite3 *database = open_copy();
    sqlite3_stmt *row;
    must(sqlite3_prepare_v2(database,
                            "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) "
                            "c WHERE m.type = 'table' ORDER BY 1, c.cid",
                            -1, &row, NULL) == SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW && column_count < COLUMNS) {
        struct column *column = &columns[column_count++];
        snprintf(column->table, sizeof column->table, "%s", sqlite3_column_text(row, 0));
        snprintf(column->name, sizeof column->name, "%s", sqlite3_column_text(row, 1));
    }
    sqlite3_finalize(row);
    sqlite3_close(database);
    must(column_count > 50);
}

/* ---- Strokes ---- */

static const uint8_t *take_bytes(struct input *input, size_t *count)
{
    const uint8_t *bytes = input->at;
    size_t left = (size_t)(input->end - input->at);
    *count = *count < left ? *count : left;
    input->at += *count;
    return bytes;
}

/* Some of the bytes that are there become others. */
static void bind_changed(sqlite3 *database, sqlite3_stmt *update, const struct column *column,
                         unsigned row, struct input *input)
{
    char sql[256];
    sqlite3_stmt *old;
    snprintf(sql, sizeof sql, "SELECT CAST(\"%s\" AS BLOB) FROM \"%s\" LIMIT 1 OFFSET %u",
             column->name, column->table, row);
    if (sqlite3_prepare_v2(database, sql, -1, &old, NULL) != SQLITE_OK)
        return;
    if (sqlite3_step(old) == SQLITE_ROW && sqlite3_column_bytes(old, 0) > 0) {
        size_t bytes = (size_t)sqlite3_column_bytes(old, 0), offset = take(input, 2) % bytes;
        size_t count = take(input, 1) % 16 + 1;
        uint8_t *copy = malloc(bytes);
        must(copy != NULL);
        memcpy(copy, sqlite3_column_blob(old, 0), bytes);
        const uint8_t *from = take_bytes(input, &count);
        memcpy(copy + offset, from, count < bytes - offset ? count : bytes - offset);
        sqlite3_bind_blob(update, 1, copy, (int)bytes, SQLITE_TRANSIENT);
        free(copy);
    }
    sqlite3_finalize(old);
}

static void bind(sqlite3 *database, sqlite3_stmt *update, const struct column *column, unsigned row,
                 struct input *input)
{
    unsigned what = (unsigned)take(input, 1);
    size_t count = what >> 3;
    switch (what % 8) {
    case 0:
        sqlite3_bind_int64(update, 1, (sqlite3_int64)take(input, 8));
        break;
    case 1:
        sqlite3_bind_int64(update, 1, (sqlite3_int64)take(input, 1));
        break;
    case 2:
        sqlite3_bind_text(update, 1, (const char *)take_bytes(input, &count), (int)count,
                          SQLITE_TRANSIENT);
        break;
    case 3:
        sqlite3_bind_blob(update, 1, take_bytes(input, &count), (int)count, SQLITE_TRANSIENT);
        break;
    case 4:
        sqlite3_bind_null(update, 1);
        break;
    default:
        bind_changed(database, update, column, row, input);
    }
}

static void stroke(sqlite3 *database, struct input *input)
{
    char sql[256];
    sqlite3_stmt *update;
    const struct column *column = &columns[take(input, 2) % column_count];
    unsigned row = (unsigned)take(input, 1);
    snprintf(sql, sizeof sql,
             "UPDATE \"%s\" SET \"%s\" = ?1 WHERE rowid = (SELECT rowid FROM \"%s\" LIMIT 1 OFFSET "
             "%u)",
             column->table, column->name, column->table, row);
    if (sqlite3_prepare_v2(database, sql, -1, &update, NULL) != SQLITE_OK)
        return; /* a table WITHOUT ROWID */
    bind(database, update, column, row, input);
    sqlite3_step(update);
    sqlite3_finalize(update);
}

static void changed_golden(struct input *input, struct strbuf *packed)
{
    sqlite3 *database = open_copy();
    sqlite3_int64 bytes = 0;
    for (int i = 0; i < STROKES && input->at < input->end; i++)
        stroke(database, input);
    unsigned char *plain = sqlite3_serialize(database, "main", &bytes, SQLITE_SERIALIZE_NOCOPY);
    must(plain && pack_image(packed, plain, (size_t)bytes, 1) == 0);
    sqlite3_close(database);
}

/* ---- Reading ---- */

static void show(const struct profile *profile)
{
    /* clang-format off */
    struct report_options options = {.top = 100, .depth = 10, .show = REPORT_SHOW_ALL,
                                     .hide_std = true, .utf8 = true, .columns = 100};
    /* clang-format on */
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    must(out != NULL);
    must(report_text(out, profile, &options) == 0);
    must(report_json(out, profile, &options) == 0);
    must(report_summary(out, profile, "a.tmk") == 0);
    fclose(out);
    free(text);
}

static void check(const struct profile *profile)
{
    must(profile->node_count && profile->code_count && profile->function_count);
    for (size_t i = 1; i < profile->node_count; i++)
        must(profile->nodes[i].parent < i && profile->nodes[i].location < profile->code_count);
    for (size_t i = 0; i < profile->site_count; i++)
        must(profile_site_path(profile, i) < profile->node_count);
}

static void read_file(const void *bytes, size_t count)
{
    struct profile *profile;
    char path[64];
    int file = memfd_create("profile", MFD_CLOEXEC);
    must(file >= 0 && write(file, bytes, count) == (ssize_t)count);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (profile_read_sums(&profile, path) == 0) {
        check(profile);
        profile_take_level(profile, MEMORY_RESIDENT);
        profile_free(profile);
    }
    if (profile_read(&profile, path) == 0) {
        check(profile);
        show(profile);
        if (profile->region_count && profile_cut_region(profile, profile->regions[0].name) == 0)
            show(profile);
        profile_free(profile);
    } else {
        must(strlen(error_text()) > 10);
    }
    close(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct strbuf packed = STRBUF_INIT;
    if (!golden) {
        load();
        list_columns();
    }
    if (!size || !data[0]) {
        read_file(data + (size > 0), size - (size > 0));
        return 0;
    }
    changed_golden(&(struct input){data + 1, data + size}, &packed);
    read_file(packed.data, packed.length);
    strbuf_release(&packed);
    return 0;
}
