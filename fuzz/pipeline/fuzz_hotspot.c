/* Any bytes as the memory of a Java virtual machine: its tables about itself, its heap, its code
 * cache. What must hold whatever is there: no endless loop, and spaces that are sorted, disjoint and
 * named. */
#include <stddef.h>
#include <stdint.h>
#include "collector/hotspot_spaces.h"
#include "fuzz.h"
#include "hotspot_image.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct image image = {data, size};
    const struct hotspot_memory memory = {image_read, image_symbol, &image};
    struct hotspot_spaces spaces = HOTSPOT_SPACES_INIT;
    uint64_t covered = 0;
    must(hotspot_spaces_find(&spaces, &memory) == 0);
    for (size_t i = 0; i < spaces.count; i++) {
        const struct area_label *space = &spaces.list[i];
        must(space->start >= covered && space->end > space->start && space->name);
        covered = space->end;
    }
    hotspot_spaces_release(&spaces);
    return 0;
}
