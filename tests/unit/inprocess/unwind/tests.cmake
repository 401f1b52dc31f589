foreach(plugin A B)
    add_library(unwind_plugin_${plugin} MODULE ${CMAKE_CURRENT_LIST_DIR}/plugin.c)
endforeach()
target_compile_definitions(unwind_plugin_A PRIVATE PLUGIN_BYTES=48)
target_compile_definitions(unwind_plugin_B PRIVATE PLUGIN_BYTES=512)

tidemark_unit_test(unwind cfi)
tidemark_unit_test(unwind capture_memory)
tidemark_unit_test(unwind own_write)
tidemark_unit_test(unwind paths)
target_link_libraries(test_unwind_paths PRIVATE Threads::Threads)
target_compile_options(test_unwind_paths PRIVATE -O2 -fno-optimize-sibling-calls)
tidemark_unit_test(unwind rare)
tidemark_unit_test(unwind shadow)

# The walks, in a program as it is usually linked, and in one with holes between its segments.
add_executable(test_unwind_walk_holes ${CMAKE_CURRENT_LIST_DIR}/test_walk.c)
target_link_libraries(test_unwind_walk_holes PRIVATE tm_unwind PkgConfig::CMOCKA)
target_link_options(test_unwind_walk_holes PRIVATE -Wl,-z,separate-code,-z,max-page-size=0x200000)
add_test(NAME unit/unwind/walk_holes COMMAND test_unwind_walk_holes)
tidemark_unit_test(unwind walk)
foreach(test test_unwind_walk test_unwind_walk_holes)
    target_link_libraries(${test} PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
    target_sources(${test} PRIVATE ${CMAKE_CURRENT_LIST_DIR}/exceptions.cc)
    target_compile_definitions(${test} PRIVATE
        PLUGIN_A="$<TARGET_FILE:unwind_plugin_A>" PLUGIN_B="$<TARGET_FILE:unwind_plugin_B>")
    add_dependencies(${test} unwind_plugin_A unwind_plugin_B)
    # The shapes of stack that the tests want are those of optimized code, and calls stay calls.
    target_compile_options(${test} PRIVATE -O2 -fno-optimize-sibling-calls
        -Wno-infinite-recursion) # longjmp and exceptions end those
endforeach()

tidemark_unit_test(unwind unwind_modules Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(test_unwind_unwind_modules PRIVATE
    PLUGIN_A="$<TARGET_FILE:unwind_plugin_A>" PLUGIN_B="$<TARGET_FILE:unwind_plugin_B>")
add_dependencies(test_unwind_unwind_modules unwind_plugin_A unwind_plugin_B)

# Every instruction, by the processor's trap flag. Calls are bound when they are first made.
if(CMAKE_SYSTEM_PROCESSOR STREQUAL x86_64)
    foreach(stubs lazy ibtplt)
        add_library(unwind_step_${stubs} MODULE ${CMAKE_CURRENT_LIST_DIR}/step_plugin.c)
        target_compile_options(unwind_step_${stubs} PRIVATE -fno-builtin)
        target_link_options(unwind_step_${stubs} PRIVATE -Wl,-z,lazy -Wl,-z,${stubs})
        target_link_libraries(unwind_step_${stubs} PRIVATE m)
    endforeach()
    target_compile_options(unwind_step_ibtplt PRIVATE -fcf-protection=full)
    tidemark_unit_test(unwind untabled Threads::Threads)
    target_compile_options(test_unwind_untabled PRIVATE -O2 -fno-optimize-sibling-calls)
    tidemark_unit_test(unwind step ${CMAKE_DL_LIBS} m)
    target_sources(test_unwind_step PRIVATE ${CMAKE_CURRENT_LIST_DIR}/exceptions.cc)
    target_compile_definitions(test_unwind_step PRIVATE
        STEP_PLUGIN="$<TARGET_FILE:unwind_step_lazy>"
        STEP_PLUGIN_IBT="$<TARGET_FILE:unwind_step_ibtplt>")
    add_dependencies(test_unwind_step unwind_step_lazy unwind_step_ibtplt)
    target_compile_options(test_unwind_step PRIVATE -O2 -fno-optimize-sibling-calls
        -Wno-infinite-recursion -Wno-dangling-pointer)
    target_link_options(test_unwind_step PRIVATE -Wl,-z,lazy)
endif()

tidemark_fuzz(cfi LIBS tm_unwind)

# By hand: cmake --build BUILD --target bench_unwind
include(${CMAKE_SOURCE_DIR}/bench/inprocess/unwind.cmake)

add_test(NAME unwind/aarch64 COMMAND ${CMAKE_SOURCE_DIR}/tests/aarch64.sh
    ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/aarch64)
set_tests_properties(unwind/aarch64 PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT 900)
