/* Exceptions, thrown through and caught at random depths; calls that do not return. */
#include <stdexcept>
#include <string>

#define NOINLINE __attribute__((noinline, noipa))

static void (*ask)(void);

static unsigned chance(unsigned below)
{
    static unsigned seed = 777;
    seed = seed * 1664525u + 1013904223u;
    return (seed >> 8) % below;
}

static NOINLINE void throw_from(int depth)
{
    std::string something(40, 'x');
    ask();
    if (depth == 0) {
        throw std::runtime_error("deep");
    }
    if (chance(5) != 0) {
        throw_from(depth - 1);
    } else {
        try {
            throw_from(depth - 1);
        } catch (std::runtime_error &) {
            ask();
            if (chance(2)) {
                throw;
            }
        }
    }
    ask();
}

[[noreturn]] static NOINLINE void never_returns(void)
{
    ask();
    throw 1;
}

static NOINLINE void call_what_never_returns(int depth)
{
    ask();
    if (depth) {
        call_what_never_returns(depth - 1);
    } else {
        never_returns();
    }
    __asm__ volatile("");
}

extern "C" void throw_and_catch(void (*check)(void), int times)
{
    ask = check;
    while (times--) {
        try {
            throw_from((int)chance(25));
        } catch (std::runtime_error &) {
            ask();
        }
        try {
            call_what_never_returns((int)chance(9));
        } catch (int) {
            ask();
        }
    }
}
