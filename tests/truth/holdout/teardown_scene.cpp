// truth: sick
// what: undo steps pile up all through a session and are destroyed with the document
// expect: grew-until-teardown leak-growth
#include "truth.h"
#include <deque>
#include <memory>

struct Step {
    char before[300] = {};
};

class Document
{
    std::deque<std::unique_ptr<Step>> undo;

  public:
    NOINLINE void edit(int i)
    {
        undo.push_back(std::make_unique<Step>()); // guilty: Document::edit
        undo.back()->before[i % 300] = 'c';
    }
};

int main()
{
    Document document;
    for (int i = 0; i < 12000; i++) {
        document.edit(i);
        pace(i, 15);
    }
}
