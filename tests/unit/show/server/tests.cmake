tidemark_unit_test(server columns_document tm_base)
tidemark_unit_test(server router)
tidemark_unit_test(server threads tm_trace tm_profile tm_base Threads::Threads)
tidemark_unit_test(server starts tm_base Threads::Threads)
target_link_options(test_server_starts PRIVATE -Wl,--wrap=pthread_create)
tidemark_unit_test(server making tm_trace tm_profile tm_base Threads::Threads)
target_link_options(test_server_making PRIVATE -Wl,--wrap=resources_make)
tidemark_unit_test(server packing tm_gzip)
tidemark_unit_test(server resources tm_report tm_aggregate tm_profile tm_base)
target_compile_definitions(test_server_resources PRIVATE
    GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

tidemark_fuzz(router LIBS tm_server)
tidemark_fuzz(api LIBS tm_server tm_profile tm_base
    DEFINITIONS GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
