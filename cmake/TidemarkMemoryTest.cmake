# Memory budgets as tests. Installed as lib/cmake/tidemark/TidemarkMemoryTest.cmake:
#
#   list(APPEND CMAKE_MODULE_PATH <prefix>/lib/cmake/tidemark)
#   include(TidemarkMemoryTest)
#   tidemark_add_memory_test(parser_memory COMMAND parser ${CMAKE_SOURCE_DIR}/data/large.json
#       BUDGET ${CMAKE_SOURCE_DIR}/budget.toml)
#
#   tidemark_add_memory_test(NAME
#       COMMAND program [argument…]     a target, or a file
#       [BUDGET file] [BASELINE file]   one of them at least
#       [TOLERANCE share]               of growth: "5%"
#       [SUPPRESSIONS file…]            known leaks, of LeakSanitizer or valgrind
#       [WORKING_DIRECTORY directory] [TIMEOUT seconds] [LABELS label…] [ENVIRONMENT name=value…]
#       [RECORD_OPTIONS option…]        more of tidemark record: --sample=512K, --no-follow
#       [JUNIT file] [SARIF file])      reports for the CI system
#
# makes two tests: NAME.record runs the program under `tidemark record` and fails where the program does,
# NAME checks the recording (NAME.tmk in the build directory) and fails where the budget is not kept. And a target
# NAME.update, which writes what was measured into the budget and makes the recording the baseline.
#
# The command is found in TIDEMARK_EXECUTABLE, else beside this file's prefix, else in the PATH. Where there is
# none the tests are not made, and that is said.
include_guard(GLOBAL)

cmake_path(SET _tidemark_bin NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../../bin")
# lib/x86_64-linux-gnu/cmake is one deeper.
cmake_path(SET _tidemark_bin_deeper NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../../../../bin")
find_program(TIDEMARK_EXECUTABLE tidemark HINTS "${_tidemark_bin}" "${_tidemark_bin_deeper}"
    DOC "The tidemark command, for memory tests")
unset(_tidemark_bin)
unset(_tidemark_bin_deeper)

function(tidemark_add_memory_test name)
    cmake_parse_arguments(PARSE_ARGV 1 T "" "BUDGET;BASELINE;TOLERANCE;WORKING_DIRECTORY;TIMEOUT;JUNIT;SARIF"
        "COMMAND;SUPPRESSIONS;LABELS;ENVIRONMENT;RECORD_OPTIONS")
    if(T_UNPARSED_ARGUMENTS)
        message(FATAL_ERROR "tidemark_add_memory_test(${name}): unknown: ${T_UNPARSED_ARGUMENTS}")
    endif()
    if(NOT T_COMMAND)
        message(FATAL_ERROR "tidemark_add_memory_test(${name}): COMMAND is missing")
    endif()
    if(NOT T_BUDGET AND NOT T_BASELINE)
        message(FATAL_ERROR "tidemark_add_memory_test(${name}): neither BUDGET nor BASELINE is given")
    endif()
    if(NOT TIDEMARK_EXECUTABLE)
        message(STATUS "tidemark was not found: no memory test ${name}")
        return()
    endif()

    set(profile "${CMAKE_CURRENT_BINARY_DIR}/${name}.tmk")
    list(POP_FRONT T_COMMAND program)
    if(TARGET ${program})
        set(program "$<TARGET_FILE:${program}>")
    endif()
    set(options)
    foreach(option BUDGET BASELINE TOLERANCE)
        if(T_${option})
            string(TOLOWER ${option} flag)
            list(APPEND options --${flag} "${T_${option}}")
        endif()
    endforeach()
    foreach(file IN LISTS T_SUPPRESSIONS)
        list(APPEND options --suppressions "${file}")
    endforeach()
    set(reports)
    foreach(option JUNIT SARIF)
        if(T_${option})
            string(TOLOWER ${option} flag)
            list(APPEND reports --${flag} "${T_${option}}")
        endif()
    endforeach()

    if(NOT T_WORKING_DIRECTORY)
        set(T_WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
    endif()
    add_test(NAME ${name}.record WORKING_DIRECTORY "${T_WORKING_DIRECTORY}"
        COMMAND ${TIDEMARK_EXECUTABLE} record --quiet --output "${profile}" ${T_RECORD_OPTIONS} --
            ${program} ${T_COMMAND})
    add_test(NAME ${name} WORKING_DIRECTORY "${CMAKE_SOURCE_DIR}"
        COMMAND ${TIDEMARK_EXECUTABLE} check "${profile}" ${options} ${reports})
    set_tests_properties(${name}.record PROPERTIES FIXTURES_SETUP ${name} LABELS "memory;${T_LABELS}"
        ENVIRONMENT "${T_ENVIRONMENT}")
    set_tests_properties(${name} PROPERTIES FIXTURES_REQUIRED ${name} LABELS "memory;${T_LABELS}")
    if(T_TIMEOUT)
        set_tests_properties(${name}.record ${name} PROPERTIES TIMEOUT ${T_TIMEOUT})
    endif()
    add_custom_target(${name}.update VERBATIM
        COMMAND ${TIDEMARK_EXECUTABLE} check "${profile}" ${options} --update)
endfunction()
