/* Static probes (SDT) for perf, bpftrace, SystemTap and gdb. A probe is one no-operation
 * instruction, and a note in the library with its address and its arguments. Without <sys/sdt.h> at
 * build time there are none.
 *
 *   bpftrace -e 'usdt:/usr/lib/libtidemark.so:tidemark:ring_full { @ns = hist(arg0); }'
 *
 * Arguments are integers or pointers; tidemark-record(1) has the list. */
#ifndef TIDEMARK_BASE_PROBE_H
#define TIDEMARK_BASE_PROBE_H

#if defined(__has_include)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define PROBE(name, argument) DTRACE_PROBE1(tidemark, name, argument)
#endif
#endif
#ifndef PROBE
#define PROBE(name, argument) ((void)(argument))
#endif

#endif
