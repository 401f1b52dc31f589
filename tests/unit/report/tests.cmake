tidemark_unit_test(report text)
target_compile_definitions(test_report_text PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
