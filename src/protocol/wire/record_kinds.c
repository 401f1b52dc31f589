/* The tables that the rows of records.def become. One has a row by record number, the other has
 * a class by a record's first byte. The compiler refuses two rows of one number. */
#include "wire/record_kinds.h"

/* Two rows with one number make the sum larger than the bitwise or. */
_Static_assert((0
#define RECORD(name, number, length, class, flag, shown, filter) +(1ull << (number))
#include "wire/records.def"
#undef RECORD
                ) == (0
#define RECORD(name, number, length, class, flag, shown, filter) | (1ull << (number))
#include "wire/records.def"
#undef RECORD
                      ),
               "a number stands in two rows of records.def");

const struct record_kind record_kinds[RECORD_NUMBERS] = {
#define RECORD(name, number, length, class, flag, shown, filter)                                   \
    [number] = {name, RECORD_##class, RECORD_FLAG_##flag, true, shown, filter},
#include "wire/records.def"
#undef RECORD
};

/* The class of a record with its flag, by the flag's meaning. */
#define FLAGGED_NONE(class, sampled)   RECORD_NONSENSE
#define FLAGGED_NEWEST(class, sampled) ((sampled) ? (class) : RECORD_NONSENSE)
#define FLAGGED_FAILED(class, sampled)                                                             \
    ((class) == RECORD_BIRTH         ? RECORD_FAILED                                               \
     : (class) == RECORD_REALLOC_END ? RECORD_REALLOC_FAILED                                       \
                                     : (class))

const unsigned char record_classes[2][256] = {
    {
#define RECORD(name, number, length, class, flag, shown, filter)                                   \
    [name] = RECORD_##class, [(name) | WIRE_FAILED] = FLAGGED_##flag(RECORD_##class, false),
#include "wire/records.def"
#undef RECORD
    },
    {
#define RECORD(name, number, length, class, flag, shown, filter)                                   \
    [name] = RECORD_##class, [(name) | WIRE_FAILED] = FLAGGED_##flag(RECORD_##class, true),
#include "wire/records.def"
#undef RECORD
    },
};
