/* make_job DIR RANKS [PER_NODE [DYING [JOB-ID]]]: profiles of a job that never ran (made.h). Rank
 * DYING is killed (-1: none). */
#include <errno.h>
#include <sys/stat.h>
#include "made.h"
#include "base/error.h"

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: make_job DIR RANKS [PER_NODE [DYING [JOB-ID]]]\n");
        return 2;
    }
    struct made made = {.ranks = (uint32_t)atoi(argv[2]), .duration_ns = 2000000000};
    int dying = argc > 4 ? atoi(argv[4]) : -1;
    made.per_node = argc > 3 ? (uint32_t)atoi(argv[3]) : made.ranks;
    made.job = argc > 5 ? argv[5] : NULL;
    if (mkdir(argv[1], 0777) && errno != EEXIST)
        return perror(argv[1]), 1;
    for (made.rank = 0; made.rank < made.ranks; made.rank++) {
        char path[4096];
        snprintf(path, sizeof path, "%s/rank-%05u.tmk", argv[1], made.rank);
        made.signal = (int)made.rank == dying ? 11 : 0;
        made.late_ns = made.rank * 1000;
        if (made_write(path, &made)) {
            fprintf(stderr, "make_job: %s\n", error_text());
            return 1;
        }
    }
    return 0;
}
