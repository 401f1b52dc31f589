#!/bin/sh
# packages.sh DIRECTORY: Debian packages into DIRECTORY, and what lintian says of them.
set -eu
[ $# = 1 ] || { echo "Usage: tools/packages.sh DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
into=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
for needed in dpkg-buildpackage dh lintian; do
    command -v $needed >/dev/null || {
        echo "packages: no $needed here: apt-get install dpkg-dev debhelper lintian" >&2
        exit 1
    }
done
tarball=$(tools/dist.sh "$into")
version=$(basename "$tarball" .tar.gz | sed 's/^tidemark-//')
mv "$tarball" "$into/tidemark_$version.orig.tar.gz"
rm -rf "$into/tidemark-$version"
tar -C "$into" -xzf "$into/tidemark_$version.orig.tar.gz"
git archive HEAD debian | tar -C "$into/tidemark-$version" -x
(cd "$into/tidemark-$version" && dpkg-buildpackage -us -uc >"$into/build.log" 2>&1) || {
    tail -40 "$into/build.log"
    exit 1
}
rm -rf "$into/tidemark-$version"
lintian --fail-on error,warning "$into"/*.changes
ls "$into"/*.deb
