/* The holders of Python objects: variables of modules, and classes, by name.
 *
 *     module ──▶ its dict ──▶ table │ name │ value ──▶ block
 *                                            └── "CACHE" of "app"
 *
 * All objects of a Python program can be reached from each other: an instance points to its class,
 * a class to its methods, a method to the dict of its module, and the dict to all variables of the
 * module. So no pointer alone holds an object. Here the variables of a module are the first
 * holders, and pointers from objects to their class or to their module's dict hold nothing. Classes
 * are the holders of objects that no variable holds.
 *
 * A value that several modules have (`from app import CACHE`) is a variable of the youngest module
 * that is older than the value. `__main__` comes last, because the importing module begins before
 * the imported one.
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
