tidemark_unit_test(blocks arena)
tidemark_unit_test(blocks live)
