# What run-times ask for as they start is one line, and all of it with --startup.
. "$HERE/lib.sh"

export LC_ALL=C.UTF-8
tidemark record -q -o run.tmk "$CLI/cli_startup"
held() { # OPTIONS: the first screen's holders
    tidemark report "$@" run.tmk | sed -n '/^Held at the peak/,/^$/p'
}
held | grep -o 'own_table' | head -1
held | grep -c 'start-up of .*(--startup)'
held --startup | grep -c 'start-up'
held --startup | grep -c '[1-9]'
tidemark report --json run.tmk |
    jq -r '.sections[] | select(.metric == "peak" and .total == .filtered and .site_count > 3) | "JSON has all of it"'
tidemark report run.tmk | grep -c 'start-up of run-times and libraries (--startup)' | sed 's/[1-9]/in the tables too/'
tidemark report --sort peak run.tmk | grep -c start-up || :

# A program of which all is start-up: the summary names it, and no table says that there is nothing.
printf '#include <locale.h>\nint main(void) { return !setlocale(LC_ALL, "C.UTF-8"); }\n' >only.c
cc -O1 -g -o only only.c
tidemark record -o only.tmk ./only 2>summary
sed -n 's/^  at the peak .* 100 %/at the peak: 100 %/p' summary
tidemark report only.tmk | sed -n '/^Alive at the peak/,/^$/p; /^Never freed/,/^$/p' |
    sed 's/[0-9.]* [KM]iB/…/g; /^$/d'
