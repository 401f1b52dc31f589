/* What the readers call and a browser does not have: locks of a file's writer, limits of memory,
 * traces, SQLite's way to files. A page reads files that are whole and in memory, so most of it
 * answers that there is nothing. */
#include <errno.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/alive.h"
#include "base/allowance.h"
#include "base/memory.h"
#include "offline/offline.h"
#include "procfs/process.h"
#include "trace/trace.h"

#define XXH_STATIC_LINKING_ONLY
#define XXH_IMPLEMENTATION
#include <xxhash.h>

/* ---- The C library's ----------------------------------------------------------------------- */

/* One thread: where the comparison finds what it is told beside the rows. */
static int (*compare_with)(const void *, const void *, void *);
static void *compare_context;

static int browser_compare(const void *left, const void *right)
{
    return compare_with(left, right, compare_context);
}

void qsort_r(void *rows, size_t count, size_t bytes,
             int (*compare)(const void *, const void *, void *), void *context)
{
    compare_with = compare;
    compare_context = context;
    qsort(rows, count, bytes, browser_compare);
}

char *realpath(const char *path, char *resolved)
{
    return resolved ? strcpy(resolved, path) : strdup(path);
}

unsigned geteuid(void)
{
    return 0;
}

/* As on the machines that profiles come from. */
const char *sigabbrev_np(int signal)
{
    static const char *const names[] = {
        NULL,   "HUP",  "INT",  "QUIT", "ILL",    "TRAP",   "ABRT",  "BUS",  "FPE",  "KILL", "USR1",
        "SEGV", "USR2", "PIPE", "ALRM", "TERM",   "STKFLT", "CHLD",  "CONT", "STOP", "TSTP", "TTIN",
        "TTOU", "URG",  "XCPU", "XFSZ", "VTALRM", "PROF",   "WINCH", "POLL", "PWR",  "SYS"};
    return signal > 0 && (size_t)signal < sizeof names / sizeof *names ? names[signal] : NULL;
}

/* ---- base/ --------------------------------------------------------------------------------- */

bool alive_is_locked(int fd)
{
    return (void)fd, false;
}
bool alive_is_written(const char *path)
{
    return (void)path, false;
}

void allowance_begin_file(const char *path)
{
    (void)path;
}
void allowance_end(void)
{
}
int allowance_explain(int error)
{
    return error;
}

/* The page says so, and that a smaller file or a server would do. */
void memory_exhausted(void)
{
    __builtin_trap();
}

void *memory_zeroed(size_t count, size_t item_bytes)
{
    void *memory = calloc(count ? count : 1, item_bytes ? item_bytes : 1);
    return memory ? memory : (memory_exhausted(), NULL);
}

int process_boot_id(char **id)
{
    return *id = NULL, -ENOENT;
}

/* ---- Traces: none are dropped, so nobody comes here ----------------------------------------- */

void trace_options(const struct trace *trace, struct trace_options *options)
{
    (void)trace, (void)options;
    __builtin_trap();
}

int trace_state_at(const struct trace *trace, enum trace_when when, uint64_t value,
                   struct trace_state *state)
{
    (void)trace, (void)when, (void)value, (void)state;
    __builtin_trap();
}

void trace_state_release(struct trace_state *state)
{
    (void)state;
}

void offline_clock(const struct trace *trace, struct offline_clock *clock)
{
    (void)trace, (void)clock;
    __builtin_trap();
}

uint64_t offline_moment_ticks(const struct trace *trace, const struct offline_moment *moment)
{
    (void)trace, (void)moment;
    __builtin_trap();
}

/* ---- SQLite: databases are images in memory, and it wants a file system all the same ------- */

static int browser_open(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out)
{
    (void)vfs, (void)name, (void)flags, (void)out;
    file->pMethods = NULL;
    return SQLITE_CANTOPEN;
}

static int browser_delete(sqlite3_vfs *vfs, const char *name, int sync)
{
    return (void)vfs, (void)name, (void)sync, SQLITE_IOERR_DELETE;
}

static int browser_access(sqlite3_vfs *vfs, const char *name, int flags, int *out)
{
    (void)vfs, (void)name, (void)flags;
    *out = 0;
    return SQLITE_OK;
}

static int browser_full_path(sqlite3_vfs *vfs, const char *name, int room, char *out)
{
    (void)vfs;
    snprintf(out, (size_t)room, "%s", name);
    return SQLITE_OK;
}

static int browser_randomness(sqlite3_vfs *vfs, int bytes, char *out)
{
    (void)vfs;
    memset(out, 0, (size_t)bytes); /* for names of temporary files, of which there are none */
    return bytes;
}

static int browser_sleep(sqlite3_vfs *vfs, int microseconds)
{
    return (void)vfs, microseconds;
}

static int browser_time(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    (void)vfs;
    *out = 0;
    return SQLITE_OK;
}

static int browser_last_error(sqlite3_vfs *vfs, int room, char *out)
{
    return (void)vfs, (void)room, (void)out, 0;
}

int sqlite3_os_init(void)
{
    static sqlite3_vfs vfs = {.iVersion = 2,
                              .szOsFile = sizeof(sqlite3_file),
                              .mxPathname = 1024,
                              .zName = "browser",
                              .xOpen = browser_open,
                              .xDelete = browser_delete,
                              .xAccess = browser_access,
                              .xFullPathname = browser_full_path,
                              .xRandomness = browser_randomness,
                              .xSleep = browser_sleep,
                              .xGetLastError = browser_last_error,
                              .xCurrentTimeInt64 = browser_time};
    return sqlite3_vfs_register(&vfs, 1);
}

int sqlite3_os_end(void)
{
    return SQLITE_OK;
}
