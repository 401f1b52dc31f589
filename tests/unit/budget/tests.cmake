tidemark_unit_test(budget suppressions)

# The corpora of fuzz/fuzz_toml.c and fuzz_suppressions.c, once through. With clang the fuzzers are
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/base fuzz/fuzz_toml.c \
#         src/base/{toml,strbuf,text}.c -lm
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/{budget,base,profile,replay} \
#         fuzz/fuzz_suppressions.c src/budget/suppressions.c src/base/strbuf.c
foreach(what toml suppressions)
    file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/${what}/*)
    add_executable(fuzz_${what}_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_${what}.c
        ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
    target_link_libraries(fuzz_${what}_corpus PRIVATE tm_budget tm_base m)
    add_test(NAME fuzz/${what} COMMAND fuzz_${what}_corpus ${corpus})
endforeach()
