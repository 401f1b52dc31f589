# Readers of interpreters' frames, against an interpreter that is only memory.
function(runtimes_test name)
    set(inprocess ${CMAKE_SOURCE_DIR}/src/inprocess)
    add_executable(test_runtimes_${name} ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/test_${name}.c
        ${inprocess}/runtimes/${name}.c ${inprocess}/runtimes/script_memory.c
        ${inprocess}/unwind/stack_bounds.c ${inprocess}/unwind/permitted_calls.c)
    foreach(room runtimes unwind wire base interpose)
        target_include_directories(test_runtimes_${name} PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_link_libraries(test_runtimes_${name} PRIVATE PkgConfig::CMOCKA Threads::Threads)
    target_link_options(test_runtimes_${name} PRIVATE -Wl,--wrap=stack_word_readable)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    runtimes_test(perl)
    foreach(version 30 32 34 36)
        add_test(NAME unit/runtimes/perl-5.${version} COMMAND test_runtimes_perl ${version})
        add_test(NAME unit/runtimes/perl-5.${version}-plain
            COMMAND test_runtimes_perl ${version} without-threads)
    endforeach()
    runtimes_test(php)
    foreach(version 1 2 3 4)
        add_test(NAME unit/runtimes/php-8.${version} COMMAND test_runtimes_php 8${version})
    endforeach()
endif()
