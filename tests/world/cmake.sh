# cmake ninja-build: configures a project, builds it by ninja
mkdir project && cp "$SOURCE"/examples/*.c* project/ 2>/dev/null
echo 'cmake_minimum_required(VERSION 3.20)
project(p C)
file(WRITE ${CMAKE_BINARY_DIR}/a.c "int main(void) { return 0; }")
add_executable(a ${CMAKE_BINARY_DIR}/a.c)' >project/CMakeLists.txt
same script cmake -P "$SOURCE/tests/world/cmake.cmake"
"$TIDEMARK" record -q --no-follow -o configure.tmk cmake -S project -B built -G Ninja >out 2>err || fail "cmake: status $?"
check_account configure
"$TIDEMARK" record -q --separate -o 'ninja.%n.%p.tmk' ninja -C built >out 2>err || fail "ninja: status $?: $(tail -2 out)"
./built/a || fail "cmake: what was built does not run"
