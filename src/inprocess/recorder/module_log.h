/* The module log in the shared memory: which code was mapped where (wire.h, "Modules"). */
#ifndef TIDEMARK_RECORDER_MODULE_LOG_H
#define TIDEMARK_RECORDER_MODULE_LOG_H

#include <stdint.h>

/* To be called when code at ip is about to appear in a call path: logs its module if that is new.
 * Holds no lock of ours while it asks the loader. */
void modules_saw_code(uintptr_t ip);
/* Logs modules with large variables, because the ledger of resident memory names these. No call
 * path need go through such a module, for example in a Fortran program that allocates nothing. Also
 * called for each new module. */
void modules_saw_data(void);
/* To be called when the program has mapped a file executable: logs it if it is a jitdump. */
void modules_saw_file(int fd);
/* The beginning of the logged module that contains ip; 0: it was not logged. */
uintptr_t modules_start(uintptr_t ip);
/* To be called when a module may have been unloaded: removes it from the log and from the
 * unwinder. */
void modules_check_gone(void);
/* In the child of a fork: writes all known modules to the new session's log. */
void modules_log_again(void);

#endif
