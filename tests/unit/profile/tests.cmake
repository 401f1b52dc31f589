tidemark_unit_test(profile columns)
tidemark_unit_test(profile writer)
tidemark_unit_test(profile damage)
tidemark_unit_test(profile details)
tidemark_unit_test(profile entry tm_base)
tidemark_unit_test(profile supplement)
tidemark_unit_test(profile golden)
target_compile_definitions(test_profile_golden PRIVATE
    GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden" DOC_DIR="${CMAKE_SOURCE_DIR}/doc")

# Not tests: what wrote the golden files, and the measurement of the writer.
foreach(tool make_golden bench_writer)
    add_executable(${tool} unit/profile/${tool}.c)
    target_link_libraries(${tool} PRIVATE tm_profile)
endforeach()

tidemark_fuzz(columns LIBS tm_profile)

tidemark_fuzz(entry LIBS tm_profile tm_base)
tidemark_fuzz(profile LIBS tm_report tm_profile tm_base PkgConfig::SQLITE
    DEFINITIONS GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
