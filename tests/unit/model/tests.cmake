tidemark_unit_test(model figure m)
tidemark_unit_test(model metrics)
target_compile_definitions(test_model_metrics PRIVATE DOC_DIR="${CMAKE_SOURCE_DIR}/doc")
