foreach(test status census)
    tidemark_unit_test(census ${test} tm_process tm_base Threads::Threads)
endforeach()

# The corpus of fuzz/fuzz_proc.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/{census,process,base,present} \
#         fuzz/fuzz_proc.c src/census/status.c src/process/proc_file.c src/base/strbuf.c
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/proc/*)
add_executable(fuzz_proc_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_proc.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_proc_corpus PRIVATE tm_census tm_process tm_base)
add_test(NAME fuzz/proc COMMAND fuzz_proc_corpus ${corpus})
