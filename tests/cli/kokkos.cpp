// What Kokkos does with a tool, without Kokkos: KOKKOS_TOOLS_LIBS is loaded, and told of what was
// allocated, and of what will be freed. The Views' pointers begin with a header of Kokkos'.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

namespace Kokkos {
struct SpaceHandle {
    char name[64];
};
struct Settings {
    bool requires_global_fencing = true;
    bool padding[255];
};
static struct {
    void (*init)(int, uint64_t, uint32_t, void *);
    void (*settings)(uint32_t, Settings *);
    void (*finalize)();
    void (*allocate)(SpaceHandle, const char *, const void *, uint64_t);
    void (*deallocate)(SpaceHandle, const char *, const void *, uint64_t);
    void (*push)(const char *);
    void (*pop)();
    void (*event)(const char *);
} tool;

template <class F> static void find(void *library, const char *name, F *&function)
{
    function = reinterpret_cast<F *>(dlsym(library, name));
    if (!function)
        std::printf("%s is not there\n", name);
}

static void initialize()
{
    void *library = dlopen(std::getenv("KOKKOS_TOOLS_LIBS"), RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        std::puts(dlerror());
        std::exit(1);
    }
    find(library, "kokkosp_init_library", tool.init);
    find(library, "kokkosp_request_tool_settings", tool.settings);
    find(library, "kokkosp_finalize_library", tool.finalize);
    find(library, "kokkosp_allocate_data", tool.allocate);
    find(library, "kokkosp_deallocate_data", tool.deallocate);
    find(library, "kokkosp_push_profile_region", tool.push);
    find(library, "kokkosp_pop_profile_region", tool.pop);
    find(library, "kokkosp_profile_event", tool.event);
    Settings settings;
    tool.init(0, 20211015, 0, nullptr);
    tool.settings(1, &settings);
    if (settings.requires_global_fencing)
        std::puts("it wants fences");
}

enum { HEADER = 128 };

struct View {
    char *data;
    SpaceHandle space;
    char label[128];
    uint64_t bytes;
    void *block;

    __attribute__((noinline)) View(const char *space_name, const char *name, uint64_t size)
        : data(nullptr), space{}, label{}, bytes(size), block(nullptr)
    {
        std::strncpy(space.name, space_name, 63);
        std::strncpy(label, name, 127);
        if (std::strcmp(space_name, "Host") != 0)
            data = reinterpret_cast<char *>(uintptr_t{0x7000} << 32); // of a device
        else if (std::getenv("KOKKOS_SHIFTS"))
            shift(size + HEADER);
        else if (posix_memalign(&block, 64, size + HEADER) == 0)
            data = static_cast<char *>(block);
        else
            std::abort();
        tool.allocate(space, label, data, size);
    }
    ~View()
    {
        tool.deallocate(space, label, data, bytes);
        std::free(block);
    }
    // As Kokkos 3 aligns what malloc gives: the word before it says where it begins.
    void shift(uint64_t size)
    {
        block = std::malloc(size + sizeof block + 64);
        uintptr_t address = (reinterpret_cast<uintptr_t>(block) + sizeof block + 63) / 64 * 64;
        data = reinterpret_cast<char *>(address);
        std::memcpy(data - sizeof block, &block, sizeof block);
    }
};
} // namespace Kokkos

__attribute__((noinline)) static Kokkos::View *make_mesh(uint64_t bytes)
{
    return new Kokkos::View("Host", "mesh", bytes);
}

__attribute__((noinline)) static Kokkos::View *make_field(const char *label, uint64_t bytes)
{
    return new Kokkos::View("Host", label, bytes);
}

int main()
{
    Kokkos::initialize();
    Kokkos::tool.push("setup");
    Kokkos::View *mesh = make_mesh(1000000);
    Kokkos::tool.pop();
    Kokkos::View *density = make_field("density", 200000);
    Kokkos::View *device = new Kokkos::View("Cuda", "density on the device", 8000);
    Kokkos::tool.event("built");
    delete density;
    density = make_field("density", 300000);
    Kokkos::View *more = make_field("density", 50000);
    delete device;
    Kokkos::SpaceHandle other = {"HIP"};
    Kokkos::tool.deallocate(other, "made before", other.name, 8000);
    Kokkos::tool.allocate(other, "made now", other.name, 500);
    delete more;
    delete density;
    Kokkos::tool.finalize();
    std::printf("mesh has %d bytes\n", static_cast<int>(mesh->bytes)); // and is never freed
}
