# clang: compiles one of our files
same compile clang -S -O2 -D_GNU_SOURCE -I "$SOURCE/src/common" "$SOURCE/src/common/base/strbuf.c" -o -
