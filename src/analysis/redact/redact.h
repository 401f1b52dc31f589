/* What a profile tells about somebody, taken out of it before it is passed on. doc/SECURITY.md has
 * the table of what a profile holds.
 *
 * Figures stay as they are. The same text becomes the same hash within one salt, so that what
 * belonged together still does; without the salt nobody can try out guesses. */
#ifndef TIDEMARK_REDACT_REDACT_H
#define TIDEMARK_REDACT_REDACT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/strbuf.h"
#include "profile/profile.h"

/* In the order of the choice below. */
enum redact_level {
    REDACT_SECRETS = 0, /* patterns of secrets in the command line */
    REDACT_PLACES, /* besides: arguments, directories, host, sources, facts that may hold them */
    REDACT_NAMES,  /* besides: names of functions, files, variables, marks, regions, threads */
    REDACT_NOTHING,
};
#define REDACT_CHOICE "secrets|places|names|no"

/* What stands in the place of a secret. */
#define REDACT_HIDDEN "[hidden]"

/* `salt`: NULL or "" for one that is made up. Returns how many secrets were hidden, or -errno with
 * a sentence. The profile keeps the new texts until profile_free(). */
int redact_profile(struct profile *profile, enum redact_level level, const char *salt);

/* Adds `command` (as the meta fact has it) with "[hidden]" in the place of each secret; returns how
 * many there were. */
size_t redact_secrets(struct strbuf *out, const char *command);

/* The same for texts that are in no profile; each is malloc'd, and replaced. NULL stays. */
struct redact_texts {
    enum redact_level level;
    uint64_t key[2];
};
/* 0, or -errno with a sentence: there is no salt. */
int redact_texts_begin(struct redact_texts *texts, enum redact_level level, const char *salt);
/* From that level on: `what` and a hash. */
void redact_text_hash(const struct redact_texts *texts, enum redact_level from, const char *what,
                      char **text);
/* A command line. How many secrets were hidden. */
size_t redact_text_command(const struct redact_texts *texts, char **text);

#endif
