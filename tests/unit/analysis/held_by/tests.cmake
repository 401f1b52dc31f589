tidemark_unit_test(held_by rows)
