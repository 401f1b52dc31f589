tidemark_unit_test(profile columns)
tidemark_unit_test(profile writer)
tidemark_unit_test(profile damage)
tidemark_unit_test(profile details)
tidemark_unit_test(profile entry tm_base)
tidemark_unit_test(profile supplement)
tidemark_unit_test(profile golden)
target_compile_definitions(test_profile_golden PRIVATE
    GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden" DOC_DIR="${CMAKE_SOURCE_DIR}/doc")

# Not tests: what wrote the golden files, and the measurement of the writer.
foreach(tool make_golden bench_writer)
    add_executable(${tool} unit/profile/${tool}.c)
    target_link_libraries(${tool} PRIVATE tm_profile)
endforeach()

# The corpus of fuzz/fuzz_columns.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/{profile,base} \
#         fuzz/fuzz_columns.c src/profile/columns.c src/base/strbuf.c
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/columns/*)
add_executable(fuzz_columns_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_columns.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_columns_corpus PRIVATE tm_profile)
add_test(NAME fuzz/columns COMMAND fuzz_columns_corpus ${corpus})

# The corpus of fuzz/fuzz_entry.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/{profile,base} \
#         fuzz/fuzz_entry.c src/profile/{entry,error,alive}.c src/base/{strbuf,regular}.c -lsqlite3
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/entry/*)
add_executable(fuzz_entry_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_entry.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_entry_corpus PRIVATE tm_profile tm_base)
add_test(NAME fuzz/entry COMMAND fuzz_entry_corpus ${corpus})
