# tmux: a server that outlives who started it
export TMUX_TMPDIR=$work
unset TMUX
same version tmux -V
"$TIDEMARK" record -q --separate -o 'tmux.%n.%p.tmk' tmux -L t -f /dev/null new-session -d 'sleep 0.3; echo in tmux >told' || fail "tmux: status $?"
tries=0
until [ -s told ] || [ $tries -gt 200 ]; do tries=$((tries + 1)); sleep 0.05; done
[ "$(cat told)" = "in tmux" ] || fail "tmux: its session did not run"
tmux -L t kill-server 2>/dev/null
