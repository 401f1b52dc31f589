/* A service that answers requests and forgets to forget: each request of a client that it has not seen
 * opens a session, and nothing ever closes one. Who looks at it after a minute sees a healthy program.
 *
 *   g++ -g -O1 examples/service.cpp -o service
 *   tidemark record -o service.tmk ./service 30 &
 *   tidemark top service.tmk --sort growth
 *
 * What to look for: session_of() grows from look to look; answer(), which allocates far more in all,
 * does not. The insight "leak-growth" names the line while the service runs. */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <thread>

struct Session {
    std::string client;
    char state[2000];
};

static std::map<int, std::unique_ptr<Session>> sessions;

__attribute__((noinline)) static Session &session_of(int client)
{
    std::unique_ptr<Session> &session = sessions[client];
    if (!session)
        session = std::make_unique<Session>(Session{"client-" + std::to_string(client), {}}); /* guilty */
    return *session;
}

__attribute__((noinline)) static std::size_t answer(const Session &session, int request)
{
    std::string text(20000, ' ');
    text += session.client + " asked " + std::to_string(request);
    return text.size();
}

int main(int argc, char **argv)
{
    auto end = std::chrono::steady_clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 30);
    std::size_t sent = 0;
    for (int request = 0; std::chrono::steady_clock::now() < end; request++) {
        sent += answer(session_of(request / 3), request);
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    std::printf("%zu bytes sent in %zu sessions\n", sent, sessions.size());
}
