# Jumps over the beginnings of functions: what is read, what is moved, and functions that are called.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    foreach(test code jump)
        add_executable(test_entry_${test} ${CMAKE_CURRENT_LIST_DIR}/test_entry_${test}.c
            ${CMAKE_SOURCE_DIR}/src/inprocess/entry/entry_jump.c
            ${CMAKE_SOURCE_DIR}/src/inprocess/entry/entry_code.c)
        target_include_directories(test_entry_${test} PRIVATE ${TIDEMARK_ROOMS_DIR}/entry)
        target_link_libraries(test_entry_${test} PRIVATE PkgConfig::CMOCKA)
        add_test(NAME unit/entry/${test} COMMAND test_entry_${test})
    endforeach()
    # Against the tables of a library that has them.
    add_executable(test_entry_frame ${CMAKE_CURRENT_LIST_DIR}/test_entry_frame.c
        ${CMAKE_SOURCE_DIR}/src/inprocess/entry/entry_frame.c
        ${CMAKE_SOURCE_DIR}/src/inprocess/entry/entry_code.c)
    target_include_directories(test_entry_frame PRIVATE ${TIDEMARK_ROOMS_DIR}/entry)
    target_link_libraries(test_entry_frame PRIVATE tm_unwind PkgConfig::CMOCKA)
    add_test(NAME unit/entry/frame COMMAND test_entry_frame)
endif()
