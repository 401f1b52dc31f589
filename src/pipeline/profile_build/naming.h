/* One place where all images of a collector look up symbols: what one process has opened (libc's
 * debug file takes 40 ms to decompress) serves every other one that maps the same file. Processes
 * that see another root than we do have symbols of their own. Safe from several threads. */
#ifndef TIDEMARK_PROFILE_BUILD_NAMING_H
#define TIDEMARK_PROFILE_BUILD_NAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include "profile/profile.h"
#include "symbols/symbols.h"

struct naming;

struct naming *naming_open(pid_t pid);
/* Names as a profile has them (its supplement, say): the modules that are added are the profile's
 * with the ids 1, 2 …; what the profile lacks comes from the files. It must stay until
 * naming_close(). NULL: out of memory. */
struct naming *naming_of_profile(const struct profile *profile);
void naming_close(struct naming *naming);
/* Where turns are taken (name_turn.h), one ends here: closes the files, and gives back the memory
 * that they took. What was answered stays. */
void naming_rest(struct naming *naming);
/* From now on answers about files that we see are kept (name_answers.h). Before any thread asks. */
void naming_keep_answers(void);
/* Do the paths of its modules mean to us what they mean to the process? */
bool naming_sees_our_files(const struct naming *naming);

/* As the functions of symbols.h. Strings live until naming_close() at least. */
int naming_add_module(struct naming *naming, const char *path, const uint8_t *build_id,
                      size_t build_id_bytes);
enum symbols_quality naming_module_quality(struct naming *naming, int module);
/* module -1: JIT code of process `pid`. */
size_t naming_resolve(struct naming *naming, int module, pid_t pid, uint64_t address,
                      struct symbols_frame *frames, size_t max);
/* Of files only: a profile has its own rows of that. */
bool naming_type_of_call(struct naming *naming, int module, uint64_t address,
                         struct symbols_call_type *type);

#endif
