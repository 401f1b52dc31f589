tidemark_unit_test(replay rules)
tidemark_unit_test(replay timeline)
tidemark_unit_test(replay detail)
tidemark_unit_test(replay random)
tidemark_unit_test(replay walker tm_blocks tm_wire)
tidemark_unit_test(replay sample m)
tidemark_unit_test(replay restart)
tidemark_unit_test(replay adapting)
tidemark_unit_test(replay regions)
tidemark_unit_test(replay mapped)
target_sources(test_replay_random PRIVATE ${CMAKE_CURRENT_LIST_DIR}/brute.c ${CMAKE_CURRENT_LIST_DIR}/history.c)
target_sources(test_replay_restart PRIVATE ${CMAKE_CURRENT_LIST_DIR}/brute.c)

tidemark_fuzz(replay LIBS tm_replay)

# `ninja bench_replay`: events per second on one core.
add_executable(bench_replay EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/engine/replay.c)
target_link_libraries(bench_replay PRIVATE tm_trace tm_replay m)
