tidemark_unit_test(export proto tm_base)
tidemark_unit_test(export exporters tm_profile tm_base tm_replay)
