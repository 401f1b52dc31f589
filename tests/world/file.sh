# file: tells what files are
same tell file -b "$SOURCE"/src/*/*.c "$SOURCE/LICENSE" /bin/ls /usr/lib/os-release
