tidemark_unit_test(profile_build profile_build tm_replay tm_profile tm_wire tm_base Threads::Threads)
tidemark_unit_test(profile_build clock m)
tidemark_unit_test(profile_build replay_details tm_replay tm_profile tm_wire tm_base)
tidemark_unit_test(profile_build sources)
tidemark_unit_test(profile_build variable_owners tm_base)
tidemark_unit_test(profile_build name_answers tm_base)
tidemark_unit_test(profile_build naming tm_symbols tm_base Threads::Threads)

# A recording of pages that is days long, with simulated time: size of the profile, and timeline and
# curves beside brute force.
add_executable(bench_days ${CMAKE_SOURCE_DIR}/bench/pipeline/days.c)
target_link_libraries(bench_days PRIVATE tm_profile_build tm_replay tm_wire tm_base m)
add_test(NAME bench/days_hour COMMAND bench_days size steady 1 300000 64)
add_test(NAME bench/days_week COMMAND bench_days size wave 168 300000 300)
foreach(pattern steady wave leak burst paths threads)
    add_test(NAME bench/days_${pattern} COMMAND bench_days check ${pattern} 1 200000)
    add_test(NAME bench/days_${pattern}_of_60_days COMMAND bench_days check ${pattern} 1440 200000)
endforeach()
