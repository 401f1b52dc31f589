/* Any bytes as a module that begins with its .eh_frame_hdr; the first two choose the pc. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "unwind/rare.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

#if defined(__x86_64__)
/* Registers that point into the input, so that expressions have something to read. */
static void apply(const struct cfi_row *row, const uint8_t *data)
{
    struct rare_registers registers;
    registers.known = (1u << CFI_COLUMNS) - 1;
    for (unsigned i = 0; i < CFI_COLUMNS; i++) {
        registers.value[i] = (uintptr_t)data + i;
    }
    rare_apply(row, &registers);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    uint8_t *module_bytes;
    struct cfi_module module;
    struct cfi_row row;
    uint16_t offset;
    if (bytes < 2 + 4) {
        return 0;
    }
    memcpy(&offset, data, 2);
    module_bytes = malloc(bytes - 2); /* its own block, so that sanitizers see its ends */
    memcpy(module_bytes, data + 2, bytes - 2);
    module = (struct cfi_module){module_bytes, module_bytes + bytes - 2, module_bytes};
    if (cfi_find_row(&module, (uintptr_t)module_bytes + offset, &row) == 0) {
        apply(&row, module_bytes);
    }
    free(module_bytes);
    return 0;
}
#else
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    (void)data;
    (void)bytes;
    return 0;
}
#endif
