tidemark_unit_test(job manifest tm_profile tm_process tm_base)
tidemark_unit_test(job summary tm_base)
tidemark_unit_test(job statistics tm_base m)

# Not a test: profiles of a job that never ran, for scenarios and measurements.
add_executable(make_job unit/job/make_job.c)
target_link_libraries(make_job PRIVATE tm_profile)

tidemark_unit_test(job run tm_base tm_profile m)

# The corpus of fuzz/fuzz_job.c, once through. With clang the fuzzer itself is
#   clang -fsanitize=fuzzer,address,undefined -D_GNU_SOURCE \
#         -I BUILD/rooms/{job,base,profile,replay,views,present} fuzz/fuzz_job.c \
#         src/job/{bytes,map,summary,summary_bytes,tree,files,nodes,statistics,job}.c \
#         src/views/merge.c src/present/names.c src/base/{strbuf,text}.c -lm
file(GLOB corpus CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/fuzz/corpus/job/*)
add_executable(fuzz_job_corpus ${CMAKE_SOURCE_DIR}/fuzz/fuzz_job.c ${CMAKE_SOURCE_DIR}/fuzz/run_corpus.c)
target_link_libraries(fuzz_job_corpus PRIVATE tm_job tm_base)
add_test(NAME fuzz/job COMMAND fuzz_job_corpus ${corpus})
add_executable(bench_job EXCLUDE_FROM_ALL unit/job/bench_job.c)
target_link_libraries(bench_job PRIVATE tm_job tm_base tm_profile)
