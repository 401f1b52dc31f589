/* One place where all images of a collector look up symbols. A file that was opened for one process
 * (libc's debug file takes 40 ms to decompress) serves every other process that maps it. Processes
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
/* Names from a profile, such as a trace's supplement. The modules that are added must be the
 * profile's with the ids 1, 2 … in this order. What the profile lacks comes from the files. The
 * profile must live until naming_close(). NULL: out of memory. */
struct naming *naming_of_profile(const struct profile *profile);
void naming_close(struct naming *naming);
/* Ends a turn, where turns are taken (name_turn.h): closes the files and gives back their memory.
 * Answers stay valid. */
void naming_rest(struct naming *naming);
/* From now on answers about files in our own root are kept (name_answers.h). Call it before any
 * thread asks. */
void naming_keep_answers(void);
/* Whether the paths of the modules are of the same files for us as for the process. */
bool naming_sees_our_files(const struct naming *naming);

/* As the functions of symbols.h. Strings live until naming_close() at least. */
int naming_add_module(struct naming *naming, const char *path, const uint8_t *build_id,
                      size_t build_id_bytes);
enum symbols_quality naming_module_quality(struct naming *naming, int module);
/* As symbols_add_jit_dump(); nothing where names come from a profile. */
void naming_add_jit_dump(struct naming *naming, pid_t pid, const char *path);
/* module -1: JIT code of process `pid`. */
size_t naming_resolve(struct naming *naming, int module, pid_t pid, uint64_t address,
                      struct symbols_frame *frames, size_t max);
/* As symbols_jit_maps(); 0 where names come from a profile. */
unsigned naming_jit_maps(struct naming *naming, pid_t pid);
/* Only from files: a profile has rows of call types of its own. */
bool naming_type_of_call(struct naming *naming, int module, uint64_t address,
                         struct symbols_call_type *type);

#endif
