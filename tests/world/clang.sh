# clang: compiles one of our files
same compile clang -S -O2 -D_GNU_SOURCE -I "$SOURCE/src" "$SOURCE/src/base/strbuf.c" -o -
