foreach(test status processes row_marks)
    tidemark_unit_test(system_memory ${test} tm_procfs tm_base Threads::Threads)
endforeach()

tidemark_fuzz(proc LIBS tm_system_memory tm_procfs tm_base)
