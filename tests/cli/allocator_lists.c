/* Calls libraries with allocators of their own, each as often as the shipped lists' test says
 * (cli/allocator_lists). Loaded when the program runs already; 77: there is none. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMES = 1000 };

static void *library;

static void *find(const char *name)
{
    void *found = dlsym(library, name);

    if (!found)
        exit(77);
    return found;
}

#define FIND(name) (*(void **)&(name) = find(#name))

static int use_apr(void)
{
    int (*apr_pool_initialize)(void);
    int (*apr_pool_create_ex)(void **, void *, void *, void *);
    void *(*apr_palloc)(void *, size_t);
    void (*apr_pool_clear)(void *), (*apr_pool_destroy)(void *), (*apr_pool_terminate)(void);
    void *pool, *child;

    FIND(apr_pool_initialize), FIND(apr_pool_create_ex), FIND(apr_palloc);
    FIND(apr_pool_clear), FIND(apr_pool_destroy), FIND(apr_pool_terminate);
    apr_pool_initialize();
    apr_pool_create_ex(&pool, NULL, NULL, NULL);
    apr_pool_create_ex(&child, pool, NULL, NULL);
    for (int i = 0; i < TIMES; i++)
        memset(apr_palloc(child, 100), 1, 100);
    apr_pool_clear(child);
    for (int i = 0; i < TIMES; i++)
        memset(apr_palloc(child, 50), 1, 50);
    apr_pool_destroy(pool); /* and the child with it */
    apr_pool_terminate();
    return 0;
}

static int use_talloc(void)
{
    void *(*talloc_named_const)(const void *, size_t, const char *);
    void *(*_talloc_array)(const void *, size_t, unsigned, const char *);
    int (*_talloc_free)(void *, const char *);

    FIND(talloc_named_const), FIND(_talloc_array), FIND(_talloc_free);
    void *context = talloc_named_const(NULL, 10, "context");
    for (int i = 0; i < TIMES; i++)
        talloc_named_const(context, 100, "child");
    for (int i = 0; i < TIMES; i++)
        _talloc_array(context, 5, 10, "child");
    return _talloc_free(context, "here"); /* and all children */
}

static int use_memkind(void)
{
    void *kind = *(void **)find("MEMKIND_DEFAULT");
    void *(*memkind_malloc)(void *, size_t);
    void *(*memkind_calloc)(void *, size_t, size_t);
    void (*memkind_free)(void *, void *);

    FIND(memkind_malloc), FIND(memkind_calloc), FIND(memkind_free);
    for (int i = 0; i < TIMES; i++)
        memkind_free(kind, memkind_malloc(kind, 100));
    for (int i = 0; i < TIMES; i++)
        memkind_free(kind, memkind_calloc(kind, 5, 10));
    return 0;
}

static int use_glib(void)
{
    void *(*g_slice_alloc)(size_t), *(*g_slice_alloc0)(size_t);
    void (*g_slice_free1)(size_t, void *);
    static void *blocks[TIMES];

    FIND(g_slice_alloc), FIND(g_slice_alloc0), FIND(g_slice_free1);
    for (int i = 0; i < TIMES; i++)
        blocks[i] = g_slice_alloc(100);
    for (int i = 0; i < TIMES; i++)
        g_slice_free1(100, blocks[i]);
    for (int i = 0; i < TIMES; i++)
        g_slice_free1(50, g_slice_alloc0(50));
    return 0;
}

static int use_libxml2(void)
{
    void *(*xmlMemMalloc)(size_t), *(*xmlMallocLoc)(size_t, const char *, int);
    void (*xmlMemFree)(void *);

    FIND(xmlMemMalloc), FIND(xmlMallocLoc), FIND(xmlMemFree);
    for (int i = 0; i < TIMES; i++)
        xmlMemFree(xmlMemMalloc(100));
    for (int i = 0; i < TIMES; i++)
        xmlMemFree(xmlMallocLoc(50, "here", 1));
    return 0;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *list, *library;
        int (*use)(void);
    } all[] = {
        {"apr", "libapr-1.so.0", use_apr},           {"talloc", "libtalloc.so.2", use_talloc},
        {"memkind", "libmemkind.so.0", use_memkind}, {"glib", "libglib-2.0.so.0", use_glib},
        {"libxml2", "libxml2.so.2", use_libxml2},
    };

    for (size_t i = 0; argc > 1 && i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].list, argv[1]) && (library = dlopen(all[i].library, RTLD_NOW)))
            return all[i].use();
    return 77;
}
