tidemark_unit_test(present names)
tidemark_unit_test(present frames)
