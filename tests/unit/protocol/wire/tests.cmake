tidemark_unit_test(wire record_kinds)
