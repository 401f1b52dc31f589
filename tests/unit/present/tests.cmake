tidemark_unit_test(present names)
