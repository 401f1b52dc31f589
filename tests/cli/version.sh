# The version stands in CMakeLists.txt; what else must name it agrees.
. "$HERE/lib.sh"
root=$HERE/../..
version=$(sed -n 's/^project(tidemark VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[ "$(tidemark version)" = "tidemark $version" ] && echo "the program"
head -1 "$root/debian/changelog" | grep -q "^tidemark ($version-[0-9]*)" && echo "Debian's changelog"
grep -q "^## $version" "$root/CHANGELOG.md" && echo "CHANGELOG.md"
