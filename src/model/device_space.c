/* The words for spaces of memory of devices, from device_spaces.def. Nothing here knows a
 * profile. */
#include "model/device_space.h"

struct device_space_row {
    const char *name;
    enum device_interface interface;
    enum device_place place;
};

static const struct device_space_row rows[DEVICE_SPACES] = {
#define DEVICE_SPACE(id, interface, place, name)                                                   \
    {name, DEVICE_INTERFACE_##interface, DEVICE_PLACE_##place},
#include "model/device_spaces.def"
#undef DEVICE_SPACE
};

const char *device_space_name(uint32_t space)
{
    return space < DEVICE_SPACES ? rows[space].name : "?";
}

enum device_interface device_space_interface(enum device_space space)
{
    return rows[space].interface;
}

enum device_place device_space_place(enum device_space space)
{
    return rows[space].place;
}
