/* Files that are cut off, changed or made up: what is whole is read as it was written, what is not
 * is counted, nothing crashes and nothing false is believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include "sample.h"
#include "trace/decoder.h"
#include "trace/prediction.h"
#include "trace/trace_format.h"
#include <cmocka.h>
#include "base/alive.h"
#include "base/error.h"

static char path[64], broken_path[64];
static unsigned char *file;
static size_t file_bytes;

static void write_file(const char *name, const void *bytes, size_t count)
{
    FILE *out = fopen(name, "wb");

    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    fclose(out);
}

static int write_sample(void **state)
{
    FILE *in;

    (void)state;
    snprintf(path, sizeof path, "/tmp/test_trace_damage.%d.tmt", (int)getpid());
    snprintf(broken_path, sizeof broken_path, "/tmp/test_trace_broken.%d.tmt", (int)getpid());
    unlink(path);
    if (sample_write(path, TRACE_ZSTD) || !(in = fopen(path, "rb")))
        return -1;
    file = malloc(1 << 20);
    file_bytes = fread(file, 1, 1 << 20, in);
    fclose(in);
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    free(file);
    unlink(path);
    unlink(broken_path);
    return 0;
}

struct seen {
    size_t blocks, sound, events, nodes, modules;
    struct trace_damage damage;
    char sentence[300];
};

/* Reads all there is; what is read without an error must be what was written. */
static bool read_all(const char *name, struct seen *seen)
{
    struct trace_events events = {0};
    struct trace_module *modules;
    struct trace_node *nodes;
    struct trace_net_delta *deltas;
    struct trace *trace;
    size_t count;

    memset(seen, 0, sizeof *seen);
    if (trace_open(&trace, name)) {
        assert_true(strlen(error_text()) > 10);
        return false;
    }
    seen->blocks = trace_block_count(trace);
    for (size_t i = 0; i < seen->blocks; i++) {
        if (trace_block_net_deltas(trace, i, &deltas, &count) == 0)
            free(deltas);
        if (trace_events(trace, i, &events))
            continue;
        assert_int_equal(sample_compare_events(trace_block(trace, i), &events), 0);
        seen->sound++;
        seen->events += events.event_count;
    }
    assert_int_equal(trace_nodes(trace, SIZE_MAX, &nodes, &seen->nodes), 0);
    for (uint32_t i = 0; i < seen->nodes; i++) {
        struct trace_node wanted = sample_node(i);
        if (nodes[i].ip || nodes[i].parent)
            assert_true(nodes[i].ip == wanted.ip && nodes[i].parent == wanted.parent);
    }
    free(nodes);
    assert_int_equal(trace_modules(trace, SIZE_MAX, &modules, &seen->modules), 0);
    free(modules);
    trace_damage(trace, &seen->damage, seen->sentence, sizeof seen->sentence);
    trace_events_release(&events);
    trace_close(trace);
    return true;
}

static void a_whole_file_misses_nothing(void **state)
{
    struct trace_module *modules;
    struct trace_node *nodes;
    struct trace *trace;
    struct seen seen;
    size_t count;

    (void)state;
    assert_true(read_all(path, &seen));
    assert_int_equal(seen.sound, SAMPLE_BLOCKS);
    assert_int_equal(seen.events, (SAMPLE_BLOCKS * SAMPLE_RUNS - 1) * SAMPLE_RECORDS);
    assert_int_equal(seen.nodes, SAMPLE_NODES);
    assert_int_equal(seen.modules, 2);
    assert_string_equal(seen.sentence, "");
    assert_int_equal(trace_open(&trace, path), 0);
    assert_string_equal(trace_fact(trace, "end"), "exit");
    assert_string_equal(trace_fact(trace, "program"), "sample");
    assert_null(trace_fact(trace, "colour"));
    assert_int_equal(trace_nodes(trace, 0, &nodes, &count), 0);
    assert_int_equal(count, SAMPLE_NODES / SAMPLE_BLOCKS);
    free(nodes);
    assert_int_equal(trace_modules(trace, 0, &modules, &count), 0);
    assert_int_equal(count, 1);
    assert_int_equal(modules[0].end, 0x555500002000);
    assert_string_equal(modules[0].path, "");
    free(modules);
    trace_close(trace);
}

static void times_and_events_are_found_in_their_blocks(void **state)
{
    struct trace *trace;

    (void)state;
    assert_int_equal(trace_open(&trace, path), 0);
    assert_int_equal(trace_block_at(trace, 0), 0);
    assert_int_equal(trace_block_at(trace, UINT64_MAX), SAMPLE_BLOCKS - 1);
    assert_int_equal(trace_block_of_event(trace, UINT64_MAX), SAMPLE_BLOCKS - 1);
    for (size_t i = 0; i < SAMPLE_BLOCKS; i++) {
        const struct trace_block *block = trace_block(trace, i);
        assert_int_equal(trace_block_of_event(trace, block->first_event), i);
        assert_int_equal(trace_block_of_event(trace, block->first_event + block->events - 1), i);
        assert_int_equal(trace_block_at(trace, block->start_ticks + 1), i);
        assert_int_equal(trace_block_at(trace, block->last_ticks), i);
        assert_true(block->max_bytes <= trace_block(trace, trace_block_of_peak(trace))->max_bytes);
    }
    trace_close(trace);
}

/* Where each block of the sound file ends. */
static size_t block_ends(size_t ends[64])
{
    struct trace_format_block block;
    size_t count = 0, at = FORMAT_HEADER_BYTES;

    while (trace_format_get_block(file + at, &block)) {
        at += FORMAT_BLOCK_BYTES + block.paths_bytes + block.body_bytes;
        ends[count++] = at;
    }
    assert_int_equal(at + FORMAT_TAIL_BYTES, file_bytes);
    return count;
}

static size_t event_blocks_before(size_t end)
{
    struct trace_format_block block;
    size_t count = 0, at = FORMAT_HEADER_BYTES;

    while (at + FORMAT_BLOCK_BYTES <= end && trace_format_get_block(file + at, &block)) {
        at += FORMAT_BLOCK_BYTES + block.paths_bytes + block.body_bytes;
        count += at <= end && block.kind == FORMAT_EVENTS;
    }
    return count;
}

static bool is_near_an_end(const size_t *ends, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++)
        if (bytes + 1 >= ends[i] && bytes <= ends[i] + 1)
            return true;
    return bytes <= FORMAT_HEADER_BYTES + 1;
}

static void cut_off_anywhere_it_reads_up_to_the_last_whole_block(void **state)
{
    struct seen seen;
    size_t ends[64], count = block_ends(ends);

    (void)state;
    assert_true(count > 3 * SAMPLE_BLOCKS);
    for (size_t bytes = 0; bytes < file_bytes; bytes++) {
        if (bytes % 5 && !is_near_an_end(ends, count, bytes))
            continue;
        write_file(broken_path, file, bytes);
        assert_int_equal(read_all(broken_path, &seen), bytes >= FORMAT_HEADER_BYTES);
        if (bytes < FORMAT_HEADER_BYTES)
            continue;
        assert_int_equal(seen.sound, event_blocks_before(bytes));
        assert_true(seen.damage.cut_off);
        assert_true(strlen(seen.sentence) > 10);
    }
}

static void a_changed_byte_costs_one_block_and_is_noticed(void **state)
{
    struct seen seen;
    size_t refused = 0;

    (void)state;
    for (size_t at = 0; at < file_bytes; at++) {
        file[at] ^= (unsigned char)(1 << at % 8);
        write_file(broken_path, file, file_bytes);
        file[at] ^= (unsigned char)(1 << at % 8);
        if (!read_all(broken_path, &seen)) {
            refused++;
            assert_true(at < FORMAT_HEADER_BYTES);
            continue;
        }
        assert_true(seen.sound >= SAMPLE_BLOCKS - 1);
        if (seen.sound < SAMPLE_BLOCKS)
            assert_true(seen.damage.blocks == 1 &&
                        seen.damage.events >= (SAMPLE_RUNS - 1) * SAMPLE_RECORDS);
    }
    assert_int_equal(refused, FORMAT_HEADER_BYTES);
}

/* Without an index, or with one that says nonsense, the blocks are walked. */
static void a_damaged_block_in_the_middle_of_a_file_without_index(void **state)
{
    size_t ends[64], count = block_ends(ends);
    unsigned char header[FORMAT_BLOCK_BYTES];
    struct seen seen;

    (void)state;
    for (size_t i = 1; i + 2 < count; i++) {
        memcpy(header, file + ends[i - 1], sizeof header);
        memset(file + ends[i - 1], 0x55, sizeof header);
        write_file(broken_path, file, ends[count - 2]);
        memcpy(file + ends[i - 1], header, sizeof header);
        assert_true(read_all(broken_path, &seen));
        assert_int_equal(seen.damage.lost_blocks, 1);
        assert_true(seen.damage.cut_off);
        assert_true(seen.sound >= SAMPLE_BLOCKS - 1);
    }
}

/* The next block's beginning is known, but not what the lost one changed of each path. */
static void a_state_behind_a_lost_block_says_what_it_lacks(void **state)
{
    size_t ends[64], count = block_ends(ends);
    unsigned char header[FORMAT_BLOCK_BYTES];
    struct trace_format_block lost;

    (void)state;
    for (size_t i = 0; i + 2 < count; i++) {
        size_t at = i ? ends[i - 1] : FORMAT_HEADER_BYTES, next = 0;
        struct trace_state found;
        struct trace *trace;
        memcpy(header, file + at, sizeof header);
        if (!trace_format_get_block(header, &lost) || lost.kind != FORMAT_EVENTS)
            continue;
        memset(file + at, 0x55, sizeof header);
        write_file(broken_path, file, ends[count - 2]);
        memcpy(file + at, header, sizeof header);
        assert_int_equal(trace_open(&trace, broken_path), 0);
        while (next < trace_block_count(trace) &&
               trace_block(trace, next)->first_event < lost.first)
            next++;
        if (next < trace_block_count(trace)) {
            const struct trace_block *block = trace_block(trace, next);
            assert_int_equal(trace_state_at(trace, TRACE_AT_EVENT, block->first_event, &found), 0);
            assert_int_equal(found.missing_blocks, 1);
            trace_state_release(&found);
        }
        if (!lost.first) { /* before all that is left */
            assert_int_equal(trace_state_at(trace, TRACE_AT_EVENT, 1, &found), 0);
            assert_int_equal(found.event, trace_block(trace, 0)->first_event);
            assert_int_equal(found.live_bytes, trace_block(trace, 0)->live_bytes);
            assert_int_equal(found.missing_blocks, 1);
            trace_state_release(&found);
        }
        trace_close(trace);
    }
}

/* More blocks than an index can list: it is left empty, and the blocks are walked. */
static void too_many_blocks_for_an_index_are_walked(void **state)
{
    enum { BLOCKS = FORMAT_COLUMN_BYTES / FORMAT_BLOCK_BYTES + 1 };
    struct trace_options options = {.compression = TRACE_STORED};
    struct trace_damage damage;
    struct trace_writer *writer;
    struct trace *trace;
    char value[16], sentence[300];

    (void)state;
    unlink(broken_path);
    assert_int_equal(trace_writer_open(&writer, broken_path, &options), 0);
    for (int i = 0; i < BLOCKS; i++) {
        snprintf(value, sizeof value, "%d", i);
        assert_int_equal(trace_writer_fact(writer, "count", value), 0);
        assert_int_equal(trace_writer_flush(writer), 0);
    }
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_int_equal(trace_open(&trace, broken_path), 0);
    assert_string_equal(trace_fact(trace, "count"), value);
    trace_damage(trace, &damage, sentence, sizeof sentence);
    assert_string_equal(sentence, "");
    assert_false(damage.cut_off);
    trace_close(trace);
}

/* Headers with sound checksums that promise anything. */
static void huge_counts_are_not_believed(void **state)
{
    /* clang-format off */
    static const uint32_t counts[] = {0, 1, FORMAT_BLOCK_NODES - 1, FORMAT_BLOCK_NODES, FORMAT_BLOCK_NODES + 1,
                                      FORMAT_BLOCK_EVENTS, FORMAT_BLOCK_EVENTS + 1, 1u << 31, UINT32_MAX};
    /* clang-format on */
    struct trace_format_block block;
    struct seen seen;
    size_t at = FORMAT_HEADER_BYTES;

    (void)state;
    for (; trace_format_get_block(file + at, &block);
         at += FORMAT_BLOCK_BYTES + block.paths_bytes + block.body_bytes) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            struct trace_format_block lie = block;
            if (counts[i] == block.count)
                continue;
            lie.count = lie.path_count = counts[i];
            lie.first = block.kind == FORMAT_NODES ? counts[i] : block.first;
            trace_format_put_block(file + at, &lie);
            write_file(broken_path, file, file_bytes - FORMAT_TAIL_BYTES); /* not by the index */
            assert_true(read_all(broken_path, &seen));
            assert_true(seen.sound >= SAMPLE_BLOCKS - 1 && seen.nodes <= 2u << 20);
        }
        trace_format_put_block(file + at, &block);
    }
}

/* Bodies with sound checksums: what the decoder is up to. */
static void bodies_of_noise_are_refused(void **state)
{
    struct trace_format_block block;
    size_t at = FORMAT_HEADER_BYTES;
    unsigned random = 1;

    (void)state;
    unlink(broken_path);
    assert_int_equal(sample_write(broken_path, TRACE_STORED), 0);
    FILE *in = fopen(broken_path, "rb");
    unsigned char *stored = malloc(1 << 20);
    size_t bytes = fread(stored, 1, 1 << 20, in);
    fclose(in);
    for (; trace_format_get_block(stored + at, &block);
         at += FORMAT_BLOCK_BYTES + block.paths_bytes + block.body_bytes) {
        unsigned char *body = stored + at + FORMAT_BLOCK_BYTES + block.paths_bytes;
        if (block.kind == FORMAT_INDEX)
            break;
        for (int i = 0; i < 60; i++) {
            struct trace_format_block changed = block;
            size_t place = (random = random * 1103515245 + 12345) / 7 % block.body_bytes;
            unsigned char was = body[place];
            struct trace *trace;
            struct trace_events events = {0};
            struct trace_node *nodes;
            struct trace_module *modules;
            size_t count;
            body[place] = (unsigned char)(random >> 16);
            changed.body_hash = trace_format_hash(body, block.body_bytes);
            trace_format_put_block(stored + at, &changed);
            write_file(broken_path, stored, bytes - FORMAT_TAIL_BYTES);
            assert_int_equal(trace_open(&trace, broken_path), 0);
            for (size_t k = 0; k < trace_block_count(trace); k++)
                trace_events(trace, k, &events); /* may be believed: it must only end well */
            if (trace_nodes(trace, SIZE_MAX, &nodes, &count) == 0)
                free(nodes);
            if (trace_modules(trace, SIZE_MAX, &modules, &count) == 0)
                free(modules);
            trace_events_release(&events);
            trace_close(trace);
            body[place] = was;
        }
        trace_format_put_block(stored + at, &block);
    }
    free(stored);
}

/* A run without records, and a short record where the bytes of one that is cut off may be. */
static void bytes_of_a_cut_off_record_are_no_whole_record(void **state)
{
    static const struct {
        uint64_t kind;
        size_t bytes;
        int expected;
    } cases[] = {{WIRE_FREE, 16, -EBADMSG}, {WIRE_FREE, 15, 0}, {WIRE_MALLOC, 31, 0}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        unsigned char runs[] = {0, 0, (unsigned char)cases[i].bytes}, offs[] = {1, 0},
                      raw[32] = {0};
        struct byte_sink columns[COLUMNS] = {
            [COLUMN_RUNS] = {runs, sizeof runs, sizeof runs},
            [COLUMN_OFFS] = {offs, sizeof offs, sizeof offs},
            [COLUMN_RAW] = {raw, cases[i].bytes, sizeof raw},
        };
        struct packer packer;
        struct decoder decoder = {0};
        raw[7] = (unsigned char)cases[i].kind;
        assert_int_equal(packer_init(&packer, PACK_STORED, 0), 0);
        assert_int_equal(packer_pack(&packer, columns, COLUMNS, 0, 0), 0);
        assert_int_equal(
            decoder_decode(&decoder, FORMAT_VERSION, packer.out.data, packer.out.count, 0),
            cases[i].expected);
        decoder_release(&decoder);
        packer_release(&packer);
    }
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void a_file_that_is_there_is_not_overwritten(void **state)
{
    struct trace_options options = sample_options(TRACE_ZSTD);
    struct trace_writer *writer;

    (void)state;
    assert_int_equal(trace_writer_open(&writer, path, &options), -EEXIST);
    assert_non_null(strstr(error_text(), path));
}

static void a_full_disk_is_told(void **state)
{
    struct rlimit before, limit;
    int error;

    (void)state;
    unlink(broken_path);
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit = before;
    limit.rlim_cur = file_bytes / 2;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    error = sample_write(broken_path, TRACE_ZSTD);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(error, -EFBIG);
    assert_non_null(strstr(error_text(), "cannot write"));
    struct seen seen;
    assert_true(read_all(broken_path, &seen)); /* and what was written is read */
    assert_true(seen.sound > 0 && seen.damage.cut_off);
}

static void nodes_out_of_order_are_refused(void **state)
{
    struct trace_options options = sample_options(TRACE_ZSTD);
    struct trace_node node = {1, 0};
    struct trace_writer *writer;

    (void)state;
    unlink(broken_path);
    assert_int_equal(trace_writer_open(&writer, broken_path, &options), 0);
    assert_int_equal(trace_writer_nodes(writer, 1, &node, 1), -EINVAL);
    assert_int_equal(trace_writer_finish(writer), -EINVAL);
}

static void told_at_rest(struct trace_writer *writer, uint32_t first)
{
    struct trace_node node = {0x1000 + first, 0};

    assert_true(trace_writer_rest(writer));
    assert_true(trace_writer_rest(writer));
    assert_int_equal(trace_writer_nodes(writer, first, &node, 1), 0);
    assert_int_equal(trace_writer_flush(writer), 0);
}

static void at_rest_it_is_still_being_written(void **state)
{
    struct trace_options options = sample_options(TRACE_ZSTD);
    struct trace_writer *writer;
    struct trace_node *nodes;
    struct trace *trace;
    size_t count;
    int next = dup(0);

    (void)state;
    close(next);
    unlink(broken_path);
    assert_int_equal(trace_writer_open(&writer, broken_path, &options), 0);
    for (uint32_t i = 0; i < 3; i++)
        told_at_rest(writer, i);
    assert_true(trace_writer_rest(writer));
    assert_int_equal(dup(0), next); /* no descriptor */
    close(next);
    assert_true(alive_is_written(broken_path));
    assert_int_equal(trace_writer_finish(writer), 0);
    assert_false(alive_is_written(broken_path));
    assert_int_equal(trace_open(&trace, broken_path), 0);
    assert_int_equal(trace_nodes(trace, SIZE_MAX, &nodes, &count), 0);
    assert_int_equal(count, 3);
    free(nodes);
    trace_close(trace);
}

static void what_has_its_name_meanwhile_is_left_alone(void **state)
{
    struct trace_options options = sample_options(TRACE_ZSTD);
    struct trace_writer *writer;
    struct stat status;

    (void)state;
    unlink(broken_path);
    assert_int_equal(trace_writer_open(&writer, broken_path, &options), 0);
    assert_true(trace_writer_rest(writer));
    assert_int_equal(unlink(broken_path), 0);
    int fd = open(broken_path, O_WRONLY | O_CREAT, 0600);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(trace_writer_finish(writer), -ESTALE);
    assert_true(stat(broken_path, &status) == 0 && status.st_size == 0);
}

static void what_is_no_trace_is_refused(void **state)
{
    struct trace *trace;

    (void)state;
    assert_int_equal(trace_open(&trace, "/tmp"), -EINVAL);
    assert_int_equal(trace_open(&trace, "/tmp/there/is/none"), -ENOENT);
    memset(file + 8, 0, 4); /* the version */
    file[8] = FORMAT_VERSION + 1;
    uint64_t hash = trace_format_hash(file, FORMAT_HEADER_BYTES - 8);
    memcpy(file + FORMAT_HEADER_BYTES - 8, &hash, 8);
    write_file(broken_path, file, file_bytes);
    assert_int_equal(trace_open(&trace, broken_path), -EPROTONOSUPPORT);
    assert_non_null(strstr(error_text(), "newer version"));
}

/* With the right hash. */
static void an_interval_that_no_sample_has_is_refused(void **state)
{
    struct trace_format_header header;
    struct trace *trace;

    (void)state;
    assert_true(trace_format_get_header(file, &header));
    header.sample_bytes = (uint64_t)1 << 40;
    trace_format_put_header(file, &header);
    write_file(broken_path, file, file_bytes);
    assert_int_equal(trace_open(&trace, broken_path), -EBADMSG);
    assert_non_null(strstr(error_text(), "its header makes no sense"));
}

/* A model that begins costs no memory, though another had that room before it; a write behind its end
 * is met at once. */
static void a_model_takes_what_is_touched_and_ends_at_a_guard(void **state)
{
    struct prediction *model = prediction_make();
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    unsigned char resident[sizeof *model / 4096 + 2];
    size_t pages = 0;
    int ends[2];

    (void)state;
    assert_non_null(model);
    memset(model, 0x55, sizeof *model);
    prediction_free(model);
    assert_non_null(model = prediction_make());
    char *first = (char *)((uintptr_t)model & ~(page - 1)), *end = (char *)(model + 1);
    assert_int_equal(mincore(first, (size_t)(end - first), resident), 0);
    for (size_t i = 0; i < (size_t)(end - first) / page; i++)
        pages += resident[i] & 1;
    assert_int_equal(pages, 0);
    assert_int_equal(end[-1], 0);
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(write(ends[1], end - 1, 1), 1);
    assert_int_equal(write(ends[1], end, 1), -1);
    assert_int_equal(errno, EFAULT);
    close(ends[0]);
    close(ends[1]);
    prediction_free(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_takes_what_is_touched_and_ends_at_a_guard),
        cmocka_unit_test(a_whole_file_misses_nothing),
        cmocka_unit_test(times_and_events_are_found_in_their_blocks),
        cmocka_unit_test(cut_off_anywhere_it_reads_up_to_the_last_whole_block),
        cmocka_unit_test(a_changed_byte_costs_one_block_and_is_noticed),
        cmocka_unit_test(a_damaged_block_in_the_middle_of_a_file_without_index),
        cmocka_unit_test(a_state_behind_a_lost_block_says_what_it_lacks),
        cmocka_unit_test(too_many_blocks_for_an_index_are_walked),
        cmocka_unit_test(huge_counts_are_not_believed),
        cmocka_unit_test(bodies_of_noise_are_refused),
        cmocka_unit_test(bytes_of_a_cut_off_record_are_no_whole_record),
        cmocka_unit_test(a_file_that_is_there_is_not_overwritten),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(nodes_out_of_order_are_refused),
        cmocka_unit_test(at_rest_it_is_still_being_written),
        cmocka_unit_test(what_has_its_name_meanwhile_is_left_alone),
        cmocka_unit_test(an_interval_that_no_sample_has_is_refused),
        cmocka_unit_test(what_is_no_trace_is_refused),
    };

    return cmocka_run_group_tests(tests, write_sample, remove_files);
}
