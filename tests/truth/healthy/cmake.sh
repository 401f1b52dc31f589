# truth: healthy
# what: cmake runs a script with lists and strings
# needs: cmake
cat >script.cmake <<'C'
foreach(i RANGE 3000)
    list(APPEND all "x${i}")
    string(SHA256 sum "${i}")
    set(v${i} ${sum})
endforeach()
list(LENGTH all count)
message("${count} ${v777}")
C
record cmake -P script.cmake 2>/dev/null
