# README.md, doc/ and man/: what they say of commands, options, files and output is so.
. "$HERE/lib.sh"

for program in python3 g++ cc patch; do
    command -v $program >/dev/null || skip "no $program"
done
python3 "$HERE/docs.py" "$(cd "$HERE/../.." && pwd)"
