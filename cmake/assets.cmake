# tidemark_assets(TARGET): links the web bundle into TARGET, each file packed with gzip: what is in
# web/dist, or, where that was not built (no npm), the plain page of src/show/server/plain.
find_program(GZIP_PROGRAM gzip REQUIRED)

function(tidemark_assets target)
    file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/web/dist/*)
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/web/dist/index.html)
        file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/src/show/server/plain/*)
        message(STATUS "web/dist is not there: a plain page instead of the web view")
    endif()
    list(FILTER files EXCLUDE REGEX "\\.map$")
    set(directory ${CMAKE_BINARY_DIR}/assets)
    file(MAKE_DIRECTORY ${directory})
    set(number 0)
    foreach(file IN LISTS files)
        get_filename_component(name ${file} NAME)
        add_custom_command(OUTPUT ${directory}/${name}.gz DEPENDS ${file}
            COMMAND ${GZIP_PROGRAM} -9nc ${file} > ${directory}/${name}.gz)
        list(APPEND packed ${directory}/${name}.gz)
        string(APPEND code "asm(\".section .rodata\\n.balign 16\\nasset_${number}:\\n"
            ".incbin \\\"${directory}/${name}.gz\\\"\\nasset_${number}_end:\\n.previous\\n\");\n"
            "extern const unsigned char asset_${number}[], asset_${number}_end[];\n")
        string(APPEND table "    {\"${name}\", asset_${number}, asset_${number}_end},\n")
        math(EXPR number "${number} + 1")
    endforeach()
    file(CONFIGURE OUTPUT ${directory}/assets_table.c CONTENT
        "#include \"server/assets.h\"\n@code@\nconst struct asset assets[] = {\n@table@};\nconst size_t asset_count = @number@;\n"
        @ONLY)
    set_source_files_properties(${directory}/assets_table.c PROPERTIES OBJECT_DEPENDS "${packed}")
    target_sources(${target} PRIVATE ${directory}/assets_table.c)
endfunction()
