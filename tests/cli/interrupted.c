/* Preloaded: a program whose waits for descriptors are always interrupted by a signal. */
#include <errno.h>
#include <poll.h>

int poll(struct pollfd *descriptors, nfds_t count, int patience_ms)
{
    (void)descriptors, (void)count, (void)patience_ms;
    errno = EINTR;
    return -1;
}
