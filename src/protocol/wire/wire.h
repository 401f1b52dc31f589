/* The contract between the recorder, inside the profiled program, and the collector: the layout of
 * the memory that they share, and nothing else. One such memory exists per process image.
 *
 *   memfd, sparse, made by the collector, mapped by both sides a chunk (1 MiB) at a time
 *   ┌──────────────┬──────────────┬──────────────┬─────────────┬──────────────┬──
 *   │ 0: header    │ 1: ring      │ 2: ring data │ 3: nodes    │ 4: modules   │ … in the order
 *   │ + chunk kinds│    headers   │  (3 × 256 K) │ (65536×16 B)│  (a log)     │   of need
 *   └──────────────┴──────────────┴──────────────┴─────────────┴──────────────┴──
 *
 * Why a file of chunks: the recorder closes the descriptor as soon as chunk 0 is mapped, because
 * programs may close or reuse descriptors that are not theirs. Later it maps chunk n + 1 by
 * mremap() from chunk n (recorder/shared.c). So it never reserves address space that it does not
 * need, and a program under `ulimit -v` keeps working.
 *
 * A comment at every field says who writes it. The collector trusts no index and no length in this
 * memory, because the program can overwrite it. */
#ifndef TIDEMARK_WIRE_WIRE_H
#define TIDEMARK_WIRE_WIRE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define WIRE_MAGIC           0x4b5558414d444954ull /* changes with the layout */
#define WIRE_CHUNK_BYTES     (1u << 20)
#define WIRE_MAX_CHUNKS      16384u /* 16 GiB */
#define WIRE_RINGS_PER_CHUNK (WIRE_CHUNK_BYTES / sizeof(struct wire_ring))
#define WIRE_NODES_PER_CHUNK (WIRE_CHUNK_BYTES / sizeof(struct wire_node))
#define WIRE_NODE_BITS       26u /* of a node's number */
#define WIRE_MIN_RING_BYTES  (1u << 14)
#define WIRE_MAX_RING_BYTES  (1u << 19)
#define WIRE_RING_SPILL      64u /* bytes after a ring's data, see "Rings" */

enum wire_chunk_kind {
    WIRE_CHUNK_NONE = 0,
    WIRE_CHUNK_HEADER,
    WIRE_CHUNK_RINGS,     /* ring headers */
    WIRE_CHUNK_RING_DATA, /* records, of as many rings as fit */
    WIRE_CHUNK_NODES,
    WIRE_CHUNK_MODULES,
    WIRE_CHUNK_NAMES, /* one at most */
};

/* ---- Events --------------------------------------------------------------------------------
 *
 * A record is 16 or 32 bytes, in the ring of the thread that it happened in:
 *
 *   word 0   kind << 56 | address      (kind & WIRE_LONG: the record has four words)
 *   word 1   time in ticks
 *   word 2   size in bytes as requested
 *   word 3   alignment (log2) << 56 | slack << 32 | call-path node
 *
 * slack = usable - requested bytes, saturating at WIRE_MAX_SLACK. A record is aligned to 16 bytes
 * and contiguous: a long one that begins in the last 16 bytes of a ring ends in the WIRE_RING_SPILL
 * bytes behind the ring. */
enum {
    WIRE_LONG = 0x80,
    WIRE_FAILED = 0x40,
    /* On a free (a pool's too) of a sampled recording: its thread has allocated nothing since the
     * block. There the records alone do not show that. */
    WIRE_NEWEST = 0x40,
    WIRE_KIND_MASK = 0x3f,
};

/* The kinds of records are the rows of records.def, which says what their words mean. */
enum { WIRE_LENGTH_SHORT = 0, WIRE_LENGTH_LONG = WIRE_LONG };
enum wire_kind {
#define RECORD(name, number, length, class, flag, shown, filter)                                   \
    name = (number) | WIRE_LENGTH_##length,
#include "wire/records.def"
#undef RECORD
};

#define WIRE_ADDRESS_MASK 0x00ffffffffffffffull
#define WIRE_MAX_SLACK    0xffffffu

static inline unsigned wire_rings_per_data_chunk(uint32_t ring_bytes)
{
    return WIRE_CHUNK_BYTES / (ring_bytes + WIRE_RING_SPILL);
}

struct wire_record {
    uint64_t kind_address;
    uint64_t ticks;
    uint64_t size_bytes; /* long records only */
    uint64_t detail;
};

static inline unsigned wire_kind(uint64_t word0)
{
    return (unsigned)(word0 >> 56);
}
static inline unsigned wire_record_bytes(uint64_t word0)
{
    return word0 >> 63 ? 32 : 16;
}
static inline uint64_t wire_detail(uint32_t node, uint64_t slack_bytes, unsigned align_log2)
{
    uint64_t slack = slack_bytes < WIRE_MAX_SLACK ? slack_bytes : WIRE_MAX_SLACK;
    return (uint64_t)align_log2 << 56 | slack << 32 | node;
}
static inline uint32_t wire_detail_node(uint64_t detail)
{
    return (uint32_t)detail;
}
static inline uint32_t wire_detail_slack(uint64_t detail)
{
    return (uint32_t)(detail >> 32) & WIRE_MAX_SLACK;
}
static inline unsigned wire_detail_align_log2(uint64_t detail)
{
    return (unsigned)(detail >> 56);
}

/* The detail of an mremap's WIRE_MUNMAP: how many ticks before the record its call began. Exact up
 * to 2^24 ticks, rounded down beyond, which happens if the thread was off the processor. */
static inline uint64_t wire_detail_since(uint32_t node, uint64_t ticks)
{
    unsigned shift = 0;
    while (ticks >> shift > WIRE_MAX_SLACK)
        shift++;
    return wire_detail(node, ticks >> shift, shift);
}
static inline uint64_t wire_detail_ticks(uint64_t detail)
{
    return (uint64_t)wire_detail_slack(detail) << (wire_detail_align_log2(detail) & 31);
}

/* Of a WIRE_MUNMAP: an allocator unmaps, or moves. A bit of the alignment that no shift has. */
#define WIRE_DETAIL_ALLOCATORS (1ull << (56 + 5))
static inline bool wire_detail_is_allocators(uint64_t detail)
{
    return detail & WIRE_DETAIL_ALLOCATORS;
}

/* ---- Mappings ---- */

/* The slack of a WIRE_MMAP: enum mapping_kind (model/mapping.h) in the low four bits, 0 if that is
 * not known, and these flags. Old traces have 0. */
enum {
    WIRE_MAPPING_KIND = 0xf,
    WIRE_MAPPING_RESERVED = 1 << 4,   /* PROT_NONE or MAP_NORESERVE */
    WIRE_MAPPING_MOVED = 1 << 5,      /* by mremap. Its WIRE_MUNMAP is the record before this one,
                                       * unless a signal handler recorded between them */
    WIRE_MAPPING_STACK = 1 << 6,      /* MAP_STACK or MAP_GROWSDOWN */
    WIRE_MAPPING_FIXED = 1 << 7,      /* it may have replaced what was there */
    WIRE_MAPPING_INHERITED = 1 << 8,  /* no call was made: the child of a fork has it from its
                                       * parent */
    WIRE_MAPPING_ALLOCATORS = 1 << 9, /* an allocator's, for its blocks or its tables; path 0 */
};

static inline uint32_t wire_mapping_of(unsigned kind, unsigned flags)
{
    return (kind & WIRE_MAPPING_KIND) | flags;
}
static inline unsigned wire_mapping_kind(uint32_t slack)
{
    return slack & WIRE_MAPPING_KIND;
}
static inline bool wire_mapping_is_reserved(uint32_t slack)
{
    return slack & WIRE_MAPPING_RESERVED;
}
static inline bool wire_mapping_is_moved(uint32_t slack)
{
    return slack & WIRE_MAPPING_MOVED;
}
static inline bool wire_mapping_is_stack(uint32_t slack)
{
    return slack & WIRE_MAPPING_STACK;
}
static inline bool wire_mapping_is_fixed(uint32_t slack)
{
    return slack & WIRE_MAPPING_FIXED;
}

static inline bool wire_mapping_is_inherited(uint32_t slack)
{
    return slack & WIRE_MAPPING_INHERITED;
}

static inline bool wire_mapping_is_allocators(uint32_t slack)
{
    return slack & WIRE_MAPPING_ALLOCATORS;
}

/* How a WIRE_MADVISE gave pages back. */
enum wire_advice {
    WIRE_ADVICE_DONTNEED = 1,
    WIRE_ADVICE_FREE = 2, /* the kernel takes them when it needs memory */
    WIRE_ADVICE_REMOVE = 3,
};

/* Where the interval of samples changes (WIRE_SAMPLE_ADAPTS), alignments are at most 2^31, and the
 * upper three bits of the alignment are the level at which the allocation was drawn. Level 0: every
 * allocation is recorded; level n: an interval of 512 KiB * 4^(n-1). At the highest level ten
 * gigabytes a second make 300 samples. */
#define WIRE_LEVELS      5u
#define WIRE_LEVEL_ALIGN 31u
#define WIRE_LEVEL_UNIT  (512u << 10)
static inline unsigned wire_level_align(unsigned align_log2, unsigned level)
{
    return (align_log2 < WIRE_LEVEL_ALIGN ? align_log2 : WIRE_LEVEL_ALIGN) | level << 5;
}
static inline unsigned wire_detail_level(uint64_t detail)
{
    return (unsigned)(detail >> 61);
}
static inline uint64_t wire_level_bytes(unsigned level)
{
    return level ? (uint64_t)WIRE_LEVEL_UNIT << 2 * (level - 1) : 0;
}

/* Marks are made by the program, or by the recorder when the program pauses, resumes or asks for a
 * snapshot. These have the name that the program gave, or none. */
enum wire_mark_kind {
    WIRE_MARK_NAMED = 0,
    WIRE_MARK_PAUSED,   /* no blocks are recorded from here on … */
    WIRE_MARK_RESUMED,  /* … up to here */
    WIRE_MARK_SNAPSHOT, /* the program waits for a look at it */
    WIRE_MARK_KINDS
};

static inline uint64_t wire_mark(enum wire_mark_kind kind, uint32_t name)
{
    return (uint64_t)kind << 32 | name;
}

/* ---- Rings ---------------------------------------------------------------------------------
 *
 *      data  │ read │ published      │ being written │ free        │
 *            0    tail             head           cursor       tail + ring_bytes
 *
 * Invariants
 *   tail <= head <= cursor <= tail + ring_bytes     each counts bytes and never decreases;
 *                                                   a position is count % ring_bytes
 *   bytes in [cursor, tail + ring_bytes) are zero   the collector clears what it has read
 *   cursor is private to the recorder; head is written by the thread, tail by the collector
 *
 * A ring serves one thread after the other. WIRE_THREAD_START and WIRE_THREAD_END enclose the
 * events of a thread. The first word of a record is written last, so that a place that was reserved
 * and then abandoned is a WIRE_VOID.
 *
 * `busy` and `last_ticks` make the merge exact. A thread sets busy before it reads the clock. After
 * the record is published it sets last_ticks to that time and clears busy. The collector reads the
 * clock at T, makes every thread pass a memory barrier (membarrier), and then reads the ring:
 *   busy == 0   no record of this ring with a time before T is still to come;
 *   busy != 0   no record of this ring with a time before last_ticks is still to come.
 * Times in a ring do not fall. The only exception are records of signal handlers that interrupt the
 * recorder itself: they may come a little late. */
enum wire_ring_state {
    WIRE_RING_UNUSED = 0,
    WIRE_RING_ACTIVE, /* a thread writes to it */
    WIRE_RING_ENDING, /* the thread's destructors have run; a few frees may still come. Another
                       * thread may take the ring once the kernel has no thread of that id any
                       * more */
};

enum { WIRE_SPACE_WANTED = 1, WIRE_SPACE_STEP = 2 };

struct wire_ring {
    /* written by the thread */
    _Alignas(64) _Atomic uint64_t head;
    _Atomic uint64_t last_ticks;
    _Atomic uint32_t busy;
    _Atomic uint32_t state;         /* enum wire_ring_state */
    _Atomic uint32_t tid;           /* as gettid() says */
    _Atomic uint32_t waits;         /* how often the ring was full */
    _Atomic uint64_t wait_ticks;    /* time spent waiting for the collector */
    _Atomic uint64_t lost_events;   /* not recorded: --on-full=drop */
    _Atomic uint64_t deepest_bytes; /* of its stack, at any event; 0: not known (WIRE_STACK) */
    _Atomic uint32_t deepest_node;  /* the call path there */
    _Atomic uint32_t cost; /* of recording, in units of 1024 ticks, modulo 2^32; WIRE_SAMPLE_ADAPTS
                            * only. The next thread of the ring goes on counting */
    /* written by the collector */
    _Alignas(64) _Atomic uint64_t tail;
    _Atomic uint32_t space; /* futex of a thread whose ring is full: the thread sets
                             * WIRE_SPACE_WANTED before it sleeps; the collector clears that, adds
                             * WIRE_SPACE_STEP and wakes the thread */
    /* written by the thread, once */
    _Atomic uint64_t thread_pointer; /* with glibc it points into the thread's stack, except for the
                                      * main thread */
    /* by the thread: its stack of sigaltstack(), to which maybe only the kernel has a pointer; 0:
     * none, or not known */
    _Atomic uint64_t signal_stack;
    /* by the thread: those of lost_events that no WIRE_LOST in the stream has counted yet */
    _Atomic uint64_t untold_events;
};

/* ---- Sampling ------------------------------------------------------------------------------
 *
 * With an interval of B bytes each allocation of s requested bytes is recorded with the probability
 *     p(s) = 1 - exp(-(s + 1) / B)
 * independently of all others. A free is recorded exactly if its block was. A realloc is drawn for
 * its new block. If neither the new block nor the old one is recorded, the realloc leaves no
 * record. If only the old block is recorded, WIRE_REALLOC_END has address 0. Without WIRE_FAILED,
 * and with a size other than 0, it says that the old block has ended. With WIRE_FAILED and size 0
 * it says that the call failed. Failed calls are drawn by the size that they asked for. All other
 * events are always recorded.
 *
 * WIRE_SAMPLE_ADAPTS: at first every allocation is recorded. Later the interval is the one that the
 * collector writes into sample_level. A thread uses a new interval from its next sample on. What
 * was drawn before does not depend on the new interval, so the probability of an allocation is that
 * of the level in its record. */
#define WIRE_SAMPLE_ADAPTS UINT64_MAX

/* ---- Pages ---------------------------------------------------------------------------------
 *
 * A recorder with BFM inside (src/inprocess/recorder/page_events.h) records by the usable bytes u
 * of a block (size and slack together). If u >= WIRE_PAGE_SURE, every block is recorded, always as
 * WIRE_MALLOC. If u <= WIRE_PAGE_BLOCK, one of WIRE_PAGE_BYTES / u blocks of a class of sizes is
 * recorded; that many fit into a page record of BFM's, whoever takes and frees them. Between these
 * sizes a block is recorded with the probability 1 - exp(-u / (WIRE_PAGE_BYTES << n)), where n <
 * WIRE_PAGE_LEVELS is the level in the upper three bits of the alignment. It rises where a thread
 * would make too many records. A reallocation that moves a block is a free and an allocation. Of
 * other blocks nothing is recorded. */
#define WIRE_PAGE_BYTES  8192u
#define WIRE_PAGE_LEVELS 4u
#define WIRE_PAGE_BLOCK  512u
#define WIRE_PAGE_SURE   65536u

/* ---- Call paths ---------------------------------------------------------------------------- */

/* One frame of a call path. Node 0 is the root and stands for "no path". Written once, by the
 * recorder, before node_count covers it. A node's parent has a smaller number. */
struct wire_node {
    uint64_t ip : 48;                 /* return address; or a mark, below WIRE_MARK_LIMIT */
    uint64_t hash_32 : 16;            /* used by the recorder alone: bits 32 to 47 of the path's
                                       * hash */
    uint32_t parent : WIRE_NODE_BITS; /* the caller's node */
    uint32_t hash_48 : 32 - WIRE_NODE_BITS; /* … the bits from 48 on … */
    uint32_t hash;                          /* … and the lower half */
};

/* Marks stand in for the outermost frame of a path that does not start at a thread's beginning. */
enum wire_mark {
    WIRE_MARK_UNWALKABLE = 1, /* the walk could not go on from here, for no reason below */
    WIRE_MARK_MAX_DEPTH = 2,  /* cut by --max-depth */
    /* As UNWALKABLE, with the reason. The code of the next node … */
    WIRE_MARK_NO_TABLE = 3,    /* … has no unwind table there, and keeps no frame pointer */
    WIRE_MARK_OFF_STACK = 4,   /* … ends its frame, as its table says, where no stack is */
    WIRE_MARK_NOT_CODE = 5,    /* … is no code: what was taken for a return address is none */
    WIRE_MARK_STRANGE_ROW = 6, /* … has a row in its table that could not be followed */
    WIRE_MARK_LOST_SIGNAL = 7, /* … was the kernel's signal frame, and it was not as it should be */
    WIRE_MARK_LIMIT = 16,
};

/* Did the walk end early, for another reason than --max-depth? */
static inline bool wire_mark_is_unwalkable(uint64_t mark)
{
    return mark && mark < WIRE_MARK_LIMIT && mark != WIRE_MARK_MAX_DEPTH;
}

/* ---- Modules -------------------------------------------------------------------------------
 * A log of the modules and their addresses. Node numbers are its clock: a path node with born <=
 * number < died whose ip is in [start, end) belongs to this module. */
struct wire_module {
    uint32_t entry_bytes;   /* of this entry, a multiple of 8; 0: end of the log so far */
    uint32_t born;          /* node_count when it was first seen */
    _Atomic uint32_t died;  /* node_count when the module was found to be unloaded; UINT32_MAX: it
                             * is loaded */
    uint8_t build_id_bytes; /* 0: has none */
    uint8_t build_id[27];
    uint64_t bias;       /* address in memory - address in the ELF file */
    uint64_t start, end; /* from the first to behind the last of its segments */
    char path[];         /* as the loader calls it, NUL-ended; "" is the main program */
};

/* The log also has the jitdump files that the process has mapped executable, as perf finds them:
 * names of code that it makes. Such an entry begins at WIRE_JIT_DUMP_AT and is one
 * byte long: no code is there, because an ip so low is a mark. */
#define WIRE_JIT_DUMP_AT 1ull

static inline bool wire_is_jit_dump(uint64_t start)
{
    return start == WIRE_JIT_DUMP_AT;
}

/* Is that a jitdump by its name: jit-NUMBER.dump? */
static inline bool wire_is_jit_dump_name(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strncmp(name, "jit-", 4) != 0)
        return false;
    size_t digits = strspn(name + 4, "0123456789");
    return digits > 0 && strcmp(name + 4 + digits, ".dump") == 0;
}

/* ---- Frames of interpreted programs ---------------------------------------------------------
 * The ip of a frame of an interpreted program has this bit, the number of the frame's function, and
 * its line (0: not known). The function is an entry of the module log without a build id. Its range
 * [start, end) covers the ips of all lines, and its path is "NAME\nFILE". On x86-64 no address of a
 * program has the bit; on other machines there are no such frames. */
#define WIRE_SCRIPT_BIT (1ull << 47)
enum { WIRE_SCRIPT_LINE_BITS = 20, WIRE_SCRIPT_FUNCTIONS = 1 << 27 };

static inline uint64_t wire_script_ip(uint32_t function, uint32_t line)
{
    uint32_t most = (1u << WIRE_SCRIPT_LINE_BITS) - 1;
    return WIRE_SCRIPT_BIT | (uint64_t)function << WIRE_SCRIPT_LINE_BITS |
           (line < most ? line : most);
}

static inline bool wire_is_script(uint64_t ip)
{
#if defined(__x86_64__)
    return (ip & WIRE_SCRIPT_BIT) != 0;
#else
    (void)ip;
    return false;
#endif
}

static inline uint32_t wire_script_function(uint64_t ip)
{
    return (uint32_t)((ip & ~WIRE_SCRIPT_BIT) >> WIRE_SCRIPT_LINE_BITS) &
           (WIRE_SCRIPT_FUNCTIONS - 1);
}

static inline uint32_t wire_script_line(uint64_t ip)
{
    return (uint32_t)ip & ((1u << WIRE_SCRIPT_LINE_BITS) - 1);
}

/* ---- Names ---------------------------------------------------------------------------------
 * The names that the program gives to marks and regions, in a chunk of their own. A name's number
 * is its index there. Each text is there once. The recorder writes a name before name_count covers
 * it. Number 0 stands for no name, also where there was no room for one. */
#define WIRE_NAME_BYTES 60u /* with its NUL */
struct wire_name {
    uint32_t hash; /* the recorder's own */
    char text[WIRE_NAME_BYTES];
};
#define WIRE_NAMES (WIRE_CHUNK_BYTES / sizeof(struct wire_name))

/* ---- Requests ------------------------------------------------------------------------------
 * A thread of the program asks by adding 1 to `asked`, and sleeps on `answered` until that reaches
 * its number or the collector has ended. The recorder lets one thread ask at a time. Before the
 * collector answers, it has replayed all records that the thread published before it asked. */
enum wire_request {
    WIRE_REQUEST_COUNTERS = 0,
    WIRE_REQUEST_RESET_PEAK,
    WIRE_REQUEST_SNAPSHOT,  /* look at the process, and update the profile */
    WIRE_REQUEST_LOOK,      /* look at the process, because an interpreter is about to free all its
                             * objects */
    WIRE_REQUEST_LOOK_LOST, /* … and to unmap its heap: lost blocks can be found only now */
};

struct wire_answer {
    _Atomic uint64_t current_bytes, peak_bytes, total_bytes, count, live_count;
    /* UINT64_MAX: not known, as always for a thread. */
    _Atomic uint64_t mapped_bytes, mapped_peak_bytes, resident_bytes, resident_peak_bytes;
};

/* ---- Header -------------------------------------------------------------------------------- */

enum wire_on_full { WIRE_ON_FULL_WAIT = 0, WIRE_ON_FULL_DROP = 1 };
enum wire_flags {
    WIRE_FLAG_FOLLOW = 1,       /* children are recorded too */
    WIRE_FLAG_FREE_STACKS = 2,  /* frees carry a call path */
    WIRE_FLAG_EXIT_WAITS = 4,   /* the program's exit waits until the profile is safe */
    WIRE_FLAG_TIMED = 8,        /* calls of the allocator are timed (WIRE_SPENT) */
    WIRE_FLAG_EXIT_LOOKED = 16, /* the program's exit waits until it was looked at through /proc */
    WIRE_FLAG_NATIVE = 32,      /* call paths show the interpreter's own frames */
    WIRE_FLAG_HEAT = 64,        /* a userfaultfd is wanted (WIRE_HELLO_HEAT) */
    WIRE_FLAG_DEVICES = 128,    /* drivers of devices are hooked */
};
enum wire_stacks {
    WIRE_STACKS_AUTO = 0, /* by unwinding, or by function hooks where that fails */
    WIRE_STACKS_UNWIND = 1,
    WIRE_STACKS_FP = 2,
    WIRE_STACKS_NONE = 3,
    WIRE_STACKS_INSTRUMENT = 4, /* by function hooks where there are any */
};

enum wire_session_state {
    WIRE_SESSION_RUNNING = 0,
    WIRE_SESSION_SAFE = 1,   /* the profile is complete on disk */
    WIRE_SESSION_LOOKED = 2, /* the last look at the process is over: nothing hinders its exit */
};

enum wire_end_kind {
    WIRE_END_NONE = 0,   /* the program said nothing: killed, or _exit by system call */
    WIRE_END_EXIT = 1,   /* exit status in end_status */
    WIRE_END_LEFT = 2,   /* the recorder was told to leave: the program runs on without it */
    WIRE_END_SIGNAL = 3, /* it dies of signal end_status, which it had left to the kernel */
};

/* Why a program that was executed is not recorded although children are followed. */
enum wire_unfollowed {
    WIRE_UNFOLLOWED_ENVIRONMENT = 0, /* neither the session nor LD_PRELOAD of ours is in its
                                      * environment; or there was no room for them (E2BIG) */
    WIRE_UNFOLLOWED_PRELOAD,         /* its environment names the session, but its LD_PRELOAD has no
                                      * entry of ours */
    WIRE_UNFOLLOWED_PRIVILEGED,      /* setuid or setgid: its loader ignores LD_PRELOAD */
    WIRE_UNFOLLOWED_UNLOADABLE,      /* static, of 32 bits, for another machine, with a sanitizer */
    WIRE_UNFOLLOWED_HIDDEN,          /* our library cannot be opened there */
    WIRE_UNFOLLOWED_KINDS,
    WIRE_FOLLOWED = WIRE_UNFOLLOWED_KINDS,
};

/* Memory that the recorder has mapped for itself, apart from this file, so that it is not counted
 * as the program's. It is never unmapped. `bytes` is written last; 0: not known yet. */
#define WIRE_PRIVATE_RANGES 1024u
#define WIRE_FEW_RANGES     32u
struct wire_range {
    _Atomic uint64_t start, bytes;
};

enum wire_scripts {
    WIRE_SCRIPTS_PYTHON = 1,
    WIRE_SCRIPTS_PERL = 2,
    WIRE_SCRIPTS_PHP = 4,
    WIRE_SCRIPTS_RUBY = 8,
    WIRE_SCRIPTS_LUA = 16
};

/* ---- What is not seen ----------------------------------------------------------------------
 * Allocators that the recorder has found in the program and does not hook. */
enum wire_unseen_what {
#define UNSEEN_WHAT(name, text) WIRE_UNSEEN_##name,
#include "wire/unseen.def"
    WIRE_UNSEEN_WHATS
};
enum wire_unseen_why {
#define UNSEEN_WHY(name, text) WIRE_UNSEEN_WHY_##name,
#include "wire/unseen.def"
    WIRE_UNSEEN_WHYS
};

#define WIRE_UNSEEN_MOST         32u
#define WIRE_UNSEEN_MODULE_BYTES 192
/* Texts end with NUL; "": not known. Of a path that is too long the end is kept. */
struct wire_unseen {
    uint8_t what, why;
    char function[62]; /* the one that could not be hooked */
    char module[WIRE_UNSEEN_MODULE_BYTES];
};

/* ---- Allocators of the program's own -------------------------------------------------------
 * Functions that the user names (--allocator-functions). They are hooked in every module that has
 * them, and their blocks are blocks of a pool. */
enum wire_pool_does {
    WIRE_POOL_ALLOCATES = 0,
    WIRE_POOL_RESIZES,
    WIRE_POOL_FREES,
    WIRE_POOL_ENDS, /* all blocks of a pool */
    WIRE_POOL_DOES
};

#define WIRE_POOL_FUNCTIONS  96u
#define WIRE_ENDED_POINTERS  64u
#define WIRE_POOL_NAME_BYTES 120
/* Numbers of arguments begin with 0; -1: there is none. */
struct wire_pool_function {
    char name[WIRE_POOL_NAME_BYTES]; /* as in a symbol table, with its NUL */
    uint8_t does;                    /* enum wire_pool_does */
    int8_t block;                    /* the block that is resized or freed */
    int8_t count, size;
    int8_t pool;
    int8_t out; /* the pointer through which the block is returned, with 0 as the result; -1: the
                 * block is the result */
    _Atomic uint8_t is_there; /* written by the recorder: at least one module has it */
    uint8_t reserved;
};

/* Callee-saved registers (x86-64: rbx, rbp, r12 to r15). */
enum { WIRE_KEPT_REGISTERS = 6, WIRE_EXIT_REGISTERS = 32 };

struct wire_header {
    uint64_t magic;
    uint32_t header_bytes;
    /* the session's options, written by the collector before the recorder sees the memory */
    uint32_t ring_bytes; /* a power of two, WIRE_MIN_RING_BYTES to WIRE_MAX_RING_BYTES */
    uint32_t chunk_limit;
    uint32_t flags;        /* enum wire_flags */
    uint32_t on_full;      /* enum wire_on_full */
    uint32_t stacks;       /* enum wire_stacks */
    uint32_t max_depth;    /* 0: no limit */
    uint32_t exit_wait_ms; /* longest wait at exit */
    uint32_t pool_function_count;
    uint64_t heat_ticks;        /* with WIRE_FLAG_HEAT: the time between two scans of the pages */
    uint64_t sample_bytes;      /* mean bytes from one recorded allocation to the next ("Sampling");
                                 * 0: every allocation is recorded; or WIRE_SAMPLE_ADAPTS */
    _Atomic uint32_t collector; /* thread id of the collector's thread while that lives. This is a
                                 * robust futex: the kernel sets FUTEX_OWNER_DIED here when the
                                 * thread dies. Its robust list is in the collector's own memory. */

    /* written by the collector */
    _Alignas(64) _Atomic uint32_t session_state; /* futex */
    _Atomic uint32_t asleep;       /* futex: 1 while the collector sleeps; a thread whose ring is
                                half full sets it to 0 and wakes it */
    _Atomic uint32_t stop;         /* 1: record no more (the collector leaves) */
    _Atomic uint32_t answered;     /* futex: requests answered so far; see "Requests" */
    _Atomic uint32_t sample_level; /* WIRE_SAMPLE_ADAPTS: below WIRE_LEVELS; never falls */
    struct wire_answer answer;

    /* written by the recorder */
    _Alignas(64) _Atomic uint32_t chunk_count;
    _Atomic uint32_t node_count; /* published path nodes, node 0 included */
    _Atomic uint32_t ring_count; /* ring headers in use or used */
    _Atomic uint32_t name_count; /* published names, number 0 included */
    _Atomic uint32_t asked;      /* number of requests so far. The last one is: */
    _Atomic uint32_t request;    /* enum wire_request */
    _Atomic uint32_t asker;      /* thread id; 0: of the process */
    _Atomic uint32_t end_kind;   /* enum wire_end_kind */
    _Atomic int32_t end_status;
    _Atomic uint32_t exit_waiting;        /* the program is in its exit and waits */
    _Atomic uint32_t unseen_constructors; /* modules whose constructors ran before their calls went
                                           * to our functions: loaded with RTLD_DEEPBIND */
    _Atomic uint32_t native_scripts; /* bits of enum wire_scripts: interpreters whose frames cannot
                                      * be read, because their version is not known */
    _Atomic uint32_t unfollowed[WIRE_UNFOLLOWED_KINDS];
    _Atomic uint64_t exit_stack; /* with exit_waiting: an address in the stack of the thread that
                                  * exits; frames below it are the C library's and ours; 0: not
                                  * known */
    /* with exit_stack: the registers that the caller of exit() has kept, or all of a thread that a
     * signal ends; 0: not known */
    _Atomic uint64_t exit_registers[WIRE_EXIT_REGISTERS];
    _Atomic uint64_t exit_pointer; /* with exit_waiting: about that thread's stack pointer */
    _Atomic uint64_t exit_ticks;   /* when the program had ended its work and its exit began to wait
                                    * for us; 0: it did not wait */
    /* When the process began to execute another program; 0: it did not, or exec failed. If the new
     * program is recorded, its hello follows. */
    _Atomic uint64_t executed_ticks;
    /* Thread pointers of threads that have ended and whose rings were taken by others. Only the
     * last ones are kept: the index is ended_count modulo WIRE_ENDED_POINTERS. */
    _Atomic uint64_t ended_pointers[WIRE_ENDED_POINTERS];
    _Atomic uint32_t ended_count;
    _Atomic uint64_t private_bytes; /* memory that the recorder mapped for itself */
    _Atomic uint64_t lost_events;   /* not recorded, because there was no ring for their thread */
    _Atomic uint64_t start_ticks;
    _Atomic uint32_t private_count; /* ranges; beyond WIRE_PRIVATE_RANGES they are only counted */
    _Atomic uint32_t unseen_count;  /* entries; beyond WIRE_UNSEEN_MOST they are only counted */
    struct wire_range few_ranges[WIRE_FEW_RANGES]; /* wire_private_range() */

    /* kinds of the chunks, written by the recorder before chunk_count covers them */
    _Alignas(64) _Atomic uint8_t chunk_kind[WIRE_MAX_CHUNKS];

    /* A short process uses nothing below: all fields that it touches stand above, in one page. */
    struct wire_range more_ranges[WIRE_PRIVATE_RANGES - WIRE_FEW_RANGES];
    struct wire_unseen unseen[WIRE_UNSEEN_MOST];
    /* written by the collector: one of the session's options */
    struct wire_pool_function pool_functions[WIRE_POOL_FUNCTIONS];
};

static inline struct wire_range *wire_private_range(struct wire_header *header, uint32_t index)
{
    return index < WIRE_FEW_RANGES ? &header->few_ranges[index]
                                   : &header->more_ranges[index - WIRE_FEW_RANGES];
}

_Static_assert(sizeof(struct wire_header) <= WIRE_CHUNK_BYTES, "chunk 0 holds the header");
_Static_assert(offsetof(struct wire_header, chunk_kind) + 64 <= 4096,
               "a short process touches one page");
_Static_assert(sizeof(struct wire_node) == 16, "nodes fill chunks without a rest");
_Static_assert(sizeof(struct wire_name) == 64, "names fill their chunk without a rest");
_Static_assert(sizeof(struct wire_ring) == 128, "ring headers: one cache line per writer");

/* ---- Saying hello --------------------------------------------------------------------------
 * The recorder connects to the abstract Unix socket named by TIDEMARK_SESSION (SOCK_SEQPACKET),
 * sends a hello and receives a welcome with the memfd attached (SCM_RIGHTS). The collector learns
 * the process id and the user from the kernel (SO_PEERCRED), not from the message. */
#define WIRE_SESSION_VARIABLE "TIDEMARK_SESSION"
/* The variable holds NAME:KEY. Names of abstract sockets are public (/proc/net/unix), the
 * environment of a process is not. A collector accepts processes of its own user. A program that
 * root records may become another user, so root's collector also accepts processes of other users
 * that send the key. */
enum { WIRE_KEY_BYTES = 32 }; /* hexadecimal digits, without NUL */

enum wire_hello_reason {
    WIRE_HELLO_START = 0,
    WIRE_HELLO_FORK = 1,
    WIRE_HELLO_ATTACH = 3, /* the program was running before; its earlier allocations are unknown */
    /* The sender is not recorded: `tidemark snapshot` asks for snapshots of the process `parent`,
     * or of all (0). The answers are messages, each a WIRE_ANSWER_… and a text without NUL, until
     * the socket is closed. */
    WIRE_HELLO_SNAPSHOT = 2,
    /* The sender is not recorded: it is a child that `parent` forked, has recorded nothing, and
     * executes a program that will not be recorded. Not answered. */
    WIRE_HELLO_UNFOLLOWED = 4,
    /* From a process that is recorded. The message carries a userfaultfd (SCM_RIGHTS;
     * write_watch.h). Not answered. */
    WIRE_HELLO_HEAT = 5,
    /* From `tidemark record` to a node's collector, before the sender becomes the program of a
     * rank. The answer is the session's NAME:KEY, with its NUL. The collector runs at least as long
     * as that process. */
    WIRE_HELLO_RANK = 6,
};

#define WIRE_TAKEN_BACK 0x80000000u

/* What a snapshot is asked for beyond its usual contents. */
struct wire_wish {
    uint64_t path_to; /* an address in a block: find the path by which it is held; 0: not asked */
    uint64_t content; /* 1: tell what the pages contain; else 0 */
};

struct wire_hello {
    uint64_t magic;
    uint32_t reason;     /* enum wire_hello_reason */
    uint32_t parent;     /* pid of the parent of a fork, else 0 */
    uint32_t pages;      /* 1: the recorder has BFM inside ("Pages") */
    uint32_t unfollowed; /* enum wire_unfollowed; with WIRE_TAKEN_BACK: the exec failed, so one less
                          * of that kind */
    struct wire_wish wish;    /* of WIRE_HELLO_SNAPSHOT */
    char key[WIRE_KEY_BYTES]; /* zeros if the session has none */
};

#define WIRE_ANSWER_PATH  '+' /* the path of a snapshot */
#define WIRE_ANSWER_ERROR '-' /* a sentence */
#define WIRE_ANSWER_NONE  '?' /* this collector records no such process */
enum { WIRE_ANSWER_BYTES = 8192 };

struct wire_welcome {
    uint64_t magic;
    int32_t error; /* 0, or why this process is not recorded (errno) */
    /* Pid of the collector if the recorder has to name it by PR_SET_PTRACER, because Yama's scope 1
     * lets only named processes read a process's memory; else 0. */
    uint32_t tracer;
};

/* Is the module at `path`, of `bytes` bytes, our recorder? Its memory is not the program's. */
static inline bool wire_is_recorder_name(const char *path, size_t bytes)
{
    static const char *const names[] = {"libtidemark.so", "libtidemark-bfm.so"};
    const char *slash = memrchr(path, '/', bytes);
    const char *name = slash ? slash + 1 : path;
    size_t name_bytes = bytes - (size_t)(name - path);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (name_bytes >= strlen(names[i]) && memcmp(name, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

/* `tidemark record` preloads the library by a path with this text before the file's name. The path
 * names the same file, and tells the library that it belongs to a session: if it finds none, it
 * starts no collector of its own. Preloaded by hand, under a path without the text, it does. */
#define WIRE_SESSION_MARK "/././."

static inline bool wire_is_of_session_name(const char *path, size_t bytes)
{
    const char *slash = memrchr(path, '/', bytes);
    size_t before = slash ? (size_t)(slash - path) : 0, mark = sizeof WIRE_SESSION_MARK - 1;
    return before >= mark && memcmp(slash - mark, WIRE_SESSION_MARK, mark) == 0;
}

static inline bool wire_is_of_session(const char *path)
{
    return wire_is_of_session_name(path, strlen(path));
}

static inline bool wire_is_recorder(const char *path)
{
    return wire_is_recorder_name(path, strlen(path));
}

#endif
