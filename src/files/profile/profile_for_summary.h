/* The part of a profile that `record` and `attach` show when a recording has ended. Most of what a
 * short program's profile has are details (owners, types, sizes), which that summary does not show.
 */
#ifndef TIDEMARK_PROFILE_FOR_SUMMARY_H
#define TIDEMARK_PROFILE_FOR_SUMMARY_H

struct profile;

/* profile_read() of what report_summary() shows, and of what rules of insights need to find a
 * warning: names, call paths with all metrics, threads, looks, lost blocks, curves, ranks, and what
 * is resident of blocks. Of the timeline what was requested, resident, allocated and freed; of
 * owners their resident bytes; of distributions sizes, and by how much reallocations grow. Nothing
 * is known of what other tables and columns say. */
int profile_read_for_summary(struct profile **out, const char *path);

#endif
