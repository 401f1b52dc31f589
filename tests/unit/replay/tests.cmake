tidemark_unit_test(replay rules)
tidemark_unit_test(replay mapped)
tidemark_unit_test(replay timeline)
tidemark_unit_test(replay detail)
tidemark_unit_test(replay random)
tidemark_unit_test(replay sample m)
tidemark_unit_test(replay restart)
tidemark_unit_test(replay regions)
target_sources(test_replay_random PRIVATE unit/replay/brute.c unit/replay/history.c)
target_sources(test_replay_restart PRIVATE unit/replay/brute.c)

# The corpus of fuzz/fuzz_replay.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -I BUILD/rooms/{replay,base,wire} fuzz/fuzz_replay.c src/replay/*.c
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/replay/*)
add_executable(fuzz_replay_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_replay.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_replay_corpus PRIVATE tm_replay)
add_test(NAME fuzz/replay COMMAND fuzz_replay_corpus ${corpus})

# `ninja bench_replay`: events per second on one core.
add_executable(bench_replay EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/replay.c)
target_link_libraries(bench_replay PRIVATE tm_replay m)
