# The tests that play the recorder see the wire and the replay as the collector does.
tidemark_unit_test(collector merge tm_replay tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector view tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector tracer tm_trace tm_replay tm_wire tm_base Threads::Threads)
tidemark_unit_test(collector residency tm_process tm_base)
tidemark_unit_test(collector looks tm_replay tm_wire tm_process tm_base Threads::Threads)
tidemark_unit_test(collector output_name tm_process tm_profile tm_base)
tidemark_unit_test(collector thrift tm_wire tm_base)
tidemark_unit_test(collector triggers tm_process tm_base)
tidemark_unit_test(collector oom_watch tm_process tm_base)
set_tests_properties(unit/collector/merge unit/collector/view unit/collector/tracer PROPERTIES LABELS ring
    TIMEOUT 120)

tidemark_fuzz(wire LIBS tm_collector tm_replay tm_wire tm_base Threads::Threads)
