// truth: sick
// what: parent and child hold each other by shared_ptr
// expect: leak-lost leak-growth
#include "truth.h"
#include <memory>

struct Widget {
    std::shared_ptr<Widget> parent, child;
    char label[100] = {};
};

NOINLINE static void dialog_show(int i)
{
    auto parent = std::make_shared<Widget>();   // guilty: dialog_show
    parent->child = std::make_shared<Widget>(); // guilty: dialog_show
    parent->child->parent = parent;
    parent->label[i % 100] = 1;
}

int main()
{
    for (int i = 0; i < 10000; i++) {
        dialog_show(i);
        pace(i, 25);
    }
}
