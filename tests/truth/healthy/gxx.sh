# truth: healthy
# what: g++ compiles a program with the standard library's headers; not assembled, since `as` does lose
# memory: memcheck says the same, 207,161 bytes in 10,650 blocks of one run
# needs: g++
printf '#include <map>\n#include <string>\n#include <regex>\n#include <iostream>\nint main() { std::map<std::string, int> m; m["x"]++; std::regex r("a+"); std::cout << m.size(); }\n' >program.cpp
record g++ -O1 -g -S program.cpp -o program.s
