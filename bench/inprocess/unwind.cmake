# bench_unwind: not part of `all`, not a test.
find_package(Python3 COMPONENTS Interpreter)
if(Python3_FOUND)
    set(chain ${CMAKE_BINARY_DIR}/bench/unwind_chain.c)
    add_custom_command(OUTPUT ${chain}
        COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/bench
        COMMAND sh -c "${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/bench/inprocess/unwind_gen.py > ${chain}"
        DEPENDS ${CMAKE_SOURCE_DIR}/bench/inprocess/unwind_gen.py VERBATIM)
    add_executable(bench_unwind EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/inprocess/unwind.c ${chain})
    target_include_directories(bench_unwind PRIVATE ${CMAKE_SOURCE_DIR}/bench/inprocess)
    target_compile_options(bench_unwind PRIVATE -O2)
    set_source_files_properties(${chain} PROPERTIES COMPILE_OPTIONS -fomit-frame-pointer)
    set_target_properties(bench_unwind PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    target_link_libraries(bench_unwind PRIVATE tm_unwind)
    pkg_check_modules(LIBUNWIND QUIET IMPORTED_TARGET libunwind)
    if(LIBUNWIND_FOUND)
        target_link_libraries(bench_unwind PRIVATE PkgConfig::LIBUNWIND)
        target_compile_definitions(bench_unwind PRIVATE HAVE_LIBUNWIND)
    endif()
endif()
