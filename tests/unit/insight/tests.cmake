foreach(name leaks blocks churn growth peaks resident variables threads loss text random)
    tidemark_unit_test(insight ${name} tm_present tm_profile tm_base)
    # Each uses the part of built.h that it needs.
    target_compile_options(test_insight_${name} PRIVATE -Wno-unused-function)
endforeach()
target_compile_definitions(test_insight_text PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
