/* C++'s operators for programs that have none behind ours. A program that has libstdc++ linked into
 * itself (g++ -static-libstdc++) and links a drop-in library is bound to our operators, and the
 * linker takes none from libstdc++.a. They do what libstdc++'s do, over the real malloc. */
#ifndef TIDEMARK_COUNTERS_OWN_OPERATORS_H
#define TIDEMARK_COUNTERS_OWN_OPERATORS_H

/* The operator of this mangled name; NULL: there is none of that name. */
void *own_operator(const char *symbol);

#endif
