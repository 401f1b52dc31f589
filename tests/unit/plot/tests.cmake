foreach(name scale samples drawing)
    tidemark_unit_test(plot ${name} tm_present tm_profile tm_base m)
endforeach()

tidemark_fuzz(samples LIBS tm_plot tm_present tm_profile tm_base m)
