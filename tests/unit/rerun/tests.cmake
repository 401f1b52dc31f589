tidemark_unit_test(rerun names tm_assembly tm_profile tm_trace)
