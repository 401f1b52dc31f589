foreach(name scale samples drawing)
    tidemark_unit_test(plot ${name} tm_present tm_profile tm_base m)
endforeach()

# The corpus of fuzz/fuzz_samples.c, once through. With clang the fuzzer itself is made of the same sources and
# the rooms plot, present, profile and base, with -fsanitize=fuzzer,address,undefined.
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/samples/*)
add_executable(fuzz_samples_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_samples.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_samples_corpus PRIVATE tm_plot tm_present tm_profile tm_base m)
add_test(NAME fuzz/samples COMMAND fuzz_samples_corpus ${corpus})
