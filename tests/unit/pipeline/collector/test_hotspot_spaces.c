/* Spaces of a Java virtual machine, in memory that this test lays out as HotSpot does, with
 * offsets of its own, whole and damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "../../../../fuzz/hotspot_image.h"
#include "collector/hotspot_spaces.h"

enum { WORDS = 4096, MIB = 1 << 20 };
#define HEAP 0xf0000000ull

/* A row of gHotSpotVMStructs is 6 words here, one of the constants 2. */
struct machine {
    uint64_t words[WORDS];
    size_t field_count, constant_count, next_word, next_text;
    struct image image;
};
enum { FIELDS = 16, CONSTANTS = FIELDS + 6 * 64, OBJECTS = CONSTANTS + 2 * 16, TEXTS = 2048 };

static uint64_t address_of(size_t word)
{
    return IMAGE_BASE + word * sizeof(uint64_t);
}

/* Texts that are alike are one, as a linker makes them. */
static uint64_t text(struct machine *machine, const char *text)
{
    char *at = (char *)(machine->words + TEXTS), *end = at + machine->next_text;
    for (; at < end; at += strlen(at) + 1)
        if (!strcmp(at, text))
            break;
    if (at == end) {
        strcpy(end, text);
        machine->next_text += strlen(text) + 1;
    }
    return address_of(TEXTS) + (uint64_t)(at - (char *)(machine->words + TEXTS));
}

static void add_field(struct machine *machine, const char *type, const char *field, uint64_t offset)
{
    uint64_t *row = machine->words + FIELDS + 6 * machine->field_count++;
    row[0] = text(machine, type);
    row[1] = text(machine, field);
    row[4] = offset;
}

static void add_static(struct machine *machine, const char *type, const char *field,
                       uint64_t address)
{
    uint64_t *row = machine->words + FIELDS + 6 * machine->field_count;
    add_field(machine, type, field, 0);
    row[3] = 1;
    row[5] = address;
}

static void add_constant(struct machine *machine, const char *name, uint32_t value)
{
    uint64_t *row = machine->words + CONSTANTS + 2 * machine->constant_count++;
    row[0] = text(machine, name);
    row[1] = 0xdead00000000 | value; /* what stands behind an int is not its own */
}

/* An object of so many words; returns its number. */
static size_t add_object(struct machine *machine, size_t words)
{
    size_t at = machine->next_word;
    machine->next_word += words;
    return at;
}

/* With a heap of 64 MiB, and barriers of a kind. */
static struct machine *make_machine(uint32_t barriers)
{
    static const uint64_t symbols[IMAGE_SYMBOLS] = {0, 48, 0, 8, 24, 32, 40, 0, 16, 0, 8};
    struct machine *machine = calloc(1, sizeof *machine);
    assert_non_null(machine);
    machine->image = (struct image){(unsigned char *)machine->words, sizeof machine->words};
    memcpy(machine->words, symbols, sizeof symbols);
    machine->words[0] = address_of(FIELDS);
    machine->words[7] = address_of(CONSTANTS);
    machine->next_word = OBJECTS;
    size_t heap = add_object(machine, 16), set = add_object(machine, 4);
    size_t statics = add_object(machine, 2);
    machine->words[statics] = address_of(heap);
    machine->words[statics + 1] = address_of(set);
    machine->words[heap + 3] = HEAP;
    machine->words[heap + 4] = 64 * MIB / 8;
    machine->words[set + 2] = barriers;
    add_static(machine, "Universe", "_collectedHeap", address_of(statics));
    add_static(machine, "BarrierSet", "_barrier_set", address_of(statics + 1));
    add_field(machine, "BarrierSet", "_fake_rtti", 8);
    add_field(machine, "BarrierSet::FakeRtti", "_concrete_tag", 8);
    add_field(machine, "CollectedHeap", "_reserved", 24);
    add_field(machine, "MemRegion", "_start", 0);
    add_field(machine, "MemRegion", "_word_size", 8);
    add_constant(machine, "BarrierSet::G1BarrierSet", 3);
    add_constant(machine, "BarrierSet::CardTableBarrierSet", 1);
    return machine;
}

/* Regions of a mebibyte: { type, top } … The names of classes with G1 in front, or without. */
static void add_g1(struct machine *machine, const char *prefix, const uint32_t (*regions)[2],
                   size_t count)
{
    static const struct {
        const char *type, *field;
        uint64_t offset;
    } fields[] = {{"HeapRegionManager", "_regions", 8},
                  {"HeapRegion", "_type", 40},
                  {"HeapRegion", "_bottom", 0},
                  {"HeapRegion", "_top", 16},
                  {"HeapRegion", "_end", 8},
                  {"HeapRegionType", "_tag", 4}};
    char name[64];
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        snprintf(name, sizeof name, "%s%s", prefix, fields[i].type);
        add_field(machine, name, fields[i].field, fields[i].offset);
    }
    add_field(machine, "G1CollectedHeap", "_hrm", 64);
    add_field(machine, "G1HeapRegionTable", "_base", 16);
    add_field(machine, "G1HeapRegionTable", "_length", 24);
    static const char *const tags[] = {"FreeTag", "EdenTag", "SurvTag", "HumongousMask", "OldMask"};
    static const uint32_t values[] = {0, 2, 3, 4, 16};
    for (size_t i = 0; i < 5; i++) {
        snprintf(name, sizeof name, "%sHeapRegionType::%s", prefix, tags[i]);
        add_constant(machine, name, values[i]);
    }
    size_t table = add_object(machine, count);
    machine->words[OBJECTS + 8 + 1 + 2] = address_of(table);
    machine->words[OBJECTS + 8 + 1 + 3] = count;
    for (size_t i = 0; i < count; i++) {
        size_t region = add_object(machine, 6);
        if (regions[i][0] == UINT32_MAX)
            continue; /* never committed */
        machine->words[table + i] = address_of(region);
        machine->words[region] = HEAP + i * MIB;
        machine->words[region + 1] = HEAP + (i + 1) * MIB;
        machine->words[region + 2] = HEAP + i * MIB + regions[i][1];
        machine->words[region + 5] = (uint64_t)regions[i][0] << 32 | 77;
    }
}

static void check(struct machine *machine, const char *expected)
{
    const struct hotspot_memory memory = {image_read, image_symbol, &machine->image};
    struct hotspot_spaces spaces = HOTSPOT_SPACES_INIT;
    char found[1024] = "";
    assert_int_equal(hotspot_spaces_find(&spaces, &memory), 0);
    for (size_t i = 0; i < spaces.count; i++) {
        const struct area_label *space = &spaces.list[i];
        snprintf(found + strlen(found), sizeof found - strlen(found), "%s%lld-%lld %s",
                 i ? "; " : "", (long long)(space->start - HEAP) / 1024,
                 (long long)(space->end - HEAP) / 1024, space->name);
    }
    assert_string_equal(found, expected);
    hotspot_spaces_release(&spaces);
}

static void regions_of_g1_are_named_by_their_type_and_joined(void **state)
{
    (void)state;
    static const uint32_t regions[][2] = {{24, MIB}, {16, MIB / 2}, {12, MIB}, {13, MIB},
                                          {0, 0},    {3, MIB},      {2, MIB},  {UINT32_MAX, 0}};
    static const char *const expected =
        "0-1536 Java heap, old; 1536-2048 Java heap, free; 2048-4096 Java heap, humongous; "
        "4096-5120 Java heap, free; 5120-6144 Java heap, survivors; 6144-7168 Java heap, eden; "
        "7168-65536 Java heap";
    for (int i = 0; i < 2; i++) { /* classes have been renamed in JDK 24 */
        struct machine *machine = make_machine(3);
        add_g1(machine, i ? "G1" : "", regions, 8);
        check(machine, expected);
        free(machine);
    }
}

static size_t add_space(struct machine *machine, uint64_t bottom, uint64_t top, uint64_t end)
{
    size_t space = add_object(machine, 3);
    machine->words[space] = HEAP + bottom;
    machine->words[space + 1] = HEAP + end;
    machine->words[space + 2] = HEAP + top;
    return space;
}

static struct machine *make_serial(uint64_t old_end)
{
    struct machine *machine = make_machine(1);
    size_t young = add_object(machine, 4), old = add_object(machine, 2);
    add_field(machine, "GenCollectedHeap", "_young_gen", 40);
    add_field(machine, "GenCollectedHeap", "_old_gen", 48);
    add_field(machine, "DefNewGeneration", "_eden_space", 8);
    add_field(machine, "DefNewGeneration", "_from_space", 16);
    add_field(machine, "DefNewGeneration", "_to_space", 24);
    add_field(machine, "TenuredGeneration", "_the_space", 8);
    add_field(machine, "Space", "_bottom", 0);
    add_field(machine, "Space", "_end", 8);
    add_field(machine, "ContiguousSpace", "_top", 16);
    machine->words[OBJECTS + 5] = address_of(young);
    machine->words[OBJECTS + 6] = address_of(old);
    machine->words[young + 1] = address_of(add_space(machine, 0, 4 * MIB, 8 * MIB));
    machine->words[young + 2] = address_of(add_space(machine, 8 * MIB, 8 * MIB, 9 * MIB));
    machine->words[young + 3] = address_of(add_space(machine, 9 * MIB, 10 * MIB, 10 * MIB));
    machine->words[old + 1] = address_of(add_space(machine, 20 * MIB, 24 * MIB, old_end));
    return machine;
}

static void generations_of_serial_end_where_their_objects_do(void **state)
{
    (void)state;
    struct machine *machine = make_serial(30 * MIB);
    check(machine, "0-4096 Java heap, eden; 4096-9216 Java heap, free; "
                   "9216-10240 Java heap, survivors; 10240-20480 Java heap; "
                   "20480-24576 Java heap, old; 24576-30720 Java heap, free; "
                   "30720-65536 Java heap");
    free(machine);
}

static void what_lies_outside_of_the_heap_is_no_part_of_it(void **state)
{
    (void)state;
    struct machine *machine = make_serial(65 * MIB);
    check(machine, "0-4096 Java heap, eden; 4096-9216 Java heap, free; "
                   "9216-10240 Java heap, survivors; 10240-65536 Java heap");
    free(machine);
}

static void code_and_classes_have_names_beside_a_heap_of_another_collector(void **state)
{
    (void)state;
    struct machine *machine = make_machine(7);
    size_t heaps = add_object(machine, 3), code = add_object(machine, 8);
    add_static(machine, "CodeCache", "_heaps", address_of(heaps)); /* a pointer */
    add_field(machine, "GrowableArrayBase", "_len", 0);
    add_field(machine, "GrowableArray<int>", "_data", 8);
    add_field(machine, "CodeHeap", "_memory", 8);
    add_field(machine, "CodeHeap", "_segmap", 32);
    add_field(machine, "VirtualSpace", "_low", 0);
    add_field(machine, "VirtualSpace", "_high", 8);
    size_t data = add_object(machine, 1), archive = add_object(machine, 2);
    machine->words[heaps] = address_of(heaps + 1);
    machine->words[heaps + 1] = 1;
    machine->words[heaps + 2] = address_of(data);
    machine->words[data] = address_of(code);
    machine->words[code + 1] = HEAP + 100 * MIB;
    machine->words[code + 2] = HEAP + 103 * MIB;
    machine->words[code + 4] = HEAP + 200 * MIB;
    machine->words[code + 5] = HEAP + 201 * MIB;
    add_static(machine, "MetaspaceObj", "_shared_metaspace_base", address_of(archive));
    add_static(machine, "MetaspaceObj", "_shared_metaspace_top", address_of(archive + 1));
    machine->words[archive] = HEAP + 300 * MIB;
    machine->words[archive + 1] = HEAP + 312 * MIB;
    check(machine, "0-65536 Java heap; 102400-105472 Java code cache; "
                   "204800-205824 Java code cache; 307200-319488 Java class data archive");
    free(machine);
}

static void without_tables_there_are_no_spaces(void **state)
{
    (void)state;
    struct machine *machine = make_serial(30 * MIB);
    machine->words[1] = 4; /* rows that overlap */
    check(machine, "");
    machine->words[1] = 48;
    machine->words[0] = 0;
    check(machine, "");
    free(machine);
}

static void damage_ends(void **state)
{
    (void)state;
    static const uint32_t regions[][2] = {{16, MIB}, {0, 0}, {2, MIB}};
    uint64_t seed = 88172645463325252u;
    for (unsigned round = 0; round < 4000; round++) {
        struct machine *machine = round & 1 ? make_serial(30 * MIB) : make_machine(3);
        if (!(round & 1))
            add_g1(machine, "", regions, 3);
        for (unsigned i = 0; i < 1 + round % 8; i++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            uint64_t values[] = {0, UINT64_MAX, seed, HEAP + seed % (64 * MIB),
                                 address_of(seed % WORDS)};
            machine->words[(seed >> 20) % machine->next_word] = values[seed % 5];
        }
        const struct hotspot_memory memory = {image_read, image_symbol, &machine->image};
        struct hotspot_spaces spaces = HOTSPOT_SPACES_INIT;
        assert_int_equal(hotspot_spaces_find(&spaces, &memory), 0);
        for (size_t i = 0; i < spaces.count; i++)
            assert_true(spaces.list[i].start < spaces.list[i].end &&
                        (!i || spaces.list[i - 1].end <= spaces.list[i].start));
        hotspot_spaces_release(&spaces);
        free(machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(regions_of_g1_are_named_by_their_type_and_joined),
        cmocka_unit_test(generations_of_serial_end_where_their_objects_do),
        cmocka_unit_test(what_lies_outside_of_the_heap_is_no_part_of_it),
        cmocka_unit_test(code_and_classes_have_names_beside_a_heap_of_another_collector),
        cmocka_unit_test(without_tables_there_are_no_spaces),
        cmocka_unit_test(damage_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
