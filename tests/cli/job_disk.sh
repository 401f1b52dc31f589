# A job whose disk is full, cannot be written, or whose ranks are ended from outside: ranks run as they
# would, and the job says of each what is missing.
. "$HERE/lib.sh"
[ "$(id -u)" = 0 ] && mkdir small && mount -t tmpfs -o size=64k tmpfs small 2>/dev/null || skip "cannot mount here"
trap 'umount small' EXIT
export PMI_SIZE=3

ranks() { # DIR COMMAND…: the ranks of a job, all at once; their statuses
    local dir=$1 rank pids=
    shift
    for rank in 0 1 2; do
        PMI_RANK=$rank tidemark record -q --job="$dir" --job-id=x --job-collector="$by" "$@" >out.$rank 2>err.$rank &
        pids="$pids $!"
    done
    for rank in $pids; do wait "$rank"; echo "status $?"; done >statuses
    sort statuses | uniq -c | tr -s ' '
}

for by in rank node; do
    echo "== full, a collector for each $by"
    rm -rf small/*
    head -c 48k /dev/zero >small/filler
    ranks small/runs "$VICTIMS/basic" 1
    cat err.*
    try tidemark job small/runs
    sentence "No space left on device; there is no profile"
    echo "== one rank has room"
    rm -rf small/*
    PMI_RANK=0 tidemark record -q --job=small/runs --job-id=x --job-collector=$by "$VICTIMS/basic" 1
    head -c 64k /dev/zero >small/filler 2>/dev/null
    for rank in 1 2; do
        PMI_RANK=$rank tidemark record -q --job=small/runs --job-id=x --job-collector=$by "$VICTIMS/basic" 1
    done
    tidemark job small/runs | grep 'left nothing'
    PMI_RANK=0 tidemark record --job=small/runs --job-id=y --job-collector=$by "$VICTIMS/basic" 1
    echo "== read-only"
    mount -o remount,ro small
    ranks small/none "$VICTIMS/basic" 1
    sort -u err.*
    mount -o remount,rw small
    echo "== ended by SIGTERM"
    rm -rf runs
    for rank in 0 1 2; do
        PMI_RANK=$rank tidemark record -q --job=runs --job-id=x --job-collector=$by sh -c 'echo $$ >began.$PMI_RANK; exec sleep 60' &
    done
    for rank in 0 1 2; do until_true test -s began.$rank; done
    kill -TERM $(cat began.0 began.1 began.2)
    wait
    tidemark job runs | grep -c 'rank [012] .*killed by SIGTERM after'
    rm -f began.*
done
