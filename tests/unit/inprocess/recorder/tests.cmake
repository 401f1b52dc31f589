# The recorder's thread.c and shared.c against a collector's view and merge in the same process; the recorder's
# are compiled from their sources: the library itself is not there to be linked.
set(recorder_parts ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/thread.c ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/shared.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/interpose/c_library.c)
set(recorder_tests thread)
if(NOT TIDEMARK_SANITIZE)
    list(APPEND recorder_tests ring)
endif()
foreach(test IN LISTS recorder_tests)
    add_executable(test_recorder_${test} ${CMAKE_CURRENT_LIST_DIR}/test_${test}.c ${recorder_parts})
    foreach(room recorder collector unwind accounting blocks replay trace wire base interpose model)
        target_include_directories(test_recorder_${test} PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_compile_options(test_recorder_${test} PRIVATE -O2 -fno-omit-frame-pointer)
    target_link_libraries(test_recorder_${test} PRIVATE PkgConfig::CMOCKA Threads::Threads m)
    add_test(NAME unit/recorder/${test} COMMAND test_recorder_${test})
    set_tests_properties(unit/recorder/${test} PROPERTIES LABELS ring TIMEOUT 900)
endforeach()
target_link_libraries(test_recorder_thread PRIVATE tm_collector)
# test_ring is never sanitised (it needs signals where they hurt), so it is in the builds without a sanitizer
# only, and its engine there with the assertions that a release leaves out.
if(TARGET test_recorder_ring)
    file(GLOB collector_parts CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/engine/accounting/*.c
        ${CMAKE_SOURCE_DIR}/src/engine/blocks/*.c ${CMAKE_SOURCE_DIR}/src/engine/replay/*.c
        ${CMAKE_SOURCE_DIR}/src/protocol/wire/*.c
        ${CMAKE_SOURCE_DIR}/src/model/device_space.c ${CMAKE_SOURCE_DIR}/src/model/metrics.c
        ${CMAKE_SOURCE_DIR}/src/pipeline/collector/batch.c ${CMAKE_SOURCE_DIR}/src/pipeline/collector/event_sink.c
        ${CMAKE_SOURCE_DIR}/src/pipeline/collector/thinning.c
        ${CMAKE_SOURCE_DIR}/src/pipeline/collector/recorded_window.c
        ${CMAKE_SOURCE_DIR}/src/pipeline/collector/ring_merge.c
        ${CMAKE_SOURCE_DIR}/src/pipeline/collector/shared_view.c)
    target_sources(test_recorder_ring PRIVATE ${collector_parts})
    target_compile_options(test_recorder_ring PRIVATE -UNDEBUG)
endif()

# Sampling: the draw, and the set of what was sampled. Memory, from session to session.
add_executable(test_recorder_draw ${CMAKE_CURRENT_LIST_DIR}/test_draw.c)
add_executable(test_recorder_sampled ${CMAKE_CURRENT_LIST_DIR}/test_sampled.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/sampled.c ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/followed.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/shared.c ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c)
add_executable(test_recorder_private ${CMAKE_CURRENT_LIST_DIR}/test_private.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/shared.c ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c)
add_executable(test_recorder_spans ${CMAKE_CURRENT_LIST_DIR}/test_spans.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/spans.c ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/shared.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c)
add_executable(test_recorder_inherited ${CMAKE_CURRENT_LIST_DIR}/test_inherited.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/inherited.c ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/spans.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/shared.c ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/interpose/c_library.c)
target_include_directories(test_recorder_spans PRIVATE ${TIDEMARK_ROOMS_DIR}/model)
target_include_directories(test_recorder_inherited PRIVATE ${TIDEMARK_ROOMS_DIR}/model)
foreach(test draw sampled private spans inherited)
    foreach(room recorder unwind wire base interpose)
        target_include_directories(test_recorder_${test} PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_link_libraries(test_recorder_${test} PRIVATE PkgConfig::CMOCKA Threads::Threads m)
    add_test(NAME unit/recorder/${test} COMMAND test_recorder_${test})
endforeach()

# A program's own seccomp filters.
add_executable(test_recorder_filter ${CMAKE_CURRENT_LIST_DIR}/test_filter.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/filter.c ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c)
foreach(room recorder unwind wire base interpose)
    target_include_directories(test_recorder_filter PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
endforeach()
target_link_libraries(test_recorder_filter PRIVATE PkgConfig::CMOCKA)
add_test(NAME unit/recorder/filter COMMAND test_recorder_filter)

# Waits for another process, with and without a clock.
add_executable(test_recorder_step_wait ${CMAKE_CURRENT_LIST_DIR}/test_step_wait.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/unwind/permitted_calls.c)
foreach(room recorder unwind base)
    target_include_directories(test_recorder_step_wait PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
endforeach()
target_link_libraries(test_recorder_step_wait PRIVATE PkgConfig::CMOCKA)
add_test(NAME unit/recorder/step_wait COMMAND test_recorder_step_wait)

# Sizes by headers. Sanitizers bring another malloc.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    add_executable(test_recorder_usable ${CMAKE_CURRENT_LIST_DIR}/test_usable.c
        ${CMAKE_SOURCE_DIR}/src/inprocess/recorder/usable.c)
    foreach(room recorder unwind wire base interpose)
        target_include_directories(test_recorder_usable PRIVATE ${TIDEMARK_ROOMS_DIR}/${room})
    endforeach()
    target_compile_options(test_recorder_usable PRIVATE -fno-builtin -fno-sanitize=all)
    target_link_options(test_recorder_usable PRIVATE -fno-sanitize=all)
    target_link_libraries(test_recorder_usable PRIVATE PkgConfig::CMOCKA Threads::Threads)
    add_test(NAME unit/recorder/usable COMMAND test_recorder_usable)
endif()
