# The tests that play the recorder see the wire and the replay as the collector does.
tidemark_unit_test(collector graph_copy)
tidemark_unit_test(collector ring_merge tm_replay tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector shared_view tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector tracer tm_trace tm_replay tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector heat tm_wire tm_procfs tm_base Threads::Threads)
tidemark_unit_test(collector python_objects tm_procfs tm_base)
tidemark_unit_test(collector page_content PkgConfig::LZ4)
tidemark_unit_test(collector residency tm_procfs tm_base)
tidemark_unit_test(collector owners tm_procfs tm_base)
tidemark_unit_test(collector proc_look tm_procfs tm_base Threads::Threads)
tidemark_unit_test(collector look_schedule tm_replay tm_wire tm_procfs tm_base Threads::Threads)
tidemark_unit_test(collector output_name tm_procfs tm_profile tm_base)
tidemark_unit_test(collector overhead_budget tm_wire tm_base)
tidemark_unit_test(collector triggers tm_procfs tm_base)
tidemark_unit_test(collector quota Threads::Threads)
tidemark_unit_test(collector unsaved tm_base)
tidemark_unit_test(collector recorded_window tm_replay tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector workers Threads::Threads)
tidemark_unit_test(collector oom_watch tm_procfs tm_base)
tidemark_unit_test(collector session_key tm_trace tm_replay tm_wire tm_procfs tm_base Threads::Threads)
target_link_options(test_collector_session_key PRIVATE -Wl,--wrap=syscall -Wl,--wrap=getrandom -Wl,--wrap=open)
set_tests_properties(unit/collector/ring_merge unit/collector/shared_view unit/collector/tracer PROPERTIES LABELS ring
    TIMEOUT 120)

tidemark_fuzz(wire LIBS tm_collector tm_replay tm_wire tm_base Threads::Threads)

# By hand, `ninja bench_look`: the cost of a look at a process that runs, and whose its pages are.
add_executable(bench_look EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/pipeline/look.c)
target_link_libraries(bench_look PRIVATE tm_collector tm_profile_build tm_procfs tm_base)
# By hand, `ninja bench_graph`: the graph of the live blocks, and for how long the program stands still.
add_executable(bench_graph EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/pipeline/graph.c)
target_link_libraries(bench_graph PRIVATE tm_collector tm_profile_build tm_procfs tm_base)
