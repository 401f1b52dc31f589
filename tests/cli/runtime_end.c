/* A runtime as Ruby's: its objects lie on pages that it maps, each object points to a block of 100 KB, and
 * before the end it unmaps the pages and leaves the blocks. With an argument, ten blocks are lost before.
 * "libgcrypt": by the function with which that unmaps its secure memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { OBJECTS = 100, BLOCK = 100000, LOST = 10, PAGES = 64 << 10 };
static char **objects;

__attribute__((noinline)) static void make_objects(void)
{
    objects = mmap(NULL, PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; objects != MAP_FAILED && i < OBJECTS; i++)
        objects[i] = memset(malloc(BLOCK), 'x', BLOCK);
}

__attribute__((noinline)) static void lose_blocks(void)
{
    for (int i = 0; i < LOST; i++) {
        free(objects[i]);
        objects[i] = memset(malloc(BLOCK), 'y', BLOCK);
        objects[i] = NULL;
    }
}

/* By the name that Ruby's has. */
int ruby_vm_destruct(void *vm);
__attribute__((noinline)) int ruby_vm_destruct(void *vm)
{
    printf("ends %s\n", (const char *)vm);
    munmap(objects, PAGES);
    objects = NULL;
    return 42;
}

enum { INITIALIZATION_FINISHED = 77, TERM_SECMEM = 25 };

/* libgcrypt's, which does many things. */
int gcry_control(int command, ...);
__attribute__((noinline)) int gcry_control(int command, ...)
{
    if (command != TERM_SECMEM)
        return command;
    munmap(objects, PAGES);
    objects = NULL;
    return 0;
}

static int of_libgcrypt(void)
{
    int before = gcry_control(INITIALIZATION_FINISHED);
    make_objects();
    if (gcry_control(INITIALIZATION_FINISHED) != before)
        return 1;
    lose_blocks();
    return gcry_control(TERM_SECMEM);
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "libgcrypt"))
        return of_libgcrypt();
    make_objects();
    if (argc > 1)
        lose_blocks();
    printf("%d\n", ruby_vm_destruct("the machine"));
    return 0;
}
