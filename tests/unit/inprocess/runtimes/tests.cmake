# Readers of interpreters' frames, against an interpreter that is only memory.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    add_executable(test_runtimes_perl ${CMAKE_CURRENT_LIST_DIR}/test_perl.c
        ${CMAKE_SOURCE_DIR}/src/inprocess/runtimes/perl.c
        ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/stack_bounds.c
        ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c)
    foreach(room runtimes unwind wire base interpose)
        target_include_directories(test_runtimes_perl PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_link_libraries(test_runtimes_perl PRIVATE PkgConfig::CMOCKA Threads::Threads)
    target_link_options(test_runtimes_perl PRIVATE -Wl,--wrap=stack_word_readable)
    foreach(version 30 32 34 36)
        add_test(NAME unit/runtimes/perl-5.${version} COMMAND test_runtimes_perl ${version})
        add_test(NAME unit/runtimes/perl-5.${version}-plain
            COMMAND test_runtimes_perl ${version} without-threads)
    endforeach()
endif()
