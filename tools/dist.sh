#!/bin/sh
# dist.sh [DIRECTORY]: the source as a tarball, with the web view built, so that who builds from it
# needs no npm. The same commit gives the same bytes.
set -eu
umask 022
export LC_ALL=C
unset TAR_OPTIONS GZIP
into=$(cd "${1:-.}" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tidemark VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
name=tidemark-$version

tools/web.sh
[ -f web/dist/index.html ] || { echo "dist: the web view could not be built" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git archive --prefix="$name/" HEAD -- . ':!debian' | tar -x -C "$work"
mkdir -p "$work/$name/web/dist"
cp web/dist/* "$work/$name/web/dist/"
date=@$(git log -1 --format=%ct)
tar -C "$work" --format=gnu --sort=name --mtime="$date" --mode=u=rwX,go=rX --owner=0 --group=0 --numeric-owner -c "$name" |
    gzip -9n >"$into/$name.tar.gz"
echo "$into/$name.tar.gz"
