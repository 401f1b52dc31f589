# tm_script: what is written is read back.
tidemark_unit_test(whatif author tm_script tm_trace tm_replay)
tidemark_unit_test(whatif candidates tm_base)

# The corpus of fuzz/fuzz_script.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/script \
#         fuzz/fuzz_script.c src/script/reader.c
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/script/*)
add_executable(fuzz_script_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_script.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_script_corpus PRIVATE tm_script)
add_test(NAME fuzz/script COMMAND fuzz_script_corpus ${corpus})
