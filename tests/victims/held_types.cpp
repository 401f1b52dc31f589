// Objects that hold each other, with known answers by type. A scene has a list of 20 nodes, made by
// two functions in turn. Each node has 1,000 bytes of its own. Two other nodes stand alone.
#include <cstdlib>

struct Node {
    virtual ~Node()
    {
    }
    Node *next = nullptr;
    void *bytes;
    char load[96];
    explicit Node(Node *following) : next(following), bytes(malloc(1000))
    {
    }
};

struct Scene {
    virtual ~Scene()
    {
    }
    Node *first = nullptr;
    char load[112];
};

Scene *scene;
Node *alone[2];

__attribute__((noinline)) static Node *make_odd(Node *next)
{
    return new Node(next);
}

__attribute__((noinline)) static Node *make_even(Node *next)
{
    return new Node(next);
}

int main()
{
    scene = new Scene;
    for (int i = 0; i < 10; i++) {
        scene->first = make_odd(scene->first);
        scene->first = make_even(scene->first);
    }
    for (Node *&each : alone)
        each = new Node(nullptr);
    return scene->load[0] == alone[0]->load[0] && !alone[1];
}
