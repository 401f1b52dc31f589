/* Which code was mapped where: the module log in the shared memory (wire.h, "Modules"). */
#ifndef TIDEMARK_RECORDER_MODULE_LOG_H
#define TIDEMARK_RECORDER_MODULE_LOG_H

#include <stdint.h>

/* Code at ip is about to appear in a call path: logs its module if that is new. Holds no lock of
 * ours while it asks the loader. */
void modules_saw_code(uintptr_t ip);
/* Logs modules with large variables, whose names the ledger wants, though no call path may lead
 * through their code: a Fortran program that allocates nothing. Asked with each new module, too. */
void modules_saw_data(void);
/* Where the module begins that holds ip, if it was logged; 0: it was not. */
uintptr_t modules_start(uintptr_t ip);
/* Something may have been unloaded: forgets, for log and unwinder, what is no longer there. */
void modules_check_gone(void);
/* In the child of a fork: the new session's log gets all that is known. */
void modules_log_again(void);

#endif
