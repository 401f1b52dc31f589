# tidemark_fuzz(NAME [LIBS lib…] [SOURCES file…] [DEFINITIONS …]): fuzz/fuzz_NAME.c. Its corpus,
# fuzz/corpus/NAME, is part of the ordinary test run (fuzz/NAME), whatever the compiler. With the
# preset "fuzz" (clang) there is the fuzzer too, fuzz/fuzz_NAME of the build directory: tools/fuzz.sh
# runs it, doc/FUZZING.md says how and what came of it.
function(tidemark_fuzz name)
    cmake_parse_arguments(FUZZ "" "" "LIBS;SOURCES;DEFINITIONS" ${ARGN})
    file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/${name}/*)
    list(TRANSFORM FUZZ_SOURCES PREPEND ${CMAKE_SOURCE_DIR}/)
    add_executable(fuzz_${name}_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_${name}.c ${FUZZ_SOURCES}
        ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
    add_test(NAME fuzz/${name} COMMAND fuzz_${name}_corpus ${corpus})
    set(targets fuzz_${name}_corpus)
    if(TIDEMARK_FUZZ)
        add_executable(fuzz_${name} ${CMAKE_SOURCE_DIR}/fuzz/fuzz_${name}.c ${FUZZ_SOURCES})
        target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
        set_target_properties(fuzz_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
        if(NOT TARGET fuzzers)
            add_custom_target(fuzzers)
        endif()
        add_dependencies(fuzzers fuzz_${name})
        list(APPEND targets fuzz_${name})
    endif()
    foreach(target IN LISTS targets)
        target_link_libraries(${target} PRIVATE ${FUZZ_LIBS})
        target_compile_definitions(${target} PRIVATE ${FUZZ_DEFINITIONS})
    endforeach()
endfunction()
