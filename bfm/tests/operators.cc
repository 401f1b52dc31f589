// A program of another allocator's (tests.cmake links it with jemalloc, tcmalloc, mimalloc, or
// none) under LD_PRELOAD=libbfm.so: every form of new meets every form of delete that may free it,
// what they give is aligned and whole, and without memory each says so in its own way. Status 0 if so.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include <malloc.h>

extern "C" {
// jemalloc's; weak, for only jemalloc's program is linked with them.
void *mallocx(size_t, int) __attribute__((weak));
void *rallocx(void *, size_t, int) __attribute__((weak));
size_t xallocx(void *, size_t, size_t, int) __attribute__((weak));
size_t sallocx(const void *, int) __attribute__((weak));
void dallocx(void *, int) __attribute__((weak));
void sdallocx(void *, size_t, int) __attribute__((weak));
size_t nallocx(size_t, int) __attribute__((weak));
}

static int failed;

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                    \
            failed = 1;                                                                            \
        }                                                                                          \
    } while (0)

static void names_are_one_librarys()
{
    Dl_info ours, theirs;

    MUST(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &ours) && std::strstr(ours.dli_fname, "bfm"));
    for (const char *name : {"_Znwm", "_ZdlPvmSt11align_val_t", "mallocx", "__libc_free"})
        MUST(dladdr(dlsym(RTLD_DEFAULT, name), &theirs) && theirs.dli_fbase == ours.dli_fbase);
}

static void *whole(void *block, size_t bytes, size_t align)
{
    MUST(block && reinterpret_cast<uintptr_t>(block) % align == 0);
    MUST(malloc_usable_size(block) >= bytes);
    std::memset(block, 0x5a, bytes < 5000 ? bytes : 5000);
    if (bytes)
        static_cast<char *>(block)[bytes - 1] = 0x5a;
    return block;
}

static void forms_meet(size_t bytes, size_t align_to)
{
    const std::align_val_t align{align_to};
    const size_t least = align_to < 16 ? 16 : align_to;

    ::operator delete(whole(::operator new(bytes), bytes, 16));
    ::operator delete[](whole(::operator new[](bytes), bytes, 16));
    ::operator delete(whole(::operator new(bytes), bytes, 16), bytes);
    ::operator delete[](whole(::operator new[](bytes), bytes, 16), bytes);
    ::operator delete(whole(::operator new(bytes, std::nothrow), bytes, 16), std::nothrow);
    ::operator delete[](whole(::operator new[](bytes, std::nothrow), bytes, 16), std::nothrow);
    ::operator delete(whole(::operator new(bytes, align), bytes, least), align);
    ::operator delete[](whole(::operator new[](bytes, align), bytes, least), align);
    ::operator delete(whole(::operator new(bytes, align), bytes, least), bytes, align);
    ::operator delete[](whole(::operator new[](bytes, align), bytes, least), bytes, align);
    ::operator delete(whole(::operator new(bytes, align, std::nothrow), bytes, least), align,
                      std::nothrow);
    ::operator delete[](whole(::operator new[](bytes, align, std::nothrow), bytes, least), align,
                        std::nothrow);
    // What several allocators allow, and programs do.
    std::free(whole(::operator new(bytes), bytes, 16));
    ::operator delete(whole(std::malloc(bytes), bytes, 16));
}

static bool handled;

static void handle()
{
    handled = true;
    std::set_new_handler(nullptr);
}

static void without_memory_each_says_so()
{
    volatile size_t much = PTRDIFF_MAX;
    int thrown = 0;

    for (int way = 0; way < 3; way++)
        try {
            std::set_new_handler(handle);
            handled = false;
            void *block = way == 0   ? ::operator new(much)
                          : way == 1 ? ::operator new[](much)
                                     : ::operator new (much, std::align_val_t{64});
            MUST(!block);
        } catch (const std::bad_alloc &) {
            thrown += handled;
        }
    MUST(thrown == 3);
    MUST(!::operator new(much, std::nothrow));
    MUST(!::operator new[](much, std::align_val_t{128}, std::nothrow));
}

static void jemallocs_names_work()
{
    if (!mallocx)
        return;
    for (size_t bytes : {1, 100, 513, 5000, 1000000, 50000000})
        for (int flags : {0, 0x40, 6, 12, 12 | 0x40}) {
            char *block = static_cast<char *>(mallocx(bytes, flags));
            size_t align = (flags & 63) > 4 ? size_t(1) << (flags & 63) : 16;
            whole(block, bytes, align);
            MUST(sallocx(block, flags) >= bytes && nallocx(bytes, flags) >= bytes);
            MUST(xallocx(block, bytes, 0, flags) >= bytes);
            block = static_cast<char *>(rallocx(block, bytes * 2, flags));
            MUST(block[0] == 0x5a && block[bytes - 1] == 0x5a);
            whole(block, bytes * 2, align);
            if (flags & 1)
                dallocx(block, flags);
            else
                sdallocx(block, bytes * 2, flags);
        }
    dallocx(std::malloc(40), 0);
    std::free(mallocx(40, 0));
}

static void a_program_runs()
{
    std::vector<std::thread> threads;

    for (int i = 0; i < 4; i++)
        threads.emplace_back([i] {
            std::unordered_map<int, std::string> map;
            std::vector<std::unique_ptr<std::vector<char>>> blocks;
            for (int k = 0; k < 20000; k++) {
                map[k % 500] += std::to_string(k * i);
                blocks.push_back(std::make_unique<std::vector<char>>(size_t(k) * 7 % 9000));
                if (k % 3 == 0)
                    blocks.erase(blocks.begin() + k % 7 % long(blocks.size()));
                if (k % 1000 == 0)
                    blocks.clear();
            }
        });
    for (std::thread &thread : threads)
        thread.join();
}

int main()
{
    names_are_one_librarys();
    for (size_t bytes : {0, 1, 16, 40, 500, 512, 513, 4000, 40000, 3000000, 40000000})
        for (size_t align : {1, 8, 16, 32, 64, 256, 4096, 65536})
            forms_meet(bytes, align);
    without_memory_each_says_so();
    jemallocs_names_work();
    a_program_runs();
    return failed;
}
