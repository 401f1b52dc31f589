# tm_base: strings of what a replay says.
tidemark_unit_test(trace round_trip tm_replay tm_base)
tidemark_unit_test(trace damage)
tidemark_unit_test(trace nodes)
tidemark_unit_test(trace supplement)
tidemark_unit_test(trace golden)
target_compile_definitions(test_trace_golden PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
# Not a test: what wrote the golden files.
add_executable(make_trace_golden EXCLUDE_FROM_ALL unit/trace/make_golden.c)
target_link_libraries(make_trace_golden PRIVATE tm_trace)

# The corpus of fuzz/fuzz_trace.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/{trace,replay,base,wire} \
#         fuzz/fuzz_trace.c src/{trace,replay}/*.c -lzstd -llz4 -lxxhash -lm
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/trace/*)
add_executable(fuzz_trace_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_trace.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_trace_corpus PRIVATE tm_trace)
add_test(NAME fuzz/trace COMMAND fuzz_trace_corpus ${corpus})

# `ninja bench_trace`: bytes per event, and the rates of writing and reading.
add_executable(bench_trace EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/trace.c)
target_link_libraries(bench_trace PRIVATE tm_trace tm_replay tm_wire tm_base)
