tidemark_unit_test(accounting mapped)
