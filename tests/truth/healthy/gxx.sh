# truth: healthy
# what: g++ compiles a program with the standard library's headers
# needs: g++
printf '#include <map>\n#include <string>\n#include <regex>\n#include <iostream>\nint main() { std::map<std::string, int> m; m["x"]++; std::regex r("a+"); std::cout << m.size(); }\n' >program.cpp
record g++ -O1 -g -c program.cpp -o program.o
