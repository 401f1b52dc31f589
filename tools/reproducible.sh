#!/bin/sh
# reproducible.sh [--tree] [DIRECTORY]: builds what HEAD holds twice, from clones in different directories,
# under another umask, language, time zone, home and number of jobs, and compares bit for bit: the tarball
# with the web view, what it installs, and the Debian packages (--tree: not these). Both are left in
# DIRECTORY where they differ, or where DIRECTORY was named. --tree takes two builds, all four.
set -eu
packages=1
[ "${1-}" != --tree ] || { packages= && shift; }
case ${1-} in -*) echo "Usage: tools/reproducible.sh [--tree] [DIRECTORY]" >&2 && exit 2 ;; esac
source=$(cd "$(dirname "$0")/.." && pwd)
kept=${1-}
work=${kept:-$(mktemp -d)}
mkdir -p "$work"
work=$(cd "$work" && pwd)
commit=$(git -C "$source" rev-parse HEAD)
[ -z "$(git -C "$source" status --porcelain --untracked-files=no)" ] || echo "reproducible: what is not committed is not built" >&2

# build NAME WHERE UMASK JOBS VARIABLE…: a clone at WHERE, built into $work/NAME.
build() {
    name=$1 where=$work/$2 mask=$3 jobs=$4
    shift 4
    rm -rf "$where" "$work/$name"
    mkdir -p "$where" "$work/$name" "$work/$name.home"
    git clone -q --shared --no-checkout "$source" "$where/tidemark"
    git -C "$where/tidemark" checkout -q --detach "$commit"
    [ ! -d "$source/web/node_modules" ] || cp -R "$source/web/node_modules" "$where/tidemark/web/"
    (
        umask "$mask"
        unset SOURCE_DATE_EPOCH
        export HOME="$work/$name.home" "$@"
        cd "$where"
        tarball=$(tidemark/tools/dist.sh "$work/$name")
        tar -xzf "$tarball"
        tree=$(basename "$tarball" .tar.gz)
        cmake -S "$tree" -B "$tree.build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_TESTING=OFF >/dev/null
        cmake --build "$tree.build" -j "$jobs" >/dev/null
        DESTDIR="$work/$name/installed" cmake --install "$tree.build" --prefix /usr >/dev/null
        [ -z "$packages" ] || DEB_BUILD_OPTIONS="parallel=$jobs" tidemark/tools/packages.sh "$work/$name" >/dev/null
    ) >"$work/$name.log" 2>&1 || { tail -20 "$work/$name.log" >&2 && exit 1; }
}

build first here 022 2 LC_ALL=C TZ=UTC
build second there/and/further_down 077 1 LC_ALL=C.UTF-8 LANG=de_DE.UTF-8 TZ=Pacific/Kiritimati

# What is compared; .buildinfo and .changes say when and where by design.
list() {
    (cd "$work/$1" && find . \( -name '*.buildinfo' -o -name '*.changes' -o -name build.log \) -prune -o ! -type d -print | LC_ALL=C sort)
}
list first >"$work/first.list"
list second >"$work/second.list"
status=0
diff "$work/first.list" "$work/second.list" || status=1
count=0
while read -r file; do
    count=$((count + 1))
    if [ -h "$work/first/$file" ]; then
        [ "$(readlink "$work/first/$file")" = "$(readlink "$work/second/$file")" ] || { echo "differs: $file" && status=1; }
    elif ! cmp -s "$work/first/$file" "$work/second/$file"; then
        echo "differs: $file"
        status=1
    fi
done <"$work/first.list"
[ "$count" -gt 50 ] || { echo "reproducible: only $count files were made" >&2 && status=1; }
if [ $status = 0 ]; then
    echo "$count files, each the same from both builds"
    [ -n "$kept" ] || rm -rf "$work"
else
    echo "not reproducible: compare $work/first and $work/second (diffoscope tells why)" >&2
fi
exit $status
