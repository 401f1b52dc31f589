/* The profile: one SQLite database per recorded process image (doc/FORMAT-profile.md), written
 * while recording goes on and read by every presenter.
 *
 * The writer is given rows and blocks of rows; the reader gives back the same things as arrays in
 * memory, with paths and names joined. Functions return 0 or -errno; profile_error() then has the sentence. */
#ifndef TIDEMARK_PROFILE_PROFILE_H
#define TIDEMARK_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "replay/metrics.h"

#define PROFILE_FORMAT_VERSION 2

/* ---- Writing ------------------------------------------------------------------------------- */

struct profile_writer;

/* Creates `path`, mode 0600. An existing file is first renamed to `path`.old, never overwritten;
 * what is no regular file is refused, a symbolic link is renamed and not followed. */
int profile_writer_open(struct profile_writer **out, const char *path);
/* Rows are written between begin and commit; a reader sees all of them or none. */
int profile_writer_begin(struct profile_writer *writer);
int profile_writer_commit(struct profile_writer *writer);

/* Facts about the recording (insert or replace). These keys are known to presenters (units and
 * meaning: doc/FORMAT-profile.md, "meta"); others are kept and shown by --json only. */
#define PROFILE_META_PROGRAM      "program"    /* file name of the executable */
#define PROFILE_META_EXECUTABLE   "executable" /* its path */
#define PROFILE_META_COMMAND      "command"    /* the command line, quoted for a shell */
#define PROFILE_META_DIRECTORY    "directory"  /* working directory at the start */
#define PROFILE_META_HOST         "host"
#define PROFILE_META_PID          "pid"           /* integer */
#define PROFILE_META_PARENT_PID   "parent_pid"    /* integer */
#define PROFILE_META_STARTED_BY   "started_by"    /* "exec" or "fork" */
#define PROFILE_META_RANK         "rank"          /* integer, of MPI; absent otherwise */
#define PROFILE_META_START        "start_unix_ns" /* integer, ns since 1970 */
#define PROFILE_META_DURATION     "duration_ns"   /* integer, from the start to the last commit */
#define PROFILE_META_END          "end"        /* "exit", "signal", "exec", "detached", "unknown" */
#define PROFILE_META_END_STATUS   "end_status" /* integer: exit status or signal number */
#define PROFILE_META_TOOL         "tool"       /* "tidemark 0.1.0" */
#define PROFILE_META_UNWALKABLE   "unwalkable" /* integer: call paths whose walk ended early */
#define PROFILE_META_UNATTRIBUTED "unattributed"  /* integer: events recorded without call path */
#define PROFILE_META_DAMAGED      "damaged_rings" /* integer: rings that the program overwrote */
#define PROFILE_META_WAITS        "waits"         /* integer: times that a thread waited for us */
#define PROFILE_META_WAIT_NS      "wait_ns"       /* integer: and how long in all */
#define PROFILE_META_SAMPLE                                                                        \
    "sample_bytes"                                /* integer: sampling interval; absent: every     \
                                                     allocation was recorded */
#define PROFILE_META_FREE_STACKS  "free_stacks"   /* 1: frees came with call paths; else absent */
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
int profile_put_sites(struct profile_writer *writer, uint32_t first, size_t count,
                      const void *body, size_t bytes);
int profile_put_program(struct profile_writer *writer, const struct program_metrics *metrics);
int profile_put_thread(struct profile_writer *writer, size_t index,
                       const struct thread_metrics *metrics);
/* Replaces the whole timeline. Times as in the rows above: nanoseconds since the start. */
int profile_put_timeline(struct profile_writer *writer, const struct timeline_bucket *buckets,
                         size_t count, uint64_t bucket_ns);

/* Ends the recording: commits, marks the profile complete and packs it (zstd) by writing a new
 * file beside it and renaming. On failure the plain database stays. Frees the writer. */
int profile_writer_finish(struct profile_writer *writer, bool pack);
/* Leaves the database as last committed. Frees the writer. */
void profile_writer_abandon(struct profile_writer *writer);

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
    } * meta;
    bool complete;      /* the recording came to its end */
    bool being_written; /* its writer lives: this is what was committed last */
    const char *damage; /* NULL, or a sentence about what could not be read: the rest is here */
    uint64_t sample_bytes; /* 0: every allocation was recorded */
    bool has_program;   /* false: no metrics were committed yet, `program` is all zero */
    struct program_metrics program;
    size_t node_count;
    struct profile_node *nodes;
    size_t site_count;
    struct profile_site {
        uint32_t path;
        struct call_metrics metrics;
    } * sites;
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
    struct profile_private *own; /* the reader's */
};

/* Reads plain and packed profiles, and ones still being written. Distrusts everything in the file:
 * a damaged, foreign or newer one gives -errno and a sentence. */
int profile_read(struct profile **out, const char *path);
void profile_free(struct profile *profile);
const char *profile_get(const struct profile *profile, const char *key); /* NULL: not there */

/* Writes the relational database of a profile, finished or not, to `to` (must not exist): call
 * paths and sites as rows, with the views, and all else that is in it. -EINVAL: it is one. */
int profile_unpack(const char *path, const char *to);

/* The sentence for the last failure in this thread: what, where, what to do. */
const char *profile_error(void);

#endif
