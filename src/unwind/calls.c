/* See calls.h. */
#include "unwind/calls.h"

uint32_t calls_forbidden;
