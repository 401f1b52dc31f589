# examples/budget as a project of its own, with the module as it is installed: the budget is kept, and is not
# where the program leaks.
. "$HERE/lib.sh"

command -v cmake >/dev/null || skip "no cmake"
command -v cc >/dev/null || skip "no C compiler"
mkdir -p prefix/lib/cmake/tidemark prefix/bin
ln -s "$BIN/tidemark" prefix/bin/tidemark
cp "$HERE/../../cmake/TidemarkMemoryTest.cmake" prefix/lib/cmake/tidemark
cp -r "$HERE/../../examples/budget" project
configure() {
    cmake -S project -B "$1" -DCMAKE_PREFIX_PATH="$PWD/prefix" >configure.log 2>&1 &&
        cmake --build "$1" >build.log 2>&1 || cat configure.log build.log
}
configure build
grep -q 'words_memory.record' build/CTestTestfile.cmake && echo "configured"
try ctest --test-dir build
sed -n 's/^.*\(Test *#[0-9]*: [a-z_.]*\).*\(Passed\|Failed\).*/\1 \2/p' out | tr -s ' '
xmllint --xpath 'concat(/testsuites/@tests, " ", /testsuites/@failures)' build/words_memory.xml && echo
# A leak.
sed -i 's/free(words.words\[i\]);/;/' project/words.c
cmake --build build >build.log 2>&1 || cat build.log
try ctest --test-dir build --output-on-failure
sed -n 's/^.*\(Test *#[0-9]*: [a-z_.]*\).*\(Passed\|Failed\).*/\1 \2/p' out | tr -s ' '
grep -q 'exceeded  live' out && grep -q 'add_word .*words.c:[0-9]' out && echo "the leaking line is named"
# As the program is now.
try cmake --build build --target words_memory.update
try ctest --test-dir build
grep -q '^live = [0-9."KiB ]* *# it gives everything back' project/budget.toml && echo "the budget was raised, its comment stays"
# A program that fails is no matter of memory.
sed -i 's/return 0;/return 3;/' project/words.c
cmake --build build >build.log 2>&1 || cat build.log
try ctest --test-dir build
grep -c 'Not Run' out
# What is wrong is said when it is configured.
echo 'tidemark_add_memory_test(x COMMAND words)' >>project/CMakeLists.txt
cmake -S project -B build 2>&1 | grep -c 'neither BUDGET nor BASELINE'
# With Meson, where there is one.
if command -v meson >/dev/null; then
    cp -r "$HERE/../../examples/budget" meson
    (cd meson && meson setup build && meson test -C build) >meson.log 2>&1 || cat meson.log
    grep -q 'Fail: *0' meson.log && grep -q 'Ok: *1' meson.log || cat meson.log
fi
echo "with Meson too"
