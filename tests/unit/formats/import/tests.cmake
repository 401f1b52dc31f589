tidemark_unit_test(import import_text tm_profile tm_base)
tidemark_unit_test(import import_heaptrack tm_profile tm_base)
tidemark_unit_test(import pickle tm_base)
tidemark_unit_test(import import_tracemalloc tm_profile tm_model tm_base)

tidemark_fuzz(import LIBS tm_import tm_profile tm_base)
