tidemark_unit_test(profile_build profile_build tm_replay tm_profile tm_wire tm_base Threads::Threads)
tidemark_unit_test(profile_build clock m)
tidemark_unit_test(profile_build replay_details tm_replay tm_profile tm_wire tm_base)
tidemark_unit_test(profile_build sources)
