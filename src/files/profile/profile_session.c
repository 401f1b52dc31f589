/* Opens one small process of a session file as if it were a profile (profile_session.h). The row is
 * replayed like a log, by the layout that this version's logs have. */
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
