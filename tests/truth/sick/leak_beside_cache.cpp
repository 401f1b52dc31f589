// truth: sick
// what: sessions leak beside an honest cache that holds ten times as much
// expect: leak-lost leak-growth
// small: yes
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static std::unordered_map<int, std::vector<char>> cache;

struct Session {
    char state[512] = {};
    int id;
};

static void cache_get(int i)
{
    auto &entry = cache[i % 300];
    if (entry.empty())
        entry.resize(40000);
}

__attribute__((noinline)) static Session *session_open(int i)
{
    Session *session = new Session; // guilty: session_open
    session->id = i;
    return session;
}

int main()
{
    for (int i = 0; i < 6000; i++) {
        cache_get(i);
        Session *session = session_open(i);
        if (i % 3)
            delete session;
        if (i % 20 == 0)
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
}
