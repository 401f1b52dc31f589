tidemark_unit_test(heap_at event_list tm_trace tm_wire)
