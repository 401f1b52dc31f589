tidemark_unit_test(export proto tm_base)
tidemark_unit_test(export formats tm_profile tm_base tm_replay)
