if(NOT TARGET tm_counters)
    return()
endif()
tidemark_unit_test(counters ledger)
target_sources(test_counters_ledger PRIVATE ${CMAKE_SOURCE_DIR}/src/inprocess/counters/ledger.c)
tidemark_unit_test(counters line)
tidemark_unit_test(counters counters)
target_sources(test_counters_counters PRIVATE ${CMAKE_SOURCE_DIR}/src/inprocess/counters/counters.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/counters/reserves.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/interpose/c_library.c
    ${CMAKE_SOURCE_DIR}/src/inprocess/counters/ledger.c)
