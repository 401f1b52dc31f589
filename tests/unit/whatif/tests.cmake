# tm_script: what is written is read back.
tidemark_unit_test(whatif author tm_script tm_trace tm_replay)
tidemark_unit_test(whatif candidates tm_base)

tidemark_fuzz(script LIBS tm_script)
