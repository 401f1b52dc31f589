# truth: healthy
# what: a tmux server with two windows that ends with them
# needs: tmux
# small: yes
export TMUX_TMPDIR=$PWD
unset TMUX
record tmux -L t -f /dev/null new-session -d 'sleep 1.5' \; new-window 'seq 20000; sleep 1'
for i in $(seq 60); do tmux -L t list-sessions >/dev/null 2>&1 || break; sleep 0.1; done
sleep 0.5
