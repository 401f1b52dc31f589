# truth: healthy
# what: a bash script with arrays, functions and loops
# needs: bash
# small: yes
cat >script <<'S'
declare -A count
words() { local w; for w in $1; do count[$w]=$((${count[$w]:-0} + 1)); done; }
for ((i = 0; i < 20000; i++)); do words "a$((i % 500)) b c"; done
echo ${#count[@]}
S
record bash script >/dev/null
