/* Wrote tests/golden/profile-v*: as packed, as recorded, and as unpacked. Run it only for a new
 * version of the format, under new names: old golden files stay. (Of version 1 there are only the
 * first two.) With "details" it wrote profile-v2-details*: format 2 with the tables that came
 * later. */
#include <stdio.h>
#include "detail_sample.h"
#include "base/error.h"

int main(int argc, char **argv)
{
    bool details = argc == 5 && !strcmp(argv[4], "details");
    int (*write_file)(const char *, bool) = details ? details_file : sample_file;
    if (argc != 4 && !details) {
        fputs("Usage: make_golden PACKED PLAIN UNPACKED [details]\n", stderr);
        return 2;
    }
    if (write_file(argv[1], true) || write_file(argv[2], false) ||
        profile_unpack(argv[1], argv[3])) {
        fprintf(stderr, "%s\n", error_text());
        return 1;
    }
    return 0;
}
