tidemark_unit_test(job manifest tm_profile tm_process tm_base)
tidemark_unit_test(job summary tm_base)
tidemark_unit_test(job statistics tm_base m)

# Not a test: profiles of a job that never ran, for scenarios and measurements.
add_executable(make_job unit/job/make_job.c)
target_link_libraries(make_job PRIVATE tm_profile)

tidemark_unit_test(job run tm_base tm_profile m)

tidemark_fuzz(job LIBS tm_job tm_base)
add_executable(bench_job EXCLUDE_FROM_ALL unit/job/bench_job.c)
target_link_libraries(bench_job PRIVATE tm_job tm_base tm_profile)
