/* Memory of a Java virtual machine that is only an image: its first words are the variables that
 * libjvm.so exports, in the order below. The test lays such images out; the fuzzer takes any
 * bytes. */
#ifndef TIDEMARK_FUZZ_HOTSPOT_IMAGE_H
#define TIDEMARK_FUZZ_HOTSPOT_IMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define IMAGE_BASE 0x7f0000000000ull

struct image {
    const unsigned char *bytes;
    size_t size;
};

static const char *const image_symbols[] = {"gHotSpotVMStructs",
                                            "gHotSpotVMStructEntryArrayStride",
                                            "gHotSpotVMStructEntryTypeNameOffset",
                                            "gHotSpotVMStructEntryFieldNameOffset",
                                            "gHotSpotVMStructEntryIsStaticOffset",
                                            "gHotSpotVMStructEntryOffsetOffset",
                                            "gHotSpotVMStructEntryAddressOffset",
                                            "gHotSpotVMIntConstants",
                                            "gHotSpotVMIntConstantEntryArrayStride",
                                            "gHotSpotVMIntConstantEntryNameOffset",
                                            "gHotSpotVMIntConstantEntryValueOffset"};
enum { IMAGE_SYMBOLS = sizeof image_symbols / sizeof *image_symbols };

static inline size_t image_read(const void *context, uint64_t address, void *to, size_t bytes)
{
    const struct image *image = context;
    uint64_t at = address - IMAGE_BASE;
    if (at >= image->size)
        return 0;
    bytes = bytes < image->size - at ? bytes : (size_t)(image->size - at);
    memcpy(to, image->bytes + at, bytes);
    return bytes;
}

static inline uint64_t image_symbol(const void *context, const char *name)
{
    (void)context;
    for (size_t i = 0; i < IMAGE_SYMBOLS; i++)
        if (!strcmp(name, image_symbols[i]))
            return IMAGE_BASE + i * sizeof(uint64_t);
    return 0;
}

#endif
