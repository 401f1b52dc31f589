tidemark_unit_test(job job_summary tm_base)
tidemark_unit_test(job job_statistics tm_base m)
tidemark_unit_test(job job_law tm_base m)
tidemark_unit_test(job job_import tm_model tm_base m)
target_include_directories(test_job_job_import PRIVATE ${CMAKE_SOURCE_DIR}/tests/unit/analysis/aggregate)

# Not a test: profiles of a job that never ran, for scenarios and measurements.
add_executable(make_job ${CMAKE_CURRENT_LIST_DIR}/make_job.c)
target_link_libraries(make_job PRIVATE tm_profile)

tidemark_unit_test(job job_run tm_base tm_profile m)
target_compile_definitions(test_job_job_run PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")

tidemark_fuzz(job LIBS tm_job tm_base)
add_executable(bench_job EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/bench_job.c)
target_link_libraries(bench_job PRIVATE tm_job tm_base tm_profile)
