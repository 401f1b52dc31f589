foreach(name scale samples drawing across)
    tidemark_unit_test(plot ${name} tm_format tm_system_history tm_profile tm_base m)
endforeach()

tidemark_fuzz(samples LIBS tm_plot tm_format tm_profile tm_base m)
