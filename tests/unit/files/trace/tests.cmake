# tm_base: strings of what a replay says.
tidemark_unit_test(trace round_trip tm_replay tm_base)
tidemark_unit_test(trace trace_state tm_replay)
tidemark_unit_test(trace damage)
tidemark_unit_test(trace node_columns)
tidemark_unit_test(trace supplement)
tidemark_unit_test(trace golden)
target_compile_definitions(test_trace_golden PRIVATE GOLDEN_DIR="${CMAKE_SOURCE_DIR}/tests/golden")
# Not a test: what wrote the golden files.
add_executable(make_trace_golden EXCLUDE_FROM_ALL ${CMAKE_CURRENT_LIST_DIR}/make_golden.c)
target_link_libraries(make_trace_golden PRIVATE tm_trace)

tidemark_fuzz(trace LIBS tm_trace)

# `ninja bench_trace`: bytes per event, and the rates of writing and reading.
add_executable(bench_trace EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/files/trace.c)
target_link_libraries(bench_trace PRIVATE tm_trace tm_replay tm_wire tm_base)

# Writes large traces of a program that never was; the scenario `moments` a small one.
add_executable(make_trace ${CMAKE_SOURCE_DIR}/bench/files/make_trace.c)
target_link_libraries(make_trace PRIVATE tm_trace tm_profile tm_replay tm_wire tm_base)
