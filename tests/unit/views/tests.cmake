tidemark_unit_test(views merge)
tidemark_unit_test(views functions)
add_executable(bench_views EXCLUDE_FROM_ALL unit/views/bench_views.c)
target_link_libraries(bench_views PRIVATE tm_views)
