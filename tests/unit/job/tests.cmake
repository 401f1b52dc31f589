tidemark_unit_test(job manifest tm_profile tm_process tm_base)
