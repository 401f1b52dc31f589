# cppcheck: checks our own sources
same check cppcheck -q --enable=style --template=gcc "$SOURCE/src/base/strbuf.c" "$SOURCE/src/base/human.c"
