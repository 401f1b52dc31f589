/* Who holds objects of Python: the variables of its modules, and classes, by name.
 *
 *     module ──▶ its dict ──▶ table │ name │ value ──▶ block
 *                                            └── "CACHE" of "app"
 *
 * A program's objects can all be reached from each other: an instance points to its class, a class
 * to its methods, these to the dict of their module, and that to all of its variables. So nothing
 * holds anything alone. Here the variables of a module are the first holders there are, and what
 * leads from objects to their class or to their module's dict holds nothing. Classes come next, for
 * those that no variable holds.
 *
 * A value that several modules have (`from app import CACHE`) is a variable of the youngest module
 * that is older than the value, but not of `__main__`: who imports begins before what it imports.
 *
 * Not thread-safe. Reads dicts of modules, their tables, and the names in them. */
#ifndef TIDEMARK_COLLECTOR_PYTHON_HOLDERS_H
#define TIDEMARK_COLLECTOR_PYTHON_HOLDERS_H

#include "collector/live_list.h"
#include "collector/python_objects.h"
#include "profile_build/held.h"

/* After all words were added to the graph, and while its memory can be read. 0 or -ENOMEM. */
int python_holders_find(struct held *held, struct python_objects *objects,
                        const struct live_list *blocks);

#endif
