foreach(test status census)
    tidemark_unit_test(census ${test} tm_process tm_base Threads::Threads)
endforeach()

tidemark_fuzz(proc LIBS tm_census tm_process tm_base)
