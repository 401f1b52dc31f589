tidemark_unit_test(heap_at event_list tm_trace tm_wire)
tidemark_unit_test(heap_at node_mark tm_trace tm_wire)
tidemark_unit_test(heap_at block_pick)
