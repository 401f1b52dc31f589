tidemark_unit_test(bfm model)
target_sources(test_bfm_model PRIVATE unit/bfm/model.c)
tidemark_unit_test(bfm parts)
tidemark_unit_test(bfm thread)
tidemark_unit_test(bfm family)

add_executable(bfm_hardened unit/bfm/hardened.c)
target_link_libraries(bfm_hardened PRIVATE tm_bfm)
add_test(NAME unit/bfm/hardened COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/unit/bfm/hardened.sh
    $<TARGET_FILE:bfm_hardened>)
