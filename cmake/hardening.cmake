# How the tool's own code is built: whoever crafts a file finds a stack with canaries, checked copies, and
# no table that can be written. Sanitizers and fuzzers have checks of their own.
set(TIDEMARK_HARDENING "")
if(NOT TIDEMARK_SANITIZE AND NOT TIDEMARK_FUZZ)
    list(APPEND TIDEMARK_HARDENING -fstack-protector-strong -fstack-clash-protection
        "$<$<NOT:$<CONFIG:Debug>>:-U_FORTIFY_SOURCE>" "$<$<NOT:$<CONFIG:Debug>>:-D_FORTIFY_SOURCE=3>")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(APPEND TIDEMARK_HARDENING -fcf-protection)
    elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
        list(APPEND TIDEMARK_HARDENING -mbranch-protection=standard)
    endif()
endif()

# For this directory and those added afterwards.
macro(tidemark_harden)
    add_compile_options(${TIDEMARK_HARDENING})
    add_link_options(-Wl,-z,relro -Wl,-z,now -Wl,-z,noexecstack)
endmacro()

# For what runs inside other programs: no canary and no check on the path of every malloc. The program's
# shadow stack stays: what is marked keeps it, and costs no instruction.
macro(tidemark_harden_inside_programs)
    get_directory_property(options_here COMPILE_OPTIONS)
    list(REMOVE_ITEM options_here ${TIDEMARK_HARDENING})
    set_directory_properties(PROPERTIES COMPILE_OPTIONS "${options_here}")
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        add_compile_options(-fcf-protection=return)
    endif()
endmacro()
