/* What a profile says beyond sums is read as it was written, in every form; what is not there is
 * absent, what makes no sense is left out and noted. SEED=n repeats a run. */
#include <errno.h>
#include <setjmp.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>
#include "sample.h"
#include "base/error.h"
#include "scratch.h"
#include "check_details.h"
#include "profile/detail_tables.h"

static struct profile *read_profile(const char *path)
{
    struct profile *profile;
    if (profile_read(&profile, path))
        fail_msg("%s", error_text());
    return profile;
}

static void check_file(const char *path, bool in_rows)
{
    struct profile *profile = read_profile(path);
    check_details(profile, in_rows);
    check_stacks(profile);
    check_heap(profile);
    profile_free(profile);
}

static void what_is_written_is_read_in_every_form(void **state)
{
    (void)state;
    const char *path = scratch("details.tmk"), *rows = scratch("details.db");
    for (int pack = 0; pack < 2; pack++) {
        assert_int_equal(details_file(path, pack), 0);
        check_file(path, false);
        assert_int_equal(profile_unpack(path, rows), 0);
        check_file(rows, true);
        assert_int_equal(unlink(rows), 0);
    }
}

/* Twice, thrice, before and after a commit: the last one counts. */
static void what_is_written_again_replaces(void **state)
{
    (void)state;
    const char *path = scratch("again.tmk");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(sample_write(writer), 0);
    struct curve longer = {3, 2, {4096}, detail_points + 3, 0, 0}, none = {9, 0, {1}, NULL, 0, 0};
    assert_int_equal(profile_put_curve(writer, &longer), 0);
    longer.node = 9;
    assert_int_equal(profile_put_curve(writer, &longer), 0);
    assert_int_equal(profile_put_curve(writer, &none), 0);
    assert_int_equal(profile_put_variables(writer, &detail_variables[3], 1), 0);
    for (int round = 0; round < 3; round++) {
        assert_int_equal(details_write(writer), 0);
        assert_int_equal(profile_writer_commit(writer), 0);
        check_file(path, false);
        assert_int_equal(profile_writer_begin(writer), 0);
    }
    assert_int_equal(profile_put_peaks(writer, NULL, 0), 0);
    assert_int_equal(profile_put_distributions(writer, NULL, 0), 0);
    assert_int_equal(profile_put_exchanges(writer, NULL, 0), 0);
    assert_int_equal(profile_put_stacks(writer, NULL, 0, NULL, 0), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
    struct profile *profile = read_profile(path);
    assert_null(profile->damage);
    SAME(profile->stack_peak_count + profile->stack_layer_count, 0);
    SAME(profile->peak_count + profile->distribution_count + profile->exchange_count, 0);
    SAME(profile->residency_count, ITEMS(detail_residencies));
    profile_free(profile);
}

/* ---- Any numbers --------------------------------------------------------------------------- */

enum { ANY_NODES = 12000, ANY_SAMPLES = 3, ANY_CURVES = 40, ANY_POINTS = 4096 };
struct any {
    size_t residency_count;
    struct profile_residency residencies[ANY_NODES * ANY_SAMPLES];
    struct curve curves[ANY_CURVES];
    struct curve_point points[ANY_CURVES][ANY_POINTS];
};

static uint64_t any_number(unsigned *seed)
{
    return rand_r(seed) % 4   ? (uint64_t)rand_r(seed) % 5000
           : rand_r(seed) % 3 ? random_number(seed)
                              : UNKNOWN;
}

static void make_any(struct any *any, unsigned *seed)
{
    unsigned part = 1 + (unsigned)rand_r(seed) % 5;
    any->residency_count = 0;
    for (uint32_t sample = 1; sample <= ANY_SAMPLES; sample++)
        for (uint32_t path = 0; path <= ANY_NODES; path++) {
            if ((unsigned)rand_r(seed) % part || any->residency_count == ITEMS(any->residencies))
                continue;
            struct profile_residency *row = &any->residencies[any->residency_count++];
            *row = (struct profile_residency){sample, path, .live_count = {any_number(seed)}};
            for (struct figure *at = &row->live_bytes; at <= &row->pinning_count; at++)
                *at = (struct figure){any_number(seed)};
        }
    for (uint32_t i = 0; i < ANY_CURVES; i++) {
        uint32_t count = 1 + (uint32_t)rand_r(seed) % (i ? 300 : ANY_POINTS);
        uint64_t time = 0;
        for (uint32_t point = 0; point < count; point++) {
            time += (uint64_t)rand_r(seed) % 100000000;
            any->points[i][point] = (struct curve_point){time, random_number(seed)};
        }
        any->curves[i] = (struct curve){i * 100,        count,       {any_number(seed)},
                                        any->points[i], MEMORY_HEAP, random_number(seed)};
    }
}

/* Residencies come in any order. */
static void shuffle(struct profile_residency *rows, size_t count, unsigned *seed)
{
    for (size_t i = count; i > 1; i--) {
        size_t other = (size_t)rand_r(seed) % i;
        struct profile_residency row = rows[i - 1];
        rows[i - 1] = rows[other];
        rows[other] = row;
    }
}

static void write_any(const char *path, const struct any *any, unsigned *seed)
{
    static struct profile_residency shuffled[ANY_NODES * ANY_SAMPLES];
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    for (uint32_t id = 1; id <= ANY_NODES; id++)
        assert_int_equal(profile_put_path(writer, id, id - 1, 0), 0);
    for (uint32_t id = 1; id <= ANY_SAMPLES; id++)
        assert_int_equal(profile_put_sample(writer, &(struct profile_sample){.id = id}), 0);
    memcpy(shuffled, any->residencies, any->residency_count * sizeof *shuffled);
    if (rand_r(seed) % 2)
        shuffle(shuffled, any->residency_count, seed);
    for (size_t at = 0, count; at < any->residency_count; at += count) {
        count = 1 + (size_t)rand_r(seed) % any->residency_count;
        if (count > any->residency_count - at)
            count = any->residency_count - at;
        assert_int_equal(profile_put_residency(writer, shuffled + at, count), 0);
    }
    for (size_t i = ANY_CURVES; i-- > 0;)
        assert_int_equal(profile_put_curve(writer, &any->curves[i]), 0);
    assert_int_equal(profile_writer_finish(writer, rand_r(seed) % 2), 0);
}

static uint64_t as_row(uint64_t value, bool in_rows)
{
    return in_rows && value != UNKNOWN ? stored(value) : value;
}

static void check_any(const struct any *any, const char *path, bool in_rows)
{
    struct profile *profile = read_profile(path);
    assert_null(profile->damage);
    SAME(profile->residency_count, any->residency_count);
    for (size_t i = 0; i < any->residency_count; i++) {
        const struct profile_residency *got = &profile->residencies[i];
        SAME(got->sample, any->residencies[i].sample);
        SAME(got->path, any->residencies[i].path);
        const struct figure *expected = &any->residencies[i].live_count;
        for (const struct figure *at = &got->live_count; at <= &got->pinning_count;
             at++, expected++)
            SAME(number_of(*at), as_row(number_of(*expected), in_rows));
    }
    SAME(profile->curve_count, ANY_CURVES);
    for (size_t i = 0; i < ANY_CURVES; i++) {
        const struct curve *got = &profile->curves[i], *expected = &any->curves[i];
        SAME(got->node, expected->node);
        SAME(got->count, expected->count);
        SAME(number_of(got->threshold_bytes),
             as_row(number_of(expected->threshold_bytes), in_rows));
        for (uint32_t point = 0; point < got->count; point++) {
            SAME(got->points[point].ticks, stored(expected->points[point].ticks));
            uint64_t bytes = expected->points[point].bytes;
            SAME(got->points[point].bytes, in_rows ? stored(bytes) : bytes);
        }
    }
    profile_free(profile);
}

static void any_curves_and_residencies_come_back(void **state)
{
    (void)state;
    static struct any any;
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    for (int round = 0; round < 4; round++) {
        const char *path = scratch("any.tmk"), *rows = scratch("any.db");
        make_any(&any, &seed);
        write_any(path, &any, &seed);
        check_any(&any, path, false);
        assert_int_equal(profile_unpack(path, rows), 0);
        check_any(&any, rows, true);
        assert_int_equal(unlink(rows), 0);
    }
}

/* There is one map: a later one stands in its stead, in however many blocks, and a sample that is
 * begun anew has none. */
static void the_last_map_of_the_heap_is_kept(void **state)
{
    (void)state;
    enum { CELLS = 10000 };
    static struct profile_heap_page cells[CELLS];
    unsigned seed = getenv("SEED") ? (unsigned)atoi(getenv("SEED")) : (unsigned)getpid();
    print_message("seed %u\n", seed);
    const char *path = scratch("heap.tmk"), *rows = scratch("heap.db");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(profile_put_path(writer, 1, 0, 0), 0);
    for (uint32_t sample = 1; sample <= 3; sample++) {
        uint64_t address = 0;
        assert_int_equal(profile_put_sample(writer, &(struct profile_sample){.id = sample}), 0);
        for (size_t i = 0; i < CELLS; i++) {
            address += 4096 * (1 + (uint64_t)rand_r(&seed) % 3);
            cells[i] = (struct profile_heap_page){sample,
                                                  (uint32_t)rand_r(&seed) % 2,
                                                  address,
                                                  4096,
                                                  stored(random_number(&seed)),
                                                  stored(random_number(&seed)),
                                                  stored(random_number(&seed)),
                                                  stored(random_number(&seed))};
        }
        assert_int_equal(profile_put_heap_pages(writer, cells, CELLS / sample), 0);
    }
    assert_int_equal(profile_put_sample(writer, &(struct profile_sample){.id = 2}), 0);
    assert_int_equal(profile_writer_commit(writer), 0);
    assert_int_equal(profile_unpack(path, rows), 0);
    for (int i = 0; i < 2; i++) {
        struct profile *profile = read_profile(i ? rows : path);
        assert_null(profile->damage);
        SAME(profile->heap_page_count, CELLS / 3);
        assert_memory_equal(profile->heap_pages, cells, CELLS / 3 * sizeof *cells);
        profile_free(profile);
    }
    assert_int_equal(profile_writer_begin(writer), 0);
    assert_int_equal(profile_put_sample(writer, &(struct profile_sample){.id = 3}), 0);
    assert_int_equal(profile_writer_finish(writer, true), 0);
    struct profile *profile = read_profile(path);
    SAME(profile->heap_page_count, 0);
    profile_free(profile);
    unlink(rows);
}

static void a_curve_of_too_many_points_is_refused(void **state)
{
    (void)state;
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, scratch("long.tmk")), 0);
    struct curve curve = {1, 4097, {0}, NULL, 0, 0};
    assert_int_equal(profile_put_curve(writer, &curve), -EINVAL);
    profile_writer_abandon(writer);
}

/* ---- Damage -------------------------------------------------------------------------------- */

static void run_sql(const char *path, const char *sql)
{
    sqlite3 *database;
    char *message = NULL;
    assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
    if (sqlite3_exec(database, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
    sqlite3_close(database);
}

/* What a presenter relies on. */
static void check_sound(const struct profile *profile)
{
    for (size_t i = 0; i < profile->distribution_count; i++)
        assert_true(profile->distributions[i].kind < DISTRIBUTION_KINDS);
    for (size_t i = 0; i < profile->peak_count; i++) {
        assert_true(profile->peaks[i].share_count <= PEAK_SHARES_MAX);
        for (size_t share = 0; share < profile->peaks[i].share_count; share++)
            assert_true(profile->peaks[i].shares[share].node < profile->node_count);
    }
    for (size_t i = 0; i < profile->curve_count; i++) {
        const struct curve *curve = &profile->curves[i];
        assert_true(curve->node < profile->node_count && curve->count);
        assert_true(!i || curve[-1].node < curve->node);
        for (uint32_t point = 1; point < curve->count; point++)
            assert_true(curve->points[point - 1].ticks <= curve->points[point].ticks);
    }
    for (size_t i = 0; i < profile->exchange_count; i++) {
        const struct exchange *row = &profile->exchanges[i];
        assert_true(row->owner < profile->thread_count || row->owner == UINT32_MAX);
        assert_true(row->freer < profile->thread_count || row->freer == UINT32_MAX);
    }
    for (size_t i = 0; i < profile->variable_count; i++) {
        const struct profile_variable *row = &profile->variables[i];
        assert_true((size_t)row->module_id < profile->module_count && row->name);
        assert_in_range(row->section, 0, PROFILE_SECTIONS - 1);
    }
    for (size_t i = 0; i < profile->section_count; i++) {
        assert_true((size_t)profile->sections[i].module_id < profile->module_count);
        assert_in_range(profile->sections[i].section, 0, PROFILE_SECTIONS - 1);
    }
    for (size_t i = 0; i < profile->sample_count; i++)
        assert_in_range(profile->samples[i].why, 0, PROFILE_SAMPLE_END);
    for (size_t i = 0; i < profile->mapping_count; i++)
        assert_non_null(profile->mappings[i].kind);
    for (size_t i = 0; i < profile->residency_count; i++) {
        const struct profile_residency *row = &profile->residencies[i];
        assert_true(row->path < profile->node_count);
        assert_true(!i || row[-1].sample < row->sample || row[-1].path < row->path);
    }
    for (size_t i = 0; i < profile->heap_page_count; i++)
        assert_true(profile->heap_pages[i].path < profile->node_count);
    for (size_t i = 0; i < profile->source_count; i++)
        assert_true(profile->sources[i].path &&
                    strlen(profile->sources[i].text) == profile->sources[i].bytes);
    for (size_t i = 0; i < profile->thread_count; i++)
        assert_true(profile->threads[i].stack_node < profile->node_count &&
                    memchr(profile->threads[i].name, 0, sizeof profile->threads[i].name));
}

static void check_noticed(const char *path, const char *what)
{
    struct profile *profile = read_profile(path);
    check_sound(profile);
    if (!profile->damage)
        fail_msg("not noticed: %s", what);
    profile_free(profile);
}

static void nonsense_in_rows_is_noted_and_left_out(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE distribution SET count=-1",
        "UPDATE distribution SET count='many'",
        "UPDATE distribution SET kind=-1 WHERE x=48 AND kind=0",
        "UPDATE distribution SET kind='x' WHERE x=48 AND kind=0",
        "UPDATE peak SET bytes=1.5",
        "DELETE FROM peak",
        "UPDATE peak SET id=5000000000 WHERE id=1",
        "UPDATE peak SET valley_bytes=-5",
        "UPDATE peak_share SET path=777",
        "UPDATE peak_share SET path=NULL",
        "UPDATE peak_share SET peak=55",
        "WITH RECURSIVE n(i) AS (VALUES(9) UNION ALL SELECT i+1 FROM n WHERE i < 99)"
        " INSERT INTO peak_share SELECT 1,i,3,4 FROM n",
        "UPDATE exchange SET owner=2 WHERE owner=1",
        "UPDATE exchange SET freer=-1",
        "UPDATE exchange SET freer=4294967295",
        "UPDATE curve SET path=77",
        "UPDATE curve SET time_ns=x'00'",
        "INSERT INTO curve VALUES(10,50,1,1,0,0)",
        "UPDATE variable SET module=2222",
        "UPDATE variable SET module=NULL",
        "UPDATE variable SET section=-3",
        "UPDATE variable SET line=5000000000",
        "UPDATE section SET bytes='x'",
        "UPDATE section SET module=-1 WHERE section=0",
        "UPDATE sample SET id=-1 WHERE id=1",
        "UPDATE sample SET pass_ms=9e999",
        "UPDATE sample SET pass_ms='long'",
        "UPDATE sample SET unexplained_bytes=0.5",
        "UPDATE sample SET resident_bytes=-1",
        "DELETE FROM sample WHERE id=2",
        "UPDATE mapping SET sample=17",
        "UPDATE mapping SET count=-1",
        "UPDATE residency SET path=100 WHERE path=10",
        "UPDATE residency SET sample=9 WHERE sample=2",
        "UPDATE residency SET live_bytes='x'",
        "UPDATE heap_page SET path=100 WHERE path=10",
        "UPDATE heap_page SET sample=9",
        "UPDATE heap_page SET live_bytes=-1",
        "UPDATE thread SET stack_path=4711",
        "UPDATE thread SET stack_path=-1",
    };
    for (size_t i = 0; i < ITEMS(changes); i++) {
        const char *packed = scratch("sound.tmk"), *rows = scratch("nonsense.db");
        assert_int_equal(details_file(packed, true), 0);
        unlink(rows);
        assert_int_equal(profile_unpack(packed, rows), 0);
        run_sql(rows, changes[i]);
        check_noticed(rows, changes[i]);
    }
}

static void nonsense_in_blocks_is_noted_and_left_out(void **state)
{
    (void)state;
    static const char *const changes[] = {
        "UPDATE residency_block SET body=NULL",
        "UPDATE residency_block SET body=zeroblob(16)", /* the same path again and again */
        "UPDATE residency_block SET count=4096, body=zeroblob(16)",
        "UPDATE residency_block SET count=count+1",
        "UPDATE residency_block SET sample=-1",
        "UPDATE residency_block SET sample=77",
        "UPDATE residency_block SET sample=NULL",
        "INSERT INTO residency_block SELECT 50,sample,count,body FROM residency_block LIMIT 1",
        "DELETE FROM block_column WHERE block='residency_block' AND name='path'",
        "UPDATE heap_page_block SET body=NULL",
        "UPDATE heap_page_block SET count=4096, body=zeroblob(16)", /* one address for all */
        "UPDATE heap_page_block SET count=count+1",
        "UPDATE heap_page_block SET sample=77",
        "DELETE FROM block_column WHERE block='heap_page_block' AND name='address'",
        "UPDATE curve_block SET path=77 WHERE path=3",
        "UPDATE curve_block SET path=-1 WHERE path=3",
        "UPDATE curve_block SET path=5000000000 WHERE path=3",
        "UPDATE curve_block SET count=4097",
        "UPDATE curve_block SET body=x'0403020100'",
        "UPDATE block_column SET name=CASE name WHEN 'bytes' THEN 'time_ns' ELSE 'bytes' END"
        " WHERE block='curve_block' AND number < 2", /* values as times */
        "WITH RECURSIVE n(i) AS (VALUES(100000) UNION ALL SELECT i+1 FROM n WHERE i < 103000)"
        " INSERT INTO curve_block SELECT i,4096,x'000000000000' FROM n", /* of nothing */
    };
    for (size_t i = 0; i < ITEMS(changes); i++) {
        const char *path = scratch("blocks.tmk"), *rows = scratch("blocks.db");
        assert_int_equal(details_file(path, false), 0);
        run_sql(path, changes[i]);
        check_noticed(path, changes[i]);
        if (i + 1 < ITEMS(changes) && !profile_unpack(path, rows)) {
            struct profile *profile = read_profile(rows);
            check_sound(profile);
            profile_free(profile);
        }
        unlink(rows);
    }
}

/* Bodies of a few bytes that stand for thousands of rows, thousands of them: what is believed is
 * not more than the file has bytes. */
static void rows_without_bytes_are_not_believed(void **state)
{
    (void)state;
    const char *path = scratch("swollen.tmk");
    struct profile_writer *writer;
    assert_int_equal(profile_writer_open(&writer, path), 0);
    assert_int_equal(profile_writer_begin(writer), 0);
    for (uint32_t id = 1; id <= 3000; id++)
        assert_int_equal(profile_put_path(writer, id, id - 1, 0), 0);
    assert_int_equal(profile_put_sample(writer, &(struct profile_sample){.id = 1}), 0);
    assert_int_equal(profile_writer_finish(writer, false), 0);
    run_sql(path, "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 3000)"
                  " INSERT INTO curve_block SELECT i,4096,x'000000000000' FROM n;"
                  "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i < 3000)"
                  " INSERT INTO residency_block SELECT i,1,4096,zeroblob(16) FROM n");
    struct profile *profile = read_profile(path);
    check_sound(profile);
    assert_non_null(profile->damage);
    size_t points = 0;
    for (size_t i = 0; i < profile->curve_count; i++)
        points += profile->curves[i].count;
    struct stat file;
    assert_int_equal(stat(path, &file), 0);
    assert_in_range(points, 1, file.st_size * 3 / 5); /* of twelve million; the file has 0.7 MB */
    SAME(profile->residency_count, 0);
    profile_free(profile);
}

static struct profile *read_altered(const char *sql)
{
    const char *path = scratch("altered.tmk");
    assert_int_equal(details_file(path, false), 0);
    run_sql(path, sql);
    struct profile *profile = read_profile(path);
    check_sound(profile);
    return profile;
}

/* Of newer and older versions: kinds that we do not know, columns that are not there. */
static void what_other_versions_write_is_no_damage(void **state)
{
    (void)state;
    struct profile *profile =
        read_altered("INSERT INTO distribution VALUES(99,1,1,1,1);"
                     "INSERT INTO variable VALUES(1,'x',NULL,1,17,NULL,1);"
                     "INSERT INTO section VALUES(1,17,1,1,1,0);"
                     "ALTER TABLE sample ADD COLUMN future INTEGER;"
                     "ALTER TABLE sample DROP COLUMN ooms;"
                     "ALTER TABLE sample DROP COLUMN unexplained_bytes;"
                     "UPDATE sample SET why=9 WHERE id=4000000000;"
                     "UPDATE block_column SET name='future' WHERE name='pinned_bytes'");
    assert_null(profile->damage);
    SAME(profile->distribution_count, ITEMS(detail_distributions));
    SAME(profile->variable_count, ITEMS(detail_variables));
    SAME(profile->section_count, ITEMS(detail_sections));
    SAME(profile->sample_count, ITEMS(detail_samples) - 1);
    SAME(profile->mapping_count, ITEMS(detail_mappings) - 1);
    SAME(profile->residency_count, ITEMS(detail_residencies) - 2);
    SAME(number_of(profile->samples[1].ooms), UNKNOWN);
    SAME(number_of(profile->samples[1].pinned_bytes), 600000);
    SAME(number_of(profile->residencies[1].pinned_bytes), UNKNOWN);
    SAME(number_of(profile->residencies[1].pinning_count), 12);
    profile_free(profile);
}

static void tables_that_are_missing_are_absent(void **state)
{
    (void)state;
    struct strbuf sql = STRBUF_INIT;
    for (int i = 0; i < DETAIL_TABLES; i++)
        strbuf_addf(&sql, "DROP TABLE %s;",
                    detail_tables[i].blocks ? detail_tables[i].blocks : detail_tables[i].name);
    struct profile *profile = read_altered(sql.data);
    assert_null(profile->damage);
    check_no_details(profile);
    SAME(profile->site_count, SAMPLE_SITES);
    profile_free(profile);
    strbuf_release(&sql);
}

static void texts_are_taken_as_they_are(void **state)
{
    (void)state;
    struct profile *profile = read_altered(
        "UPDATE variable SET name=CAST(x'610062' AS TEXT),file=x'ff00';"
        "UPDATE source SET text=x'610a0062' WHERE path LIKE '%main%';"
        "UPDATE source SET text=NULL WHERE path LIKE '%mesh%';"
        "UPDATE mapping SET kind=NULL; UPDATE thread SET name='a name that is far too long'");
    assert_null(profile->damage);
    assert_string_equal(profile->variables[0].name, "a\\x00b");
    assert_string_equal(profile->variables[0].file, "\xff\\x00");
    assert_string_equal(profile->sources[1].text, "a\n\\x00b");
    assert_string_equal(profile->sources[2].text, "");
    assert_string_equal(profile->mappings[0].kind, "?");
    assert_string_equal(profile->threads[0].name, "a name that is ");
    profile_free(profile);
}

/* A view in a table's place, also under a name that SQLite takes for the same. */
static void tables_that_compute_are_refused(void **state)
{
    (void)state;
    for (int i = 0; i < DETAIL_TABLES * 2; i++) {
        const struct detail_table *table = &detail_tables[i / 2];
        const char *name = table->blocks ? table->blocks : table->name;
        const char *path = scratch("view.tmk");
        struct strbuf sql = STRBUF_INIT;
        strbuf_addf(&sql, "DROP TABLE %s; CREATE VIEW %c%s AS SELECT 1 AS %s", name,
                    i % 2 ? *name - 'a' + 'A' : *name, name + 1, table->columns[0].name);
        assert_int_equal(details_file(path, false), 0);
        run_sql(path, sql.data);
        struct profile *profile;
        assert_int_equal(profile_read(&profile, path), -EBADMSG);
        assert_non_null(strstr(error_text(), "tables are not those of a profile"));
        strbuf_release(&sql);
    }
}

static void alter_body(sqlite3 *database, const char *table, const void *body, size_t bytes)
{
    char sql[100];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "UPDATE %s SET body=? WHERE rowid=(SELECT min(rowid) FROM %s)", table,
             table);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    sqlite3_bind_blob(statement, 1, body, (int)bytes, SQLITE_STATIC);
    assert_int_equal(sqlite3_step(statement), SQLITE_DONE);
    sqlite3_finalize(statement);
}

static size_t first_body(sqlite3 *database, const char *table, unsigned char *body, size_t size)
{
    char sql[100];
    sqlite3_stmt *statement;
    snprintf(sql, sizeof sql, "SELECT body FROM %s ORDER BY rowid", table);
    assert_int_equal(sqlite3_prepare_v2(database, sql, -1, &statement, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    size_t bytes = (size_t)sqlite3_column_bytes(statement, 0);
    assert_true(bytes > 10 && bytes < size);
    memcpy(body, sqlite3_column_blob(statement, 0), bytes);
    sqlite3_finalize(statement);
    return bytes;
}

static void read_soundly(const char *path)
{
    struct profile *profile = read_profile(path);
    check_sound(profile);
    profile_free(profile);
}

/* Every byte of a block of each kind altered, and it cut at every byte. */
static void blocks_may_be_damaged_anywhere(void **state)
{
    (void)state;
    static const char *const tables[] = {"residency_block", "curve_block"};
    for (size_t i = 0; i < ITEMS(tables); i++) {
        const char *path = scratch("bytes.tmk");
        unsigned char body[2000];
        sqlite3 *database;
        assert_int_equal(details_file(path, false), 0);
        assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
        sqlite3_exec(database, "PRAGMA synchronous=OFF; PRAGMA journal_mode=OFF", NULL, NULL, NULL);
        size_t bytes = first_body(database, tables[i], body, sizeof body);
        for (size_t at = 0; at < bytes; at++) {
            alter_body(database, tables[i], body, at);
            read_soundly(path);
            for (unsigned flip = 1; flip < 256; flip *= 11) { /* 1, 11, 121 */
                body[at] ^= (unsigned char)flip;
                alter_body(database, tables[i], body, bytes);
                read_soundly(path);
                body[at] ^= (unsigned char)flip;
            }
        }
        sqlite3_close(database);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_in_every_form),
        cmocka_unit_test(what_is_written_again_replaces),
        cmocka_unit_test(any_curves_and_residencies_come_back),
        cmocka_unit_test(the_last_map_of_the_heap_is_kept),
        cmocka_unit_test(a_curve_of_too_many_points_is_refused),
        cmocka_unit_test(nonsense_in_rows_is_noted_and_left_out),
        cmocka_unit_test(nonsense_in_blocks_is_noted_and_left_out),
        cmocka_unit_test(rows_without_bytes_are_not_believed),
        cmocka_unit_test(what_other_versions_write_is_no_damage),
        cmocka_unit_test(tables_that_are_missing_are_absent),
        cmocka_unit_test(texts_are_taken_as_they_are),
        cmocka_unit_test(tables_that_compute_are_refused),
        cmocka_unit_test(blocks_may_be_damaged_anywhere),
    };
    return cmocka_run_group_tests(tests, scratch_begin, scratch_end);
}
