// truth: sick
// what: a service with pauses between loads keeps every session in a table
// expect: leak-growth leak-possible
// run: service idle 0.4; ask 2500; idle 0.5; ask 2500; idle 0.5; ask 2500; idle 0.4
#include "truth.h"
#include <string>
#include <unordered_map>
#include <memory>

struct Session {
    char state[250] = {};
};

static std::unordered_map<std::string, std::unique_ptr<Session>> &sessions =
    *new std::unordered_map<std::string, std::unique_ptr<Session>>;

NOINLINE static void session_get(const char *line)
{
    auto &session = sessions[line];
    if (!session)
        session = std::make_unique<Session>(); // guilty: session_get
    session->state[3]++;
}

int main()
{
    char line[200];
    int asked = 0;
    while (fgets(line, sizeof line, stdin)) {
        snprintf(line + strcspn(line, "\n"), 20, " of %d", asked++);
        session_get(line);
    }
    printf("%zu\n", sessions.size());
    fflush(stdout);
    _exit(0);
}
