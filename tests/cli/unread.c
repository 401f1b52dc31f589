/* As a free-threaded CPython 3.13, a Perl and a Ruby of versions to come, a PHP with threads and
 * LuaJIT look from outside. Nobody may call what is Python's. */
#include <stdint.h>
#include <stdlib.h>

const unsigned long Py_Version = 0x030d01f0;
const uint64_t _PyRuntime[64] = {0x7970677562656478 /* "xdebugpy" */, 0x030d01f0, 1};
const char PyCode_Type[64];

#define PYTHONS(name)                                                                              \
    void name(void)                                                                                \
    {                                                                                              \
        abort();                                                                                   \
    }
PYTHONS(Py_Initialize)
PYTHONS(_PyEval_EvalFrameDefault)
PYTHONS(PyGILState_GetThisThreadState)
PYTHONS(PyGILState_Check)
PYTHONS(PyCode_Addr2Line)
PYTHONS(PyMem_GetAllocator)
PYTHONS(PyMem_SetAllocator)

unsigned char PL_revision = 5, PL_version = 98;
void perl_construct(void *interpreter)
{
    (void)interpreter;
}

void (*zend_execute_ex)(void *frame);
void execute_ex(void *frame)
{
    (void)frame;
}

const char ruby_version[] = "9.8.7";
void ruby_init(void)
{
}

void lua_newstate(void)
{
}

void lua_resume(void)
{
}

/* Its copy of mimalloc, of which some functions are called by no name. */
void mi_malloc(void)
{
    abort();
}

__attribute__((noinline)) void mi_free(void *block)
{
    __asm__ volatile("nop; nop; nop; nop; nop; nop; nop; nop" : : "r"(block) : "memory");
}

int main(void)
{
    static char block[64];
    mi_free(block);
    return malloc(100) == NULL;
}
