tidemark_unit_test(bfm model)
target_sources(test_bfm_model PRIVATE unit/bfm/model.c)
tidemark_unit_test(bfm parts)
tidemark_unit_test(bfm thread)
