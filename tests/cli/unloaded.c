/* Loads an interpreter several times, runs a script by it, and unloads it: by two threads at once,
 * one of them within another library's destructor, which forks too, and while two more threads ask
 * for memory. Its old place is taken. perl|php|python LIBRARY HOLDER. */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static const char *library;
static uintptr_t lo, hi; /* 0: it is not loaded */

static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size, (void)context;
    if (strcmp(info->dlpi_name, library) != 0)
        return 0;
    lo = info->dlpi_addr;
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            hi = lo + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    return 1;
}

static void run_python(void *handle)
{
    void (*begin)(int) = dlsym(handle, "Py_InitializeEx");
    int (*run)(const char *) = dlsym(handle, "PyRun_SimpleString");
    int (*end)(void) = dlsym(handle, "Py_FinalizeEx");

    begin(0);
    run("def big():\n  return bytearray(1 << 20)\nx = big()");
    end();
}

static void run_perl(void *handle)
{
    static char script[] = "sub big { my $s = ''; vec($s, 1 << 20, 8) = 1; length $s } big()";
    static char empty[] = "", option[] = "-e";
    char *arguments[] = {empty, option, script, NULL};
    void *(*make)(void) = dlsym(handle, "perl_alloc");
    void (*begin)(void *) = dlsym(handle, "perl_construct");
    int (*parse)(void *, void *, int, char **, char **) = dlsym(handle, "perl_parse");
    int (*run)(void *) = dlsym(handle, "perl_run");
    int (*end)(void *) = dlsym(handle, "perl_destruct");
    void (*drop)(void *) = dlsym(handle, "perl_free");
    void *interpreter = make();

    begin(interpreter);
    parse(interpreter, NULL, 3, arguments, NULL);
    run(interpreter);
    end(interpreter);
    drop(interpreter);
}

static void run_php(void *handle)
{
    static char script[] =
        "function big() { $h = str_repeat('x', 1 << 19); return $h . $h; } $x = big();";
    static char name[] = "/script.php";
    int (*begin)(int, char **) = dlsym(handle, "php_embed_init");
    int (*run)(char *, void *, char *) = dlsym(handle, "zend_eval_string");
    void (*end)(void) = dlsym(handle, "php_embed_shutdown");

    begin(0, NULL);
    run(script, NULL, name);
    end();
}

static const struct {
    const char *kind;
    void (*run)(void *handle);
} kinds[] = {{"perl", run_perl}, {"php", run_php}, {"python", run_python}};

static void run(const char *kind, void *handle)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(kinds[i].kind, kind) == 0)
            kinds[i].run(handle);
}

static atomic_bool is_over;

static void *ask(void *unused)
{
    (void)unused;
    while (!is_over) {
        void *volatile block = malloc(100);
        free(block);
    }
    return NULL;
}

static pthread_barrier_t together;

static void *close_one(void *handle)
{
    pthread_barrier_wait(&together);
    return (void *)(intptr_t)dlclose(handle);
}

static void close_both(void *handle, void *holder)
{
    pthread_t threads[4];
    pthread_barrier_init(&together, NULL, 2);
    is_over = false;
    pthread_create(&threads[0], NULL, ask, NULL);
    pthread_create(&threads[1], NULL, ask, NULL);
    pthread_create(&threads[2], NULL, close_one, handle);
    pthread_create(&threads[3], NULL, close_one, holder);
    pthread_join(threads[2], NULL);
    pthread_join(threads[3], NULL);
    is_over = true;
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static int run_round(const char *kind, const char *holds)
{
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    void *holder = dlopen(holds, RTLD_NOW | RTLD_LOCAL);
    if (!handle || !holder)
        return 2;
    *(void **)dlsym(holder, "held") = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    dl_iterate_phdr(look, NULL);
    uintptr_t from = lo;
    run(kind, handle);
    close_both(handle, holder);
    lo = 0;
    dl_iterate_phdr(look, NULL);
    if (lo)
        return 3; /* it does not go */
    mmap((void *)from, (hi - from + 4095) & ~(uintptr_t)4095, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    void *volatile block = malloc(1000);
    free(block);
    return 0;
}

int main(int argc, char **argv)
{
    int status = argc > 3 ? 0 : 2;
    library = argc > 2 ? argv[2] : "";
    for (int round = 0; round < 4 && !status; round++)
        status = run_round(argv[1], argv[3]);
    return status;
}
