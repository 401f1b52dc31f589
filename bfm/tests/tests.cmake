tidemark_unit_test(bfm model m)
target_sources(test_bfm_model PRIVATE ${CMAKE_CURRENT_LIST_DIR}/model.c)
tidemark_unit_test(bfm parts m)
tidemark_unit_test(bfm thread)
tidemark_unit_test(bfm family m)
tidemark_unit_test(bfm limits)
tidemark_unit_test(bfm kept)
tidemark_unit_test(bfm account)

add_executable(bfm_hardened ${CMAKE_CURRENT_LIST_DIR}/hardened.c)
target_link_libraries(bfm_hardened PRIVATE tm_bfm)
add_test(NAME unit/bfm/hardened COMMAND ${CMAKE_CURRENT_LIST_DIR}/hardened.sh
    $<TARGET_FILE:bfm_hardened>)

# libbfm.a is never sanitised, but valgrind runs nothing that is.
if(NOT TIDEMARK_SANITIZE)
    add_executable(bfm_pairs ${CMAKE_CURRENT_LIST_DIR}/pairs.c)
    target_compile_options(bfm_pairs PRIVATE -O2 -fno-builtin)
    target_link_libraries(bfm_pairs PRIVATE bfm Threads::Threads)
    add_test(NAME unit/bfm/instructions COMMAND ${CMAKE_CURRENT_LIST_DIR}/instructions.sh
        $<TARGET_FILE:bfm_pairs>)
    set_tests_properties(unit/bfm/instructions PROPERTIES SKIP_RETURN_CODE 77)
endif()

tidemark_fuzz(bfm LIBS tm_bfm)

# The sanitizers bring a malloc of their own.
if(NOT TIDEMARK_SANITIZE)
    add_executable(bfm_names ${CMAKE_CURRENT_LIST_DIR}/names.c)
    target_compile_options(bfm_names PRIVATE -fno-builtin -Wno-deprecated-declarations)
    add_test(NAME unit/bfm/names COMMAND bfm_names)
    set_tests_properties(unit/bfm/names PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:libbfm>")

    add_library(bfm_bound MODULE ${CMAKE_CURRENT_LIST_DIR}/bound.c)
    add_executable(bfm_deepbind ${CMAKE_CURRENT_LIST_DIR}/deepbind.c)
    target_link_libraries(bfm_deepbind PRIVATE ${CMAKE_DL_LIBS})
    set_target_properties(bfm_deepbind PROPERTIES BUILD_RPATH "$<TARGET_FILE_DIR:bfm_bound>")
    add_dependencies(bfm_deepbind bfm_bound)
    add_test(NAME unit/bfm/deepbind COMMAND bfm_deepbind)
    set_tests_properties(unit/bfm/deepbind PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:libbfm>")
endif()

# libbfm.a brings the names of bfm.h and no others.
add_test(NAME unit/bfm/archive COMMAND sh -c
    "test -n \"$(nm -g --defined-only '$<TARGET_FILE:bfm>' | grep ' T bfm_malloc$')\" && ! nm -g --defined-only '$<TARGET_FILE:bfm>' | grep -E ' [A-Z] ' | grep -v ' bfm_'")

# A program of each allocator's kind, with BFM before it, and in Tidemark's tracer.
if(NOT TIDEMARK_SANITIZE)
    foreach(other none jemalloc tcmalloc_minimal mimalloc)
        set(library)
        if(NOT other STREQUAL none)
            # Debian's runtime packages have no name without a version.
            find_library(BFM_OTHER_${other} NAMES ${other} lib${other}.so.2 lib${other}.so.4 lib${other}.so.2.0)
            if(NOT BFM_OTHER_${other})
                continue()
            endif()
            set(library -Wl,--no-as-needed ${BFM_OTHER_${other}})
        endif()
        add_executable(bfm_program_${other} ${CMAKE_CURRENT_LIST_DIR}/operators.cc)
        target_compile_options(bfm_program_${other} PRIVATE -fno-builtin -fsized-deallocation)
        target_link_libraries(bfm_program_${other} PRIVATE Threads::Threads ${CMAKE_DL_LIBS} ${library})
        add_test(NAME unit/bfm/program-${other} COMMAND bfm_program_${other})
        set_tests_properties(unit/bfm/program-${other} PROPERTIES ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:libbfm>")
        if(TARGET libtidemark-bfm)
            add_test(NAME unit/bfm/traced-${other} COMMAND bfm_program_${other})
            set_tests_properties(unit/bfm/traced-${other} PROPERTIES
                ENVIRONMENT "LD_PRELOAD=$<TARGET_FILE:libtidemark-bfm>")
        endif()
    endforeach()
endif()

# The folder alone. Within Tidemark only: a build that this test began would begin it again.
cmake_path(GET CMAKE_CURRENT_LIST_DIR PARENT_PATH bfm_folder)
if(NOT CMAKE_SOURCE_DIR STREQUAL bfm_folder AND NOT TIDEMARK_SANITIZE)
    add_test(NAME unit/bfm/alone COMMAND ${CMAKE_CURRENT_LIST_DIR}/alone.sh
        ${CMAKE_COMMAND} ${bfm_folder} ${CMAKE_C_COMPILER})
    set_tests_properties(unit/bfm/alone PROPERTIES TIMEOUT 900)
endif()
