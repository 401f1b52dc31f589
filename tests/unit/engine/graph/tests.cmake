tidemark_unit_test(graph graph)
