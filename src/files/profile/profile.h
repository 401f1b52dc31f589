/* The profile: one SQLite database per recorded process image (doc/FORMAT-profile.md), written
 * while recording goes on and read by every presenter.
 *
 * The writer is given rows and blocks of rows; the reader gives back the same things as arrays in
 * memory, with paths and names joined. Functions return 0 or -errno; error_text() then has the
 * sentence. */
#ifndef TIDEMARK_PROFILE_PROFILE_H
#define TIDEMARK_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include "base/strbuf.h"
#include "model/detail.h"
#include "model/device_space.h"
#include "model/metrics.h"

#define PROFILE_FORMAT_VERSION 2

/* ---- Writing ------------------------------------------------------------------------------- */

struct profile_writer;

/* Creates `path`, mode 0600. An existing file is first renamed to `path`.old, never overwritten;
 * what is no regular file is refused, a symbolic link is renamed and not followed. */
int profile_writer_open(struct profile_writer **out, const char *path);
/* For a profile that is written once and finished: its rows are in memory, so it should not be a
 * large one, and the file comes into being, whole, with profile_writer_finish(). What is in the way
 * of its name is said now. */
int profile_writer_open_at_once(struct profile_writer **out, const char *path);
/* Rows are written between begin and commit; a reader sees all of them or none. */
int profile_writer_begin(struct profile_writer *writer);
int profile_writer_commit(struct profile_writer *writer);
/* Before the first of all, in a process that writes many profiles at once and asks nothing of
 * SQLite about its memory: writers would wait for each other at its count. */
void profile_writers_are_many(void);
/* After a commit: gives back the memory that keeps pages of the file, up to 1 MiB; the next commit
 * reads those that it needs again. */
void profile_writer_rest(struct profile_writer *writer);

/* For a profile that is written while its program runs: from the first commit on it keeps room on
 * the disk for its end (reserve.h), and a write that finds the disk full waits for as long as
 * `patience` returns true. That is called by the thread that writes. Without this nothing is kept
 * and a full disk ends the profile. */
void profile_writer_be_patient(struct profile_writer *writer, bool (*patience)(void *context),
                               void *context);

/* Facts about the recording (insert or replace). These keys are known to presenters (units and
 * meaning: doc/FORMAT-profile.md, "meta"); others are kept and shown by --json only. */
#define PROFILE_META_PROGRAM    "program"    /* file name of the executable */
#define PROFILE_META_EXECUTABLE "executable" /* its path */
#define PROFILE_META_COMMAND    "command"    /* the command line, quoted for a shell */
#define PROFILE_META_DIRECTORY  "directory"  /* working directory at the start */
#define PROFILE_META_HOST       "host"
#define PROFILE_META_PID        "pid"        /* integer */
#define PROFILE_META_PARENT_PID "parent_pid" /* integer */
#define PROFILE_META_STARTED_BY "started_by" /* "exec" or "fork" */
#define PROFILE_META_RANK       "rank"       /* integer, of MPI; absent otherwise */
#define PROFILE_META_RANKS      "ranks"      /* integer: how many the job has */
#define PROFILE_META_LOCAL_RANK "local_rank" /* integer: among the ranks of its node */
#define PROFILE_META_NODE       "node"       /* integer: of the node, as the launcher counts */
#define PROFILE_META_LAUNCHER   "launcher"   /* "openmpi", "hydra", "slurm" … */
/* integer: it is the profile of a job, and that many ranks are in its figures; else absent */
#define PROFILE_META_JOB_RANKS   "job_ranks"
#define PROFILE_META_JOB_MISSING "job_missing" /* integer: ranks that left nothing */
/* integer: ranks of a job whose profiles are not read yet: what it says is of their entries */
#define PROFILE_META_TO_READ "to_read"
/* integer 1: of a job, with the figures of its ranks and nodes and without any call path */
#define PROFILE_META_RANKS_ONLY   "ranks_only"
#define PROFILE_META_OWNER_RANKS  "owner_ranks"  /* integer: ranks whose looks `owners` adds up */
#define PROFILE_META_JOB_LEFT_OUT "job_left_out" /* integer: ranks that --ranks left out */
/* integer: processes of a job that do not say when they began, and are not in its timeline */
#define PROFILE_META_JOB_UNDATED "job_undated"
#define PROFILE_META_JOB         "job_id" /* the same in all processes of a job */
/* the kernel's: names the machine since its boot */
#define PROFILE_META_BOOT  "boot_id"
#define PROFILE_META_START "start_unix_ns" /* integer, ns since 1970 */
/* integer: from the start to the exit, or to the last commit before it */
#define PROFILE_META_DURATION   "duration_ns"
#define PROFILE_META_END        "end"        /* "exit", "signal", "exec", "detached", "unknown" */
#define PROFILE_META_END_STATUS "end_status" /* integer: exit status or signal number */
#define PROFILE_META_CUT        "cut"        /* why its writer ended before it was complete */
/* Integers, of one that was killed (or that nobody saw end): processes of its control group that
 * the kernel killed for want of memory while it was recorded (absent: not known), and with some,
 * the limit. */
#define PROFILE_META_OOM_KILLS "oom_kills"
#define PROFILE_META_OOM_LIMIT "oom_limit_bytes"
#define PROFILE_META_TOOL      "tool" /* "tidemark 0.1.0" */
/* integer: call paths whose walk ended early */
#define PROFILE_META_UNWALKABLE "unwalkable"
/* integer: events recorded without call path */
#define PROFILE_META_UNATTRIBUTED        "unattributed"
#define PROFILE_META_UNSEEN_CONSTRUCTORS "unseen_constructors" /* integer: modules, see wire.h */
/* integer: 1 Python, 2 Perl, 4 PHP, 8 Ruby, 16 Lua, or a sum of these, of a version whose frames
 * cannot be read. Absent: none */
#define PROFILE_META_NATIVE_SCRIPTS "native_scripts"
/* integers: programs that it executed, itself or by a fork, and that are not recorded: with an
 * environment without the recorder; with privileges (setuid); statically linked, of 32 bits, for
 * another machine or with a sanitizer. Absent: none */
#define PROFILE_META_UNFOLLOWED_ENVIRONMENT "unfollowed_environment"
#define PROFILE_META_UNFOLLOWED_PRELOAD     "unfollowed_preload"
#define PROFILE_META_UNFOLLOWED_PRIVILEGED  "unfollowed_privileged"
#define PROFILE_META_UNFOLLOWED_UNLOADABLE  "unfollowed_unloadable"
#define PROFILE_META_UNFOLLOWED_HIDDEN      "unfollowed_hidden"
/* allocators that were not seen, one a line: WHAT, MODULE ("": not known) and WHY, a tab between */
#define PROFILE_META_UNSEEN "unseen"
/* integer: rings that the program overwrote */
#define PROFILE_META_DAMAGED "damaged_rings"
#define PROFILE_META_WAITS   "waits"   /* integer: times that a thread waited for us */
#define PROFILE_META_WAIT_NS "wait_ns" /* integer: and how long in all */
/* integer: how long the exit waited for the last look, behind the duration; absent: not at all */
#define PROFILE_META_EXIT_WAIT_NS "exit_wait_ns"
/* integer: sampling interval; absent: every allocation was recorded */
#define PROFILE_META_SAMPLE "sample_bytes"
/* integer 1, with a sampling interval of 8 KiB: what was recorded is one small block of each page
 * record's worth, and all larger ones. What happened in all is not known, only what is held. */
#define PROFILE_META_PAGES "pages"
/* "fp", "none": --stacks; absent: unwound, or by hooks */
#define PROFILE_META_STACKS      "stacks"
#define PROFILE_META_FREE_STACKS "free_stacks" /* 1: frees came with call paths; else absent */
/* Paths, one a line, of embedded sources that were newer than the module they belong to. */
#define PROFILE_META_CHANGED_SOURCES "changed_sources"
/* integer: sources that --embed-sources could not read or had no room for; else absent */
#define PROFILE_META_SKIPPED_SOURCES "skipped_sources"
#define PROFILE_META_TIMED           "timed" /* integer 1: calls of the allocator were timed */
/* integer: modules whose variables lack lines */
#define PROFILE_META_UNPLACED "unplaced_modules"
/* Of profiles that a trace was replayed into; else absent. */
#define PROFILE_META_MISSING        "missing" /* a sentence: what of the trace could not be read */
#define PROFILE_META_MISSING_EVENTS "missing_events" /* integer: at least so many; in lost_events */
#define PROFILE_META_WINDOW_FROM    "window_from_ns" /* integers: only what happened between them */
#define PROFILE_META_WINDOW_TO      "window_to_ns"   /* (since the start) is in it */
/* name of the mark that recording began at (--start-on), */
#define PROFILE_META_BEGUN_ON      "begun_on"
#define PROFILE_META_BEGUN_NS      "begun_ns"      /* integer: so long after the program's start; */
#define PROFILE_META_BEFORE_BLOCKS "before_blocks" /* integers: alive then, and */
#define PROFILE_META_BEFORE_BYTES  "before_bytes"  /* followed, but no allocations of the profile */
#define PROFILE_META_NEVER_BEGUN   "never_begun"   /* that mark never came: the profile is of all */
#define PROFILE_META_ENDED_ON      "ended_on"      /* why recording ended before the program did */
#define PROFILE_META_SNAPSHOT      "snapshot"      /* it is one: why it was taken, "rss=2.00 GiB" */
/* integer: so many were taken of the recording; each: */
#define PROFILE_META_SNAPSHOTS "snapshots"
/* its number: NS since the start, WHY and FILE, a tab between */
#define PROFILE_META_SNAPSHOT_OF    "snapshot."
#define PROFILE_META_SNAPSHOT_ERROR "snapshot_error" /* a sentence: why the last one failed */
/* integer: of a processor, what recording might cost */
#define PROFILE_META_BUDGET "budget_millionths"
/* integer: what it did, as far as it is limited */
#define PROFILE_META_BUDGET_COST "budget_cost_ns"
/* with a budget or a bound: "NS BYTES" a line: since when (ns since the start) which sampling
 * interval; before the first everything is recorded. sample_bytes is the unit of variances then */
#define PROFILE_META_SAMPLE_CHANGES "sample_changes"
/* why it is so, where that is not the budget: "to keep the collector within 64.0 MiB …" */
#define PROFILE_META_SAMPLE_WHY     "sample_why"
#define PROFILE_META_NAMED_LATER    "named_later"    /* a sentence: names are not the recording's */
#define PROFILE_META_UNTOLD_MARKS   "untold_marks"   /* integers: marks beyond 65536; */
#define PROFILE_META_UNTOLD_REGIONS "untold_regions" /* beginnings of regions beyond all limits; */
#define PROFILE_META_UNMATCHED_ENDS "unmatched_ends" /* ends of regions without a beginning */
/* the profile was cut: what is in it is of this region */
#define PROFILE_META_REGION "region"
/* the profile was made one of a level of memory (memory_level_name()) that is not the heap */
#define PROFILE_META_LEVEL "level"
/* Of profiles made of another tool's file; else absent. Metrics that it did not have are not
 * known. */
#define PROFILE_META_IMPORTED    "imported_from" /* "heaptrack", "massif", … */
#define PROFILE_META_IMPORT_NOTE "import_note"   /* a sentence: what to know about its figures */
/* integer: age of the program when recording began; absent: recorded from its beginning */
#define PROFILE_META_ATTACHED  "attached_after_ns"
#define PROFILE_META_NO_LEDGER "no_ledger" /* a sentence: why what is resident is not known */
#define PROFILE_META_NO_GRAPH  "no_graph"  /* a sentence: why what is lost is not known */
int profile_put_text(struct profile_writer *writer, const char *key, const char *value);
int profile_put_integer(struct profile_writer *writer, const char *key, int64_t value);

struct profile_module {
    int64_t id;
    const char *path;
    const uint8_t *build_id;
    size_t build_id_bytes;
    uint64_t start, end, bias; /* addresses in the recorded process */
    int quality;               /* enum symbols_quality */
};
int profile_put_module(struct profile_writer *writer, const struct profile_module *module);

/* A code location: one return address, with the frames that its symbols give, innermost inline
 * frame first. module_id -1: in no module. `mark` > 0: not code but an enum wire_mark. */
struct profile_frame {
    const char *function; /* NULL: unknown */
    const char *linkage;  /* NULL: as function */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
};
struct profile_location {
    int64_t id; /* > 0 */
    int64_t module_id;
    uint64_t address; /* module-relative (as in the ELF file) or absolute if module_id is -1 */
    int mark;
    const struct profile_frame *frames;
    size_t frame_count;
};
int profile_put_location(struct profile_writer *writer, const struct profile_location *location);

/* A node of the call tree: ids rise, a parent comes before its children, parent 0 is the root.
 * Nodes are gathered: the last of them are written at the commit. */
int profile_put_path(struct profile_writer *writer, uint32_t id, uint32_t parent,
                     int64_t location_id);

/* Metrics of call paths, times in nanoseconds already (the fields named _ticks and lifetime_* hold
 * ns; peak time since the start of the recording). They are written in blocks, encoded beforehand
 * by whoever holds the metrics, on any thread: appends the bytes of 1 to PROFILE_BLOCK_SITES sites.
 * Out of memory ends the process, as it does for every strbuf. */
enum { PROFILE_BLOCK_SITES = 1024 };
void profile_encode_sites(struct strbuf *out, const struct replay_site *sites, size_t count);
/* Insert or replace. Sites are numbered from 0 in any order that does not change; all blocks but
 * the last are full. A call path has at most one site. */
int profile_put_sites(struct profile_writer *writer, uint32_t first, size_t count, const void *body,
                      size_t bytes);
/* The same of what the program maps itself; numbered by themselves. */
int profile_put_mapped_sites(struct profile_writer *writer, uint32_t first, size_t count,
                             const void *body, size_t bytes);
int profile_put_program(struct profile_writer *writer, const struct program_metrics *metrics);
int profile_put_thread(struct profile_writer *writer, size_t index,
                       const struct thread_metrics *metrics);
/* Replaces the whole timeline. Times as in the rows above: nanoseconds since the start. */
int profile_put_timeline(struct profile_writer *writer, const struct timeline_bucket *buckets,
                         size_t count, uint64_t bucket_ns);

/* Each replaces all rows of its kind. Times in ns. Nodes of peaks and exchanges are path ids. */
int profile_put_distributions(struct profile_writer *writer, const struct distribution_row *rows,
                              size_t count);
int profile_put_peaks(struct profile_writer *writer, const struct peak *peaks, size_t count);
int profile_put_exchanges(struct profile_writer *writer, const struct exchange *rows, size_t count);
/* Memory of devices. Replaces all rows. */
struct profile_devices {
    const struct device_total *totals;
    size_t total_count;
    const struct device_site *sites;
    size_t site_count;
    const struct device_level *levels;
    size_t level_count;
};
int profile_put_devices(struct profile_writer *writer, const struct profile_devices *devices);
int profile_put_stacks(struct profile_writer *writer, const struct stack_peak *peaks,
                       size_t peak_count, const struct stack_layer *layers, size_t layer_count);
/* Replaces the path's curve of that level; without points it goes. -EINVAL: more than 4096
 * points. */
int profile_put_curve(struct profile_writer *writer, const struct curve *curve);

/* What the program said of itself (replay/marks.h). Each call replaces all of its kind. */
struct profile_mark {
    uint32_t id; /* 0 …, in the order of the records */
    uint64_t time_ns;
    int kind; /* enum wire_mark_kind: 0 a mark, 1 paused, 2 resumed, 3 snapshot */
    const char *name;
    uint32_t thread;                 /* index */
    uint64_t live_bytes, live_count; /* of the program, then */
};
/* clang-format off */
enum { PROFILE_MARK_NAMED = 0, PROFILE_MARK_PAUSED, PROFILE_MARK_RESUMED, PROFILE_MARK_SNAPSHOT,
       PROFILE_MARK_KINDS };
/* clang-format on */
struct profile_region {
    uint32_t id; /* 0 …, in the order of their first beginnings */
    const char *name;
    uint64_t entered_count, unended_count, open_count;
    uint64_t time_ns, first_ns, last_ns;
    uint64_t peak_bytes, peak_ns;
    struct figure left_bytes; /* unknown: no thread has left it */
    uint64_t program_peak_bytes, program_peak_ns;
};
int profile_put_marks(struct profile_writer *writer, const struct profile_mark *marks,
                      size_t count);
int profile_put_regions(struct profile_writer *writer, const struct profile_region *regions,
                        size_t count);
/* Metrics of (region, call path), as those of sites; `region` is a region's id. */
void profile_encode_region_sites(struct strbuf *out, const struct replay_region_site *sites,
                                 size_t count);
int profile_put_region_sites(struct profile_writer *writer, uint32_t first, size_t count,
                             const void *body, size_t bytes);

/* The largest variables of a module, and what its sections hold in all. A call replaces what there
 * is of the modules in it; the rows of a module stand together. */
enum profile_section {
    PROFILE_SECTION_DATA = 0,
    PROFILE_SECTION_BSS,
    PROFILE_SECTION_RODATA,
    PROFILE_SECTION_RELRO, /* .data.rel.ro and the like: written once by the loader */
    PROFILE_SECTION_TDATA,
    PROFILE_SECTION_TBSS,
    PROFILE_SECTIONS
};
struct profile_variable {
    int64_t module_id;
    const char *name, *linkage; /* linkage may be NULL */
    uint64_t bytes;             /* of one copy */
    int section;                /* enum profile_section */
    const char *file;           /* NULL: not known */
    uint32_t line;
};
struct profile_section_total {
    int64_t module_id;
    int section;
    struct figure bytes;       /* by the section headers */
    struct figure named_bytes; /* of all variables in it, also of those too small to be listed */
    struct figure variables;   /* number of those */
    bool exported_only;        /* no full symbol table: variables are the exported ones */
};
int profile_put_variables(struct profile_writer *writer, const struct profile_variable *variables,
                          size_t count);
int profile_put_sections(struct profile_writer *writer,
                         const struct profile_section_total *sections, size_t count);

struct profile_sample;

/* One look at the process through /proc, at a moment that `why` names. */
enum profile_sample_why {
    PROFILE_SAMPLE_START = 0,
    PROFILE_SAMPLE_RESIDENT_PEAK,
    PROFILE_SAMPLE_MARK,
    PROFILE_SAMPLE_END, /* shortly before the process ended, or the last one that could be had */
    PROFILE_SAMPLE_BEFORE_END, /* before a run-time ended, which let go of its objects */
    PROFILE_SAMPLE_WHYS
};
/* "mark"; "at a snapshot", as a sentence says it. */
const char *profile_sample_name(const struct profile_sample *sample);
const char *profile_sample_when(const struct profile_sample *sample);
struct profile_sample {
    uint32_t id; /* 1 … in the order of time */
    int why;     /* enum profile_sample_why */
    uint64_t time_ns;
    struct figure resident_bytes, proportional_bytes, unique_bytes, swapped_bytes, virtual_bytes;
    struct figure requested_bytes, live_count; /* of the replay at that moment */
    struct figure minor_faults, major_faults, voluntary_switches, involuntary_switches;
    struct figure cgroup_bytes, cgroup_limit_bytes,
        cgroup_peak_bytes; /* the tightest limit above us */
    struct figure machine_available_bytes, machine_bytes;
    struct figure ooms; /* of the cgroup, memory.events oom_kill */
    /* the ledger: resident_bytes is their sum, `unexplained` makes it so (in old files negative);
     * has_ledger only where a pass over the pages was made */
    bool has_ledger;
    struct figure live_touched_bytes; /* resident bytes of live blocks */
    struct figure slack_bytes; /* resident in the allocator's memory outside of live blocks */
    struct figure mmap_bytes;  /* the program's own anonymous mappings that are no allocator's */
    struct figure file_bytes, stack_bytes, globals_bytes, shared_bytes, tool_bytes, other_bytes;
    int64_t unexplained_bytes;
    struct figure untouched_bytes;    /* of live blocks: never touched (and not resident) */
    struct figure live_swapped_bytes; /* of live blocks */
    struct figure returnable_bytes;   /* whole resident pages of the heap without a live block */
    struct figure pinned_bytes;       /* free bytes on heap pages that live blocks keep resident */
    double pass_ms;                   /* what the look cost, CPU of the collector */
    /* of all live blocks, as struct profile_residency has them by call path; unknown where the
     * graph of the live blocks was not made */
    struct figure lost_count, lost_bytes, indirect_count, indirect_bytes;
    struct figure possible_count, possible_bytes, reachable_count, reachable_bytes;
    struct figure high_water_bytes; /* VmHWM then: the true peak by the kernel */
    /* Known with lost_count, but not of older profiles: live blocks that began with an object of a
     * C++ class, and those of which it is known how full they are. */
    struct figure class_count, fill_count;
};
/* One whose id was there is begun anew: the mappings, residencies, owners and heap of that id go.
 * So a sample is put first, and then what belongs to it, in one or several calls. */
int profile_put_sample(struct profile_writer *writer, const struct profile_sample *sample);
/* Mappings of a sample by kind and file. */
struct profile_mapping {
    uint32_t sample;
    const char *kind; /* as procfs/smaps.h calls them */
    const char *path; /* NULL or "": none */
    uint64_t count;   /* mappings in this row */
    struct figure virtual_bytes, resident_bytes, proportional_bytes, unique_bytes, swapped_bytes;
};
int profile_put_mapping(struct profile_writer *writer, const struct profile_mapping *mapping);
/* What a pass over the pages says of each call path's live blocks; each path once per sample. */
struct profile_residency {
    uint32_t sample;
    uint32_t path;
    struct figure live_count, live_bytes;
    struct figure resident_bytes, untouched_bytes, swapped_bytes;
    struct figure pinned_bytes,
        pinning_count; /* its share of sample.pinned_bytes; blocks that pin */
    /* what the graph of the live blocks says; unknown where none was made. The four add up to
     * live_count and live_bytes of blocks that do not overlap */
    struct figure lost_count, lost_bytes;           /* no pointer to them was found */
    struct figure indirect_count, indirect_bytes;   /* only lost blocks point to them */
    struct figure possible_count, possible_bytes;   /* by pointers into their middle only */
    struct figure reachable_count, reachable_bytes; /* by a chain of pointers to beginnings */
};
int profile_put_residency(struct profile_writer *writer, const struct profile_residency *rows,
                          size_t count);
/* Lost blocks of a call path, and what hangs below them: islands, each with one of these blocks as
 * its head. */
struct profile_island {
    uint32_t sample;
    uint32_t path;
    uint64_t count, bytes;                   /* of the heads */
    uint64_t indirect_count, indirect_bytes; /* below them, of any call path */
    struct figure oldest_ns, newest_ns; /* when the first and the last head was allocated, since
                                                the program's start */
};
/* Of a sample that was put before; each path once. */
int profile_put_islands(struct profile_writer *writer, const struct profile_island *rows,
                        size_t count);
/* Blocks of a call path that began with an object of a C++ class when a look read them: at least
 * one. Blocks that began with none have no row. */
struct profile_block_type {
    uint32_t sample;
    uint32_t path;
    const char *name; /* of the class */
    uint64_t count, bytes;
};
int profile_put_block_types(struct profile_writer *writer, const struct profile_block_type *rows,
                            size_t count);
/* What is made of a call's result, by debug information (symbols.h): of an address in a module, as
 * of codes. Addresses of which nothing is known have no row. */
enum profile_call_type_kind {
    PROFILE_CALL_MADE = 0,  /* a constructor makes an object of `bytes` of it */
    PROFILE_CALL_STRUCTURE, /* it is assigned to a pointer to a structure of `bytes` */
    PROFILE_CALL_OPEN,      /* likewise, and the last member is as long as is asked for */
    PROFILE_CALL_SCALAR,    /* to a pointer to numbers, characters or pointers: an array */
    PROFILE_CALL_HANDED_ON, /* its function returns it as it is: ask the caller */
    PROFILE_CALL_KINDS
};
struct profile_call_type {
    int64_t module_id; /* as read, an index */
    uint64_t address;
    int kind;
    const char *name;
    uint64_t bytes;                       /* of an object, or of an array's element */
    struct figure hole_count, hole_bytes; /* between the members of a structure */
    struct figure padding_bytes;          /* behind the last one */
};
int profile_put_call_type(struct profile_writer *writer, const struct profile_call_type *row);

/* How full the blocks of a call path are, as what owned them said when a look read it: of one
 * shape. Blocks of which nothing said so have no row. */
enum profile_fill_shape {
    PROFILE_FILL_VECTOR = 0, /* begin, end, end of the room */
    PROFILE_FILL_STRING,     /* begin, length, capacity */
    PROFILE_FILL_HASH,       /* the buckets of a table */
    PROFILE_FILL_RUST_HASH,
    PROFILE_FILL_RUST_VEC, /* three small numbers can look like it */
    PROFILE_FILL_SHAPES
};
extern const char *const profile_fill_names[]; /* "vector" "string" "hash table" … */
struct profile_block_fill {
    uint32_t sample;
    uint32_t path;
    int shape;             /* enum profile_fill_shape */
    uint32_t unit;         /* bytes of an element; 0: not known */
    uint64_t count, bytes; /* blocks, as large as they are */
    uint64_t used_bytes;   /* of bytes */
    uint64_t live_count;   /* of the path's blocks then, whatever their shape */
};
int profile_put_block_fills(struct profile_writer *writer, const struct profile_block_fill *rows,
                            size_t count);
/* How the blocks of a call path were used, as their pages tell (METRICS.md, "Lag and drag"): of
 * blocks that have whole pages, from their birth to their end, or until the last scan. */
struct profile_page_use {
    uint32_t path;
    uint64_t count;                  /* blocks */
    uint64_t alive_count;            /* of them, still alive at the last scan */
    uint64_t unseen_count;           /* others, of which it is not known */
    uint64_t bytes, unwritten_bytes; /* of whole pages; of them, those never written */
    /* KiB for so many milliseconds: of `bytes` while the blocks lived; of those that were written,
     * before their first write and after their last; of those that never were. */
    uint64_t life_kib_ms, lag_kib_ms, drag_kib_ms, unwritten_kib_ms;
    uint64_t lag_error_kib_ms, drag_error_kib_ms; /* lag and drag may be so much more or less */
};
/* Replaces all rows. */
int profile_put_page_uses(struct profile_writer *writer, const struct profile_page_use *rows,
                          size_t count);
/* The machine's memory, and that of the process's control group, at a moment of the run: the one of
 * its stretch at which the least was available (collector/machine_memory.h). */
struct profile_machine_moment {
    uint64_t time_ns;
    struct figure available_bytes, free_bytes, cached_bytes;
    struct figure swapped_bytes;
    struct figure group_bytes;       /* the most of the stretch */
    struct figure group_limit_bytes; /* the tightest limit above it; unknown: it has none */
};
/* Replaces all rows. */
int profile_put_machine_moments(struct profile_writer *writer,
                                const struct profile_machine_moment *rows, size_t count);
/* A cell of the map of the heap: a page of the allocator's areas or, of large heaps, a stretch of
 * 2^k of them; the last one of an area may be shorter. All figures but `bytes` are of its resident
 * pages. */
struct profile_heap_page {
    uint32_t sample;
    uint32_t path; /* whose blocks pin most of pinned_bytes; 0 where these are 0 */
    uint64_t address, bytes;
    uint64_t resident_bytes;
    uint64_t live_bytes, live_count; /* a block that reaches into two cells counts in both */
    uint64_t pinned_bytes;           /* free, on pages that live blocks keep resident */
};
/* The map of one sample, which was put before, by address. There is one map in a profile: it
 * replaces that of an earlier sample. */
int profile_put_heap_pages(struct profile_writer *writer, const struct profile_heap_page *cells,
                           size_t count);

enum profile_owner_kind {
    PROFILE_OWNER_BLOCKS = 0,
    PROFILE_OWNER_MAPPING,
    PROFILE_OWNER_ALLOCATOR,
    PROFILE_OWNER_FILE,
    PROFILE_OWNER_STACK,
    PROFILE_OWNER_GLOBALS,
    PROFILE_OWNER_KERNEL,
    PROFILE_OWNER_TOOL,
    PROFILE_OWNER_OTHER,
    PROFILE_OWNER_KINDS
};
extern const char *const profile_owner_names
    []; /* "blocks" "mapping" "allocator" "file" "stack" "globals" "kernel" "tool" "other" */
/* Nodes 0 to 7, and all above as one. */
enum { PROFILE_NODES = 9, PROFILE_NODE_ABOVE = 8 };
struct profile_owner {
    uint32_t sample;
    int kind;
    uint32_t path; /* blocks, mapping: who asked; allocator: whose blocks pin it; 0: none */
    /* File: its path; stack: the thread's name; globals: the variable; mapping: file or segment;
     * else what it is ("whole free pages", "changed during the look", "before the recording");
     * NULL: none. */
    const char *name;
    const char *module;           /* globals: the module's path; else NULL */
    struct figure thread;         /* stack: tid */
    struct figure count;          /* blocks, mappings, threads */
    struct figure virtual_bytes;  /* asked for, or mapped */
    struct figure resident_bytes; /* of all rows of a sample: add up to sample.resident_bytes */
    struct figure proportional_bytes, swapped_bytes;
    struct figure huge_bytes; /* of resident_bytes: in transparent huge pages */
    /* Of huge_bytes: on 4 KiB pages that no live block or use of the owner reaches; unknown where
     * that cannot be told. */
    struct figure huge_idle_bytes;
    /* Of resident_bytes: private pages that another process still shares, since a fork. */
    struct figure shared_bytes;
    /* Of resident_bytes, on request only: bytes on pages of nothing but zeros; on private pages
     * that are like one before; what compressing page by page would win of the other private
     * ones. */
    struct figure zero_bytes, copy_bytes, compressible_bytes;
    /* Likewise, of private pages: not written for a second, for ten; not since they were filled, a
     * second ago or more. */
    struct figure unwritten_1s_bytes, unwritten_10s_bytes, filled_bytes;
    /* Of resident_bytes: by NUMA node, where the machine has several and the pages were asked.
     * Their sum is less where a page's node could not be told. */
    struct figure node_bytes[PROFILE_NODES];
};
/* Adds "[file] libc.so.6", "[stack] main 1234": the owner as one frame. */
void profile_owner_add_name(struct strbuf *name, const struct profile_owner *owner);
/* Does a call path own it? */
bool profile_owner_is_by_path(const struct profile_owner *owner);
int profile_put_owners(struct profile_writer *, const struct profile_owner *rows,
                       size_t count); /* of a sample that was put before */
enum profile_container_kind {
    PROFILE_CONTAINER_PROCESS = 0,
    PROFILE_CONTAINER_PAGE_CACHE,
    PROFILE_CONTAINER_SLAB,
    PROFILE_CONTAINER_PAGE_TABLES,
    PROFILE_CONTAINER_SOCKETS,
    PROFILE_CONTAINER_TMPFS,
    PROFILE_CONTAINER_KERNEL_OTHER,
    PROFILE_CONTAINER_OTHER,
    PROFILE_CONTAINER_KINDS
};
extern const char *const profile_container_names[]; /* "process" "page cache" … */
struct profile_container {
    uint32_t sample;
    int kind;
    const char *name; /* file or process */
    struct figure bytes;
};
int profile_put_containers(struct profile_writer *, const struct profile_container *rows,
                           size_t count);

/* Who keeps the live blocks (engine/graph/holder_tree.h): a tree, and a list of call paths
 * beside. */
enum profile_holder_kind {
    PROFILE_HOLDER_VARIABLE = 0, /* `name` in `module` */
    PROFILE_HOLDER_TLS,          /* a thread's variables; `name`: the variable, or the thread */
    PROFILE_HOLDER_STACK,        /* `name`: the thread's */
    PROFILE_HOLDER_REGISTERS,
    PROFILE_HOLDER_MAPPING,   /* memory that the program has mapped: by `path`, or of file `name` */
    PROFILE_HOLDER_ALLOCATOR, /* its memory beside known blocks, where unknown ones may be */
    PROFILE_HOLDER_BLOCKS,    /* of `path` */
    PROFILE_HOLDER_SEVERAL,   /* what no holder keeps alone; `name`: the nearest of them */
    PROFILE_HOLDER_LOST,      /* what nobody keeps */
    PROFILE_HOLDER_REST,      /* `merged` rows that are too small or too deep */
    PROFILE_HOLDER_PATH,      /* of the list: what the blocks of `path` retain, wherever they are */
    PROFILE_HOLDER_MODULE_VARIABLE, /* of an interpreter: `name` in its module `module` */
    PROFILE_HOLDER_CLASS,           /* of an interpreter: `name` */
    PROFILE_HOLDER_KINDS
};
extern const char *const profile_holder_names[]; /* "variable" "thread-local" "stack" … */
struct profile_holder {
    uint32_t sample, id; /* 1 …; a parent comes before its children */
    uint32_t parent;     /* 0: none */
    int kind;
    uint32_t path;
    const char *name, *module; /* or NULL */
    struct figure thread;      /* tid */
    uint64_t merged;
    uint64_t own_count, own_bytes;           /* its blocks; of all rows but those of kind PATH these
                                                add up to all live blocks */
    uint64_t retained_count, retained_bytes; /* with what hangs below */
};
int profile_put_holders(struct profile_writer *, const struct profile_holder *rows,
                        size_t count); /* of a sample that was put before */

/* One of the holders of a row of kind SEVERAL (engine/graph/graph_share.h): a holder, or a mapping
 * that nothing points to. Of kind REST, the last of a row: `merged` holders that have no row;
 * unknown: it was too much to find all, there may be more, and they may reach more. */
struct profile_sharer {
    uint32_t sample, holder, place; /* holder: the row's id; place: 1 …, most first */
    int kind;
    uint32_t path;
    const char *name, *module;
    struct figure thread, merged;
    uint64_t reached_count, reached_bytes; /* of the row's blocks, those that it leads to */
    uint64_t direct_bytes;                 /* what hangs below blocks that it points to itself */
    uint64_t alone_count, alone_bytes;     /* what it keeps alone, beside */
};
int profile_put_sharers(struct profile_writer *, const struct profile_sharer *rows, size_t count);

/* How a block that somebody has asked for is held: from a root to the block, a row each. */
struct profile_chain {
    uint32_t sample, step; /* 0: the root */
    int kind;              /* as of holders; blocks: one block */
    uint32_t path;
    const char *name, *module;
    struct figure thread;
    struct figure address, bytes; /* unknown of registers */
    struct figure pointer_offset; /* in it, of the pointer to the next; unknown of the last */
    struct figure target_offset;  /* where in the next it points to */
};
int profile_put_chain(struct profile_writer *, const struct profile_chain *rows, size_t count);

/* Of a profile of a whole job (`tidemark job -o`): its processes, their memory over time, its
 * nodes. doc/FORMAT-profile.md defines each column. */
struct profile_rank {
    uint32_t id;   /* 1 …, by rank */
    uint32_t rank; /* of MPI, or the place of its file */
    bool beside;   /* no rank of its own: a process that one started, or of none */
    const char *state, *file, *note; /* complete, died, …; note: why it was not read; or NULL */
    uint32_t node;                   /* id of a node */
    uint32_t pid, signal, status;
    struct figure start_unix_ns, duration_ns, peak_bytes, peak_ns, live_bytes, live_count,
        alloc_bytes, alloc_count, lost_events, mpi_peak_bytes, resident_peak_bytes;
};
struct profile_rank_step {
    uint32_t rank; /* id */
    uint32_t step; /* 0 …, a 200th of the rank's own duration each */
    struct figure requested_max, requested_min, resident_max;
};
struct profile_node_peak {
    uint32_t id; /* 1 … */
    const char *name;
    struct figure ranks, beside, not_read;
    struct figure lower_bytes, upper_bytes, at_unix_ns, step_ns, peak_sum;
    struct figure resident_bytes, machine_bytes, limit_bytes, cgroup_peak_bytes;
};
int profile_put_rank(struct profile_writer *writer, const struct profile_rank *rank);
/* All steps of one rank; steps rise. -EINVAL: more than 4096. */
int profile_put_rank_steps(struct profile_writer *writer, const struct profile_rank_step *steps,
                           size_t count);
int profile_put_node_peak(struct profile_writer *writer, const struct profile_node_peak *node);

/* The text of a source file as it was when the recording ended; replaces that path's. Readers take
 * up to 16 MiB of one file. */
int profile_put_source(struct profile_writer *writer, const char *path, const char *text,
                       size_t bytes);

/* A profile whose writer died becomes one file again, which says `why`. 0 also where nothing is to
 * be done: it is complete, is being written, or has no log. */
int profile_finish_cut(const char *path, const char *why);
/* One without figures, where no profile was begun; what has the name steps aside. */
int profile_write_cut(const char *path, const char *why);

/* Ends the recording: commits, marks the profile complete and packs it (zstd) by writing a new
 * file beside it and renaming. On failure the plain database stays. Frees the writer. */
int profile_writer_finish(struct profile_writer *writer, bool pack);
/* The same calls without a file and without a database, for processes that end soon: what the
 * writer is told is kept as the body of a row of a session file (profile_session.h), from which an
 * ordinary complete profile is read. `name` is for sentences. Such a writer cannot be copied
 * (profile_writer_copy()). Finishing appends to `body` and frees the writer; discarding is
 * profile_writer_discard(). */
int profile_writer_open_log(struct profile_writer **out, const char *name);
int profile_writer_finish_log(struct profile_writer *writer, struct strbuf *body);
/* Leaves the database as last committed. Frees the writer. */
void profile_writer_abandon(struct profile_writer *writer);
/* Removes the profile, for who makes it whole or not at all. Frees the writer. */
void profile_writer_discard(struct profile_writer *writer);

/* What was committed last as a profile of its own, complete, with facts added or replaced: on disk
 * (fsync) when this returns. A file that is there is never replaced: -EEXIST. 0 or -errno, with a
 * sentence. The recording goes on. */
struct profile_fact {
    const char *key, *text; /* text NULL: a number */
    int64_t number;
};
int profile_writer_copy(struct profile_writer *writer, const char *path,
                        const struct profile_fact *facts, size_t count);

/* ---- What does not come out of events ------------------------------------------------------ */

/* Makes from the recorded profile at `path`, packed or plain, the small packed one that a trace
 * keeps: meta, modules, code locations with their names, samples with what belongs to them,
 * variables and sources. *bytes: the caller frees it. */
int profile_supplement(const char *path, void **bytes, size_t *size);

/* Reads it. Its profile has nodes with nothing in them, `node_count` of them, the root included,
 * since samples refer to them; no metrics, threads or timeline. `names_only`: leaves out samples,
 * variables and sources too. `name` is for the sentence. */
struct profile;
int profile_read_supplement(struct profile **out, const void *bytes, size_t size, const char *name,
                            size_t node_count, bool names_only);

/* ---- Reading ------------------------------------------------------------------------------- */

struct profile_function { /* [0] is the unknown one */
    const char *name;     /* readable; never NULL ("?" unknown) */
    const char *linkage;  /* may be NULL */
    const char *file;     /* where it is defined or used; may be NULL */
};
struct profile_line {
    uint32_t function; /* index */
    const char *file;  /* may be NULL */
    uint32_t line;
};
struct profile_node {  /* [0] is the root; in the order of the path ids, and [id] itself where no
                          id is missing */
    uint32_t parent;   /* index, smaller than the node's own (the root's is 0) */
    uint32_t location; /* index into codes */
};
struct profile_code { /* [0] stands for "unknown" */
    uint32_t module;  /* index, UINT32_MAX: none */
    uint64_t address;
    int mark;
    uint32_t first_line, line_count; /* into lines: innermost inline frame first; count ≥ 1 */
};

struct profile {
    /* meta */
    size_t meta_count;
    struct profile_meta {
        const char *key, *value;
        bool is_number; /* in the file */
    } * meta;
    bool complete;         /* the recording came to its end */
    bool being_written;    /* its writer lives: this is what was committed last */
    const char *damage;    /* NULL, or a sentence about what could not be read: the rest is here */
    const char *chosen;    /* NULL, or a sentence: what else FILE@PID could have meant */
    uint64_t sample_bytes; /* 0: every allocation was recorded */
    bool pages;            /* the sample is of pages (PROFILE_META_PAGES) */
    bool has_program;      /* false: no metrics were committed yet, `program` is all zero */
    struct program_metrics program;
    struct call_metrics heap; /* program.total as it was before profile_take_level() */
    size_t node_count;
    struct profile_node *nodes;
    size_t site_count; /* call paths with metrics, by path: see profile_site_at() */
    struct profile_site {
        uint32_t path;
        struct call_metrics metrics;
    } * sites; /* of a profile that was made in memory; else NULL, and … */
    struct profile_columns *site_columns; /* … of one that was read: a quarter of the memory */
    size_t mapped_site_count;
    struct profile_site *mapped_sites; /* of what the program maps itself; by path */
    size_t code_count;
    struct profile_code *codes; /* locations */
    size_t line_count;
    struct profile_line *lines;
    size_t function_count;
    struct profile_function *functions;
    size_t module_count;
    struct profile_module *modules;
    size_t thread_count;
    struct thread_metrics *threads;
    size_t bucket_count;
    uint64_t bucket_ns;
    struct timeline_bucket *buckets;
    /* Everything below is absent (count 0) where it was not recorded. Node numbers in it are
     * indices into nodes, thread numbers such into threads, sample numbers the ids of samples. */
    size_t distribution_count;
    struct distribution_row *distributions; /* by kind, x, y */
    size_t peak_count;
    struct peak *peaks;
    size_t curve_count;
    struct curve *curves; /* by node: of blocks; and behind them in the same array … */
    size_t mapped_curve_count;
    struct curve *mapped_curves; /* … of mappings */
    size_t exchange_count;
    struct exchange *exchanges;
    size_t variable_count;
    struct profile_variable *variables; /* module_id: index into modules */
    size_t section_count;
    struct profile_section_total *sections; /* likewise */
    size_t sample_count;
    struct profile_sample *samples;
    size_t mapping_count;
    struct profile_mapping *mappings;
    size_t residency_count;
    struct profile_residency *residencies; /* by sample, path */
    size_t heap_page_count;
    struct profile_heap_page *heap_pages; /* by sample (there is one), address */
    size_t island_count;
    struct profile_island *islands; /* by sample, path */
    size_t block_type_count;
    struct profile_block_type *block_types; /* by sample, path, name */
    size_t call_type_count;
    struct profile_call_type *call_types; /* by module, address */
    size_t page_use_count;
    struct profile_page_use *page_uses; /* by path */
    size_t machine_moment_count;
    struct profile_machine_moment *machine_moments; /* in the order of time */
    size_t block_fill_count;
    struct profile_block_fill *block_fills; /* by sample, path, shape, unit */
    size_t owner_count;
    struct profile_owner *owners; /* by sample, kind, path, name */
    size_t container_count;
    struct profile_container *containers; /* by sample, kind */
    size_t holder_count;
    struct profile_holder *holders; /* by sample, id */
    size_t chain_count;
    struct profile_chain *chains; /* by sample, step */
    size_t source_count;
    struct profile_source {
        const char *path, *text;
        size_t bytes;
    } * sources; /* by path */
    size_t mark_count;
    struct profile_mark *marks; /* by id; thread UINT32_MAX: not known */
    size_t region_count;
    struct profile_region *regions; /* by id */
    size_t region_site_count;
    struct profile_region_site {
        uint32_t region; /* index into regions */
        uint32_t path;   /* index into nodes */
        struct call_metrics metrics;
    } * region_sites;           /* by region, path */
    size_t rank_count;          /* of a job */
    struct profile_rank *ranks; /* by id */
    size_t rank_step_count;
    struct profile_rank_step *rank_steps; /* by rank, step */
    size_t node_peak_count;
    struct profile_node_peak *node_peaks; /* by id */
    size_t stack_peak_count;
    struct stack_peak *stack_peaks; /* by thread, bytes */
    size_t stack_layer_count;
    struct stack_layer *stack_layers; /* by thread, bytes descending */
    size_t device_total_count;
    struct device_total *device_totals; /* by space; ticks are nanoseconds */
    size_t device_site_count;
    struct device_site *device_sites; /* by space, path; node: index into nodes */
    size_t device_level_count;
    struct device_level *device_levels; /* by space, time */
    struct profile_private *own;        /* the reader's */
    size_t sharer_count;
    struct profile_sharer *sharers; /* by sample, holder, place */
};

/* ---- Call paths with metrics --------------------------------------------------------------- */

/* The figures of a profile that was read stand in columns, each number in as few bytes as the
 * column's largest needs; where all are the same, in none:
 *
 *   numbers  │ 0 │ 1 │ 2 │ … │ 7 bytes │      number i: 8 bytes from i * bytes on, & mask, + base
 *
 * The lowest `bytes` bytes are the figure + 1, so that 0 stands for "unknown" (base is -1 then). */
struct profile_column {
    unsigned char *numbers;
    size_t bytes, room;
    uint64_t mask, base;
};
struct profile_columns {
    uint32_t *paths;
    size_t path_room;
    struct profile_column metrics[METRICS];
};

static inline uint64_t profile_column_raw(const struct profile_column *column, size_t site)
{
    uint64_t word = 0;
    if (column->bytes)
        memcpy(&word, column->numbers + site * column->bytes, sizeof word);
    return (word & column->mask) + column->base;
}

/* Of call path `site`, below site_count. */
static inline uint32_t profile_site_path(const struct profile *profile, size_t site)
{
    return profile->sites ? profile->sites[site].path : profile->site_columns->paths[site];
}
static inline struct figure profile_site_figure(const struct profile *profile, size_t site,
                                                const struct metric_row *row)
{
    if (profile->sites)
        return metric_value(row, &profile->sites[site].metrics);
    return (struct figure){
        profile_column_raw(&profile->site_columns->metrics[row - metric_rows], site)};
}
/* All of its metrics, in *room where they are not rows already. */
const struct profile_site *profile_site_at(const struct profile *profile, size_t site,
                                           struct profile_site *room);
/* Replaces them by rows, which are the profile's from now on. */
void profile_set_sites(struct profile *profile, struct profile_site *sites, size_t count);

/* Reads plain and packed profiles, ones still being written, and rows of session files: every
 * function below takes FILE@PID for a path (doc/FORMAT-session.md). Distrusts everything in the
 * file: a damaged, foreign or newer one gives -errno and a sentence. */
int profile_read(struct profile **out, const char *path);
/* The same without what a large profile has most of beside the figures of call paths: curves, pages
 * of the heap, sources; of owners the look that counts is known, and resident bytes. It is enough
 * for the level of the heap (profile_take_level()) and for regions. */
int profile_read_figures(struct profile **out, const char *path);
/* The same, but only meta and what follows from it (complete, being_written): quick, and of any
 * number of profiles. */
int profile_read_meta(struct profile **out, const char *path);
/* The same with the program's totals and the timeline. */
int profile_read_totals(struct profile **out, const char *path);
/* What many profiles are added up by: names, call paths, threads, samples, and the machine's
 * memory; of call paths what was allocated, at how many calls, how much of it was temporary, alive
 * at the end and at the peak; of the timeline what was requested and what was resident; of owners
 * their resident bytes, and those of the look that counts (profile_owners_sample()) alone, where
 * others have no call path. Nothing is known of what other tables and columns say. It is enough for
 * the levels of the heap and of resident memory (profile_take_level()). */
int profile_read_sums(struct profile **out, const char *path);
/* The same of a file that this process has just written. The memory for it has no bound
 * (base/allowance.h), because that would be one for all threads of a collector. */
int profile_read_own_sums(struct profile **out, const char *path);
/* The same without call paths of the heap, which are most of the memory of a profile: for the level
 * of resident memory. (Those of files without blocks of call paths are read: they are small.) */
int profile_read_owners(struct profile **out, const char *path);
void profile_free(struct profile *profile);
/* Makes it one of a region: its sites are the region's, its totals their sums, its peak the
 * region's own. What is not known by region (timeline, sizes, lifetimes, curves, peaks, threads,
 * stacks, residency, marks) is not there any more. -ENOENT with a sentence: there is no such
 * region. */
int profile_cut_region(struct profile *profile, const char *name);
/* The same, by its place in profile->regions. -ENOENT: there are fewer. */
int profile_cut_region_at(struct profile *profile, size_t region);
/* The same beside the profile: a copy whose sites are its own, to be freed, and which borrows all
 * else. 0 or -ENOMEM. */
int profile_view_region(struct profile *view, const struct profile *profile, uint32_t region);
/* *region: index into regions. 0, or -ENOENT with a sentence. */
int profile_find_region(const struct profile *profile, const char *name, uint32_t *region);

/* Makes it one of a level of memory (model/level.h): its sites, totals, timeline and curves are
 * that level's. MEMORY_HEAP changes nothing. MEMORY_ALL has the paths of blocks and mappings;
 * at_peak_bytes are those of their joint peak. MEMORY_RESIDENT is of the look with most resident
 * bytes that has owners: live_bytes and at_peak_bytes are what is resident of an owner, and owners
 * without a call path are functions of their own below the root, "[file] libc.so.6" (the tool's
 * bytes are left out). What is not known by level is not there any more. 0, -ENOENT with a
 * sentence, or -ENOMEM. */
int profile_take_level(struct profile *profile, enum memory_level level);
/* The program's totals at the level of the heap, also where another one was taken. Lives as the
 * profile does. */
const struct call_metrics *profile_heap_total(const struct profile *profile);
/* Of the samples with owners the one with most resident. A sample with up to a fiftieth less counts
 * too, and one where notably more is alive (that fiftieth) goes before: at the end all may be
 * freed, and the same memory is nobody's. Where more than a half is on freed pages, samples with up
 * to a quarter less count too, if half of it is alive in one. Where heat is known the last of those
 * is taken: the longer memory was watched, the more is known. Its owners are owners[*first …],
 * *count of them. NULL: no sample has owners. */
const struct profile_sample *profile_owners_sample(const struct profile *profile, size_t *first,
                                                   size_t *count);
/* Can it be made one of that level? Never where it is one already, or one of a region. */
bool profile_has_level(const struct profile *profile, enum memory_level level);

/* The sums of a region's call paths, with its own peak. */
void profile_region_total(const struct profile *profile, uint32_t region,
                          struct call_metrics *total);

/* Frees the arrays that can be large, for a caller that has taken what it needs of them; their
 * counts are 0 then. These are the nodes and all that refers to nodes, blocks or pages: sites,
 * curves, residencies, pages and uses of the heap, owners, holders, sharers, chains, types and
 * fills; also the machine's moments. */
void profile_drop_paths(struct profile *profile);
const char *profile_get(const struct profile *profile, const char *key); /* NULL: not there */
/* A copy of `text` that lives as long as the profile. NULL: out of memory, or a profile that only
 * borrows (profile_view_region()). */
const char *profile_keep_text(struct profile *profile, const char *text);
/* Is it the profile of a whole job (tidemark job -o)? */
bool profile_is_job(const struct profile *profile);

/* A number that changes with every commit to a profile that is being written (those go to the log
 * beside it), and when it is finished or replaced. 0: it is not there. */
uint64_t profile_signature(const char *path);

/* Writes the relational database of a profile, finished or not, to `to` (must not exist, and does
 * when the database is whole): call paths and sites as rows, with the views, and all else that is
 * in it. -EINVAL: it is one. */
int profile_unpack(const char *path, const char *to);
/* The same, open for reading, in a file of `directory` that has no name and goes with the process.
 */
struct sqlite3;
int profile_unpack_open(const char *path, const char *directory, struct sqlite3 **database);

/* ---- Making one in memory ------------------------------------------------------------------ */

/* One in which there is nothing but what stands for "unknown" and the root; profile_free() frees
 * it. NULL: out of memory. */
struct profile *profile_new(size_t node_count);

/* Adds to a profile that was read or made. While one adds, arrays move. Out of memory shows at the
 * end; indices are 0 or UINT32_MAX then. The nodes are the caller's to fill in. */
struct profile_builder;
struct profile_builder *profile_builder_new(struct profile *profile);
int profile_builder_free(struct profile_builder *builder); /* 0 or -ENOMEM; NULL is -ENOMEM */
/* Replaces what the key said. All strings are copied. */
void profile_builder_fact(struct profile_builder *builder, const char *key, const char *value);
uint32_t profile_builder_module(struct profile_builder *builder,
                                const struct profile_module *module);
/* A location whose frames are not known; and its frames. */
uint32_t profile_builder_code(struct profile_builder *builder, const struct profile_code *code);
void profile_builder_frames(struct profile_builder *builder, uint32_t code,
                            const struct profile_frame *frames, size_t count);

#endif
