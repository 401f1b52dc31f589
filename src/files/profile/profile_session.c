/* Opens a session file to write rows into (profile_session.h). The file begins with this version's
 * layout, which names the tables and columns of the logs that its rows hold. */
#include "profile/profile_session.h"

#include "base/strbuf.h"
#include "profile/log_replay.h"

int profile_session_open(struct session_file **out, const char *path)
{
    struct strbuf layout = STRBUF_INIT;
    log_replay_layout(&layout);
    int error = session_file_open(out, path, layout.data, layout.length);
    strbuf_release(&layout);
    return error;
}
