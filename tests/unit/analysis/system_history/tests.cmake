tidemark_unit_test(system_history history tm_base)
target_compile_definitions(test_system_history_history PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

tidemark_fuzz(history LIBS tm_system_history tm_base)
