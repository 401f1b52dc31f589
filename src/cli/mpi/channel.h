/* Bytes of any length between the processes of an analysis. An error of MPI ends all of them
 * (MPI_ERRORS_ARE_FATAL). */
#ifndef TIDEMARK_MPI_CHANNEL_H
#define TIDEMARK_MPI_CHANNEL_H

#include "base/strbuf.h"

void channel_send(int to, const struct strbuf *bytes);
void channel_receive(int from, struct strbuf *bytes); /* replaces the contents of `bytes` */
void channel_broadcast(struct strbuf *bytes);         /* from process 0 to all */
/* Says one sentence and ends all processes. */
_Noreturn void channel_abort(const char *sentence);

#endif
