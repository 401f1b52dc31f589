if(NOT TARGET tm_count)
    return()
endif()
tidemark_unit_test(count ledger)
target_sources(test_count_ledger PRIVATE ${CMAKE_SOURCE_DIR}/src/count/ledger.c)
tidemark_unit_test(count line)
tidemark_unit_test(count counters)
target_sources(test_count_counters PRIVATE ${CMAKE_SOURCE_DIR}/src/count/counters.c
    ${CMAKE_SOURCE_DIR}/src/count/ledger.c)
