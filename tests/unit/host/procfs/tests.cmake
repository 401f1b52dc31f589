# Small programs of every kind that `tidemark record` has advice about.
set(programs ${CMAKE_BINARY_DIR}/tests/process)
file(MAKE_DIRECTORY ${programs})
file(WRITE ${programs}/nothing.c "int main(void) { return 0; }\n")

function(process_program name)
    add_custom_command(OUTPUT ${programs}/${name}
        COMMAND ${CMAKE_C_COMPILER} ${ARGN} ${programs}/nothing.c -o ${programs}/${name})
    list(APPEND process_built ${programs}/${name})
    set(process_built ${process_built} PARENT_SCOPE)
endfunction()

process_program(dynamic)
process_program(static -static)
process_program(static-pie -static-pie -fPIE)
process_program(sanitized -fsanitize=address)
process_program(musl -Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1)
process_program(no-loader -Wl,--dynamic-linker=/lib/nowhere.so)
add_custom_target(process_programs DEPENDS ${process_built})

foreach(test process launcher executable page_table smaps stacks usage cgroup cgroup_parts kernel_pointers writable_maps)
    tidemark_unit_test(procfs ${test})
    add_dependencies(test_procfs_${test} process_programs)
    target_compile_definitions(test_procfs_${test} PRIVATE PROGRAMS="${programs}")
endforeach()

# By hand, `ninja bench_process`: the cost of smaps and of the sweep over blocks.
add_executable(bench_process EXCLUDE_FROM_ALL ${CMAKE_SOURCE_DIR}/bench/host/process.c)
target_link_libraries(bench_process PRIVATE tm_procfs)
