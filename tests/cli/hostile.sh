# Names that would drive a terminal leave by no command: every byte that each command prints about
# hostile recordings is looked at. One recording names marks, regions, threads and itself so, the other has
# hostile functions, files and modules.
. "$HERE/lib.sh"
command -v python3 >/dev/null || skip "no python3"
export PYTHONDONTWRITEBYTECODE=1 PAGER=cat
esc=$(printf '\033')
program="x${esc}]52;c;aGFybQ==$(printf '\007\342\200\256')=cmd"
cp "$CLI/cli_hostile" "$program"
cp "$VICTIMS/basic" "./basic${esc}]0;x$(printf '\007')"
printf '[program]\npeak = 0\nallocations = 0\n' >none.toml
try tidemark record -q --trace -o run.tmk "./$program" "${esc}[2J" '=1+1'
"$MAKE_PROFILE" hostile names.tmk

echo "== marks, regions, threads, the program"
python3 "$HERE/hostile.py" run.tmk run.tmt names.tmk
echo "== functions, files, modules"
python3 "$HERE/hostile.py" names.tmk run.tmt run.tmk
