// truth: sick
// what: messages leak; their class has an operator new of its own
// expect: leak-lost leak-growth
// wrapper: Message::operator new, operator new
#include "truth.h"

struct Message {
    char body[300];
    NOINLINE static void *operator new(size_t size)
    {
        void *block = malloc(size);
        if (!block)
            abort();
        memset(block, 0, size);
        return block;
    }
    NOINLINE static void operator delete(void *block)
    {
        free(block);
    }
};

NOINLINE static void reply(int i)
{
    Message *message = new Message;
    message->body[i % 300] = 1;
    use(message);
    delete message;
}

NOINLINE static void broadcast(int i)
{
    Message *message = new Message; // guilty: broadcast
    message->body[i % 300] = 2;
    use(message);
}

int main()
{
    for (int i = 0; i < 10000; i++) {
        reply(i);
        broadcast(i);
        pace(i, 25);
    }
}
