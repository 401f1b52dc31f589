# Programs with known answers, always built as an optimised program with debug information is,
# whatever the preset: an inlined call has to be inlined.
set(fixtures ${CMAKE_BINARY_DIR}/tests/symbols)
set(sources ${CMAKE_CURRENT_LIST_DIR}/fixtures)
file(MAKE_DIRECTORY ${fixtures}/.debug)
find_program(TIDEMARK_FORTRAN gfortran)
find_program(TIDEMARK_OBJCOPY objcopy REQUIRED)

function(symbols_fixture name source compiler)
    add_custom_command(OUTPUT ${fixtures}/${name} DEPENDS ${sources}/${source}
        COMMAND ${compiler} -g -O2 -Wl,--build-id ${ARGN} ${sources}/${source} -o ${fixtures}/${name})
    list(APPEND built ${fixtures}/${name})
    set(built ${built} PARENT_SCOPE)
endfunction()

symbols_fixture(shapes shapes.cc ${CMAKE_CXX_COMPILER})
symbols_fixture(shapes-dwarf4 shapes.cc ${CMAKE_CXX_COMPILER} -gdwarf-4 -fdebug-types-section)
symbols_fixture(units shapes.cc ${CMAKE_CXX_COMPILER} ${sources}/exports.c) # two of them
symbols_fixture(shapes-split shapes.cc ${CMAKE_CXX_COMPILER} -gsplit-dwarf)
symbols_fixture(shapes-static shapes.cc ${CMAKE_CXX_COMPILER} -no-pie -static)
symbols_fixture(exports.so exports.c ${CMAKE_C_COMPILER} -fPIC -shared -s)
if(TIDEMARK_FORTRAN)
    symbols_fixture(heat heat.f90 ${TIDEMARK_FORTRAN})
endif()

# Variables: the same program as every kind of link and of debug information makes it.
symbols_fixture(variables variables.c ${CMAKE_C_COMPILER} -O0 -fPIE -pie)
symbols_fixture(variables-fixed variables.c ${CMAKE_C_COMPILER} -fno-pie -no-pie)
symbols_fixture(variables-common variables.c ${CMAKE_C_COMPILER} -fcommon -fdata-sections
    -Wl,--gc-sections)
symbols_fixture(variables-split variables.c ${CMAKE_C_COMPILER} -gsplit-dwarf)
symbols_fixture(variables-dwarf4 variables.c ${CMAKE_C_COMPILER} -gdwarf-4)
symbols_fixture(variables-packed variables.c ${CMAKE_C_COMPILER} -gz)
symbols_fixture(variables-lto variables.c ${CMAKE_C_COMPILER} -flto)
symbols_fixture(variables.so variables.c ${CMAKE_C_COMPILER} -fPIC -shared)
symbols_fixture(variables.o variables.c ${CMAKE_C_COMPILER} -c)
symbols_fixture(variables-cc variables.cc ${CMAKE_CXX_COMPILER} -std=c++17)
if(TIDEMARK_FORTRAN)
    symbols_fixture(variables-f90 variables.f90 ${TIDEMARK_FORTRAN})
endif()
add_custom_command(OUTPUT ${fixtures}/variables-bare DEPENDS ${fixtures}/variables
        ${fixtures}/variables.so
    COMMAND ${TIDEMARK_OBJCOPY} --only-keep-debug variables .debug/variables-stripped.debug
    COMMAND ${TIDEMARK_OBJCOPY} --strip-all
        --add-gnu-debuglink=.debug/variables-stripped.debug variables variables-stripped
    COMMAND ${TIDEMARK_OBJCOPY} --only-keep-debug variables variables-debug
    COMMAND ${TIDEMARK_OBJCOPY} --strip-debug variables variables-symbols
    COMMAND ${TIDEMARK_OBJCOPY} --strip-all variables.so variables-exports.so
    COMMAND ${TIDEMARK_OBJCOPY} --strip-unneeded --keep-section=.debug_* variables
        variables-nameless
    COMMAND ${TIDEMARK_OBJCOPY} --strip-all variables variables-bare
    WORKING_DIRECTORY ${fixtures})
list(APPEND built ${fixtures}/variables-bare)

# As distributions ship programs: debug information in a file beside the program.
add_custom_command(OUTPUT ${fixtures}/stripped DEPENDS ${fixtures}/shapes
    COMMAND ${TIDEMARK_OBJCOPY} --only-keep-debug shapes .debug/stripped.debug
    COMMAND ${TIDEMARK_OBJCOPY} --strip-all --add-gnu-debuglink=.debug/stripped.debug shapes stripped
    COMMAND ${TIDEMARK_OBJCOPY} --strip-debug shapes functions
    WORKING_DIRECTORY ${fixtures})
add_custom_target(symbols_fixtures DEPENDS ${built} ${fixtures}/stripped)

foreach(test resolve aranges line_table demangle jit jit_dump damage range_map static_variables call_result go_table)
    tidemark_unit_test(symbols ${test})
    add_dependencies(test_symbols_${test} symbols_fixtures)
    target_compile_definitions(test_symbols_${test} PRIVATE
        FIXTURES="${fixtures}" SOURCES="${sources}" HAVE_FORTRAN=$<BOOL:${TIDEMARK_FORTRAN}>)
endforeach()

tidemark_fuzz(jitdump LIBS tm_symbols tm_procfs tm_base)
tidemark_fuzz(lines LIBS tm_symbols tm_procfs tm_base)
