if(NOT TARGET tm_top)
    return()
endif()
tidemark_unit_test(top watched tm_plot tm_aggregate tm_format tm_profile tm_model tm_base m)
