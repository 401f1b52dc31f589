tidemark_unit_test(report names)
tidemark_unit_test(report lines)
tidemark_unit_test(report text)
target_compile_definitions(test_report_text PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
