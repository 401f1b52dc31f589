/* Finds the variable or constructor that has a call's result (assigned_types.h). call_result.h
 * gives the place of the result at each instruction behind the call. The locations of the
 * variables, parameters and constructors in scope there are compared with that place. A location in
 * DWARF holds for every way to an address, so following one way is enough. */
#include "symbols/assigned_types.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbols/call_result.h"
#include "symbols/dwarf_names.h"
#include "symbols/type_layout.h"

enum { MOST_LINKS = 16, MOST_DEPTH = 100 };

/* Kinds of pointers to which the result is assigned; the first kind found counts. Code inlined
 * behind the call may use only a part of the object, such as a list's link. A pointer to characters
 * may point to any type. */
enum assigned_kind { ASSIGNED_HERE, ASSIGNED_BESIDE, ASSIGNED_BYTES, ASSIGNED_KINDS };

struct typing_call {
    struct dwarf_index *index;
    const struct object_file *image;
    struct unit *unit;
    Dwarf_Die function;
    uint64_t call; /* in it, before the return address; as in DWARF */
    const struct call_result_step *step;
    uint64_t at;        /* of the step, as in DWARF */
    bool may_construct; /* in C there are no constructors to look for, at each step */
    /* found */
    Dwarf_Die made; /* the class of a constructor on this way; addr NULL: none */
    bool is_made_ambiguous;
    struct assigned {
        Dwarf_Die type; /* addr NULL: nothing */
        bool is_ambiguous;
    } assigned[ASSIGNED_KINDS];
    bool is_beside;    /* the scope of the variables being compared does not contain the call */
    bool is_elsewhere; /* a scope around the step does not contain the call */
};

/* ---- Types ----------------------------------------------------------------------------------- */

static bool assigned_types_follow(Dwarf_Die *die, unsigned link)
{
    Dwarf_Attribute attribute;
    return dwarf_formref_die(dwarf_attr_integrate(die, link, &attribute), die) != NULL;
}

/* Without typedefs and qualifiers; `name`: the last typedef's, or NULL. */
static bool assigned_types_peel(Dwarf_Die *type, const char **name)
{
    for (int i = 0; i < MOST_LINKS; i++) {
        int tag = dwarf_tag(type);
        if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
            tag != DW_TAG_restrict_type && tag != DW_TAG_atomic_type)
            return true;
        if (name && tag == DW_TAG_typedef)
            *name = dwarf_diename(type);
        if (!assigned_types_follow(type, DW_AT_type))
            return false; /* const void */
    }
    return false;
}

/* The type to which a variable, parameter or member points. False: it is no pointer, or one to
 * void. */
static bool assigned_types_pointee(Dwarf_Die *holder, Dwarf_Die *type)
{
    *type = *holder;
    return assigned_types_follow(type, DW_AT_type) && assigned_types_peel(type, NULL) &&
           dwarf_tag(type) == DW_TAG_pointer_type && assigned_types_follow(type, DW_AT_type);
}

/* The type of the elements of an array whose descriptor begins with a pointer to them
 * (Fortran's). */
static bool assigned_types_element(Dwarf_Die *holder, Dwarf_Die *type)
{
    *type = *holder;
    return assigned_types_follow(type, DW_AT_type) && assigned_types_peel(type, NULL) &&
           dwarf_tag(type) == DW_TAG_array_type && dwarf_hasattr(type, DW_AT_data_location) &&
           assigned_types_follow(type, DW_AT_type);
}

static bool assigned_types_is_scalar(int tag)
{
    return tag == DW_TAG_base_type || tag == DW_TAG_pointer_type || tag == DW_TAG_enumeration_type;
}

static bool assigned_types_is_structure(int tag)
{
    return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

static bool assigned_types_is_same(Dwarf_Die *a, Dwarf_Die *b)
{
    Dwarf_Die first = *a, second = *b;
    if (!assigned_types_peel(&first, NULL) || !assigned_types_peel(&second, NULL))
        return false;
    return first.addr == second.addr;
}

static void assigned_types_note(struct typing_call *typing, Dwarf_Die *type, bool is_beside)
{
    Dwarf_Die bare = *type;
    Dwarf_Word bytes;
    if (!assigned_types_peel(&bare, NULL))
        return;
    bool is_byte = dwarf_tag(&bare) == DW_TAG_base_type &&
                   dwarf_aggregate_size(&bare, &bytes) == 0 && bytes == 1;
    struct assigned *place = &typing->assigned[is_byte     ? ASSIGNED_BYTES
                                               : is_beside ? ASSIGNED_BESIDE
                                                           : ASSIGNED_HERE];
    place->is_ambiguous |= place->type.addr && !assigned_types_is_same(&place->type, type);
    place->type = *type;
}

/* ---- Where a variable is --------------------------------------------------------------------- */

/* The distance of the frame's address (CFA) from the step's base register. False: the CFA is
 * counted from another register. */
static bool assigned_types_cfa(const struct typing_call *typing, int64_t *distance)
{
    Dwarf_Addr bias;
    Dwarf_CFI *table = dwfl_module_eh_cfi(typing->image->module, &bias);
    Dwarf_Frame *frame = NULL;
    Dwarf_Op *operations;
    size_t count;
    Dwarf_Addr address = typing->step->address + typing->image->bias - bias;
    bool is_by_register = table && dwarf_cfi_addrframe(table, address, &frame) == 0 &&
                          dwarf_frame_cfa(frame, &operations, &count) == 0 && count == 1 &&
                          operations->atom == DW_OP_bregx &&
                          operations->number == typing->step->base;
    if (is_by_register)
        *distance = (int64_t)operations->number2;
    free(frame);
    return is_by_register;
}

/* Whether the result is stored at this offset from the function's frame base. */
static bool assigned_types_is_in_frame(const struct typing_call *typing, int64_t offset)
{
    const struct call_result_step *step = typing->step;
    Dwarf_Die function = typing->function;
    Dwarf_Attribute attribute;
    Dwarf_Op *operation;
    size_t count;
    int64_t distance = 0;
    if (step->store != CALL_RESULT_AT_REGISTER ||
        !dwarf_attr_integrate(&function, DW_AT_frame_base, &attribute) ||
        dwarf_getlocation_addr(&attribute, typing->at, &operation, &count, 1) != 1 || count != 1)
        return false;
    bool is_register = operation->atom == DW_OP_reg0 + step->base; /* clang's */
    bool is_cfa = operation->atom == DW_OP_call_frame_cfa && assigned_types_cfa(typing, &distance);
    return (is_register || is_cfa) && offset == step->offset - distance;
}

static bool assigned_types_is_at(const struct typing_call *typing, Dwarf_Die *variable)
{
    const struct call_result_step *step = typing->step;
    Dwarf_Attribute attribute;
    Dwarf_Op *operation;
    size_t count;
    if (!dwarf_attr(variable, DW_AT_location, &attribute) ||
        dwarf_getlocation_addr(&attribute, typing->at, &operation, &count, 1) != 1 || count != 1)
        return false;
    if (operation->atom >= DW_OP_reg0 && operation->atom <= DW_OP_reg31)
        return step->registers >> (operation->atom - DW_OP_reg0) & 1;
    if (operation->atom == DW_OP_fbreg)
        return assigned_types_is_in_frame(typing, (int64_t)operation->number);
    return operation->atom == DW_OP_addr && step->store == CALL_RESULT_AT_ADDRESS &&
           operation->number == (uint64_t)step->offset - typing->index->bias;
}

/* Finds the member at the offset in a structure, through members that are structures. False: there
 * is none, or it is no pointer. */
static bool assigned_types_member(Dwarf_Die *structure, uint64_t offset, Dwarf_Die *member)
{
    for (int depth = 0; depth < MOST_LINKS; depth++) {
        const char *furthest = NULL;
        bool is_inside = false;
        Dwarf_Attribute attribute;
        Dwarf_Word at, bytes;
        if (!assigned_types_peel(structure, NULL) ||
            !assigned_types_is_structure(dwarf_tag(structure)) ||
            !dwarf_walk_child(&furthest, structure, member))
            return false;
        do {
            Dwarf_Die type = *member;
            if (dwarf_tag(member) != DW_TAG_member ||
                dwarf_formudata(dwarf_attr(member, DW_AT_data_member_location, &attribute), &at) ||
                !assigned_types_follow(&type, DW_AT_type) || dwarf_aggregate_size(&type, &bytes) ||
                offset < at || offset - at >= bytes)
                continue;
            if (offset == at && assigned_types_peel(&type, NULL) &&
                dwarf_tag(&type) == DW_TAG_pointer_type)
                return true;
            *structure = type;
            offset -= at;
            is_inside = true;
            break;
        } while (dwarf_walk_sibling(&furthest, member));
        if (!is_inside)
            return false;
    }
    return false;
}

static bool assigned_types_is_base(const struct typing_call *typing, Dwarf_Die *variable)
{
    const struct call_result_step *step = typing->step;
    Dwarf_Attribute attribute;
    Dwarf_Op *operation;
    size_t count;
    return step->store == CALL_RESULT_AT_REGISTER && step->offset >= 0 &&
           dwarf_attr(variable, DW_AT_location, &attribute) &&
           dwarf_getlocation_addr(&attribute, typing->at, &operation, &count, 1) == 1 &&
           count == 1 && operation->atom == DW_OP_reg0 + step->base;
}

/* Code that was inlined behind the call may store the result as a pointer to a part of the object
 * (ASSIGNED_BESIDE). */
static void assigned_types_see_variable(struct typing_call *typing, Dwarf_Die *variable)
{
    bool is_beside =
        typing->is_beside || (typing->is_elsewhere && typing->step->store != CALL_RESULT_NOWHERE);
    Dwarf_Die type, member;
    if (dwarf_hasattr_integrate(variable, DW_AT_artificial)) /* `this` may be a base's */
        return;
    if (assigned_types_is_at(typing, variable)) {
        if (assigned_types_pointee(variable, &type) || assigned_types_element(variable, &type))
            assigned_types_note(typing, &type, is_beside);
    } else if (assigned_types_is_base(typing, variable) &&
               assigned_types_pointee(variable, &type) &&
               assigned_types_member(&type, (uint64_t)typing->step->offset, &member) &&
               assigned_types_pointee(&member, &type)) {
        assigned_types_note(typing, &type, is_beside);
    }
}

/* ---- Constructors ---------------------------------------------------------------------------- */

/* Whether the parameter is `this`, of a class with that name. */
static bool assigned_types_is_self(Dwarf_Die *parameter, const char *name, Dwarf_Die *class)
{
    const char *of;
    if (dwarf_tag(parameter) != DW_TAG_formal_parameter ||
        !dwarf_hasattr_integrate(parameter, DW_AT_artificial) ||
        !assigned_types_pointee(parameter, class) || !assigned_types_peel(class, NULL) ||
        !(of = dwarf_diename(class)))
        return false;
    size_t bytes = strcspn(of, "<");
    return strncmp(name, of, bytes) == 0 && name[bytes] == '\0';
}

/* Whether the function is a constructor; sets its class, and `self`: its `this`. gcc lists the
 * parameters of an inlined function in any order. */
static bool assigned_types_is_constructor(Dwarf_Die *function, Dwarf_Die *class, Dwarf_Die *self)
{
    const char *furthest = NULL, *name = dwarf_diename(function);
    if (!name || !dwarf_walk_child(&furthest, function, self))
        return false;
    while (!assigned_types_is_self(self, name, class))
        if (!dwarf_walk_sibling(&furthest, self))
            return false;
    return true;
}

/* A constructor calls those of base classes with the same address, so the outermost one counts. */
static void assigned_types_see_inlined(struct typing_call *typing, Dwarf_Die *inlined)
{
    Dwarf_Die class, self;
    if (typing->may_construct && !typing->made.addr && dwarf_haspc(inlined, typing->call) <= 0 &&
        assigned_types_is_constructor(inlined, &class, &self) &&
        assigned_types_is_at(typing, &self))
        typing->made = class;
}

static void assigned_types_see_called(struct typing_call *typing, bool is_in_constructor)
{
    struct function *called = NULL;
    Dwarf_Die class, self;
    if (typing->made.addr || is_in_constructor || !typing->step->called)
        return;
    called = dwarf_index_function(typing->index, typing->step->called, NULL);
    if (called && assigned_types_is_constructor(&called->die, &class, &self))
        typing->made = class;
}

/* ---- Scopes ---------------------------------------------------------------------------------- */

static bool assigned_types_is_scope(int tag)
{
    return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
           tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

/* Compares the variables of scopes from the outside in. True: one of the scopes is a constructor
 * that does not contain the call. */
static bool assigned_types_see_scope(struct typing_call *typing, Dwarf_Die *scope, int depth,
                                     const char **furthest)
{
    bool is_in_constructor = false, is_beside = depth && dwarf_haspc(scope, typing->call) <= 0;
    Dwarf_Die child, class, self;
    if (depth > MOST_DEPTH || !dwarf_walk_child(furthest, scope, &child))
        return false;
    do {
        int tag = dwarf_tag(&child);
        typing->is_beside = is_beside;
        if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
            assigned_types_see_variable(typing, &child);
        if (!assigned_types_is_scope(tag) || dwarf_haspc(&child, typing->at) <= 0)
            continue;
        if (tag == DW_TAG_inlined_subroutine) {
            assigned_types_see_inlined(typing, &child);
            is_in_constructor |= typing->may_construct && dwarf_haspc(&child, typing->call) <= 0 &&
                                 assigned_types_is_constructor(&child, &class, &self);
        }
        is_in_constructor |= assigned_types_see_scope(typing, &child, depth + 1, furthest);
    } while (dwarf_walk_sibling(furthest, &child));
    return is_in_constructor;
}

/* Variables of the unit, if the result is stored at an address. */
static void assigned_types_see_globals(struct typing_call *typing)
{
    const char *furthest = NULL;
    Dwarf_Die child;
    if (typing->step->store != CALL_RESULT_AT_ADDRESS ||
        !dwarf_walk_child(&furthest, &typing->unit->body, &child))
        return;
    typing->is_beside = false;
    do
        if (dwarf_tag(&child) == DW_TAG_variable)
            assigned_types_see_variable(typing, &child);
    while (dwarf_walk_sibling(&furthest, &child));
}

/* Whether the step is in a scope that does not contain the call. */
static bool assigned_types_is_elsewhere(const struct typing_call *typing, Dwarf_Die *scope,
                                        int depth, const char **furthest)
{
    Dwarf_Die child;
    if (depth > MOST_DEPTH || !dwarf_walk_child(furthest, scope, &child))
        return false;
    do
        if (assigned_types_is_scope(dwarf_tag(&child)) && dwarf_haspc(&child, typing->at) > 0 &&
            (dwarf_haspc(&child, typing->call) <= 0 ||
             assigned_types_is_elsewhere(typing, &child, depth + 1, furthest)))
            return true;
    while (dwarf_walk_sibling(furthest, &child));
    return false;
}

static void assigned_types_see(struct typing_call *typing)
{
    const char *furthest = NULL;
    typing->is_elsewhere = typing->step->store != CALL_RESULT_NOWHERE &&
                           assigned_types_is_elsewhere(typing, &typing->function, 0, &furthest);
    furthest = NULL;
    bool is_in_constructor = assigned_types_see_scope(typing, &typing->function, 0, &furthest);
    Dwarf_Die type;
    if (typing->step->returns && assigned_types_pointee(&typing->function, &type))
        assigned_types_note(typing, &type, true);
    assigned_types_see_called(typing, is_in_constructor);
    assigned_types_see_globals(typing);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* Whether the array has no size, or one element, as open arrays were written before C99. */
static bool assigned_types_is_open_array(Dwarf_Die *array)
{
    Dwarf_Die element = *array;
    Dwarf_Word bytes, of_element;
    if (dwarf_aggregate_size(array, &bytes) != 0 || bytes == 0)
        return true;
    return assigned_types_follow(&element, DW_AT_type) &&
           dwarf_aggregate_size(&element, &of_element) == 0 && of_element == bytes;
}

/* Whether the last member is an open array. */
static bool assigned_types_is_open(Dwarf_Die *type)
{
    const char *furthest = NULL;
    Dwarf_Die child, last = {0};
    if (dwarf_tag(type) != DW_TAG_structure_type || !dwarf_walk_child(&furthest, type, &child))
        return false;
    do
        if (dwarf_tag(&child) == DW_TAG_member)
            last = child;
    while (dwarf_walk_sibling(&furthest, &child));
    return last.addr && assigned_types_follow(&last, DW_AT_type) &&
           assigned_types_peel(&last, NULL) && dwarf_tag(&last) == DW_TAG_array_type &&
           assigned_types_is_open_array(&last);
}

/* "node *"; "pointer" if the type has no name. */
static const char *assigned_types_pointer_name(struct typing_call *typing, Dwarf_Die *pointer)
{
    char text[512];
    Dwarf_Die type = *pointer;
    const char *name = "void", *alias = NULL;
    if (assigned_types_follow(&type, DW_AT_type) && assigned_types_peel(&type, &alias)) {
        int tag = dwarf_tag(&type);
        bool is_named = tag == DW_TAG_base_type || assigned_types_is_structure(tag);
        name = is_named && dwarf_diename(&type)
                   ? dwarf_name(typing->index, typing->unit, &type)->function
                   : alias;
    }
    if (!name || strlen(name) + sizeof " *" > sizeof text)
        return "pointer";
    strcat(strcpy(text, name), " *");
    return pool_intern(typing->index->pool, text);
}

static const char *assigned_types_name(struct typing_call *typing, Dwarf_Die *type,
                                       const char *alias)
{
    if (dwarf_tag(type) == DW_TAG_pointer_type)
        return assigned_types_pointer_name(typing, type);
    return dwarf_diename(type) ? dwarf_name(typing->index, typing->unit, type)->function : alias;
}

static bool assigned_types_tell(struct typing_call *typing, Dwarf_Die *found,
                                struct symbols_call_type *type)
{
    Dwarf_Die bare = *found;
    Dwarf_Word bytes;
    const char *alias = NULL;
    if (!assigned_types_peel(&bare, &alias) || dwarf_aggregate_size(&bare, &bytes) || !bytes)
        return false;
    type->name = assigned_types_name(typing, &bare, alias);
    type->bytes = bytes;
    type->is_scalar = assigned_types_is_scalar(dwarf_tag(&bare));
    type->is_open = assigned_types_is_open(&bare);
    type->is_made = found == &typing->made;
    type->has_layout = type_layout_find(&bare, &type->layout);
    return type->name && (type->is_scalar || assigned_types_is_structure(dwarf_tag(&bare)));
}

/* A function that returns a pointer to void hands on its result. */
static bool assigned_types_hands_on(Dwarf_Die *function)
{
    Dwarf_Die type = *function, pointee;
    if (!assigned_types_follow(&type, DW_AT_type) || !assigned_types_peel(&type, NULL) ||
        dwarf_tag(&type) != DW_TAG_pointer_type)
        return false;
    pointee = type;
    return !assigned_types_follow(&pointee, DW_AT_type) || !assigned_types_peel(&pointee, NULL);
}

static bool assigned_types_choose(struct typing_call *typing, struct symbols_call_type *type)
{
    if (typing->made.addr)
        return !typing->is_made_ambiguous && assigned_types_tell(typing, &typing->made, type);
    for (int i = 0; i < ASSIGNED_KINDS; i++)
        if (typing->assigned[i].type.addr)
            return !typing->assigned[i].is_ambiguous &&
                   assigned_types_tell(typing, &typing->assigned[i].type, type);
    return type->hands_on = assigned_types_hands_on(&typing->function);
}

/* Whether the step must be compared: only at these steps the result is in a new place, or the code
 * is, behind a jump. */
static bool assigned_types_is_new(const struct call_result *result, size_t at)
{
    enum { INSTRUCTION_MOST = 15 };
    const struct call_result_step *step = &result->steps[at];
    return at == 0 || at + 1 == result->count || step->registers != step[-1].registers ||
           step->way != step[-1].way || step[-1].branches ||
           step->address - step[-1].address > INSTRUCTION_MOST ||
           step->store != CALL_RESULT_NOWHERE || step->called || step->returns;
}

/* The instructions of a constructor that was inlined may come later, between others. */
static void assigned_types_see_made(struct typing_call *typing, Dwarf_Die *scope, int depth,
                                    const char **furthest)
{
    Dwarf_Die child;
    if (depth > MOST_DEPTH || !dwarf_walk_child(furthest, scope, &child))
        return;
    do {
        int tag = dwarf_tag(&child);
        if (typing->made.addr || !assigned_types_is_scope(tag) ||
            dwarf_haspc(&child, typing->at) <= 0)
            continue;
        if (tag == DW_TAG_inlined_subroutine)
            assigned_types_see_inlined(typing, &child);
        assigned_types_see_made(typing, &child, depth + 1, furthest);
    } while (dwarf_walk_sibling(furthest, &child));
}

static void assigned_types_go_to(struct typing_call *typing, const struct call_result_step *step)
{
    typing->step = step;
    typing->at = step->address - typing->index->bias;
}

/* Compares the steps of one way with what is in scope there. */
static void assigned_types_see_way(struct typing_call *typing, const struct call_result *result,
                                   size_t first, size_t end)
{
    const char *furthest;
    for (size_t i = first; i < end; i++)
        if (assigned_types_is_new(result, i)) {
            assigned_types_go_to(typing, &result->steps[i]);
            assigned_types_see(typing);
        }
    for (size_t i = first; i < end && typing->may_construct && !typing->made.addr; i++) {
        assigned_types_go_to(typing, &result->steps[i]);
        furthest = NULL;
        assigned_types_see_made(typing, &typing->function, 0, &furthest);
    }
}

/* Constructors of two classes on two ways are none: the memory becomes one or the other. */
static void assigned_types_see_steps(struct typing_call *typing, const struct call_result *result)
{
    Dwarf_Die made = {0};
    for (size_t first = 0, end; first < result->count; first = end) {
        for (end = first + 1; end < result->count; end++)
            if (result->steps[end].way != result->steps[first].way)
                break;
        typing->made.addr = NULL;
        assigned_types_see_way(typing, result, first, end);
        if (!typing->made.addr)
            continue;
        typing->is_made_ambiguous |= made.addr && !assigned_types_is_same(&made, &typing->made);
        made = typing->made;
    }
    typing->made = made;
}

bool assigned_types_find(struct dwarf_index *index, const struct object_file *image,
                         uint64_t address, struct symbols_call_type *type)
{
    struct call_result result;
    struct object_file_code code;
    struct unit *unit;
    struct function *function = dwarf_index_function(index, address - 1, &unit);
    *type = (struct symbols_call_type){0};
    if (!function || !object_file_find_code(image, address, &code))
        return false;
    struct typing_call typing = {.index = index,
                                 .image = image,
                                 .unit = unit,
                                 .function = function->die,
                                 .call = address - index->bias - 1,
                                 .may_construct = !dwarf_names_is_c(dwarf_unit_language(unit))};
    call_result_follow(&result, code.bytes, code.length, address - code.start, code.start);
    assigned_types_see_steps(&typing, &result);
    return assigned_types_choose(&typing, type);
}
