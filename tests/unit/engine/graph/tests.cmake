tidemark_unit_test(graph graph)
tidemark_unit_test(graph holder_tree)
