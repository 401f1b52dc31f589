# The recorder's thread.c and shared.c against a collector's view and merge in the same process,
# compiled from their sources: the library itself is not there to be linked. test_ring is never
# sanitised (it needs signals where they hurt), test_thread is like any other test.
set(recorder_parts ${CMAKE_SOURCE_DIR}/src/recorder/thread.c ${CMAKE_SOURCE_DIR}/src/recorder/shared.c
    ${CMAKE_SOURCE_DIR}/src/unwind/calls.c)
file(GLOB collector_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/replay/*.c
    ${CMAKE_SOURCE_DIR}/src/collector/batch.c ${CMAKE_SOURCE_DIR}/src/collector/feed.c
    ${CMAKE_SOURCE_DIR}/src/collector/window.c
    ${CMAKE_SOURCE_DIR}/src/collector/merge.c
    ${CMAKE_SOURCE_DIR}/src/collector/view.c)
foreach(test ring thread)
    add_executable(test_recorder_${test} unit/recorder/test_${test}.c ${recorder_parts}
        ${collector_parts})
    foreach(room recorder collector unwind replay trace wire base)
        target_include_directories(test_recorder_${test} PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_compile_options(test_recorder_${test} PRIVATE -O2 -fno-omit-frame-pointer)
    target_link_libraries(test_recorder_${test} PRIVATE PkgConfig::CMOCKA Threads::Threads m)
    add_test(NAME unit/recorder/${test} COMMAND test_recorder_${test})
    set_tests_properties(unit/recorder/${test} PROPERTIES LABELS ring TIMEOUT 300)
endforeach()
target_compile_options(test_recorder_ring PRIVATE -fno-sanitize=all)
target_link_options(test_recorder_ring PRIVATE -fno-sanitize=all)

# Sampling: the draw, and the set of what was sampled.
add_executable(test_recorder_draw unit/recorder/test_draw.c)
add_executable(test_recorder_sampled unit/recorder/test_sampled.c
    ${CMAKE_SOURCE_DIR}/src/recorder/sampled.c ${CMAKE_SOURCE_DIR}/src/recorder/followed.c
    ${CMAKE_SOURCE_DIR}/src/recorder/shared.c ${CMAKE_SOURCE_DIR}/src/unwind/calls.c)
foreach(test draw sampled)
    foreach(room recorder unwind wire base)
        target_include_directories(test_recorder_${test} PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_link_libraries(test_recorder_${test} PRIVATE PkgConfig::CMOCKA Threads::Threads m)
    add_test(NAME unit/recorder/${test} COMMAND test_recorder_${test})
endforeach()

# A program's own seccomp filters.
add_executable(test_recorder_filter unit/recorder/test_filter.c
    ${CMAKE_SOURCE_DIR}/src/recorder/filter.c ${CMAKE_SOURCE_DIR}/src/unwind/calls.c)
foreach(room recorder unwind wire base)
    target_include_directories(test_recorder_filter PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
endforeach()
target_link_libraries(test_recorder_filter PRIVATE PkgConfig::CMOCKA)
add_test(NAME unit/recorder/filter COMMAND test_recorder_filter)

# Sizes by headers. Sanitizers bring another malloc.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    add_executable(test_recorder_usable unit/recorder/test_usable.c
        ${CMAKE_SOURCE_DIR}/src/recorder/usable.c)
    foreach(room recorder unwind wire base)
        target_include_directories(test_recorder_usable PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_compile_options(test_recorder_usable PRIVATE -fno-builtin -fno-sanitize=all)
    target_link_options(test_recorder_usable PRIVATE -fno-sanitize=all)
    target_link_libraries(test_recorder_usable PRIVATE PkgConfig::CMOCKA Threads::Threads)
    add_test(NAME unit/recorder/usable COMMAND test_recorder_usable)
endif()
