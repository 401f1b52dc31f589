# Where a process must name who may read its memory (Yama's scope 1), a recorded program names the
# collector, once and at its beginning: whom it names itself stays. The policy is a stand-in, so the
# kernel may not know the call; what is asked of it is seen by strace.
. "$HERE/lib.sh"
[ "$(id -u)" = 0 ] || { echo "skip: only root can put a stand-in for /proc/sys/kernel"; exit 77; }
for tool in strace unshare setpriv; do
    command -v $tool >/dev/null || { echo "skip: no $tool"; exit 77; }
done
unshare -m true 2>/dev/null || { echo "skip: no namespace of its own"; exit 77; }

named() { # SCOPE ARGUMENTS…: whom the program names: "another" or what it was told to
    local scope=$1
    shift
    mkdir -p room && chmod 777 room && rm -rf room/*
    cp "$VICTIMS/named_tracer" room/
    unshare -m bash -c 'mount -t tmpfs none /proc/sys/kernel && mkdir /proc/sys/kernel/yama &&
        echo "$1" >/proc/sys/kernel/yama/ptrace_scope && cd room && shift &&
        setpriv --reuid=65534 --regid=65534 --clear-groups "$BIN/tidemark" record -q --separate -o run.tmk -- \
            strace -f -e trace=prctl -o calls ./named_tracer "$@"' - "$scope" "$@"
    grep -o 'PR_SET_PTRACER, [0-9]*' room/calls | sed "s/.* //; s/^\(${1:-none}\)\$/as told: \1/; s/^[0-9]*\$/another/"
}

echo "== scope 1: the collector"
named 1
echo "== scope 1, and the program names one of its own"
named 1 4711
echo "== scope 0: nobody"
named 0
echo "== scope 2: nobody would help"
named 2
