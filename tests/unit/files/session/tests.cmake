tidemark_unit_test(session session_file tm_base Threads::Threads)
tidemark_unit_test(session session_whole tm_base Threads::Threads)
