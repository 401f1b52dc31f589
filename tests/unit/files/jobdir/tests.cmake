tidemark_unit_test(jobdir entry tm_profile tm_base)
tidemark_unit_test(jobdir manifest tm_profile tm_procfs tm_base)
tidemark_unit_test(jobdir rank_choice)

tidemark_fuzz(entry LIBS tm_jobdir tm_base)
