/* A fork by the handler of a signal that has interrupted one of our hooks.
 *
 * A child begins without our memory: the kernel wipes what is private, and leaves out what is
 * shared. Here the child's thread returns from the handler into the hook, which needs both to end.
 * So this one child gets a copy, and is not recorded until no interrupted hook is on its stack any
 * more. Then the copy is wiped, and a session begins as in any child.
 *
 *   parent   forked_before()   is a hook interrupted? then: keep the memory for the child
 *            forked_in_parent()
 *   child    forked_in_child() private memory in place of the shared one; no session, no ring
 *            … the handler returns, the hook ends: its record goes nowhere …
 *            forked_may_begin() at the next hook: wipes
 *
 * A raw system call forks without these functions. */
#ifndef TIDEMARK_RECORDER_FORKED_H
#define TIDEMARK_RECORDER_FORKED_H

#include <stdbool.h>

/* For c_library_on_fork(). */
void forked_before(void);
void forked_in_parent(void);
void forked_in_child(void);

/* May this thread begin to record? False: it is in the child of such a fork, and a hook that was
 * interrupted in the parent has not ended yet. */
bool forked_may_begin(void);

/* In such a child: is it the state of a thread as it was in the parent? */
struct thread;
bool forked_is_left(const struct thread *thread);

#endif
