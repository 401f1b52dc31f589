/* Exceptions that pass through our operator new run its clean-up (hooks.h, INSIDE). The two
 * functions that the compiler calls for that have to be those of the program's unwinder, and are
 * looked up when they are called. Linking libgcc_s would load it into programs that do not use it;
 * a static copy beside the program's would abort in _Unwind_Resume. */
#include "interpose/real.h"

#include <stdint.h>
#include <stdlib.h>

struct _Unwind_Exception;
struct _Unwind_Context;

typedef int personality(int, int, uint64_t, struct _Unwind_Exception *, struct _Unwind_Context *);
typedef void resume(struct _Unwind_Exception *);

enum { CONTINUE_UNWIND = 8 };

personality __gcc_personality_v0;
int __gcc_personality_v0(int version, int actions, uint64_t class,
                         struct _Unwind_Exception *exception, struct _Unwind_Context *context)
{
    personality *theirs;
    *(void **)&theirs = real_find("__gcc_personality_v0");
    return theirs ? theirs(version, actions, class, exception, context) : CONTINUE_UNWIND;
}

resume _Unwind_Resume;
void _Unwind_Resume(struct _Unwind_Exception *exception)
{
    resume *theirs;
    *(void **)&theirs = real_find("_Unwind_Resume");
    if (theirs)
        theirs(exception);
    abort();
}
