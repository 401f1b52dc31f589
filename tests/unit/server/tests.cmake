tidemark_unit_test(server columns_document tm_base)
tidemark_unit_test(server router)
tidemark_unit_test(server packing tm_gzip)
tidemark_unit_test(server resources tm_report tm_views tm_profile tm_base)
target_compile_definitions(test_server_resources PRIVATE
    GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

# The corpus of fuzz/fuzz_router.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/server \
#         fuzz/fuzz_router.c src/server/router.c
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/router/*)
add_executable(fuzz_router_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_router.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_router_corpus PRIVATE tm_server)
add_test(NAME fuzz/router COMMAND fuzz_router_corpus ${corpus})
