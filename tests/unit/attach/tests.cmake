tidemark_unit_test(attach target ${CMAKE_DL_LIBS})
# Reads registers of a child: its threads are those of a plain program.
if(NOT TIDEMARK_SANITIZE)
    tidemark_unit_test(attach tracee Threads::Threads)
    tidemark_unit_test(attach late ${CMAKE_DL_LIBS})
    target_include_directories(test_attach_late PRIVATE ${TIDEMARK_ROOMS_DIR}/recorder)
    target_compile_definitions(test_attach_late PRIVATE LIBRARY="$<TARGET_FILE:libtidemark>")
    add_dependencies(test_attach_late libtidemark)
endif()
