/* FILE@PID: one process of a session file or of a directory, as every command takes it for a
 * profile. A file whose name is that wins. FILE@PID.N is the Nth image that the process was, by
 * their beginnings (an exec begins a new one); FILE@PID is the last. A profile that went into its
 * node's file is found by the name that it had. Inside the room. */
#ifndef TIDEMARK_PROFILE_PROCESS_CHOICE_H
#define TIDEMARK_PROFILE_PROCESS_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "session/session_file.h"

/* What an operand chooses. */
struct choice {
    char *path;              /* the profile's file, or the session file */
    struct session *session; /* of a row; else NULL */
    size_t entry;            /* then: which */
    char *note;              /* a sentence about what else could have been meant; NULL: nothing */
};

/* Is it of that form, while no file has that name? */
bool choice_is(const char *operand);
/* FILE of such an operand, to be freed; NULL: it is not of that form, or there is no memory. */
char *choice_file(const char *operand);
/* FILE is a session file, a directory or any profile. Where a session file has no such process, the
 * profiles beside it are looked at. 0 or -errno with a sentence. */
int choice_find(struct choice *choice, const char *operand);
void choice_release(struct choice *choice);

#endif
