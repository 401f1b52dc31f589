/* Makes a session file of profiles: "make_session OUT PROFILE…". It wrote the session files of
 * tests/golden, and tests of the command line make theirs with it. */
#include <stdio.h>
#include "base/error.h"
#include "profile/profile_session.h"
#include "row_of_profile.h"

int main(int argc, char **argv)
{
    struct session_file *file;
    if (argc < 3 || profile_session_open(&file, argv[1])) {
        fprintf(stderr, "%s\n", argc < 3 ? "Usage: make_session OUT PROFILE…" : error_text());
        return 2;
    }
    int error = 0;
    for (int i = 2; i < argc && !error; i++)
        error = row_append(file, argv[i], 0);
    if (error)
        fprintf(stderr, "%s\n", error_text());
    session_file_close(file);
    return error != 0;
}
