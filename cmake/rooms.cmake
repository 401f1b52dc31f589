# A storey is a first-level folder of src/, a room is a folder in it (or the storey itself, where it has
# but one). src/CMakeLists.txt adds the storeys in the order of the data's way, each storey's list its
# rooms; a room may use only rooms that were added before it: the storeys below, and the rooms above it
# in its own list. So there is no circle, and this file refuses what goes against the order.
#
# A room sees its own headers and those of the rooms that it uses, no others: the headers of each are
# reached through a directory of its own (build/rooms/NAME/NAME -> src/STOREY/NAME), so that an include
# of a room that is not in USES does not compile. A room can move to another storey without a change of
# any #include.
set(TIDEMARK_ROOMS_DIR ${CMAKE_BINARY_DIR}/rooms)
# What tests/house/house.py reads: a line "room NAME FOLDER USES…" each.
set(TIDEMARK_HOUSE ${CMAKE_BINARY_DIR}/house.txt)
file(WRITE ${TIDEMARK_HOUSE} "")

# tidemark_room_headers(NAME [USES room…]): declares the room of the current folder (or src/STOREY/NAME)
# and links its headers. For rooms that make targets of their own; all others are tidemark_room()s.
function(tidemark_room_headers name)
    cmake_parse_arguments(ROOM "" "" "USES" ${ARGN})
    set(folder ${CMAKE_CURRENT_SOURCE_DIR})
    get_filename_component(last ${folder} NAME)
    if(IS_DIRECTORY ${folder}/${name})
        set(folder ${folder}/${name})
    elseif(last STREQUAL name AND IS_DIRECTORY ${folder}/src)
        set(folder ${folder}/src)
    endif()
    get_property(declared GLOBAL PROPERTY TIDEMARK_DECLARED_ROOMS)
    foreach(used IN LISTS ROOM_USES)
        if(NOT used IN_LIST declared)
            message(FATAL_ERROR "room ${name} uses ${used}, which does not come before it "
                "(src/CMakeLists.txt has the order)")
        endif()
    endforeach()
    set_property(GLOBAL APPEND PROPERTY TIDEMARK_DECLARED_ROOMS ${name})
    set_property(GLOBAL PROPERTY TIDEMARK_FOLDER_${name} ${folder})
    set_property(GLOBAL PROPERTY TIDEMARK_USES_${name} ${ROOM_USES})
    file(MAKE_DIRECTORY ${TIDEMARK_ROOMS_DIR}/${name})
    file(CREATE_LINK ${folder} ${TIDEMARK_ROOMS_DIR}/${name}/${name} SYMBOLIC)
    file(RELATIVE_PATH relative ${CMAKE_SOURCE_DIR} ${folder})
    list(JOIN ROOM_USES " " uses)
    file(APPEND ${TIDEMARK_HOUSE} "room ${name} ${relative} ${uses}\n")
endfunction()

# tidemark_link_rooms(TARGET ROOM): links a program with the rooms that its room uses.
function(tidemark_link_rooms target room)
    get_property(uses GLOBAL PROPERTY TIDEMARK_USES_${room})
    foreach(used IN LISTS uses)
        if(TARGET tm_${used})
            target_link_libraries(${target} PRIVATE tm_${used})
        endif()
    endforeach()
endfunction()

# tidemark_room_sources(VARIABLE ROOM file…): paths of another room's sources, for the few that are
# compiled into a target of another room as well. Their list is tests/house/borrowed.txt.
function(tidemark_room_sources variable room)
    get_property(folder GLOBAL PROPERTY TIDEMARK_FOLDER_${room})
    set(files ${ARGN})
    list(TRANSFORM files PREPEND ${folder}/)
    set(${variable} ${files} PARENT_SCOPE)
endfunction()

# tidemark_room(NAME [USES room…] [LIBS lib…]): a static library, tm_NAME, of the room's *.c.
function(tidemark_room name)
    cmake_parse_arguments(ROOM "" "" "USES;LIBS" ${ARGN})
    tidemark_room_headers(${name} USES ${ROOM_USES})
    get_property(folder GLOBAL PROPERTY TIDEMARK_FOLDER_${name})
    file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.c)
    set_property(GLOBAL APPEND PROPERTY TIDEMARK_ROOMS ${name})
    if(NOT sources)
        add_library(tm_${name} INTERFACE)
        target_include_directories(tm_${name} INTERFACE ${TIDEMARK_ROOMS_DIR}/${name})
        return()
    endif()
    add_library(tm_${name} STATIC ${sources})
    target_include_directories(tm_${name} PUBLIC ${TIDEMARK_ROOMS_DIR}/${name})
    # PRIVATE: who uses this room does not thereby see the rooms behind it.
    foreach(used IN LISTS ROOM_USES)
        target_link_libraries(tm_${name} PRIVATE tm_${used})
    endforeach()
    target_link_libraries(tm_${name} PRIVATE ${ROOM_LIBS})
endfunction()

# tidemark_same_bytes(): of what is installed. The same bytes whatever directory this is built in
# (tools/reproducible.sh): debug information says ./src/…; a debugger finds that from the source's directory. Debug
# builds keep their paths, and so do tests, whose sources are looked for. The last option that fits counts.
macro(tidemark_same_bytes)
    if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
        add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}=. -ffile-prefix-map=${CMAKE_BINARY_DIR}=./build)
    endif()
    set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
    set(CMAKE_C_ARCHIVE_CREATE "<CMAKE_AR> qcD <TARGET> <LINK_FLAGS> <OBJECTS>")
    set(CMAKE_C_ARCHIVE_FINISH "<CMAKE_RANLIB> -D <TARGET>")
endmacro()
