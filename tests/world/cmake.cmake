# What tests/world/cmake.sh has cmake do.
foreach(i RANGE 3000)
    list(APPEND all "x${i}")
    string(SHA256 sum "${i}")
    set(v${i} ${sum})
endforeach()
list(LENGTH all count)
string(JSON found GET [[{"a": [1, 2, {"b": "c"}]}]] a 2 b)
message("${count} ${v777} ${found}")
