/* Sentences about a recording as a whole, shared by all presenters. */
#ifndef TIDEMARK_AGGREGATE_FACTS_H
#define TIDEMARK_AGGREGATE_FACTS_H

#include <stdbool.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "model/level.h"
#include "profile/profile.h"

/* "exit status 0", "killed by SIGSEGV", "still being recorded", … */
void facts_add_outcome(struct strbuf *out, const struct profile *profile);
/* "the kernel killed 1 process of its control group for want of memory (limit 400 MiB)"; false:
 * none. */
bool facts_add_oom(struct strbuf *out, const struct profile *profile);
/* Both. */
void facts_add_end(struct strbuf *out, const struct profile *profile);
/* It is known that it did: an exit with a status that nobody saw is none. */
bool facts_ended_well(const struct profile *profile);

/* The sampling interval: the widest, of a recording that went on by samples (--budget-cpu). 0:
 * every allocation was recorded. */
uint64_t facts_sample_bytes(const struct profile *profile);
/* Reads the next line of PROFILE_META_SAMPLE_CHANGES at *text (NULL: none), and moves *text behind
 * it. False: there is no more. */
bool facts_next_sampling(const char **text, uint64_t *ns, uint64_t *bytes);
/* "exact until 12.3 s, then one allocation in every 512 KiB on average". */
void facts_add_sampling(struct strbuf *out, const struct profile *profile);
/* How call paths were captured, where that makes them shorter than the stacks; "": it does not. */
const char *facts_stacks(const struct profile *profile);
/* Are call paths no more than the callers of the allocator (--stacks=none)? */
bool facts_callers_only(const struct profile *profile);
/* "at most 1.0 % of the program's processor time (--budget-cpu)"; false: there was no limit. */
bool facts_add_budget(struct strbuf *out, const struct profile *profile);

/* Behind the bytes of all allocations: " in all", or ", 150 MiB with reallocs", as more may be
 * alive at the peak than allocations alone asked for. Not of estimates. */
void facts_add_with_reallocs(struct strbuf *out, const struct profile *profile);

/* A meta number; 0 if it is not there. */
uint64_t facts_number(const struct profile *profile, const char *key);
/* The same; unknown if it is not there. */
struct figure facts_figure(const struct profile *profile, const char *key);
/* Terminal-safe text of a meta value, "?" if it is not there. */
void facts_add_text(struct strbuf *out, const struct profile *profile, const char *key);
/* ", rank 3 of 64 in job openmpi-…"; nothing where there is no rank. */
void facts_add_rank(struct strbuf *out, const struct profile *profile);

/* Is malloc the C library's, by the names of the loaded libraries? An allocator that is linked into
 * the program is not noticed. */
bool facts_allocator_is_libc(const struct profile *profile);

/* "10.0 s to 12.5 s of the recording: …"; false: the profile is of all of it. */
bool facts_add_window(struct strbuf *out, const struct profile *profile);

/* Is the profile a snapshot of a program that ran on? */
bool facts_is_snapshot(const struct profile *profile);
/* The snapshots that were taken of a recording, one line each: "12.5 s  rss=2.00 GiB
 * server.snap-1.tmk". False: there are none. */
bool facts_add_snapshots(struct strbuf *out, const struct profile *profile);

/* "from mark 'x' on, 1.2 s after the program's start; …"; false: from its start on. */
bool facts_add_beginning(struct strbuf *out, const struct profile *profile);

/* "heaptrack", … of a profile that was made of another tool's file; NULL: it was recorded. Safe. */
const char *facts_imported_from(const struct profile *profile);

/* An allocator of the program's whose calls the recorder did not see. Safe texts; they point into
 * `text`. */
struct facts_unseen {
    const char *what, *module, *why; /* "": not known */
    struct strbuf text;
};
/* One after the other: from *at (NULL at first) on. False: there is no more, and nothing to
 * release. */
bool facts_next_unseen(const struct profile *profile, const char **at, struct facts_unseen *unseen);
/* The same of the lines of meta.unseen, wherever they were kept; NULL: none. */
bool facts_next_unseen_of(const char *lines, const char **at, struct facts_unseen *unseen);
/* "jemalloc in libfoo.so (…)" */
void facts_add_one_unseen(struct strbuf *out, const struct facts_unseen *unseen);
/* Such lines for all that is known to be missing from the profile; nothing where nothing is. */
void facts_add_unseen_lines(struct strbuf *out, const struct profile *profile);
void facts_release_unseen(struct facts_unseen *unseen);
/* Resident bytes beyond those that recorded calls of mmap mapped, where they are many: the program
 * maps by system calls of its own. 0: few, or not known. */
uint64_t facts_mapped_unseen(const struct profile *profile);
/* Is it known that blocks are missing from the profile? */
bool facts_has_unseen(const struct profile *profile);
/* Why figures are not known, to stand behind "not known: "; NULL: the profile has no reason. */
const char *facts_why_unknown(const struct profile *profile);
/* "not seen: mimalloc in libfoo.so (…)": the first of them; false: there is none. */
bool facts_add_unseen(struct strbuf *out, const struct profile *profile);
/* "at least " before what is counted, where something was not seen, else "". */
const char *facts_at_least(const struct profile *profile);

/* Was the program recorded to its end? Then blocks that are left were never freed. */
bool facts_is_whole_run(const struct profile *profile);
/* Is the profile one of that level (profile_take_level())? */
bool facts_is_of(const struct profile *profile, enum memory_level level);
/* What a profile of mappings calls things, and what all others do. */
struct facts_words {
    const char *births, *deaths, *sizes; /* labels: "allocations", "frees", "block sizes" */
    const char *never_freed;
    const char *block; /* one of them */
};
const struct facts_words *facts_words(const struct profile *profile);
/* What blocks are called that were alive at the end: "never freed", of a part of a run "left at
 * end", of one under way "alive now". */
const char *facts_of_what_is_left(const struct profile *profile);

/* Resident bytes of all owners but the tool, at the look that found most, page by page; unknown
 * without one. */
struct figure facts_owned_by_program(const struct profile *profile);

/* Is it a part of a Java virtual machine's heap, or all of it ("Java heap, old"; "Java heap")? */
#define FACTS_JAVA_HEAP "Java heap"
bool facts_is_of_java_heap(const struct profile_owner *owner);

/* Highest resident (program's own) bytes seen; unknown if never sampled nor looked at (a short run
 * has one look, behind its end). The kernel's counters lag behind: a look may have seen more than
 * they said. */
struct figure facts_resident_peak(const struct profile *profile);
/* More was mapped than the heap had, and it may be resident, or looks say that it is: what was
 * mapped comes first. Else it is mostly address space, which costs nothing (a database's file). */
bool facts_mapped_leads(const struct profile *profile);

/* The kernel's high-water mark of resident bytes, Tidemark's own among them, by looks at `ns` or
 * later. Unknown without such a look. */
struct figure facts_high_water(const struct profile *profile, uint64_t ns);

/* The last look at which the graph of the live blocks was made; NULL: there is none. */
const struct profile_sample *facts_graph_sample(const struct profile *profile);
/* ", none lost" or ", of them lost 1.2 MiB in 37": what could not be reached at the end; nothing
 * where no look tells. A look before an interpreter's end tells too: the interpreter then throws
 * away what points to other blocks. */
void facts_add_lost(struct strbuf *out, const struct profile *profile);
/* When a look was taken, as JSON's "at" has it: "end", "snapshot". */
const char *facts_moment(const struct profile_sample *sample);
/* The islands of lost blocks of that look, by call path. NULL: there is no such look. */
const struct profile_island *facts_islands(const struct profile *profile, size_t *count);

/* A sample as it is shown. Profiles of old versions may have a ledger with a rest below 0, from
 * pages that became resident during the look: these are added to the resident bytes. */
struct profile_sample facts_sample(const struct profile_sample *sample);

/* One line each, "\n" after each: what is missing from the profile or not to be trusted. Empty:
 * nothing was lost. */
void facts_add_warnings(struct strbuf *out, const struct profile *profile);
/* The first part of them only: lost, late, damaged. */
void facts_add_losses(struct strbuf *out, const struct profile *profile);

/* The sample of a look that has read the pages: of a snapshot its own, else the one with most
 * resident; NULL: none has. */
const struct profile_sample *facts_content_sample(const struct profile *profile);

/* profile_owners_sample() */
const struct profile_sample *facts_owners_sample(const struct profile *profile);

#endif
