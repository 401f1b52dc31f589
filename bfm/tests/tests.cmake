tidemark_unit_test(bfm model)
target_sources(test_bfm_model PRIVATE ${CMAKE_CURRENT_LIST_DIR}/model.c)
tidemark_unit_test(bfm parts)
tidemark_unit_test(bfm thread)
tidemark_unit_test(bfm family)
tidemark_unit_test(bfm limits)
tidemark_unit_test(bfm kept)

add_executable(bfm_hardened ${CMAKE_CURRENT_LIST_DIR}/hardened.c)
target_link_libraries(bfm_hardened PRIVATE tm_bfm)
add_test(NAME unit/bfm/hardened COMMAND ${CMAKE_CURRENT_LIST_DIR}/hardened.sh
    $<TARGET_FILE:bfm_hardened>)

tidemark_fuzz(bfm LIBS tm_bfm)

# The sanitizers bring a malloc of their own.
if(NOT TIDEMARK_SANITIZE)
    add_executable(bfm_names ${CMAKE_CURRENT_LIST_DIR}/names.c)
    target_compile_options(bfm_names PRIVATE -fno-builtin -Wno-deprecated-declarations)
    add_test(NAME unit/bfm/names COMMAND bfm_names)
    set_tests_properties(unit/bfm/names PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:libbfm>")
endif()

# libbfm.a brings the names of bfm.h and no others.
add_test(NAME unit/bfm/archive COMMAND sh -c
    "test -n \"$(nm -g --defined-only '$<TARGET_FILE:bfm>' | grep ' T bfm_malloc$')\" && ! nm -g --defined-only '$<TARGET_FILE:bfm>' | grep -E ' [A-Z] ' | grep -v ' bfm_'")
