foreach(name text detail)
    tidemark_unit_test(report ${name})
    target_compile_definitions(test_report_${name} PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
endforeach()
