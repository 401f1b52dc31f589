/* Sends bytes between the processes of an MPI job (channel.h). A message is its length and then
 * pieces, because MPI counts in int. */
#include "mpi/channel.h"

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PIECE = 1 << 26, TAG = 77 };

static int channel_piece_of(uint64_t left)
{
    return left < PIECE ? (int)left : PIECE;
}

/* Makes `buf` so many bytes long; the caller fills them. */
static char *channel_make_room(struct strbuf *buf, uint64_t bytes)
{
    static const char zeroes[4096];
    strbuf_reset(buf);
    for (uint64_t left = bytes; left;) {
        size_t part = left < sizeof zeroes ? (size_t)left : sizeof zeroes;
        strbuf_add(buf, zeroes, part);
        left -= part;
    }
    return buf->data;
}

void channel_send(int to, const struct strbuf *bytes)
{
    uint64_t left = bytes->length;
    const char *at = bytes->data;
    MPI_Send(&left, 1, MPI_UINT64_T, to, TAG, MPI_COMM_WORLD);
    for (; left; at += channel_piece_of(left), left -= (uint64_t)channel_piece_of(left))
        MPI_Send(at, channel_piece_of(left), MPI_BYTE, to, TAG, MPI_COMM_WORLD);
}

void channel_receive(int from, struct strbuf *bytes)
{
    uint64_t left;
    MPI_Recv(&left, 1, MPI_UINT64_T, from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    char *at = channel_make_room(bytes, left);
    for (; left; at += channel_piece_of(left), left -= (uint64_t)channel_piece_of(left))
        MPI_Recv(at, channel_piece_of(left), MPI_BYTE, from, TAG, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
}

void channel_broadcast(struct strbuf *bytes)
{
    int process;
    uint64_t left = bytes->length;
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Bcast(&left, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    char *at = process ? channel_make_room(bytes, left) : bytes->data;
    for (; left; at += channel_piece_of(left), left -= (uint64_t)channel_piece_of(left))
        MPI_Bcast(at, channel_piece_of(left), MPI_BYTE, 0, MPI_COMM_WORLD);
}

_Noreturn void channel_abort(const char *sentence)
{
    fprintf(stderr, "tidemark-mpi: %s\n", sentence);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 125);
    _Exit(125);
}
