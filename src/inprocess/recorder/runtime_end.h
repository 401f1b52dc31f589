/* Asks for a look at the process before a runtime ends. Afterwards an interpreter has freed or
 * unmapped its objects, and blocks that these pointed to would look lost. */
#ifndef TIDEMARK_RECORDER_RUNTIME_END_H
#define TIDEMARK_RECORDER_RUNTIME_END_H

#include <link.h>
#include <stdbool.h>

/* To be called for a new module, whose code no thread runs yet: hooks the functions that end a
 * runtime. `is_python`: it is a Python that can be read. Not thread-safe. */
void runtime_end_see_module(const struct dl_phdr_info *info, bool is_python);

#endif
