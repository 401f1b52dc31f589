/* The sentence about what went wrong last in this room, for its user. */
#ifndef TIDEMARK_ATTACH_ERROR_H
#define TIDEMARK_ATTACH_ERROR_H

/* Notes the sentence and gives back `status`. */
int attach_fail(int status, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
