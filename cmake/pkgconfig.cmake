# tidemark_pkgconfig(TEMPLATE NAME): TEMPLATE, with PKGCONFIG_UP for the way from where it lies to the prefix,
# installed as NAME.pc. Its paths hold wherever it is installed: cmake --install --prefix may say so later.
function(tidemark_pkgconfig template name)
    file(RELATIVE_PATH PKGCONFIG_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
    string(REGEX REPLACE "/$" "" PKGCONFIG_UP ${PKGCONFIG_UP})
    configure_file(${template} ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
    install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
