/* Between torture_first_call and its library. */
#ifndef FIRST_CALL_H
#define FIRST_CALL_H

enum { FIRST_CALL_STATUS = 7 }; /* of functions that end the process */

/* Names of the functions that can be the first; NULL behind the last. */
const char *first_name(unsigned number);

#endif
