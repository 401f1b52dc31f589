tidemark_unit_test(rerun names tm_assembly tm_profile tm_trace)
tidemark_unit_test(rerun ended_early tm_assembly tm_profile tm_trace tm_replay tm_wire)
tidemark_unit_test(rerun window tm_assembly tm_present tm_profile tm_trace tm_replay tm_wire)
tidemark_unit_test(rerun slice tm_trace tm_replay tm_wire)
