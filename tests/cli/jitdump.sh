# Code that a program makes and tells in a jitdump: its functions, files and lines, wherever the file
# lies, and though it was unmapped at once. Moved code keeps its name, and damage costs what is behind
# it.
. "$HERE/lib.sh"

cc -O1 -o jitdump "$HERE/jitdump.c" || exit 1
mkdir elsewhere
names() {
    tidemark report --json --sort bytes "$1" |
        jq -r '.sections[0].sites[] | select(.function | test("first|second|never")) | "\(.function) \(.file):\(.line)"' |
        sort
}
tidemark record -q -o run.tmk ./jitdump elsewhere || skip "no code is made on this machine"
names run.tmk
tidemark query -f csv run.tmk "SELECT function, alloc_bytes FROM call_sites WHERE function IN ('first','second') ORDER BY 1" |
    tr -d '\r'
