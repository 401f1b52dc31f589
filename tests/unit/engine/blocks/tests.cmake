tidemark_unit_test(blocks live)
