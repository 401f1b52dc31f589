tidemark_unit_test(graph graph)
tidemark_unit_test(graph graph_fill)
tidemark_unit_test(graph holder_tree)
