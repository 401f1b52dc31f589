# The live view, driven as a person would in a terminal of tmux; and as lines.
. "$HERE/lib.sh"
command -v tmux >/dev/null || skip "no tmux"

tmux() { command tmux -L "tidemark-top-$$" -f /dev/null "$@"; }
screen() { tmux capture-pane -p -t top; }
until_false() { until_true eval "! $*"; }
shows() { screen | grep -q -- "$1"; }
keys() { tmux send-keys -t top "$@"; }
# tmux tells the terminal of a size a moment later: maybe the program that comes next.
sized() { [ "$(stty -F "$(tmux display-message -p -t top '#{pane_tty}')" size)" = "30 100" ]; }
full_size() { tmux resize-window -t top -x 100 -y 30 && until_true sized; }
trap 'tmux kill-server 2>/dev/null' EXIT # what else runs on is ended by run.sh

tidemark record -q -o live.tmk "$VICTIMS/killed" 1 counters 2>err &
recorder=$!
until_true test -s counters
program=$(od -An -tu8 -j 0 -N 8 counters | tr -d ' ')
figures() { tidemark report live.tmk 2>/dev/null | grep -q victim_counted; }
until_true figures

# Lines: so many looks, of the file, of the program and of what records it.
for what in live.tmk "$program" "$recorder"; do
    try tidemark top "$what" -n 2 -i 100ms </dev/null
    grep -c 'live .* in .* blocks, peak' out
    grep -q 'victim_counted' out && echo "with its call site"
done
try tidemark top $$ -n 1
sentence "no profile of process"
try tidemark top 999999999
sentence "there is no process"
try tidemark top nowhere.tmk
sentence "nowhere.tmk"

LC_ALL=C.UTF-8 tmux -u new-session -d -s top -x 100 -y 30 'stty -g >before; exec sh'
tmux set-option -t top remain-on-exit on >/dev/null

# A recording that has ended says the same at each look: its screens, as they are. Drawn once there is
# what `shows` waits for, and nothing moves any more.
settled() { local before=$(screen); sleep 0.2; [ "$before" = "$(screen)" ]; }
picture() { # WHAT-IS-THERE-WHEN-IT-IS-DRAWN [FROM-WHICH-LINE]; without empty lines
    until_true shows "$1"
    until_true settled
    echo "--- $1"
    screen | sed -n "${2:-1},\$ { s/ *\$//; /./ s/^/|/p }"
}
cp "$HERE/../golden/profile-v2-details.tmk" ended.tmk
keys 'clear; NO_COLOR=1 tidemark top ended.tmk' Enter
picture 'call site, by live'
keys B; picture 'by all bytes' 13
keys I; picture 'least first' 13
keys I; keys P; picture 'by at peak' 13
keys m; until_true shows 'requested memory over time' && echo "requested alone"
keys m; until_true shows 'resident memory over time' && echo "resident on its own scale"
keys m; until_false shows 'resident.memory.over'
keys b; until_true shows '(0 since' && echo "growth from a baseline"
keys b; until_false shows '0.since'
keys /; keys read_; picture 'Search: read_' 13
keys Enter; keys Enter; picture 'callers, by live'
keys h; picture 'sort by live, growth'
tmux resize-window -t top -x 72 -y 14
keys Escape; until_true shows 'callers, by'; keys Escape; picture 'F1 Help'
# Fewer figures where there is less room, and the one that is sorted by stays.
tmux resize-window -t top -x 40 -y 14; picture '^    at peak  call'
tmux resize-window -t top -x 20 -y 10; picture '^    at peak  site'
keys C; picture ' 50.0 k '
tmux resize-window -t top -x 80 -y 24; picture 'callers of'
tmux resize-window -t top -x 132 -y 43; picture 'memory over time'
keys q
full_size
until_false shows 'F1 Help'
keys 'clear' Enter

# The mouse, as a terminal tells of it: the button, column and row, from 1 on, and that it was let go.
octal() { printf "\\$(printf %o $((32 + $1)))"; }
event() { printf '\033[M'; octal $1; octal $2; octal $3; }
mouse() { tmux send-keys -t top -l "$(event $1 $2 $3; event 3 $2 $3)"; }
row_of() { screen | grep -n -- "$1" | head -1 | cut -d : -f 1; }
keys 'NO_COLOR=1 tidemark top ended.tmk' Enter
until_true shows 'call site, by live'
mouse 0 35 "$(row_of 'call site, by')"; until_true shows 'call site, by allocations' && echo "a click on a title sorts"
mouse 0 60 "$(row_of 'read_input')"; until_true shows 'callers of solver::read_input' && echo "a click on a row chooses it"
mouse 65 60 15; until_true shows 'callers of libold' && echo "the wheel moves"
mouse 0 60 "$(row_of 'libold')"; until_true shows 'callers, by live' && echo "a click on the chosen row shows it"
mouse 0 2 30; until_true shows 'call site, by alloc' && echo "a click on a key presses it"
keys q
until_false shows 'F1 Help'
keys 'clear' Enter

# Several at once: named, and in a directory.
mkdir -p many && cp ended.tmk many/one.tmk && cp "$HERE/../golden/profile-v1.tmk" many/two.tmk
keys 'NO_COLOR=1 tidemark top many' Enter
picture 'by live'
keys P; picture 'by peak'
keys Enter; until_true shows 'Esc All' && echo "one of them"
shows 'call site, by live' && echo "as alone"
keys Escape; until_true shows 'programs, 0 still' && echo "and back"
mouse 0 70 2; until_true shows 'by name' && echo "sorted by name"
tmux resize-window -t top -x 40 -y 10; picture 'by name'
full_size
keys q
until_false shows 'F10 Quit'
keys 'clear' Enter
keys 'NO_COLOR=1 tidemark top ended.tmk live.tmk' Enter
until_true shows 'by live'
keys N Home; until_true shows 'by name'
tmux resize-window -t top -x 60 -y 4; until_true shows 'killed ('
mouse 0 2 4; keys P; until_true shows 'by peak'
shows 'killed (' && echo "a click below the list chooses nothing"
full_size
keys q
until_false shows 'F10 Quit'
keys 'clear' Enter
tidemark top ended.tmk live.tmk -n 1 -w 90 </dev/null | sed -n '1s/live .*/live/p; 2p; /solver/p' | sed 's/ *$//'
tidemark top -n 1 </dev/null | grep -q "killed ($program)" && echo "found by itself"
try tidemark top ended.tmk nowhere.tmk -n 1
sentence "nowhere.tmk"
mkdir empty
try tidemark top empty
sentence "no profile in empty"

start() { keys "tidemark top $* live.tmk; echo status \$?; stty -g >after" Enter; until_true shows 'F1 Help'; }
restored() {
    until_true shows 'status [0-9]'
    screen | grep -o 'status [0-9][0-9]*'
    until_true test -s after
    cmp -s before after && echo "as it was"
    [ "$(tmux display-message -p -t top '#{alternate_on}')" = 0 ] && echo "its screen too"
    rm -f after
    keys 'clear' Enter
    until_false shows 'status'
}

start
shows 'tidemark top  killed' && echo "which program"
shows 'victim_counted' && echo "its call sites"
shows 'requested' && echo "memory over time"
shows 'call site, by live' && echo "by live"
keys G; until_true shows 'by growth' && echo "by growth"
keys I; until_true shows 'least first' && echo "the other way round"
keys I; keys '>'; until_true shows 'by rate' && echo "by rate"
keys Z; until_true shows 'frozen' && echo "frozen"
frozen=$(screen); sleep 2.5
[ "$frozen" = "$(screen)" ] && echo "nothing moves"
keys Z; until_false shows 'frozen' && echo "goes on"
moved() { [ "$(screen)" != "$frozen" ]; }
until_true moved && echo "and moves"
keys /; keys counted Enter; keys Enter
until_true shows 'callers, by' && echo "the site that was searched for"
shows 'asked .*on average' && shows 'victim_counted' && echo "its figures"
keys Escape; until_true shows 'F1 Help' && echo "back"
keys /; keys nosuchname; until_true shows 'Search: nosuchname'; keys Enter
until_true shows 'no call site.s name has' && echo "not found"
keys h; until_true shows 'choose a call site' && echo "help"
tmux resize-window -t top -x 60 -y 40
until_true shows 'look again' && until_false shows … && shows 'marks text' && echo "all of it in 60 columns"
keys Escape; until_true shows 'F1 Help'
tmux resize-window -t top -x 60 -y 12
until_false shows 'memory over time' && until_true shows 'F1 Help' && echo "smaller: no chart"
tmux resize-window -t top -x 120 -y 40
until_true shows 'memory over time' && echo "and larger"
keys q
restored

# A signal, and an error of our own, give the terminal back as well.
for signal in TERM SEGV; do
    start
    pkill -$signal -f 'tidemark top.* live.tmk' -P "$(tmux display-message -p -t top '#{pane_pid}')"
    restored
done

# The end of the program is seen.
start
kill -TERM "$program"
until_true shows 'SIGTERM' && echo "how it ended"
keys q
restored
wait $recorder 2>/dev/null
try tidemark top live.tmk </dev/null
grep -o 'killed by SIGTERM' out

# Lines are as long as asked for, 40 columns at least.
for width in 40 60 75; do
    tidemark top live.tmk --plain -n 1 --width $width >lines
    echo "$width $(($(wc -l <lines) > 3)) $(($(LC_ALL=C.UTF-8 wc -L <lines) > width))"
done
