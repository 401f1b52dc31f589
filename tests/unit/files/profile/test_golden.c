/* Files written by any version stay readable for ever, and the queries in doc/FORMAT-profile.md
 * run. */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <cmocka.h>
#include "as_rows.h"
#include "sample.h"
#include "base/error.h"
#include "profile/profile_for_summary.h"
#include "scratch.h"
#include "check_details.h"

/* Which of the things that came later are in a file, and how it keeps them. */
enum holds { NO_DETAILS, DETAILS_IN_BLOCKS, DETAILS_IN_ROWS };

static void check_file(const char *path, enum holds holds)
{
    struct profile *profile;
    if (profile_read(&profile, path)) {
        print_error("%s\n", error_text());
        fail();
    }
    check_sample(profile, holds != NO_DETAILS);
    if (holds == NO_DETAILS)
        check_no_details(profile);
    else
        check_details(profile, holds == DETAILS_IN_ROWS);
    profile_free(profile);
}

static const struct {
    const char *path;
    enum holds holds;
    bool in_rows; /* there is nothing to unpack */
} golden[] = {
    {GOLDEN_DIR "/profile-v1.tmk", NO_DETAILS, false},
    {GOLDEN_DIR "/profile-v1.plain.tmk", NO_DETAILS, true},
    {GOLDEN_DIR "/profile-v2.tmk", NO_DETAILS, false},
    {GOLDEN_DIR "/profile-v2.plain.tmk", NO_DETAILS, false},
    {GOLDEN_DIR "/profile-v2.unpacked.db", NO_DETAILS, true},
    {GOLDEN_DIR "/profile-v2-details.tmk", DETAILS_IN_BLOCKS, false},
    {GOLDEN_DIR "/profile-v2-details.plain.tmk", DETAILS_IN_BLOCKS, false},
    {GOLDEN_DIR "/profile-v2-details.unpacked.db", DETAILS_IN_ROWS, true},
};

static void golden_files_read_as_they_were_written(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++)
        check_file(golden[i].path, golden[i].holds);
}

static void check_figures(const struct figure *figures, const struct figure *as, size_t count)
{
    assert_memory_equal(figures, as, count * sizeof *figures);
}

static void check_levels(const struct profile *some, const struct profile *all)
{
    assert_int_equal(some->bucket_count, all->bucket_count);
    for (size_t i = 0; i < all->bucket_count; i++) {
        const struct timeline_bucket *bucket = &some->buckets[i], *as = &all->buckets[i];
        check_figures(&bucket->requested.min, &as->requested.min, 2);
        check_figures(&bucket->physical.min, &as->physical.min, 2);
        check_figures(&bucket->alloc_count, &as->alloc_count, 1);
        check_figures(&bucket->free_count, &as->free_count, 1);
        assert_false(figure_known(bucket->virt.max));
    }
}

static void check_owners(const struct profile *some, const struct profile *all)
{
    assert_int_equal(some->owner_count, all->owner_count);
    for (size_t i = 0; i < all->owner_count; i++) {
        const struct profile_owner *owner = &some->owners[i], *as = &all->owners[i];
        assert_int_equal(owner->sample, as->sample);
        assert_int_equal(owner->kind, as->kind);
        assert_int_equal(owner->path, as->path);
        check_figures(&owner->resident_bytes, &as->resident_bytes, 1);
    }
}

static void check_curves(const struct profile *some, const struct profile *all)
{
    assert_int_equal(some->curve_count, all->curve_count);
    for (size_t i = 0; i < all->curve_count; i++) {
        assert_int_equal(some->curves[i].node, all->curves[i].node);
        assert_int_equal(some->curves[i].count, all->curves[i].count);
        assert_memory_equal(some->curves[i].points, all->curves[i].points,
                            all->curves[i].count * sizeof *all->curves[i].points);
    }
}

/* Sizes say that distributions were recorded; growths are what a rule reads. */
static void check_growths(const struct profile *some, const struct profile *all)
{
    size_t at = 0;
    for (size_t i = 0; i < all->distribution_count; i++) {
        const struct distribution_row *row = &all->distributions[i];
        if (row->kind != DISTRIBUTION_SIZE && row->kind != DISTRIBUTION_REALLOC_GROW)
            continue;
        assert_true(at < some->distribution_count);
        assert_memory_equal(&some->distributions[at++], row, sizeof *row);
    }
    assert_int_equal(at, some->distribution_count);
    assert_int_equal(!at, !all->distribution_count);
}

#define CHECK_SAME(some, all, rows, count)                                                         \
    do {                                                                                           \
        assert_int_equal((some)->count, (all)->count);                                             \
        if ((all)->count)                                                                          \
            assert_memory_equal((some)->rows, (all)->rows, (all)->count * sizeof *(all)->rows);    \
    } while (0)

static void what_a_summary_shows_reads_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct profile *some, *all;
        assert_int_equal(profile_read_for_summary(&some, golden[i].path), 0);
        assert_int_equal(profile_read(&all, golden[i].path), 0);
        as_rows(some);
        as_rows(all);
        CHECK_SAME(some, all, sites, site_count);
        CHECK_SAME(some, all, mapped_sites, mapped_site_count);
        CHECK_SAME(some, all, nodes, node_count);
        CHECK_SAME(some, all, residencies, residency_count);
        CHECK_SAME(some, all, islands, island_count);
        assert_memory_equal(&some->program, &all->program, sizeof all->program);
        assert_int_equal(some->sample_count, all->sample_count);
        assert_int_equal(some->meta_count, all->meta_count);
        check_levels(some, all);
        check_owners(some, all);
        check_curves(some, all);
        check_growths(some, all);
        profile_free(some);
        profile_free(all);
    }
}

static void figures_read_alike(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        struct profile *some, *all;
        assert_int_equal(profile_read_figures(&some, golden[i].path), 0);
        assert_int_equal(profile_read(&all, golden[i].path), 0);
        as_rows(some);
        as_rows(all);
        assert_int_equal(some->curve_count + some->mapped_curve_count, 0);
        CHECK_SAME(some, all, sites, site_count);
        CHECK_SAME(some, all, mapped_sites, mapped_site_count);
        CHECK_SAME(some, all, nodes, node_count);
        CHECK_SAME(some, all, residencies, residency_count);
        CHECK_SAME(some, all, islands, island_count);
        CHECK_SAME(some, all, distributions, distribution_count);
        assert_memory_equal(&some->program, &all->program, sizeof all->program);
        check_owners(some, all);
        assert_int_equal(some->region_count, all->region_count);
        CHECK_SAME(some, all, buckets, bucket_count);
        profile_free(some);
        profile_free(all);
    }
}

/* Rows of the first version of session files; the second is of the same process, and began no
 * later. */
static void golden_rows_read_as_they_were_written(void **state)
{
    (void)state;
    check_file(GOLDEN_DIR "/session-v1.session.tmk@4711.1", DETAILS_IN_BLOCKS);
    check_file(GOLDEN_DIR "/session-v1.session.tmk@4711.2", NO_DETAILS);
    check_file(GOLDEN_DIR "/session-v1.session.tmk@4711", NO_DETAILS);
}

/* Of a node's file: the second row is packed against the first. */
static void golden_rows_of_a_node_read_as_they_were_written(void **state)
{
    (void)state;
    check_file(GOLDEN_DIR "/node-v1.session.tmk@1", DETAILS_IN_BLOCKS);
    check_file(GOLDEN_DIR "/node-v1.session.tmk@2", DETAILS_IN_BLOCKS);
}

static void golden_files_unpack(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof golden / sizeof *golden; i++) {
        int expected = golden[i].in_rows ? -EINVAL : 0;
        assert_int_equal(profile_unpack(golden[i].path, scratch("rows.db")), expected);
        if (golden[i].in_rows)
            continue;
        check_file(scratch("rows.db"), golden[i].holds ? DETAILS_IN_ROWS : NO_DETAILS);
        assert_int_equal(unlink(scratch("rows.db")), 0);
    }
}

static int count_row(void *context, int columns, char **values, char **names)
{
    (void)columns, (void)values, (void)names;
    ++*(int *)context;
    return 0;
}

static int count_rows(sqlite3 *database, const char *sql)
{
    char *message = NULL;
    int rows = 0;
    if (sqlite3_exec(database, sql, count_row, &rows, &message) != SQLITE_OK) {
        print_error("%s\n%s\n", sql, message ? message : "");
        fail();
    }
    return rows;
}

/* Runs every ```sql block of the document over what `path` is unpacked to. */
static void run_documented_queries(const char *path, bool give_rows)
{
    sqlite3 *database;
    char line[1000], sql[8000];
    int queries = 0;
    bool inside = false;
    FILE *document = fopen(DOC_DIR "/FORMAT-profile.md", "r");
    assert_non_null(document);
    unlink(scratch("golden.db"));
    assert_int_equal(profile_unpack(path, scratch("golden.db")), 0);
    assert_int_equal(sqlite3_open(scratch("golden.db"), &database), SQLITE_OK);
    while (fgets(line, sizeof line, document)) {
        if (!inside && !strcmp(line, "```sql\n")) {
            inside = true;
            *sql = 0;
        } else if (inside && !strcmp(line, "```\n")) {
            inside = false;
            queries++;
            if (!count_rows(database, sql) && give_rows)
                fail_msg("no rows: %s", sql);
        } else if (inside) {
            strncat(sql, line, sizeof sql - strlen(sql) - 1);
        }
    }
    assert_true(queries >= 12);
    sqlite3_close(database);
    fclose(document);
}

static void documented_queries_run(void **state)
{
    (void)state;
    run_documented_queries(GOLDEN_DIR "/profile-v2-details.tmk", true);
    run_documented_queries(GOLDEN_DIR "/profile-v2.tmk", false); /* its tables are made, empty */
}

static int print_row(void *context, int columns, char **values, char **names)
{
    struct strbuf *out = context;
    (void)names;
    for (int i = 0; i < columns; i++)
        strbuf_addf(out, "%s%s", i ? "|" : "", values[i] ? values[i] : "-");
    strbuf_add_char(out, '\n');
    return 0;
}

static void views_show_what_is_there(void **state)
{
    (void)state;
    static const char *const views[][2] = {
        {"SELECT peak,seconds,peak_bytes,rest_bytes,rank,bytes,line FROM peaks ORDER BY 1,5",
         "0|0.3|9437184|9437184|-|-|-\n1|0.812|27585936|3120|0|16777216|1281\n"
         "1|0.812|27585936|3120|1|8388608|203\n1|0.812|27585936|3120|2|2097152|203\n"
         "1|0.812|27585936|3120|3|320000|31\n"},
        {"SELECT entry,bytes FROM ledger",
         "live blocks|25000000\nallocator slack|1000000\nown mappings|500000\nfiles|2600000\n"
         "stacks|140000\nglobals|70000\nshared|0\ntool|700000\nother|4096\nunexplained|-14096\n"},
        {"SELECT sum(bytes)=30000000,min(why) FROM ledger WHERE sample=2", "1|resident peak\n"},
        {"SELECT name,bytes,section,line FROM variables WHERE module LIKE '%solver'",
         "solver::table|1048576|.bss|12\nbuffer|4096|.data|0\nscratch|64|.tbss|0\n"},
        {"SELECT function LIKE 'solver::Field%',live_count,live_bytes,resident_bytes,pinned_bytes"
         " FROM residency_by_function WHERE sample=2 ORDER BY live_bytes DESC",
         "0|1|16777216|16000000|0\n1|1026|10485760|9000000|600000\n"},
        {"SELECT owner_tid,owner,freer_tid,count FROM thread_exchanges ORDER BY count",
         "-|-|-|1\n4712|-|4711|10\n4711|fifteen letters|4712|5000\n"},
        {"UPDATE thread SET earlier_count=3 WHERE tid=4711", ""},
        {"SELECT owner_tid,owner,freer_tid,count FROM thread_exchanges ORDER BY count",
         "-|-|-|1\n4712|-|-|10\n-|fifteen letters|4712|5000\n"},
        {"SELECT count(*) FROM marks JOIN mark USING (name) JOIN thread ON thread.id=mark.thread"
         " WHERE marks.tid IS NOT NULL AND thread.earlier_count>0",
         "0\n"},
        {"SELECT name,count(*) FROM distribution JOIN distribution_names USING (kind) GROUP BY kind"
         " HAVING count(*) > 1",
         "size|3\nsize, exact|2\nlifetime|2\n"},
    };
    sqlite3 *database;
    unlink(scratch("views.db"));
    assert_int_equal(profile_unpack(GOLDEN_DIR "/profile-v2-details.tmk", scratch("views.db")), 0);
    assert_int_equal(sqlite3_open(scratch("views.db"), &database), SQLITE_OK);
    for (size_t i = 0; i < ITEMS(views); i++) {
        struct strbuf got = STRBUF_INIT;
        assert_int_equal(sqlite3_exec(database, views[i][0], print_row, &got, NULL), SQLITE_OK);
        assert_string_equal(got.data, views[i][1]);
        strbuf_release(&got);
    }
    sqlite3_close(database);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(golden_files_read_as_they_were_written),
        cmocka_unit_test(what_a_summary_shows_reads_alike),
        cmocka_unit_test(figures_read_alike),
        cmocka_unit_test(golden_rows_read_as_they_were_written),
        cmocka_unit_test(golden_rows_of_a_node_read_as_they_were_written),
        cmocka_unit_test(golden_files_unpack),
        cmocka_unit_test(documented_queries_run),
        cmocka_unit_test(views_show_what_is_there),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
