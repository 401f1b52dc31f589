/* Which files are Tidemark's, by their first bytes. An output may replace a file of ours, but never
 * a file of somebody else: `record -o prog.c` may be a slip of the keyboard. */
#ifndef TIDEMARK_BASE_OWN_FILE_H
#define TIDEMARK_BASE_OWN_FILE_H

#include <stdbool.h>
#include <stddef.h>

/* Magic numbers of the formats in the rooms profile, trace and session. */
#define OWN_FILE_APPLICATION_ID 0x544d4b50 /* "TMKP": in the header of a profile's database */
#define OWN_FILE_PACK_MAGIC     "TMKPACK1" /* at byte 8 of a packed profile */
#define OWN_FILE_TRACE_MAGIC    "TMTRACE\n"
#define OWN_FILE_SESSION_MAGIC  "TMSESSN1"

/* A profile, packed or not, a trace, or a session file. */
bool own_file_is(const char *path);

/* May a profile or a trace be written to `path`? 0: nothing is there, or an empty file, or one of
 * ours. -EEXIST: a file of somebody else. -EINVAL and other errors: as old_file_check(). */
int own_file_check(const char *path);

/* The same for a text: 0 if nothing or an empty file is there, or one that begins with
 * `beginning`. */
int own_file_check_text(const char *path, const char *beginning);

#endif
