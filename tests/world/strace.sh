# strace: traces a program, and is recorded itself
same count strace -qq -f -e trace=%file -o /dev/null cat "$SOURCE/LICENSE"
