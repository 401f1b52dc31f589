tidemark_unit_test(job manifest tm_profile tm_process tm_base)
# Not a test: profiles of a job that never ran, for scenarios and measurements.
add_executable(make_job unit/job/make_job.c)
target_link_libraries(make_job PRIVATE tm_profile)
