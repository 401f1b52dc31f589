# tidemark_room(NAME [USES room…] [LIBS lib…]): a static library of src/NAME/*.c.
#
# Each room sees only its own headers and those of the rooms it uses: every room's headers are
# reached through a directory of its own (build/rooms/NAME/NAME -> src/NAME), so that an include of
# a room that is not in USES does not compile.
set(TIDEMARK_ROOMS_DIR ${CMAKE_BINARY_DIR}/rooms)

function(tidemark_room_headers name)
    file(MAKE_DIRECTORY ${TIDEMARK_ROOMS_DIR}/${name})
    file(CREATE_LINK ${CMAKE_SOURCE_DIR}/src/${name} ${TIDEMARK_ROOMS_DIR}/${name}/${name} SYMBOLIC)
endfunction()

function(tidemark_room name)
    cmake_parse_arguments(ROOM "" "" "USES;LIBS" ${ARGN})
    file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/${name}/*.c)
    tidemark_room_headers(${name})
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
