# binutils: disassembles and lists
same nm nm -C --sort-size "$BUILD/../victims/cxx_new"
same objdump objdump -dlC "$BUILD/../victims/cxx_new"
same readelf readelf -aW "$BUILD/../victims/basic"
same dwarf readelf --debug-dump=info "$BUILD/../victims/basic"
