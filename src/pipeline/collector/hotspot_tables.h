/* The tables by which HotSpot, the virtual machine of OpenJDK, describes itself to its own
 * serviceability agent, read from outside:
 *
 *   gHotSpotVMStructs       │ type │ field │ type of field │ static? │ offset │ address │ …
 *   gHotSpotVMIntConstants  │ name │ value │ …
 *
 * libjvm.so exports both, and the strides and offsets of their rows. So no layout of HotSpot's is
 * written down here: a field is found by its name, or it is not found.
 *
 * Nothing that is read is trusted: tables, names and numbers may be damaged, or may be of another
 * program. */
#ifndef TIDEMARK_COLLECTOR_HOTSPOT_TABLES_H
#define TIDEMARK_COLLECTOR_HOTSPOT_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Of the process. `read` returns how many bytes it could read from `address` on. `symbol` returns
 * the address of an exported variable of libjvm.so; 0: there is none. */
struct hotspot_memory {
    size_t (*read)(const void *context, uint64_t address, void *to, size_t bytes);
    uint64_t (*symbol)(const void *context, const char *name);
    const void *context;
};

/* Fields that are looked for: "Type", "field". A type whose name got the prefix "G1" later counts
 * as the same. */
#define HOTSPOT_FIELDS(FIELD)                                                                      \
    FIELD(UNIVERSE_HEAP, "Universe", "_collectedHeap")                                             \
    FIELD(HEAP_RESERVED, "CollectedHeap", "_reserved")                                             \
    FIELD(REGION_START, "MemRegion", "_start")                                                     \
    FIELD(REGION_WORDS, "MemRegion", "_word_size")                                                 \
    FIELD(BARRIER_SET, "BarrierSet", "_barrier_set")                                               \
    FIELD(BARRIER_RTTI, "BarrierSet", "_fake_rtti")                                                \
    FIELD(RTTI_TAG, "BarrierSet::FakeRtti", "_concrete_tag")                                       \
    FIELD(BARRIER_CARDS, "CardTableBarrierSet", "_card_table")                                     \
    FIELD(CARDS_MAP, "CardTable", "_byte_map")                                                     \
    FIELD(CARDS_BYTES, "CardTable", "_byte_map_size")                                              \
    FIELD(G1_MANAGER, "G1CollectedHeap", "_hrm")                                                   \
    FIELD(G1_REGIONS, "HeapRegionManager", "_regions")                                             \
    FIELD(G1_TABLE_BASE, "G1HeapRegionTable", "_base")                                             \
    FIELD(G1_TABLE_LENGTH, "G1HeapRegionTable", "_length")                                         \
    FIELD(G1_TYPE, "HeapRegion", "_type")                                                          \
    FIELD(G1_TAG, "HeapRegionType", "_tag")                                                        \
    FIELD(G1_BOTTOM, "HeapRegion", "_bottom")                                                      \
    FIELD(G1_TOP, "HeapRegion", "_top")                                                            \
    FIELD(G1_END, "HeapRegion", "_end")                                                            \
    FIELD(SERIAL_YOUNG, "SerialHeap", "_young_gen")                                                \
    FIELD(SERIAL_OLD, "SerialHeap", "_old_gen")                                                    \
    FIELD(GEN_YOUNG, "GenCollectedHeap", "_young_gen")                                             \
    FIELD(GEN_OLD, "GenCollectedHeap", "_old_gen")                                                 \
    FIELD(DEF_EDEN, "DefNewGeneration", "_eden_space")                                             \
    FIELD(DEF_FROM, "DefNewGeneration", "_from_space")                                             \
    FIELD(DEF_TO, "DefNewGeneration", "_to_space")                                                 \
    FIELD(TENURED_SPACE, "TenuredGeneration", "_the_space")                                        \
    FIELD(SPACE_BOTTOM, "Space", "_bottom")                                                        \
    FIELD(SPACE_END, "Space", "_end")                                                              \
    FIELD(CONTIGUOUS_BOTTOM, "ContiguousSpace", "_bottom")                                         \
    FIELD(CONTIGUOUS_END, "ContiguousSpace", "_end")                                               \
    FIELD(CONTIGUOUS_TOP, "ContiguousSpace", "_top")                                               \
    FIELD(PARALLEL_YOUNG, "ParallelScavengeHeap", "_young_gen")                                    \
    FIELD(PARALLEL_OLD, "ParallelScavengeHeap", "_old_gen")                                        \
    FIELD(PS_EDEN, "PSYoungGen", "_eden_space")                                                    \
    FIELD(PS_FROM, "PSYoungGen", "_from_space")                                                    \
    FIELD(PS_TO, "PSYoungGen", "_to_space")                                                        \
    FIELD(PS_OLD, "PSOldGen", "_object_space")                                                     \
    FIELD(MUTABLE_BOTTOM, "MutableSpace", "_bottom")                                               \
    FIELD(MUTABLE_TOP, "MutableSpace", "_top")                                                     \
    FIELD(MUTABLE_END, "MutableSpace", "_end")                                                     \
    FIELD(CODE_HEAPS, "CodeCache", "_heaps")                                                       \
    FIELD(ARRAY_LENGTH, "GrowableArrayBase", "_len")                                               \
    FIELD(ARRAY_DATA, "GrowableArray<int>", "_data")                                               \
    FIELD(CODE_MEMORY, "CodeHeap", "_memory")                                                      \
    FIELD(CODE_MAP, "CodeHeap", "_segmap")                                                         \
    FIELD(VIRTUAL_LOW, "VirtualSpace", "_low")                                                     \
    FIELD(VIRTUAL_HIGH, "VirtualSpace", "_high")                                                   \
    FIELD(ARCHIVE_BASE, "MetaspaceObj", "_shared_metaspace_base")                                  \
    FIELD(ARCHIVE_TOP, "MetaspaceObj", "_shared_metaspace_top")

#define HOTSPOT_CONSTANTS(CONSTANT)                                                                \
    CONSTANT(TAG_FREE, "HeapRegionType::FreeTag")                                                  \
    CONSTANT(TAG_EDEN, "HeapRegionType::EdenTag")                                                  \
    CONSTANT(TAG_SURVIVOR, "HeapRegionType::SurvTag")                                              \
    CONSTANT(TAG_HUMONGOUS, "HeapRegionType::HumongousMask")                                       \
    CONSTANT(TAG_OLD, "HeapRegionType::OldMask")                                                   \
    CONSTANT(SET_G1, "BarrierSet::G1BarrierSet")                                                   \
    CONSTANT(SET_CARDS, "BarrierSet::CardTableBarrierSet")

#define HOTSPOT_NUMBER(name, ...) HOTSPOT_##name,
enum hotspot_field { HOTSPOT_FIELDS(HOTSPOT_NUMBER) HOTSPOT_FIELD_COUNT };
enum hotspot_constant { HOTSPOT_CONSTANTS(HOTSPOT_NUMBER) HOTSPOT_CONSTANT_COUNT };
#undef HOTSPOT_NUMBER

struct hotspot_tables;

/* NULL: there are no such tables, or there is no memory. `memory` is copied; its context must live
 * as long. */
struct hotspot_tables *hotspot_tables_read(const struct hotspot_memory *memory);
void hotspot_tables_free(struct hotspot_tables *tables); /* NULL: nothing to do */

/* The address of a static field, or of a field of the object at `object`. 0: it is not known, or
 * `object` is 0. */
uint64_t hotspot_tables_place(const struct hotspot_tables *tables, enum hotspot_field field,
                              uint64_t object);
/* The 8 bytes there; 0 where they are not known. */
uint64_t hotspot_tables_word(struct hotspot_tables *tables, enum hotspot_field field,
                             uint64_t object);
/* The number there, of `bytes` bytes (at most 4). False: it is not known. */
bool hotspot_tables_number(struct hotspot_tables *tables, enum hotspot_field field, uint64_t object,
                           size_t bytes, uint32_t *number);
bool hotspot_tables_constant(const struct hotspot_tables *tables, enum hotspot_constant constant,
                             uint32_t *value);
/* 8 bytes anywhere. False: they cannot be read. */
bool hotspot_tables_read_word(struct hotspot_tables *tables, uint64_t address, uint64_t *word);

#endif
