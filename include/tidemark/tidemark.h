/* Tidemark, from inside a program: tell the profile what the program is doing, and ask how much
 * memory it has.
 *
 *     tidemark_region_begin("assemble");         every figure of the profile can be cut by region
 *     ...
 *     tidemark_region_end("assemble");
 *     tidemark_mark("matrix ready");             a named moment: on the timeline, and for
 *                                                tidemark at FILE.tmt mark:'matrix ready'
 *
 * Link with -ltidemark-api (pkg-config tidemark, CMake Tidemark::tidemark). Where the program is
 * not recorded each call is a load and a branch and does nothing; what asks for a figure says that
 * it is not known. Under `tidemark record` marks, regions and pools go to the profile, and its
 * collector answers for counters; `tidemark count` (libtidemark-count.so) counts in the program
 * itself.
 *
 * All functions may be called from any thread, before main and after exit. Those of "Marks and
 * regions" and of "Pools" may be called from signal handlers too. errno is kept. Names are UTF-8,
 * copied, and cut after TIDEMARK_NAME_BYTES; equal texts are one name. There is room for 16,000
 * names; all beyond are called "(more names)". tidemark-api(3) has examples. */
#ifndef TIDEMARK_TIDEMARK_H
#define TIDEMARK_TIDEMARK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Not through the PLT, which would be half of what a call costs where nobody profiles. */
#if defined(__has_attribute)
#if __has_attribute(noplt)
#define TIDEMARK_FUNCTION __attribute__((noplt))
#endif
#endif
#ifndef TIDEMARK_FUNCTION
#define TIDEMARK_FUNCTION
#endif

#define TIDEMARK_NAME_BYTES 59

/* A figure that nobody knows. Never 0. */
#define TIDEMARK_UNKNOWN UINT64_MAX

/* ---- Marks and regions ---------------------------------------------------------------------- */

/* A moment with a name. Names may come again: they are numbered. */
TIDEMARK_FUNCTION void tidemark_mark(const char *name);

/* A region is a stretch of one thread's work with a name. What the thread allocates in it is the
 * region's, for ever: when it is freed later, in the region or outside it, in this thread or
 * another, that is counted there too. Regions nest; a block belongs to all of those that its thread
 * was in. Other threads that a region starts are not in it by that.
 *
 * An end closes the innermost open region of that name in this thread, and with it those that were
 * begun in it and are still open (a longjmp has left them): these count as not ended. NULL closes
 * the innermost, whichever it is. An end without a beginning in this thread changes nothing and is
 * counted. A thread's end closes its regions, as not ended. The child of a fork starts without any.
 * A name that is open already may be begun again (recursion): its blocks and its time count
 * once. */
TIDEMARK_FUNCTION void tidemark_region_begin(const char *name);
TIDEMARK_FUNCTION void tidemark_region_end(const char *name);

/* ---- Recording ------------------------------------------------------------------------------ */

/* Begins to record the process from here on, as `tidemark attach` would from outside: blocks from
 * before are not known. The options are those of `tidemark record`, in TIDEMARK_OPTIONS; the
 * recording lasts until the process ends, or `tidemark attach --detach` ends it. A program started
 * with TIDEMARK_SIGNAL=USR2, say, does this when that signal comes (linked statically, only if it
 * calls this function too). May be called wherever dlopen() may. 0; -EALREADY: it is being
 * recorded; -ENOENT: no libtidemark.so beside libtidemark-api nor where the loader looks;
 * -ECONNREFUSED: no collector could be started, or the profile cannot be written; -ESTALE: threads
 * have not yet let go of a recording that is over; -EPERM: the program is setuid. */
int tidemark_start(void);

/* 1: this process is being recorded with call paths (tidemark record); else 0. */
TIDEMARK_FUNCTION int tidemark_is_recording(void);

/* Between these no thread's new blocks are recorded. They nest. Blocks that were recorded before
 * are followed on: their release is recorded; a realloc of one ends its recorded life. Marks and
 * regions are recorded all the same. */
TIDEMARK_FUNCTION void tidemark_pause(void);
TIDEMARK_FUNCTION void tidemark_resume(void);

/* Makes a mark, and has the process looked at now: what is resident, by kind and by call path, goes
 * into the profile under this name, and the profile on disk is brought up to date. Waits until the
 * look is over, 10 s at most. 0; -ENODATA: not recorded; -ETIMEDOUT. Not from signal handlers. */
TIDEMARK_FUNCTION int tidemark_snapshot(const char *name);

/* ---- Counters ------------------------------------------------------------------------------- */

enum tidemark_scope {
    TIDEMARK_PROCESS = 0,
    TIDEMARK_THREAD = 1 /* the calling thread: of the blocks that it allocated, whoever freed
                         * some */
};

/* In bytes as requested, exactly; TIDEMARK_UNKNOWN where that is not known: of threads `tidemark
 * count` knows total and count only, once there are two, the recorder all but live_count, and of
 * a thread that came after 1,024 others it may know total and count only. */
struct tidemark_counters {
    size_t struct_bytes;    /* sizeof(struct tidemark_counters), set by the caller */
    uint64_t current_bytes; /* allocated and not freed */
    uint64_t peak_bytes;    /* most that this was at once, since the start or the last reset */
    uint64_t total_bytes;   /* of all allocations and reallocations ever */
    uint64_t count;         /* of these */
    uint64_t live_count;    /* blocks allocated and not freed */
    /* Of a process that is recorded; else unknown, and of a thread. Peaks are since the start, and
     * no reset changes them. Resident is the kernel's count, with shared pages and ours. */
    uint64_t mapped_bytes;      /* what the program has mapped itself (mmap, brk), not its malloc */
    uint64_t mapped_peak_bytes; /* most that this was at once */
    uint64_t resident_bytes, resident_peak_bytes;
};
#define TIDEMARK_COUNTERS_INIT                                                                     \
    {                                                                                              \
        sizeof(struct tidemark_counters), TIDEMARK_UNKNOWN, TIDEMARK_UNKNOWN, TIDEMARK_UNKNOWN,    \
            TIDEMARK_UNKNOWN, TIDEMARK_UNKNOWN, TIDEMARK_UNKNOWN, TIDEMARK_UNKNOWN,                \
            TIDEMARK_UNKNOWN, TIDEMARK_UNKNOWN                                                     \
    }

/* 0; -ENODATA: nobody counts, and all figures are TIDEMARK_UNKNOWN; -ETIMEDOUT; -EINVAL. Where the
 * process is recorded the collector answers, which takes some ten microseconds (of a sample,
 * `tidemark record --sample`, the figures are estimates). Not from signal handlers. */
TIDEMARK_FUNCTION int tidemark_read_counters(enum tidemark_scope scope,
                                             struct tidemark_counters *counters);

/* One figure of the process; TIDEMARK_UNKNOWN where nobody counts. */
TIDEMARK_FUNCTION uint64_t tidemark_current(void);
TIDEMARK_FUNCTION uint64_t tidemark_peak(void);
TIDEMARK_FUNCTION uint64_t tidemark_total(void);
TIDEMARK_FUNCTION uint64_t tidemark_count(void);

/* From here on peak_bytes is the most since now. Of the profile it changes nothing. 0, -ENOTSUP:
 * this peak is not known, or as above. */
TIDEMARK_FUNCTION int tidemark_reset_peak(enum tidemark_scope scope);

/* Called after every change of the process's current_bytes, in the thread that made it, with what
 * was allocated (positive) or freed (negative) and what is current then. A realloc is two calls.
 * Within the call nothing is reported, so it may allocate. NULL: no more; a call under way in
 * another thread may still end. 0; -ENODATA: nobody counts; -ENOTSUP: whoever counts sees no single
 * changes in the program (`tidemark record` does not: the counting is done outside), or threads
 * have begun to count apart before anybody asked (link with the shared library). */
typedef void tidemark_change(void *context, int64_t change_bytes, uint64_t current_bytes);
TIDEMARK_FUNCTION int tidemark_on_change(tidemark_change *callback, void *context);

/* Writes one line with the process's counters to a file descriptor:
 * "tidemark ### current 4,096, peak 1,052,672, total 2,105,344, count 12". 0 or -errno. */
TIDEMARK_FUNCTION int tidemark_print_status(int fd);

/* ---- Pools ---------------------------------------------------------------------------------- */

/* For allocators of the program's own, which cut blocks from larger pieces. Announced blocks are
 * allocations of the profile, with their call paths and a kind of their own ("pool"), released by
 * tidemark_pool_free().
 *
 * A piece that comes from malloc is a block already: tidemark_pool_chunk() says that it is a pool's
 * from now on. It counts no more then, only what is cut from it does, and so nothing counts twice;
 * its own free() later is no event. Pieces from mmap need not be announced. */
TIDEMARK_FUNCTION void tidemark_pool_chunk(const void *chunk);
TIDEMARK_FUNCTION void tidemark_pool_alloc(const void *block, size_t bytes);
/* Before the pool can give the block's place to another thread. NULL: nothing. */
TIDEMARK_FUNCTION void tidemark_pool_free(const void *block);

/* ---- Stacks --------------------------------------------------------------------------------- */

/* How deep the calling thread's stack goes between two points: a pattern is painted below the
 * caller's frame, and looked for afterwards. At most `bytes` are painted, and never beyond what is
 * surely stack: the thread's mapping bounds it, and of the main thread's stack, which grows, the
 * limit (RLIMIT_STACK) and a safety distance of 32 KiB.
 *
 *     struct tidemark_painted_stack paint;
 *     tidemark_stack_paint(&paint, 1 << 20);
 *     work();
 *     uint64_t deepest = tidemark_stack_depth(&paint);
 *
 * Both calls by the same function of the same thread. These work without any profiler. */
struct tidemark_painted_stack {
    uintptr_t from;    /* where the painted part begins … */
    uintptr_t down_to; /* … and its lowest address */
};
/* 0 or -errno: nothing is painted (on a stack whose bounds are not known, as a fiber's). */
TIDEMARK_FUNCTION int tidemark_stack_paint(struct tidemark_painted_stack *paint, size_t bytes);
/* Bytes below the caller's frame at tidemark_stack_paint() that were written to since. As many as
 * were painted: at least so many. A function that leaves a gap in its frame unwritten may hide it:
 * exact to within that. TIDEMARK_UNKNOWN: nothing was painted. */
TIDEMARK_FUNCTION uint64_t tidemark_stack_depth(const struct tidemark_painted_stack *paint);

/* Bytes of the calling thread's stack, in whole pages, that have ever been touched, from where the
 * stack begins; TIDEMARK_UNKNOWN if the kernel does not say. */
TIDEMARK_FUNCTION uint64_t tidemark_stack_touched(void);

#ifdef __cplusplus
} /* extern "C" */

namespace tidemark
{

/* tidemark_region_begin() and _end() of a scope. Not for a scope that longjmp leaves. The name must
 * live as long. */
class region
{
    const char *name_;
    region(const region &); /* not there: neither can be copied */
    region &operator=(const region &);

  public:
    explicit region(const char *name) : name_(name)
    {
        tidemark_region_begin(name);
    }
    ~region()
    {
        tidemark_region_end(name_);
    }
};

/* tidemark_pause() and _resume() of a scope. */
class pause
{
    pause(const pause &);
    pause &operator=(const pause &);

  public:
    pause()
    {
        tidemark_pause();
    }
    ~pause()
    {
        tidemark_resume();
    }
};

} // namespace tidemark
#endif

#endif
