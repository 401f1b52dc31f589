tidemark_unit_test(profile number_columns)
tidemark_unit_test(profile site_columns)
tidemark_unit_test(profile profile_writer)
tidemark_unit_test(profile profile_levels)
tidemark_unit_test(profile reserve)
tidemark_unit_test(profile appendix)
tidemark_unit_test(profile damage)
target_link_options(test_profile_damage PRIVATE -Wl,--wrap=memchr -Wl,--wrap=sqlite3_prepare_v2)
tidemark_unit_test(profile detail_tables)
tidemark_unit_test(profile profile_supplement)
tidemark_unit_test(profile golden)
target_compile_definitions(test_profile_golden PRIVATE
    GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden" DOC_DIR="${CMAKE_SOURCE_DIR}/doc")

tidemark_unit_test(profile schema_image tm_base PkgConfig::SQLITE)
tidemark_unit_test(profile row_image tm_base PkgConfig::SQLITE)
tidemark_unit_test(profile profile_session tm_session tm_base PkgConfig::SQLITE)
target_compile_definitions(test_profile_profile_session PRIVATE
    GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

# Not tests: what wrote the golden files, and the measurement of the writer.
foreach(tool make_golden make_session bench_writer)
    add_executable(${tool} ${CMAKE_CURRENT_LIST_DIR}/${tool}.c)
    target_link_libraries(${tool} PRIVATE tm_profile tm_session PkgConfig::SQLITE)
endforeach()

tidemark_fuzz(columns LIBS tm_profile)

tidemark_fuzz(profile LIBS tm_report tm_profile tm_base PkgConfig::SQLITE
    DEFINITIONS GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

tidemark_fuzz(session LIBS tm_profile tm_session tm_base PkgConfig::SQLITE)
