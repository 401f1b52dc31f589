/* Which program is meant where a driver was named: a script, make, a compiler's driver (decision
 * 854). */
#ifndef TIDEMARK_COLLECTOR_DRIVEN_H
#define TIDEMARK_COLLECTOR_DRIVEN_H

#include <stddef.h>
#include "collector/process_image.h"

/* `named`, one of `results`, or what it drives. A driver holds next to nothing (less than 1 MiB,
 * and a sixteenth of the largest process below it), and little of its life is its own: something
 * that it has started runs meanwhile. A server that starts a larger helper for a moment is no
 * driver. What is driven may be a driver, too: of a child of `named`, the same is asked, where it
 * holds less than the largest process below it. */
const struct process_image_result *driven_result(const struct process_image_result *results,
                                                 size_t count,
                                                 const struct process_image_result *named);

#endif
