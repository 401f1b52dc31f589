// truth: sick
// what: each compiled query leaves types in a context that lives as long as the session
// real: PostgreSQL up to 16 with JIT inlining: LLVM's context keeps the types of every query
// expect: leak-growth grew-until-teardown leak-possible leak-lost
#include "truth.h"
#include <memory>
#include <string>
#include <vector>

struct Type {
    std::string name;
    char layout[150] = {};
};

struct Context {
    std::vector<std::unique_ptr<Type>> types;
};

static Context &context = *new Context;

NOINLINE static Type *struct_create(int query, int column)
{
    context.types.push_back(std::make_unique<Type>()); // guilty: struct_create
    context.types.back()->layout[column] = static_cast<char>(query);
    return context.types.back().get();
}

NOINLINE static int query_compile(int query)
{
    std::vector<char> code(3000 + query % 100);
    for (int column = 0; column < 6; column++)
        code[column] = struct_create(query, column)->layout[column];
    use(code.data());
    return code[3];
}

int main()
{
    int sum = 0;
    for (int query = 0; query < 3000; query++) {
        sum += query_compile(query);
        pace(query, 5);
    }
    printf("%d\n", sum);
}
