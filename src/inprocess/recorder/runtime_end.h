/* Has a process looked at before a runtime ends. What a program holds is seen then: afterwards an
 * interpreter has let go of its objects, or has unmapped them, and what they pointed to looks
 * lost. */
#ifndef TIDEMARK_RECORDER_RUNTIME_END_H
#define TIDEMARK_RECORDER_RUNTIME_END_H

#include <link.h>
#include <stdbool.h>

/* A new module, which no thread runs yet: a jump is put at the beginning of the function that ends
 * a runtime, once for each. `is_python`: it is an interpreter that can be read. Not thread-safe; by
 * who surveys modules. */
void runtime_end_see_module(const struct dl_phdr_info *info, bool is_python);

#endif
