# cppcheck: checks our own sources
same check cppcheck -q --enable=style --template=gcc "$SOURCE/src/common/base/strbuf.c" "$SOURCE/src/common/base/human.c"
