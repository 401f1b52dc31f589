# Installed, moved elsewhere, and used from there: the command finds its library and its helpers, other
# builds find ours by pkg-config and CMake. Taken away again, nothing of it is left.
. "$HERE/lib.sh"
build=$(dirname "$BIN")
prefix="$PWD/first place"
[ -w "$build" ] || skip "the build directory cannot be written to: cmake --install notes there what it did"

# Beside what the developer may have installed from here.
kept=
[ -f "$build/install_manifest.txt" ] && kept=1 && cp "$build/install_manifest.txt" kept_manifest
cmake --install "$build" --prefix "$prefix" >install.log || cat install.log
mv "$build/install_manifest.txt" manifest
[ -z "$kept" ] || mv kept_manifest "$build/install_manifest.txt"
# The same bytes from whichever directory: none of them knows where it was built.
if grep -q '^CMAKE_BUILD_TYPE:STRING=Debug' "$build/CMakeCache.txt"; then
    echo "no build paths"
else
    source=$(cd "$HERE/../.." && pwd)
    grep -rlF -e "$build/" -e "$source/" "$prefix" || echo "no build paths"
fi
ls "$prefix"
(cd "$prefix" && ls bin share include | grep -v tidemark-mpi)

mv "$prefix" "$PWD/moved"
prefix="$PWD/moved"
export PATH="$prefix/bin:$PATH"
try tidemark record -q --trace -o moved.tmk "$VICTIMS/basic"
tidemark report moved.tmk | grep -ci "peak" | awk "{ print (\$1 > 0) }"
tidemark replay --under=glibc,bfm --rounds 1 moved.tmt | grep -cE "^Memory|^Time"
tidemark count "$VICTIMS/basic" 2>&1 | grep -c "basic.*exiting.*peak: "
tidemark --version | grep -c '^tidemark [0-9]'
(ls "$prefix"/share/man/man1/tidemark*.1* "$prefix"/share/man/man3/bfm* "$prefix"/share/man/man5/*) | wc -l | awk '{ print ($1 > 25) }'

# Programs of others.
libraries=$(dirname "$(find "$prefix" -name tidemark.pc)")
cat >marked.c <<'EOF'
#include <tidemark/tidemark.h>
#include <stdlib.h>
int main(void) { tidemark_mark("here"); free(malloc(3)); return tidemark_is_recording(); }
EOF
for header in $(cd "$prefix/include" && find . -name '*.h'); do
    for language in 'c -std=c89' 'c++ -std=c++98'; do
        echo "#include \"$prefix/include/$header\"" |
            cc -x $language -Wall -Wextra -pedantic -Werror -fsyntax-only - || echo "$header: $language"
    done
done
export PKG_CONFIG_PATH="$libraries"
for name in tidemark tidemark-malloc-count; do
    cc -o found marked.c $(pkg-config --cflags --libs $name tidemark) -Wl,-rpath,"$(dirname "$libraries")" &&
        ./found 2>/dev/null && echo "pkg-config finds $name"
done
# Headers of the drop-ins need nothing else, as those of the originals; what examples there are is said
# by the man page, and they compile where they lie.
echo '#include "memprofile.h"
int main() { MemProfile profile("memprofile.txt"); printf("%d\n", gettimeofday(NULL, NULL)); }' >profile.cpp
c++ -o profile profile.cpp $(pkg-config --cflags --libs tidemark-malloc-count) && echo "and C++ its class"
# A program that calls malloc through another library only, for a linker that drops what is not called.
printf '#include <stdlib.h>\nvoid *take(void) { return malloc(100); }\n' >taking.c
echo 'void *take(void); int main(void) { return !take(); }' >taker.c
cc -fno-builtin -shared -fPIC -o libtaking.so taking.c
cc -o taker taker.c -Wl,--as-needed -L. -ltaking -Wl,-rpath,"$PWD:$(dirname "$libraries")" $(pkg-config --libs tidemark-malloc-count)
./taker 2>&1 | grep -c 'exiting, total: 100,'
examples=$(find "$prefix" -path '*/examples/api/phases.c')
cc -pthread -o phases "$examples" $(pkg-config --cflags --libs tidemark) && echo "examples"
cat >CMakeLists.txt <<'EOF'
cmake_minimum_required(VERSION 3.25)
project(other C CXX)
find_package(Tidemark REQUIRED)
add_executable(marked marked.c)
target_link_libraries(marked Tidemark::tidemark)
add_executable(profile profile.cpp)
target_link_libraries(profile Tidemark::malloc-count)
add_library(taking SHARED taking.c)
target_compile_options(taking PRIVATE -fno-builtin)
add_executable(taker taker.c)
target_link_options(taker PRIVATE -Wl,--as-needed)
target_link_libraries(taker taking Tidemark::malloc-count)
EOF
cmake -B other -DCMAKE_PREFIX_PATH="$prefix" >cmake.log 2>&1 && cmake --build other >>cmake.log 2>&1 || cat cmake.log
other/marked
echo "status $?"
other/profile 2>&1 | grep -c '### exiting'
other/taker 2>&1 | grep -c 'exiting, total: 100,'
try tidemark record -q -o marked.tmk other/marked

# Taken away from where it was put, but for what is not ours.
mv "$PWD/moved" "$PWD/first place"
echo mine >"$PWD/first place/bin/mine"
cmake -DMANIFEST="$PWD/manifest" -P "$HERE/../../cmake/uninstall.cmake" >uninstall.log 2>&1 || cat uninstall.log
find "$PWD/first place" ! -type d | sed "s|$PWD/||"
find "$PWD/first place" -name '*tidemark*'
