# Kokkos' Views by label and call path, by libtidemark-kokkos; the program calls the tool as Kokkos does.
. "$HERE/lib.sh"
export LC_ALL=C.UTF-8
c++ -g -O1 -o views "$HERE/kokkos.cpp" -ldl || skip "no C++ compiler"
KOKKOS_TOOLS_LIBS=$(dirname "$BIN")/lib/libtidemark-kokkos.so
export KOKKOS_TOOLS_LIBS

echo "Without a recorder:"
./views
echo "Recorded:"
tidemark record -q -o run.tmk ./views
tidemark report --json run.tmk >run.json
echo "Regions, their peaks and what is left:"
jq -r '.regions[] | "\(.name) \(.peak_bytes) \(.left_bytes) \(.entered_count)"' run.json
echo "Marks:"
jq -r '.marks[].name' run.json
echo "Who made what, and how often:"
tidemark export --to folded -m count --region 'Host: density' -o - run.tmk 2>/dev/null | sed 's/.*\(make_[a-z]*\).* /\1 /'
tidemark report --show=sites --sort=leaked run.tmk | grep -o '^ *[0-9.]* .iB.*make_mesh' | sed 's/  */ /g'
echo "Counted once, also where Kokkos aligns by itself:"
KOKKOS_SHIFTS=1 tidemark record -q -o shifted.tmk ./views >/dev/null
for file in run.tmk shifted.tmk; do
    # but for the C++ library's pool
    query $file "SELECT sum(at_peak_bytes) BETWEEN 1350000 AND 1353000 FROM site
        JOIN path_name USING (path) WHERE module LIKE '%views' OR module LIKE '%kokkos%'"
done
