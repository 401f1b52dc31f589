foreach(name rule_leaks rule_blocks rule_churn rule_growth rule_peaks rule_resident rule_variables rule_content rule_fill rule_mapped rule_owner rule_stacks rule_startup rule_threads
        rule_loss insight_text random)
    tidemark_unit_test(insights ${name} tm_format tm_profile tm_base)
    # Each uses the part of built.h that it needs.
    target_compile_options(test_insights_${name} PRIVATE -Wno-unused-function)
endforeach()
target_compile_definitions(test_insights_insight_text PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
