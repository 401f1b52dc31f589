# A recorded program that does what it is told (commanded.c).
#   commanded [record's options]   starts it; its stderr, and record's, go to `err`
#   say COMMAND                    and waits until it is done
#   ended                          waits for its end, prints the status; $recorder is record's pid
commanded() {
    rm -f commands answers err # nobody is to read there what the one before has said
    mkfifo commands answers
    tidemark record "$@" "$CLI/cli_commanded" <commands >answers 2>err &
    recorder=$!
    exec 3>commands 4<answers
}

say() {
    echo "$*" >&3
    [ "$1" = x ] || read -r answer <&4
}

ended() {
    exec 3>&- 4<&-
    wait $recorder
    echo "status $?"
}
