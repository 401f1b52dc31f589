# tm_base: strings of what a replay says.
tidemark_unit_test(trace round_trip tm_replay tm_base)
tidemark_unit_test(trace damage)

# `ninja bench_tidemark`: the command, but what is replayed goes into files as well (bench/tap.c).
get_target_property(cli_sources tidemark SOURCES)
list(TRANSFORM cli_sources PREPEND ${CMAKE_SOURCE_DIR}/src/cli/)
add_executable(bench_tidemark EXCLUDE_FROM_ALL ${cli_sources} ${CMAKE_SOURCE_DIR}/bench/tap.c)
get_target_property(cli_rooms tidemark LINK_LIBRARIES)
target_link_libraries(bench_tidemark PRIVATE ${cli_rooms})
target_include_directories(bench_tidemark PRIVATE ${TIDEMARK_ROOMS_DIR}/cli)
target_compile_definitions(bench_tidemark PRIVATE TIDEMARK_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
target_link_options(bench_tidemark PRIVATE
    -Wl,--wrap=replay_new,--wrap=replay_records,--wrap=replay_runs)
set_target_properties(bench_tidemark PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# `ninja bench_trace`: bytes per event, and the rates of writing and reading.
add_executable(bench_trace EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/trace.c)
target_link_libraries(bench_trace PRIVATE tm_trace tm_wire)
