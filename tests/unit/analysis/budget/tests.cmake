tidemark_unit_test(budget suppressions)
tidemark_unit_test(budget judge tm_model tm_base m)

tidemark_fuzz(suppressions LIBS tm_budget tm_base m)
tidemark_fuzz(budget LIBS tm_budget tm_profile tm_base m
    DEFINITIONS GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
