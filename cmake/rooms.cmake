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
    if(sources)
        add_library(tm_${name} STATIC ${sources})
        set(scope PUBLIC)
    else()
        add_library(tm_${name} INTERFACE)
        set(scope INTERFACE)
    endif()
    target_include_directories(tm_${name} ${scope} ${TIDEMARK_ROOMS_DIR}/${name})
    foreach(used IN LISTS ROOM_USES)
        target_link_libraries(tm_${name} ${scope} tm_${used})
    endforeach()
    if(ROOM_LIBS)
        target_link_libraries(tm_${name} ${scope} ${ROOM_LIBS})
    endif()
endfunction()
