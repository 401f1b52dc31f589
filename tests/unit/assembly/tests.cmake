tidemark_unit_test(assembly writer tm_replay tm_profile tm_wire tm_base Threads::Threads)
tidemark_unit_test(assembly clock m)
tidemark_unit_test(assembly details tm_replay tm_profile tm_wire tm_base)
tidemark_unit_test(assembly sources)
