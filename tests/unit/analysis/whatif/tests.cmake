# tm_alloc_stream: what is written is read back.
tidemark_unit_test(whatif stream_author tm_alloc_stream tm_trace tm_replay)
tidemark_unit_test(whatif candidates tm_base)
tidemark_unit_test(whatif flow tm_trace)

tidemark_fuzz(alloc_stream LIBS tm_alloc_stream)
