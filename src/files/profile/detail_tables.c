/* The columns of every detail table, as data (detail_tables.h). Each column names a field of the
 * row's struct by its offset and type. The schema, the writer and the reader walk these lists. */
#include "profile/detail_tables.h"

#include <stdlib.h>
#include <string.h>
#include "base/memory.h"
#include "profile/path_blocks.h"
#include "profile/schema.h"
#include "profile/values.h"

#define COUNT(array) (sizeof(array) / sizeof(*(array)))

/* ---- Kinds --------------------------------------------------------------------------------- */

static const char *const mark_names[] = {
    [PROFILE_MARK_NAMED] = "mark",
    [PROFILE_MARK_PAUSED] = "paused",
    [PROFILE_MARK_RESUMED] = "resumed",
    [PROFILE_MARK_SNAPSHOT] = "snapshot",
};
static const char *const why_names[] = {
    [PROFILE_SAMPLE_START] = "start",
    [PROFILE_SAMPLE_RESIDENT_PEAK] = "resident peak",
    [PROFILE_SAMPLE_MARK] = "mark",
    [PROFILE_SAMPLE_END] = "end",
    [PROFILE_SAMPLE_BEFORE_END] = "before the run-time ended",
};

static const char *const moments[] = {
    [PROFILE_SAMPLE_START] = "at the start",
    [PROFILE_SAMPLE_RESIDENT_PEAK] = "at a peak of resident memory",
    [PROFILE_SAMPLE_MARK] = "at a snapshot",
    [PROFILE_SAMPLE_END] = "at the end",
    [PROFILE_SAMPLE_BEFORE_END] = "before the run-time ended",
};

static bool detail_why_is_known(int why)
{
    return why >= 0 && why < PROFILE_SAMPLE_WHYS;
}

const char *profile_sample_name(const struct profile_sample *sample)
{
    return detail_why_is_known(sample->why) ? why_names[sample->why] : "?";
}

const char *profile_sample_when(const struct profile_sample *sample)
{
    return detail_why_is_known(sample->why) ? moments[sample->why] : "at a look";
}

const char *const profile_owner_names[PROFILE_OWNER_KINDS] = {
    [PROFILE_OWNER_BLOCKS] = "blocks",       [PROFILE_OWNER_MAPPING] = "mapping",
    [PROFILE_OWNER_ALLOCATOR] = "allocator", [PROFILE_OWNER_FILE] = "file",
    [PROFILE_OWNER_STACK] = "stack",         [PROFILE_OWNER_GLOBALS] = "globals",
    [PROFILE_OWNER_KERNEL] = "kernel",       [PROFILE_OWNER_TOOL] = "tool",
    [PROFILE_OWNER_OTHER] = "other",
};
const char *const profile_container_names[PROFILE_CONTAINER_KINDS] = {
    [PROFILE_CONTAINER_PROCESS] = "process",     [PROFILE_CONTAINER_PAGE_CACHE] = "page cache",
    [PROFILE_CONTAINER_SLAB] = "slab",           [PROFILE_CONTAINER_PAGE_TABLES] = "page tables",
    [PROFILE_CONTAINER_SOCKETS] = "sockets",     [PROFILE_CONTAINER_TMPFS] = "tmpfs",
    [PROFILE_CONTAINER_KERNEL_OTHER] = "kernel", [PROFILE_CONTAINER_OTHER] = "other",
};
const char *const profile_fill_names[PROFILE_FILL_SHAPES] = {
    [PROFILE_FILL_VECTOR] = "vector",     [PROFILE_FILL_STRING] = "string",
    [PROFILE_FILL_HASH] = "hash table",   [PROFILE_FILL_RUST_HASH] = "Rust hash table",
    [PROFILE_FILL_RUST_VEC] = "Rust Vec",
};
const char *const profile_holder_names[PROFILE_HOLDER_KINDS] = {
    [PROFILE_HOLDER_VARIABLE] = "variable", [PROFILE_HOLDER_TLS] = "thread-local",
    [PROFILE_HOLDER_STACK] = "stack",       [PROFILE_HOLDER_REGISTERS] = "registers",
    [PROFILE_HOLDER_MAPPING] = "mapping",   [PROFILE_HOLDER_ALLOCATOR] = "allocator",
    [PROFILE_HOLDER_BLOCKS] = "blocks",     [PROFILE_HOLDER_SEVERAL] = "several",
    [PROFILE_HOLDER_LOST] = "lost",         [PROFILE_HOLDER_REST] = "rest",
    [PROFILE_HOLDER_PATH] = "path",         [PROFILE_HOLDER_MODULE_VARIABLE] = "module variable",
    [PROFILE_HOLDER_CLASS] = "class",
};

/* ---- Columns ------------------------------------------------------------------------------- */

#define ROW struct distribution_row
/* 1 for a pointer to a field of the type that a column of this kind is made of (enum detail_type);
 * any other type does not compile. */
#define FITS_DETAIL_PLAIN(pointer)  _Generic(pointer, uint64_t * : 1)
#define FITS_DETAIL_MAYBE(pointer)  _Generic(pointer, struct figure * : 1)
#define FITS_DETAIL_SIGNED(pointer) _Generic(pointer, int64_t * : 1)
#define FITS_DETAIL_REAL(pointer)   _Generic(pointer, double * : 1)
#define FITS_DETAIL_FLAG(pointer)   _Generic(pointer, bool * : 1)
#define FITS_DETAIL_SMALL(pointer)  _Generic(pointer, uint32_t * : 1)
#define FITS_DETAIL_KIND(pointer)   _Generic(pointer, uint32_t * : 1, int * : 1)
#define FITS_DETAIL_TEXT(pointer)   _Generic(pointer, const char ** : 1)
#define FITS_DETAIL_NAME(pointer)   _Generic(pointer, const char ** : 1)
#define FITS_DETAIL_BYTES(pointer)  _Generic(pointer, const char ** : 1)
#define FITS_DETAIL_NODE(pointer)   _Generic(pointer, uint32_t * : 1)
#define FITS_DETAIL_MODULE(pointer) _Generic(pointer, int64_t * : 1)
#define FITS_DETAIL_THREAD(pointer) _Generic(pointer, uint32_t * : 1)
#define FITS_DETAIL_SAMPLE(pointer) _Generic(pointer, uint32_t * : 1)
#define FIELD(column, field, kind, ...)                                                            \
    {                                                                                              \
        .name = column, .offset = offsetof(ROW, field) + 0 * FITS_##kind(&((ROW *)NULL)->field),   \
        .type = kind, __VA_ARGS__                                                                  \
    }

/* What a graph look says of live blocks: of all of them in a sample, and of each call path's. */
#define REACHABILITY_FIELDS                                                                        \
    FIELD("lost_count", lost_count, DETAIL_MAYBE), FIELD("lost_bytes", lost_bytes, DETAIL_MAYBE),  \
        FIELD("indirect_count", indirect_count, DETAIL_MAYBE),                                     \
        FIELD("indirect_bytes", indirect_bytes, DETAIL_MAYBE),                                     \
        FIELD("possible_count", possible_count, DETAIL_MAYBE),                                     \
        FIELD("possible_bytes", possible_bytes, DETAIL_MAYBE),                                     \
        FIELD("reachable_count", reachable_count, DETAIL_MAYBE),                                   \
        FIELD("reachable_bytes", reachable_bytes, DETAIL_MAYBE)

/* clang-format off */
static const struct detail_column distribution_columns[] = {
    FIELD("kind", kind, DETAIL_KIND, .limit = DISTRIBUTION_KINDS),
    FIELD("x", x, DETAIL_PLAIN),
    FIELD("y", y, DETAIL_PLAIN),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct detail_peak
static const struct detail_column peak_columns[] = {
    FIELD("id", id, DETAIL_SMALL),
    FIELD("time_ns", peak.ticks, DETAIL_PLAIN),
    FIELD("bytes", peak.bytes, DETAIL_PLAIN),
    FIELD("valley_bytes", peak.valley_bytes, DETAIL_MAYBE),
    FIELD("rest_bytes", peak.rest_bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct detail_share
static const struct detail_column share_columns[] = {
    FIELD("peak", peak, DETAIL_SMALL),
    FIELD("rank", rank, DETAIL_SMALL),
    FIELD("path", share.node, DETAIL_NODE),
    FIELD("bytes", share.bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct exchange
static const struct detail_column exchange_columns[] = {
    FIELD("owner", owner, DETAIL_THREAD),
    FIELD("freer", freer, DETAIL_THREAD),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_variable
static const struct detail_column variable_columns[] = {
    FIELD("module", module_id, DETAIL_MODULE),
    FIELD("name", name, DETAIL_NAME),
    FIELD("linkage", linkage, DETAIL_TEXT),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("section", section, DETAIL_KIND, .limit = PROFILE_SECTIONS),
    FIELD("file", file, DETAIL_TEXT),
    FIELD("line", line, DETAIL_SMALL),
};

#undef ROW
#define ROW struct profile_section_total
static const struct detail_column section_columns[] = {
    FIELD("module", module_id, DETAIL_MODULE),
    FIELD("section", section, DETAIL_KIND, .limit = PROFILE_SECTIONS),
    FIELD("bytes", bytes, DETAIL_MAYBE),
    FIELD("named_bytes", named_bytes, DETAIL_MAYBE),
    FIELD("variables", variables, DETAIL_MAYBE),
    FIELD("exported_only", exported_only, DETAIL_FLAG),
};

#undef ROW
#define ROW struct profile_sample
static const struct detail_column sample_columns[] = {
    FIELD("id", id, DETAIL_SMALL),
    FIELD("why", why, DETAIL_KIND, .limit = PROFILE_SAMPLE_WHYS, .names = why_names),
    FIELD("time_ns", time_ns, DETAIL_PLAIN),
    FIELD("resident_bytes", resident_bytes, DETAIL_MAYBE),
    FIELD("proportional_bytes", proportional_bytes, DETAIL_MAYBE),
    FIELD("unique_bytes", unique_bytes, DETAIL_MAYBE),
    FIELD("swapped_bytes", swapped_bytes, DETAIL_MAYBE),
    FIELD("virtual_bytes", virtual_bytes, DETAIL_MAYBE),
    FIELD("requested_bytes", requested_bytes, DETAIL_MAYBE),
    FIELD("live_count", live_count, DETAIL_MAYBE),
    FIELD("minor_faults", minor_faults, DETAIL_MAYBE),
    FIELD("major_faults", major_faults, DETAIL_MAYBE),
    FIELD("voluntary_switches", voluntary_switches, DETAIL_MAYBE),
    FIELD("involuntary_switches", involuntary_switches, DETAIL_MAYBE),
    FIELD("cgroup_bytes", cgroup_bytes, DETAIL_MAYBE),
    FIELD("cgroup_limit_bytes", cgroup_limit_bytes, DETAIL_MAYBE),
    FIELD("cgroup_peak_bytes", cgroup_peak_bytes, DETAIL_MAYBE),
    FIELD("machine_available_bytes", machine_available_bytes, DETAIL_MAYBE),
    FIELD("machine_bytes", machine_bytes, DETAIL_MAYBE),
    FIELD("ooms", ooms, DETAIL_MAYBE),
    FIELD("has_ledger", has_ledger, DETAIL_FLAG),
    FIELD("live_touched_bytes", live_touched_bytes, DETAIL_MAYBE, .entry = "live blocks"),
    FIELD("slack_bytes", slack_bytes, DETAIL_MAYBE, .entry = "allocator slack"),
    FIELD("mmap_bytes", mmap_bytes, DETAIL_MAYBE, .entry = "own mappings"),
    FIELD("file_bytes", file_bytes, DETAIL_MAYBE, .entry = "files"),
    FIELD("stack_bytes", stack_bytes, DETAIL_MAYBE, .entry = "stacks"),
    FIELD("globals_bytes", globals_bytes, DETAIL_MAYBE, .entry = "globals"),
    FIELD("shared_bytes", shared_bytes, DETAIL_MAYBE, .entry = "shared"),
    FIELD("tool_bytes", tool_bytes, DETAIL_MAYBE, .entry = "tool"),
    FIELD("other_bytes", other_bytes, DETAIL_MAYBE, .entry = "other"),
    FIELD("unexplained_bytes", unexplained_bytes, DETAIL_SIGNED, .entry = "unexplained"),
    FIELD("untouched_bytes", untouched_bytes, DETAIL_MAYBE),
    FIELD("live_swapped_bytes", live_swapped_bytes, DETAIL_MAYBE),
    FIELD("returnable_bytes", returnable_bytes, DETAIL_MAYBE),
    FIELD("pinned_bytes", pinned_bytes, DETAIL_MAYBE),
    FIELD("pass_ms", pass_ms, DETAIL_REAL),
    REACHABILITY_FIELDS,
    FIELD("high_water_bytes", high_water_bytes, DETAIL_MAYBE),
    FIELD("class_count", class_count, DETAIL_MAYBE),
    FIELD("fill_count", fill_count, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_mapping
static const struct detail_column mapping_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("kind", kind, DETAIL_NAME),
    FIELD("path", path, DETAIL_TEXT),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("virtual_bytes", virtual_bytes, DETAIL_MAYBE),
    FIELD("resident_bytes", resident_bytes, DETAIL_MAYBE),
    FIELD("proportional_bytes", proportional_bytes, DETAIL_MAYBE),
    FIELD("unique_bytes", unique_bytes, DETAIL_MAYBE),
    FIELD("swapped_bytes", swapped_bytes, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_residency
static const struct detail_column residency_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("path", path, DETAIL_NODE),
    FIELD("live_count", live_count, DETAIL_MAYBE),
    FIELD("live_bytes", live_bytes, DETAIL_MAYBE),
    FIELD("resident_bytes", resident_bytes, DETAIL_MAYBE),
    FIELD("untouched_bytes", untouched_bytes, DETAIL_MAYBE),
    FIELD("swapped_bytes", swapped_bytes, DETAIL_MAYBE),
    FIELD("pinned_bytes", pinned_bytes, DETAIL_MAYBE),
    FIELD("pinning_count", pinning_count, DETAIL_MAYBE),
    REACHABILITY_FIELDS,
};

#undef ROW
#define ROW struct profile_island
static const struct detail_column island_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("path", path, DETAIL_NODE),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("indirect_count", indirect_count, DETAIL_PLAIN),
    FIELD("indirect_bytes", indirect_bytes, DETAIL_PLAIN),
    FIELD("oldest_ns", oldest_ns, DETAIL_MAYBE),
    FIELD("newest_ns", newest_ns, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_heap_page
static const struct detail_column heap_page_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("address", address, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("resident_bytes", resident_bytes, DETAIL_PLAIN),
    FIELD("live_bytes", live_bytes, DETAIL_PLAIN),
    FIELD("live_count", live_count, DETAIL_PLAIN),
    FIELD("pinned_bytes", pinned_bytes, DETAIL_PLAIN),
    FIELD("path", path, DETAIL_NODE),
};

#undef ROW
#define ROW struct detail_point
static const struct detail_column curve_columns[] = {
    FIELD("path", path, DETAIL_NODE),
    FIELD("time_ns", point.ticks, DETAIL_PLAIN),
    FIELD("bytes", point.bytes, DETAIL_PLAIN),
    FIELD("threshold_bytes", threshold_bytes, DETAIL_MAYBE),
    FIELD("level", level, DETAIL_SMALL),
    FIELD("stretch_ns", stretch_ns, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_source
static const struct detail_column source_columns[] = {
    FIELD("path", path, DETAIL_NAME),
    FIELD("text", text, DETAIL_BYTES),
};
_Static_assert(offsetof(ROW, bytes) == offsetof(ROW, text) + sizeof(char *), "see DETAIL_BYTES");

#undef ROW
#define ROW struct profile_mark
static const struct detail_column mark_columns[] = {
    FIELD("id", id, DETAIL_SMALL),
    FIELD("time_ns", time_ns, DETAIL_PLAIN),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_MARK_KINDS, .names = mark_names),
    FIELD("name", name, DETAIL_NAME),
    FIELD("thread", thread, DETAIL_THREAD),
    FIELD("live_bytes", live_bytes, DETAIL_PLAIN),
    FIELD("live_count", live_count, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_region
static const struct detail_column region_columns[] = {
    FIELD("id", id, DETAIL_SMALL),
    FIELD("name", name, DETAIL_NAME),
    FIELD("entered_count", entered_count, DETAIL_PLAIN),
    FIELD("unended_count", unended_count, DETAIL_PLAIN),
    FIELD("open_count", open_count, DETAIL_PLAIN),
    FIELD("time_ns", time_ns, DETAIL_PLAIN),
    FIELD("first_ns", first_ns, DETAIL_PLAIN),
    FIELD("last_ns", last_ns, DETAIL_PLAIN),
    FIELD("peak_bytes", peak_bytes, DETAIL_PLAIN),
    FIELD("peak_ns", peak_ns, DETAIL_PLAIN),
    FIELD("left_bytes", left_bytes, DETAIL_MAYBE),
    FIELD("program_peak_bytes", program_peak_bytes, DETAIL_PLAIN),
    FIELD("program_peak_ns", program_peak_ns, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_rank
static const struct detail_column rank_columns[] = {
    FIELD("id", id, DETAIL_SMALL),
    FIELD("rank", rank, DETAIL_SMALL),
    FIELD("beside", beside, DETAIL_FLAG),
    FIELD("state", state, DETAIL_NAME),
    FIELD("file", file, DETAIL_NAME),
    FIELD("note", note, DETAIL_TEXT),
    FIELD("node", node, DETAIL_SMALL),
    FIELD("pid", pid, DETAIL_SMALL),
    FIELD("signal", signal, DETAIL_SMALL),
    FIELD("status", status, DETAIL_SMALL),
    FIELD("start_unix_ns", start_unix_ns, DETAIL_MAYBE),
    FIELD("duration_ns", duration_ns, DETAIL_MAYBE),
    FIELD("peak_bytes", peak_bytes, DETAIL_MAYBE),
    FIELD("peak_ns", peak_ns, DETAIL_MAYBE),
    FIELD("live_bytes", live_bytes, DETAIL_MAYBE),
    FIELD("live_count", live_count, DETAIL_MAYBE),
    FIELD("alloc_bytes", alloc_bytes, DETAIL_MAYBE),
    FIELD("alloc_count", alloc_count, DETAIL_MAYBE),
    FIELD("lost_events", lost_events, DETAIL_MAYBE),
    FIELD("mpi_peak_bytes", mpi_peak_bytes, DETAIL_MAYBE),
    FIELD("resident_peak_bytes", resident_peak_bytes, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_rank_step
static const struct detail_column rank_step_columns[] = {
    FIELD("rank", rank, DETAIL_SMALL),
    FIELD("step", step, DETAIL_SMALL),
    FIELD("requested_max", requested_max, DETAIL_MAYBE),
    FIELD("requested_min", requested_min, DETAIL_MAYBE),
    FIELD("resident_max", resident_max, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_node_peak
static const struct detail_column node_peak_columns[] = {
    FIELD("id", id, DETAIL_SMALL),
    FIELD("name", name, DETAIL_NAME),
    FIELD("ranks", ranks, DETAIL_MAYBE),
    FIELD("beside", beside, DETAIL_MAYBE),
    FIELD("not_read", not_read, DETAIL_MAYBE),
    FIELD("lower_bytes", lower_bytes, DETAIL_MAYBE),
    FIELD("upper_bytes", upper_bytes, DETAIL_MAYBE),
    FIELD("at_unix_ns", at_unix_ns, DETAIL_MAYBE),
    FIELD("step_ns", step_ns, DETAIL_MAYBE),
    FIELD("peak_sum", peak_sum, DETAIL_MAYBE),
    FIELD("resident_bytes", resident_bytes, DETAIL_MAYBE),
    FIELD("machine_bytes", machine_bytes, DETAIL_MAYBE),
    FIELD("limit_bytes", limit_bytes, DETAIL_MAYBE),
    FIELD("cgroup_peak_bytes", cgroup_peak_bytes, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct stack_peak
static const struct detail_column stack_peak_columns[] = {
    FIELD("thread", thread, DETAIL_THREAD),
    FIELD("time_ns", ticks, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("path", node, DETAIL_NODE),
};

#undef ROW
#define ROW struct stack_layer
static const struct detail_column stack_layer_columns[] = {
    FIELD("thread", thread, DETAIL_THREAD),
    FIELD("path", node, DETAIL_NODE),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("frames", frames, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_owner
static const struct detail_column owner_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_OWNER_KINDS, .names = profile_owner_names),
    FIELD("path", path, DETAIL_NODE),
    FIELD("name", name, DETAIL_TEXT),
    FIELD("module", module, DETAIL_TEXT),
    FIELD("thread", thread, DETAIL_MAYBE),
    FIELD("count", count, DETAIL_MAYBE),
    FIELD("virtual_bytes", virtual_bytes, DETAIL_MAYBE),
    FIELD("resident_bytes", resident_bytes, DETAIL_MAYBE),
    FIELD("proportional_bytes", proportional_bytes, DETAIL_MAYBE),
    FIELD("swapped_bytes", swapped_bytes, DETAIL_MAYBE),
    FIELD("huge_bytes", huge_bytes, DETAIL_MAYBE),
    FIELD("huge_idle_bytes", huge_idle_bytes, DETAIL_MAYBE),
    FIELD("shared_bytes", shared_bytes, DETAIL_MAYBE),
    FIELD("zero_bytes", zero_bytes, DETAIL_MAYBE),
    FIELD("copy_bytes", copy_bytes, DETAIL_MAYBE),
    FIELD("compressible_bytes", compressible_bytes, DETAIL_MAYBE),
    FIELD("unwritten_1s_bytes", unwritten_1s_bytes, DETAIL_MAYBE),
    FIELD("unwritten_10s_bytes", unwritten_10s_bytes, DETAIL_MAYBE),
    FIELD("filled_bytes", filled_bytes, DETAIL_MAYBE),
    FIELD("node_0_bytes", node_bytes[0], DETAIL_MAYBE),
    FIELD("node_1_bytes", node_bytes[1], DETAIL_MAYBE),
    FIELD("node_2_bytes", node_bytes[2], DETAIL_MAYBE),
    FIELD("node_3_bytes", node_bytes[3], DETAIL_MAYBE),
    FIELD("node_4_bytes", node_bytes[4], DETAIL_MAYBE),
    FIELD("node_5_bytes", node_bytes[5], DETAIL_MAYBE),
    FIELD("node_6_bytes", node_bytes[6], DETAIL_MAYBE),
    FIELD("node_7_bytes", node_bytes[7], DETAIL_MAYBE),
    FIELD("node_above_bytes", node_bytes[PROFILE_NODE_ABOVE], DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_container
static const struct detail_column container_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_CONTAINER_KINDS,
          .names = profile_container_names),
    FIELD("name", name, DETAIL_TEXT),
    FIELD("bytes", bytes, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_holder
static const struct detail_column holder_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("id", id, DETAIL_SMALL),
    FIELD("parent", parent, DETAIL_SMALL),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_HOLDER_KINDS, .names = profile_holder_names),
    FIELD("path", path, DETAIL_NODE),
    FIELD("name", name, DETAIL_TEXT),
    FIELD("module", module, DETAIL_TEXT),
    FIELD("thread", thread, DETAIL_MAYBE),
    FIELD("merged", merged, DETAIL_PLAIN),
    FIELD("own_count", own_count, DETAIL_PLAIN),
    FIELD("own_bytes", own_bytes, DETAIL_PLAIN),
    FIELD("retained_count", retained_count, DETAIL_PLAIN),
    FIELD("retained_bytes", retained_bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_sharer
static const struct detail_column sharer_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("holder", holder, DETAIL_SMALL),
    FIELD("place", place, DETAIL_SMALL),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_HOLDER_KINDS, .names = profile_holder_names),
    FIELD("path", path, DETAIL_NODE),
    FIELD("name", name, DETAIL_TEXT),
    FIELD("module", module, DETAIL_TEXT),
    FIELD("thread", thread, DETAIL_MAYBE),
    FIELD("merged", merged, DETAIL_MAYBE),
    FIELD("reached_count", reached_count, DETAIL_PLAIN),
    FIELD("reached_bytes", reached_bytes, DETAIL_PLAIN),
    FIELD("direct_bytes", direct_bytes, DETAIL_PLAIN),
    FIELD("alone_count", alone_count, DETAIL_PLAIN),
    FIELD("alone_bytes", alone_bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_chain
static const struct detail_column chain_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("step", step, DETAIL_SMALL),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_HOLDER_KINDS, .names = profile_holder_names),
    FIELD("path", path, DETAIL_NODE),
    FIELD("name", name, DETAIL_TEXT),
    FIELD("module", module, DETAIL_TEXT),
    FIELD("thread", thread, DETAIL_MAYBE),
    FIELD("address", address, DETAIL_MAYBE),
    FIELD("bytes", bytes, DETAIL_MAYBE),
    FIELD("pointer_offset", pointer_offset, DETAIL_MAYBE),
    FIELD("target_offset", target_offset, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct profile_block_type
static const struct detail_column block_type_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("path", path, DETAIL_NODE),
    FIELD("name", name, DETAIL_NAME),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_block_fill
static const struct detail_column block_fill_columns[] = {
    FIELD("sample", sample, DETAIL_SAMPLE),
    FIELD("path", path, DETAIL_NODE),
    FIELD("shape", shape, DETAIL_KIND, .limit = PROFILE_FILL_SHAPES, .names = profile_fill_names),
    FIELD("unit", unit, DETAIL_SMALL),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("used_bytes", used_bytes, DETAIL_PLAIN),
    FIELD("live_count", live_count, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_page_use
static const struct detail_column page_use_columns[] = {
    FIELD("path", path, DETAIL_NODE),
    FIELD("count", count, DETAIL_PLAIN),
    FIELD("alive_count", alive_count, DETAIL_PLAIN),
    FIELD("unseen_count", unseen_count, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("unwritten_bytes", unwritten_bytes, DETAIL_PLAIN),
    FIELD("life_kib_ms", life_kib_ms, DETAIL_PLAIN),
    FIELD("lag_kib_ms", lag_kib_ms, DETAIL_PLAIN),
    FIELD("drag_kib_ms", drag_kib_ms, DETAIL_PLAIN),
    FIELD("unwritten_kib_ms", unwritten_kib_ms, DETAIL_PLAIN),
    FIELD("lag_error_kib_ms", lag_error_kib_ms, DETAIL_PLAIN),
    FIELD("drag_error_kib_ms", drag_error_kib_ms, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_machine_moment
static const struct detail_column machine_moment_columns[] = {
    FIELD("time_ns", time_ns, DETAIL_PLAIN),
    FIELD("available_bytes", available_bytes, DETAIL_MAYBE),
    FIELD("free_bytes", free_bytes, DETAIL_MAYBE),
    FIELD("cached_bytes", cached_bytes, DETAIL_MAYBE),
    FIELD("swapped_bytes", swapped_bytes, DETAIL_MAYBE),
    FIELD("group_bytes", group_bytes, DETAIL_MAYBE),
    FIELD("group_limit_bytes", group_limit_bytes, DETAIL_MAYBE),
};

#undef ROW
#define ROW struct device_total
static const struct detail_column device_total_columns[] = {
    FIELD("space", space, DETAIL_KIND, .limit = DEVICE_SPACES),
    FIELD("peak_bytes", peak_bytes, DETAIL_PLAIN),
    FIELD("peak_ns", peak_ticks, DETAIL_PLAIN),
    FIELD("live_bytes", live_bytes, DETAIL_PLAIN),
    FIELD("live_count", live_count, DETAIL_PLAIN),
    FIELD("alloc_count", alloc_count, DETAIL_PLAIN),
    FIELD("alloc_bytes", alloc_bytes, DETAIL_PLAIN),
    FIELD("free_count", free_count, DETAIL_PLAIN),
    FIELD("refused_count", refused_count, DETAIL_PLAIN),
    FIELD("refused_bytes", refused_bytes, DETAIL_PLAIN),
    FIELD("unknown_count", unknown_count, DETAIL_PLAIN),
    FIELD("ended_count", ended_count, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct device_site
static const struct detail_column device_site_columns[] = {
    FIELD("space", space, DETAIL_KIND, .limit = DEVICE_SPACES),
    FIELD("path", node, DETAIL_NODE),
    FIELD("alloc_count", alloc_count, DETAIL_PLAIN),
    FIELD("alloc_bytes", alloc_bytes, DETAIL_PLAIN),
    FIELD("live_count", live_count, DETAIL_PLAIN),
    FIELD("live_bytes", live_bytes, DETAIL_PLAIN),
    FIELD("at_peak_bytes", at_peak_bytes, DETAIL_PLAIN),
    FIELD("peak_bytes", peak_bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct device_level
static const struct detail_column device_level_columns[] = {
    FIELD("space", space, DETAIL_KIND, .limit = DEVICE_SPACES),
    FIELD("time_ns", ticks, DETAIL_PLAIN),
    FIELD("bytes", bytes, DETAIL_PLAIN),
};

#undef ROW
#define ROW struct profile_call_type
static const struct detail_column call_type_columns[] = {
    FIELD("module", module_id, DETAIL_MODULE),
    FIELD("address", address, DETAIL_PLAIN),
    FIELD("kind", kind, DETAIL_KIND, .limit = PROFILE_CALL_KINDS),
    FIELD("name", name, DETAIL_TEXT),
    FIELD("bytes", bytes, DETAIL_PLAIN),
    FIELD("hole_count", hole_count, DETAIL_MAYBE),
    FIELD("hole_bytes", hole_bytes, DETAIL_MAYBE),
    FIELD("padding_bytes", padding_bytes, DETAIL_MAYBE),
};
#undef ROW

_Static_assert(COUNT(residency_columns) <= DETAIL_BLOCK_COLUMNS &&
               COUNT(heap_page_columns) <= DETAIL_BLOCK_COLUMNS &&
               COUNT(curve_columns) <= DETAIL_BLOCK_COLUMNS &&
               COUNT(rank_step_columns) <= DETAIL_BLOCK_COLUMNS, "columns of blocks have room");

/* How many; too many for a row do not compile. */
#define COLUMN_COUNT(columns) \
    (COUNT(columns) + 0 * sizeof(char[COUNT(columns) <= DETAIL_ROW_COLUMNS ? 1 : -1]))
#define TABLE(name, tail, order, columns, row) \
    {name, tail, order, columns, COLUMN_COUNT(columns), sizeof(row), NULL, NULL}
#define IN_BLOCKS(name, tail, order, columns, row, key) \
    {name, tail, order, columns, COLUMN_COUNT(columns), sizeof(row), name "_block", key}

const struct detail_table detail_tables[DETAIL_TABLES] = {
    [DETAIL_DISTRIBUTIONS] = TABLE("distribution", ",PRIMARY KEY(kind,x,y)) WITHOUT ROWID", "kind,x,y",
                            distribution_columns, struct distribution_row),
    [DETAIL_PEAKS] = TABLE("peak", ",PRIMARY KEY(id))", "id", peak_columns, struct detail_peak),
    [DETAIL_PEAK_SHARES] = TABLE("peak_share", ",PRIMARY KEY(peak,rank)) WITHOUT ROWID", "peak,rank",
                          share_columns, struct detail_share),
    [DETAIL_EXCHANGES] = TABLE("exchange", ")", "rowid", exchange_columns, struct exchange),
    [DETAIL_VARIABLES] = TABLE("variable", ")", "module,rowid", variable_columns,
                        struct profile_variable),
    [DETAIL_SECTIONS] = TABLE("section", ",PRIMARY KEY(module,section)) WITHOUT ROWID", "module,section",
                       section_columns, struct profile_section_total),
    [DETAIL_SAMPLES] = TABLE("sample", ",PRIMARY KEY(id))", "id", sample_columns, struct profile_sample),
    [DETAIL_MAPPINGS] = TABLE("mapping", ")", "sample,rowid", mapping_columns, struct profile_mapping),
    [DETAIL_RESIDENCIES] = IN_BLOCKS("residency", ",PRIMARY KEY(sample,path)) WITHOUT ROWID",
                              "sample,path", residency_columns, struct profile_residency,
                              "first INTEGER PRIMARY KEY,sample INTEGER"),
    [DETAIL_HEAP_PAGES] = IN_BLOCKS("heap_page", ",PRIMARY KEY(sample,address)) WITHOUT ROWID",
                             "sample,address", heap_page_columns, struct profile_heap_page,
                             "first INTEGER PRIMARY KEY,sample INTEGER"),
    [DETAIL_ISLANDS] = TABLE("island", ",PRIMARY KEY(sample,path)) WITHOUT ROWID", "sample,path",
                      island_columns, struct profile_island),
    [DETAIL_CURVES] = IN_BLOCKS("curve", ")", "path,rowid", curve_columns, struct detail_point,
                         "path INTEGER PRIMARY KEY"),
    [DETAIL_SOURCES] = TABLE("source", ",PRIMARY KEY(path))", "path", source_columns,
                      struct profile_source),
    [DETAIL_MARKS] = TABLE("mark", ",PRIMARY KEY(id))", "id", mark_columns, struct profile_mark),
    [DETAIL_REGIONS] = TABLE("region", ",PRIMARY KEY(id))", "id", region_columns, struct profile_region),
    [DETAIL_RANKS] = TABLE("ranks", ",PRIMARY KEY(id))", "id", rank_columns, struct profile_rank),
    [DETAIL_RANK_STEPS] = IN_BLOCKS("rank_timeline", ",PRIMARY KEY(rank,step)) WITHOUT ROWID",
                             "rank,step", rank_step_columns, struct profile_rank_step,
                             "rank INTEGER PRIMARY KEY"),
    [DETAIL_NODE_PEAKS] = TABLE("nodes", ",PRIMARY KEY(id))", "id", node_peak_columns,
                         struct profile_node_peak),
    [DETAIL_STACK_PEAKS] = TABLE("stack_peak", ")", "thread,bytes", stack_peak_columns,
                          struct stack_peak),
    [DETAIL_STACK_LAYERS] = TABLE("stack_layer", ")", "thread,bytes DESC,path", stack_layer_columns,
                           struct stack_layer),
    [DETAIL_OWNERS] = TABLE("owner", ")", "rowid", owner_columns, struct profile_owner),
    [DETAIL_CONTAINERS] = TABLE("container", ")", "sample,kind,rowid", container_columns,
                         struct profile_container),
    [DETAIL_HOLDERS] = TABLE("holder", ",PRIMARY KEY(sample,id)) WITHOUT ROWID", "sample,id",
                      holder_columns, struct profile_holder),
    [DETAIL_SHARERS] = TABLE("sharer", ",PRIMARY KEY(sample,holder,place)) WITHOUT ROWID",
                      "sample,holder,place", sharer_columns, struct profile_sharer),
    [DETAIL_CHAINS] = TABLE("chain", ",PRIMARY KEY(sample,step)) WITHOUT ROWID", "sample,step",
                     chain_columns, struct profile_chain),
    [DETAIL_BLOCK_TYPES] = TABLE("live_class", ")", "sample,path,name,rowid", block_type_columns,
                          struct profile_block_type),
    [DETAIL_BLOCK_FILLS] = TABLE("live_fill", ",PRIMARY KEY(sample,path,shape,unit)) WITHOUT ROWID",
                          "sample,path,shape,unit", block_fill_columns, struct profile_block_fill),
    [DETAIL_CALL_TYPES] = TABLE("call_type", ",PRIMARY KEY(module,address)) WITHOUT ROWID",
                         "module,address", call_type_columns, struct profile_call_type),
    [DETAIL_PAGE_USES] = TABLE("page_use", ",PRIMARY KEY(path)) WITHOUT ROWID", "path", page_use_columns,
                        struct profile_page_use),
    [DETAIL_MACHINE_MOMENTS] = TABLE("machine_memory", ")", "time_ns,rowid", machine_moment_columns,
                              struct profile_machine_moment),
    [DETAIL_DEVICE_TOTALS] = TABLE("device_space", ",PRIMARY KEY(space))", "space",
                              device_total_columns, struct device_total),
    [DETAIL_DEVICE_SITES] = TABLE("device_site", ",PRIMARY KEY(space,path)) WITHOUT ROWID",
                              "space,path", device_site_columns, struct device_site),
    [DETAIL_DEVICE_LEVELS] = TABLE("device_level", ")", "space,rowid", device_level_columns,
                              struct device_level),
};
/* clang-format on */

/* ---- Layout -------------------------------------------------------------------------------- */

static const char *detail_type_name(enum detail_type type)
{
    switch (type) {
    case DETAIL_REAL:
        return "REAL";
    case DETAIL_TEXT:
    case DETAIL_NAME:
        return "TEXT";
    case DETAIL_BYTES:
        return "BLOB";
    default:
        return "INTEGER";
    }
}

static void detail_tables_create_rows(struct strbuf *sql, const struct detail_table *table)
{
    strbuf_addf(sql, "CREATE TABLE IF NOT EXISTS %s(", table->name);
    for (size_t i = 0; i < table->count; i++) { /* 300 columns in all: formats would be slow */
        if (i)
            strbuf_add_char(sql, ',');
        strbuf_add_string(sql, table->columns[i].name);
        strbuf_add_char(sql, ' ');
        strbuf_add_string(sql, detail_type_name(table->columns[i].type));
    }
    strbuf_addf(sql, "%s;\n", table->tail);
}

static void detail_create_blocks(struct strbuf *sql, const struct detail_table *table)
{
    strbuf_addf(sql, "CREATE TABLE %s(%s,count INTEGER,body BLOB);\n", table->blocks,
                table->block_key);
    for (size_t i = 1; i < table->count; i++)
        schema_name_column(sql, table->blocks, i - 1, table->columns[i].name);
}

void detail_create(struct strbuf *sql)
{
    for (int i = 0; i < DETAIL_TABLES; i++)
        if (detail_tables[i].blocks)
            detail_create_blocks(sql, &detail_tables[i]);
        else
            detail_tables_create_rows(sql, &detail_tables[i]);
}

void detail_create_rows(struct strbuf *sql)
{
    for (int i = 0; i < DETAIL_TABLES; i++) {
        if (detail_tables[i].blocks)
            strbuf_addf(sql, "DROP TABLE IF EXISTS %s;\n", detail_tables[i].blocks);
        detail_tables_create_rows(sql, &detail_tables[i]);
    }
}

void detail_names(struct strbuf *sql)
{
    for (int i = 0; i < DETAIL_TABLES; i++) {
        strbuf_addf(sql, ",'%s'", detail_tables[i].name);
        if (detail_tables[i].blocks)
            strbuf_addf(sql, ",'%s'", detail_tables[i].blocks);
    }
}

/* ---- Views --------------------------------------------------------------------------------- */

static const char *const distribution_names[DISTRIBUTION_KINDS] = {
    [DISTRIBUTION_SIZE] = "size",
    [DISTRIBUTION_SIZE_EXACT] = "size, exact",
    [DISTRIBUTION_LIFETIME] = "lifetime",
    [DISTRIBUTION_LIFETIME_SIZE] = "lifetime and size",
    [DISTRIBUTION_TIME_SIZE] = "time and size",
    [DISTRIBUTION_REALLOC] = "realloc",
    [DISTRIBUTION_REALLOC_GROW] = "realloc, growth",
    [DISTRIBUTION_REALLOC_SHRINK] = "realloc, shrinkage",
};
static const char *const section_names[PROFILE_SECTIONS] = {
    [PROFILE_SECTION_DATA] = ".data",     [PROFILE_SECTION_BSS] = ".bss",
    [PROFILE_SECTION_RODATA] = ".rodata", [PROFILE_SECTION_RELRO] = ".data.rel.ro",
    [PROFILE_SECTION_TDATA] = ".tdata",   [PROFILE_SECTION_TBSS] = ".tbss",
};

static void detail_create_names(struct strbuf *sql, const char *view, const char *number,
                                const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i)
            strbuf_addf(sql, " UNION ALL SELECT %zu,'%s'", i, names[i]);
        else
            strbuf_addf(sql, "CREATE VIEW %s AS SELECT 0 AS %s,'%s' AS name", view, number,
                        names[i]);
    strbuf_add_string(sql, ";\n");
}

static void detail_create_ledger(struct strbuf *sql)
{
    const struct detail_table *table = &detail_tables[DETAIL_SAMPLES];
    const char *before = "CREATE VIEW ledger AS";
    for (size_t i = 0; i < table->count; i++) {
        if (!table->columns[i].entry)
            continue;
        strbuf_addf(sql,
                    "%s SELECT sample.id AS sample,sample_names.name AS why,time_ns / 1e9 AS"
                    " seconds,'%s' AS entry,%s AS bytes FROM sample JOIN sample_names USING (why)"
                    " WHERE has_ledger",
                    before, table->columns[i].entry, table->columns[i].name);
        before = " UNION ALL";
    }
    strbuf_add_string(sql, ";\n");
}

static const char views[] =
    "CREATE VIEW path_name AS SELECT path.id AS path, location_name.function, location_name.file,"
    " location_name.line, location_name.module FROM path"
    " LEFT JOIN location_name USING (location);\n"
    "CREATE VIEW peaks AS SELECT peak.id AS peak, peak.time_ns / 1e9 AS seconds,"
    " peak.bytes AS peak_bytes, peak.valley_bytes, peak.rest_bytes, rank, peak_share.path,"
    " peak_share.bytes, function, file, line FROM peak"
    " LEFT JOIN peak_share ON peak_share.peak = peak.id"
    " LEFT JOIN path_name ON path_name.path = peak_share.path;\n"
    "CREATE VIEW variables AS SELECT module.path AS module, variable.name, variable.linkage,"
    " variable.bytes, section_names.name AS section, variable.file, variable.line FROM variable"
    " LEFT JOIN module ON module.id = variable.module"
    " LEFT JOIN section_names ON section_names.section = variable.section;\n"
    "CREATE VIEW residency_by_function AS SELECT sample, function,"
    " sum(live_count) AS live_count, sum(live_bytes) AS live_bytes,"
    " sum(resident_bytes) AS resident_bytes, sum(untouched_bytes) AS untouched_bytes,"
    " sum(swapped_bytes) AS swapped_bytes, sum(pinned_bytes) AS pinned_bytes,"
    " sum(pinning_count) AS pinning_count FROM residency LEFT JOIN path_name USING (path)"
    " GROUP BY 1, 2 ORDER BY 1, 5 DESC;\n"
    "CREATE VIEW heap_pages AS SELECT sample, printf('0x%x', address) AS address,"
    " heap_page.bytes, resident_bytes,"
    " round(100.0 * live_bytes / nullif(resident_bytes, 0), 1) AS occupied_percent,"
    " live_bytes, live_count, pinned_bytes, function AS pinned_by, file, line FROM heap_page"
    " LEFT JOIN path_name ON path_name.path = heap_page.path AND pinned_bytes > 0"
    " ORDER BY sample, heap_page.address;\n"
    "CREATE VIEW owners AS SELECT sample, owner_names.name AS kind, function, file, line,"
    " owner.name, owner.module, thread, count, virtual_bytes, resident_bytes, proportional_bytes,"
    " swapped_bytes, huge_bytes, huge_idle_bytes, shared_bytes, zero_bytes, copy_bytes,"
    " compressible_bytes, unwritten_1s_bytes, unwritten_10s_bytes, filled_bytes, node_0_bytes,"
    " node_1_bytes, node_2_bytes, node_3_bytes, node_4_bytes, node_5_bytes, node_6_bytes,"
    " node_7_bytes, node_above_bytes FROM owner"
    " JOIN owner_names USING (kind)"
    " LEFT JOIN path_name ON path_name.path = owner.path AND owner.path > 0"
    " ORDER BY sample, resident_bytes DESC;\n"
    "CREATE VIEW page_uses AS SELECT function, file, line, count, alive_count, unseen_count, bytes,"
    " unwritten_bytes, life_kib_ms, lag_kib_ms, drag_kib_ms, unwritten_kib_ms, lag_error_kib_ms,"
    " drag_error_kib_ms FROM page_use JOIN path_name USING (path)"
    " ORDER BY lag_kib_ms + drag_kib_ms + unwritten_kib_ms DESC;\n"
    "CREATE VIEW containers AS SELECT sample, container_names.name AS kind, container.name, bytes"
    " FROM container JOIN container_names USING (kind) ORDER BY sample, container.kind, bytes "
    "DESC;\n"
    /* A thread's id is NULL where its row stands for several: which one it was is not known. */
    "CREATE VIEW thread_exchanges AS SELECT CASE WHEN owner.earlier_count > 0 THEN NULL ELSE"
    " owner.tid END AS owner_tid, owner.name AS owner, CASE WHEN freer.earlier_count > 0 THEN NULL"
    " ELSE freer.tid END AS freer_tid, freer.name AS freer, count, bytes FROM exchange"
    " LEFT JOIN thread AS owner ON owner.id = exchange.owner"
    " LEFT JOIN thread AS freer ON freer.id = exchange.freer;\n"
    "CREATE VIEW marks AS SELECT mark.id AS mark, time_ns / 1e9 AS seconds, mark_names.name AS "
    "kind,"
    " mark.name, CASE WHEN thread.earlier_count > 0 THEN NULL ELSE thread.tid END AS tid,"
    " mark.live_bytes, mark.live_count FROM mark"
    " JOIN mark_names USING (kind) LEFT JOIN thread ON thread.id = mark.thread;\n"
    "CREATE VIEW regions AS SELECT region.name, entered_count, unended_count, open_count,"
    " region.time_ns / 1e9 AS seconds, sum(alloc_count) AS alloc_count,"
    " sum(alloc_bytes) AS alloc_bytes, sum(free_count) AS free_count,"
    " sum(temporary_count) AS temporary_count, sum(live_count) AS live_count,"
    " sum(live_bytes) AS live_bytes, region.peak_bytes, region.left_bytes,"
    " region.program_peak_bytes FROM region LEFT JOIN region_site ON region_site.region = region.id"
    " GROUP BY region.id;\n";

void detail_create_views(struct strbuf *sql)
{
    detail_create_names(sql, "distribution_names", "kind", distribution_names,
                        COUNT(distribution_names));
    detail_create_names(sql, "section_names", "section", section_names, COUNT(section_names));
    detail_create_names(sql, "mark_names", "kind", mark_names, COUNT(mark_names));
    detail_create_names(sql, "sample_names", "why", why_names, COUNT(why_names));
    detail_create_names(sql, "owner_names", "kind", profile_owner_names, PROFILE_OWNER_KINDS);
    detail_create_names(sql, "container_names", "kind", profile_container_names,
                        PROFILE_CONTAINER_KINDS);
    detail_create_ledger(sql);
    strbuf_add_string(sql, views);
}

/* ---- Statements ---------------------------------------------------------------------------- */

void detail_select(struct strbuf *sql, const struct detail_table *table,
                   const struct detail_column *const *columns, size_t count, const char *where,
                   schema_has_column *is_there, void *context)
{
    for (size_t i = 0; i < count; i++)
        strbuf_addf(sql, "%s%s", i ? "," : "SELECT ",
                    is_there(context, table->name, columns[i]->name) ? columns[i]->name : "NULL");
    strbuf_addf(sql, " FROM %s %s ORDER BY %s", table->name, where, table->order);
}

/* ---- Values -------------------------------------------------------------------------------- */

static uint64_t detail_get_number(const struct detail_column *column, const void *row)
{
    const char *field = (const char *)row + column->offset;
    uint64_t large;
    uint32_t small;
    bool flag;
    switch (column->type) {
    case DETAIL_FLAG:
        memcpy(&flag, field, sizeof flag);
        return flag;
    case DETAIL_SMALL:
    case DETAIL_KIND:
    case DETAIL_NODE:
    case DETAIL_SAMPLE:
        memcpy(&small, field, sizeof small);
        return small;
    case DETAIL_THREAD:
        memcpy(&small, field, sizeof small);
        return small == UINT32_MAX ? UINT64_MAX : small;
    default:
        memcpy(&large, field, sizeof large);
        return large;
    }
}

bool detail_set(const struct detail_column *column, uint64_t value, void *row)
{
    char *field = (char *)row + column->offset;
    uint32_t small = (uint32_t)value;
    bool flag = value != 0;
    switch (column->type) {
    case DETAIL_FLAG:
        memcpy(field, &flag, sizeof flag);
        return true;
    case DETAIL_THREAD:
        memcpy(field, &small, sizeof small);
        return value < UINT32_MAX || value == UINT64_MAX;
    case DETAIL_SMALL:
    case DETAIL_KIND:
    case DETAIL_NODE:
    case DETAIL_SAMPLE:
        memcpy(field, &small, sizeof small);
        return value <= UINT32_MAX;
    case DETAIL_MODULE:
        memcpy(field, &value, sizeof value);
        return value <= INT64_MAX;
    default:
        memcpy(field, &value, sizeof value);
        return true;
    }
}

static void detail_add_number(struct values *values, const struct detail_column *column,
                              const void *row)
{
    uint64_t value = detail_get_number(column, row);
    bool can_be_none = column->type == DETAIL_MAYBE || column->type == DETAIL_THREAD;
    if (can_be_none && value == UINT64_MAX)
        values_null(values);
    else
        values_number(values, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

static void detail_add_other(struct values *values, const struct detail_column *column,
                             const char *field)
{
    const char *text;
    int64_t number;
    double real;
    size_t bytes;
    switch (column->type) {
    case DETAIL_SIGNED:
        memcpy(&number, field, sizeof number);
        values_number(values, number);
        break;
    case DETAIL_REAL:
        memcpy(&real, field, sizeof real);
        values_real(values, real);
        break;
    case DETAIL_BYTES:
        memcpy(&text, field, sizeof text);
        memcpy(&bytes, field + sizeof text, sizeof bytes);
        values_blob(values, text, bytes);
        break;
    default:
        memcpy(&text, field, sizeof text);
        values_text(values, text);
    }
}

static bool detail_is_number(enum detail_type type)
{
    return type != DETAIL_SIGNED && type != DETAIL_REAL && type != DETAIL_TEXT &&
           type != DETAIL_NAME && type != DETAIL_BYTES;
}

void detail_values(struct values *values, const struct detail_table *table, const void *row)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct detail_column *column = &table->columns[i];
        if (detail_is_number(column->type))
            detail_add_number(values, column, row);
        else
            detail_add_other(values, column, (const char *)row + column->offset);
    }
}

/* ---- Blocks -------------------------------------------------------------------------------- */

void detail_encode(struct strbuf *out, const struct detail_table *table, const void *rows,
                   size_t count)
{
    const uint64_t *columns[DETAIL_BLOCK_COLUMNS];
    uint64_t *numbers = memory_need(malloc(table->count * count * sizeof *numbers));
    for (size_t i = 1; i < table->count; i++) {
        uint64_t *column = numbers + (i - 1) * count;
        for (size_t row = 0; row < count; row++)
            column[row] =
                detail_get_number(&table->columns[i], (const char *)rows + row * table->bytes);
        columns[i - 1] = column;
    }
    columns_encode(out, columns, table->count - 1, count);
    free(numbers);
}

void detail_find_columns(const struct detail_table *table, const struct blocks *blocks,
                         const uint64_t *columns[DETAIL_BLOCK_COLUMNS])
{
    for (size_t i = 1; i < table->count; i++)
        columns[i] = path_blocks_column(blocks, table->columns[i].name);
}

/* What stands in the first column of the block's rows. */
static uint64_t detail_key_of(const struct detail_table *table, uint64_t key)
{
    bool is_of_mappings = table == &detail_tables[DETAIL_CURVES] && key >= DETAIL_MAPPED_CURVE;
    return is_of_mappings ? key - DETAIL_MAPPED_CURVE : key;
}

bool detail_from_block(const struct detail_table *table, const struct blocks *blocks,
                       const uint64_t *const columns[DETAIL_BLOCK_COLUMNS], size_t row, void *out)
{
    uint64_t key = detail_key_of(table, (uint64_t)blocks->key);
    bool fits = blocks->key >= 0 && detail_set(&table->columns[0], key, out);
    for (size_t i = 1; i < table->count; i++) {
        enum detail_type type = table->columns[i].type;
        uint64_t absent = type == DETAIL_PLAIN || type == DETAIL_SMALL ? 0 : UINT64_MAX;
        fits &= detail_set(&table->columns[i], columns[i] ? columns[i][row] : absent, out);
    }
    return fits;
}
