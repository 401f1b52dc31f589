tidemark_unit_test(blocks arena)
tidemark_unit_test(blocks live)

# The table as machines without SSE2 have it: other bits stand for a bucket's places.
add_executable(test_blocks_live_scalar ${CMAKE_CURRENT_LIST_DIR}/test_live.c
    ${CMAKE_SOURCE_DIR}/src/engine/blocks/live.c)
target_compile_options(test_blocks_live_scalar PRIVATE -U__SSE2__)
target_link_libraries(test_blocks_live_scalar PRIVATE tm_blocks PkgConfig::CMOCKA)
add_test(NAME unit/blocks/live_scalar COMMAND test_blocks_live_scalar)
