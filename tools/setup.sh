#!/bin/sh
# setup.sh build|test…: makes sure that the Debian packages of these groups are there. Says what it
# installs and why, asks nothing, and does not touch apt when nothing is missing.
set -eu

build_packages='
gcc             the C compiler
g++             the C++ compiler; also what `make demo` profiles
libc6-dev       the C library'"'"'s headers
cmake           configures the build
ninja-build     runs it
pkg-config      finds the libraries below
libsqlite3-dev  SQLite: a profile is an SQLite database
libzstd-dev     zstd: finished profiles and traces are packed
liblz4-dev      lz4: traces by --compress=lz4
libxxhash-dev   xxHash: checksums of traces
libdw-dev       elfutils: function names and lines from DWARF
libelf-dev      elfutils: ELF files
libiberty-dev   C++ and Rust names made readable
libmicrohttpd-dev the server of the web view
libncurses-dev  tidemark top draws with it
zlib1g-dev      what it sends is packed
gzip            and the web view itself
scdoc           man pages
'
# Most of what a bare machine would have to fetch, and a report needs none of it.
web_packages='
nodejs          builds the web view
npm             fetches what it is built with, by a lock file
clang           compiles the readers of profiles for the page of tidemark viewer
lld             links them
wasi-libc       their C library in a browser
libclang-rt-dev-wasm32  and what the compiler calls
'
test_packages='
libcmocka-dev   unit tests
sqlite3         tests look into profiles
jq              tests look into JSON reports
procps          ps and pgrep: tests look at processes
util-linux      setpriv: tests as another user
bsdutils        script: tests on a terminal
gfortran        Fortran victims
openmpi-bin     MPI victims run under Open MPI
libopenmpi-dev  and are built with it
mpich           MPI victims run under MPICH, which may be there beside the other
libmpich-dev    and are built with it
libunwind8      the oracle of call paths: every capture is compared (50 kB)
valgrind        the oracle: allocation counts and peaks
systemtap-sdt-dev  SDT probes are built in where it is there
libxml2-utils   xmllint: tests look into JUnit reports
meson           tests build the example of a memory budget with it
libgoogle-perftools-dev  programs linked with tcmalloc
libjemalloc-dev programs linked with jemalloc
libmimalloc2.0  an allocator to compare with others
python3         recorded as a real program
perl            recorded as a real program
php-cli         its call paths beside its own backtraces
ruby            its call paths beside its own backtraces
lua5.1          its call paths beside its own backtraces
lua5.2          the same
lua5.3          the same
lua5.4          the same
ghostscript     recorded as a real program
redis-tools     recorded as a real program: redis-server, without the service
chromium-headless-shell tests look at the web view: Chromium without windows
gnuplot-nox     pictures by tidemark plot
zsh             reads its completions
fish            reads its own
strace          somebody else who traces a process
musl-tools      programs of another C library, which are refused
systemd         systemd-analyze reads the drop-in of examples/systemd
tmux            tests drive tidemark top in it
git             recorded as a real program
curl            recorded as a real program
gdb             recorded as a real program
heaptrack       reads our exports, and makes files to import
protobuf-compiler takes our protobuf exports apart
graphviz        draws our call graphs
golang-go       go tool pprof reads our exports; and is recorded (80 MB)
python3-prometheus-client reads our OpenMetrics
clang-format-14 tests hold all C files to .clang-format
qemu-user       runs the unwinder'"'"'s tests for aarch64, which these four make:
clang           (Debian'"'"'s gcc for aarch64 would replace gcc-multilib)
binutils-aarch64-linux-gnu
libc6-dev-arm64-cross
libgcc-12-dev-arm64-cross
'

firefox_packages='
firefox-esr     make check-firefox looks at the web view in it
'

installed() {
    # npm comes with some packages of nodejs
    [ "$1" != npm ] || ! command -v npm >/dev/null || return 0
    dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q '^install ok installed'
}

# "package reason" lines of what is not installed.
missing_of() {
    printf '%s' "$1" | while read -r package reason; do
        [ -z "$package" ] || installed "$package" || printf '%s %s\n' "$package" "$reason"
    done
}

wanted=
for group in "$@"; do
    case $group in
    build) wanted=$wanted$build_packages ;;
    web) wanted=$wanted$web_packages ;;
    test) wanted=$wanted$test_packages ;;
    firefox) wanted=$wanted$firefox_packages ;;
    *) echo "setup.sh: no group '$group'; there are build, web, test and firefox" >&2; exit 2 ;;
    esac
done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    echo "setup: not a Debian system; Tidemark needs what these Debian packages hold:"
    printf '%s' "$wanted" | sed '/^$/d; s/^/  /'
    exit 0
fi

missing=$(missing_of "$wanted")
[ -n "$missing" ] || exit 0

echo "setup: installing these Debian packages:"
printf '%s\n' "$missing" | while read -r package reason; do
    printf '  %-24s %s\n' "$package" "$reason"
done

as_root=
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || {
        echo "setup: neither root nor sudo; as root: apt-get install --no-install-recommends" \
            "$(printf '%s\n' "$missing" | cut -d ' ' -f 1 | tr '\n' ' ')" >&2
        exit 1
    }
    as_root=sudo
fi

# What can be had is installed in one go; a package that this system does not know is left out, and
# the tests that need it say that they are skipped.
$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q update
known=
for package in $(printf '%s\n' "$missing" | cut -d ' ' -f 1); do
    if [ -n "$(apt-cache -q show "$package" 2>/dev/null | head -n 1)" ]; then
        known="$known $package"
    else
        echo "setup: no package $package here; going on without it"
    fi
done
[ -z "$known" ] || $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y \
    -o Dpkg::Use-Pty=0 install --no-install-recommends $known
