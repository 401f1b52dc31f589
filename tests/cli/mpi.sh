# Recording does real MPI jobs no harm, and what becomes of each rank is told: under Open MPI and
# MPICH alike. (Exact figures: tests/victims/mpi.sh.)
. "$HERE/lib.sh"
. "$HERE/../lib/mpi.sh"

library=$(dirname "$BIN")/lib/libtidemark.so
jobs() { ls -d "$1"/"$2"-* | wc -l; }
# Ranks that are killed do not wait for their profiles: these come a moment later.
all_ended() { job_entries "$1" | awk '{ begun += $1 == "tidemark"; ended += $1 == "end" } END { exit begun != ended || !ended }'; }
ends() { # of the ranks below DIR, sorted
    until_true all_ended "$1"
    job_entries "$1" | awk '$1 == "rank" { rank = $2 } $1 == "end" { how = $2 }
        $1 == "end_status" { how = how " " $2 }
        $1 == "." { if (rank != "") print "rank " rank ": " how; how = "nothing"; rank = "" }' | sort -t ' ' -k 2n -k 3
}
same_status() { # LAUNCHER HOW: as without us
    mpi "$1" 3 "$endings" "$2" >bare.out 2>bare.err
    local bare=$?
    mpi "$1" 3 tidemark record -q --job="$1-$2" "$endings" "$2" >out 2>err
    local status=$?
    [ $status = $bare ] && echo "$2: same status" || echo "$2: status $status, bare $bare"
}

# Open MPI's mpirun sometimes ends before it has printed what a rank's MPI_Abort() has it say (2 of 40
# times on a busy machine, without us): it is asked again.
launcher_tells_of_abort() { # LAUNCHER
    for _ in 1 2 3 4 5; do
        grep -q 'MPI_ABORT\|MPI_Abort' err && return
        mpi "$1" 3 tidemark record -q --job="again-$1" "$endings" abort >out 2>err
    done
    return 1
}

one_launcher() {
    launcher=$1 name=$2
    endings=$VICTIMS/$launcher/mpi_endings
    same_status $launcher well
    cmp bare.err err
    ends $launcher-well
    same_status $launcher status
    ends $launcher-status | grep ': exit 7$' | sed 's/.*:/a rank:/' | sort -u
    same_status $launcher abort
    launcher_tells_of_abort $launcher && echo "the launcher says the same of it"
    job_entries $launcher-abort | grep -c '^rank '
    same_status $launcher segv
    ends $launcher-segv | grep 'rank 1'
    job_entries $launcher-segv | sed -n 's/^profile //p' | while read -r profile; do
        query $launcher-segv/*/"$profile" "SELECT sum(alloc_count) FROM site JOIN path ON path.id = site.path
            JOIN location_frame USING (location) JOIN function ON function.id = location_frame.function
            WHERE function.name = 'victim_work'"
    done | sort | uniq -c | awk '{ print $1, "ranks with", $2 }'
    same_status $launcher kill
    ends $launcher-kill | grep 'rank 1'

    # What MPI_Comm_spawn() starts is a job of its own, as it is a world of its own.
    # MPICH 4.0 as Debian has it cannot spawn: its mpirun then ends with 15, or on a busy machine, without us
    # too, with 1.
    mpi $launcher 1 "$endings" spawn >bare.out 2>bare.err
    bare=$?
    mpi $launcher 1 $(mpi_set $launcher LD_PRELOAD "$library") \
        $(mpi_set $launcher TIDEMARK_OPTIONS --job=spawn-$launcher) "$endings" spawn >out 2>err
    status=$?
    case $status:$bare in
    "$bare:$bare" | 1:15 | 15:1) echo "spawn: same status" ;;
    *) echo "spawn: status $status, bare $bare" ;;
    esac
    if [ $bare = 0 ]; then
        echo "jobs: $(jobs spawn-$launcher $name)"
        job_entries spawn-$launcher | awk '$1 == "rank" || $1 == "ranks"' | paste - - | sort
    fi

    # mpirun itself recorded: it and its helpers are no ranks.
    tidemark record -q --job=whole-$launcher mpirun.$launcher -n 3 "$endings" well
    echo "all: status $?, jobs $(jobs whole-$launcher $name)"
    ends whole-$launcher
    job_entries whole-$launcher | grep -c '^is_launcher 1' | sed 's/^[1-9]$/and the launcher/'

    # A script around the program, and a program that is no MPI program.
    printf '#!/bin/sh\necho before; "$@"\n' >script
    chmod +x script
    mpi $launcher 2 tidemark record -q --job=script-$launcher ./script "$endings" well
    job_entries script-$launcher | sed -n 's/^profile \(rank-[0-9]*\.[a-z_]*\)\..*/\1/p' | sort

    mpi $launcher 64 tidemark record --job=many-$launcher "$VICTIMS/basic" 1 >out 2>err
    echo "64 ranks: status $?, jobs $(ls many-$launcher | wc -l)"
    sort out | uniq -c | awk '{ $1 = $1; print }'
    sentence 'the ranks. profiles into many-'
    ends many-$launcher | grep -c ': exit 0$'
    rm -rf ./*-$launcher $launcher-*
}

for launcher in openmpi mpich; do
    [ -x "$VICTIMS/$launcher/mpi_endings" ] && command -v mpirun.$launcher >/dev/null ||
        skip "no MPI programs for $launcher (openmpi-bin libopenmpi-dev mpich libmpich-dev)"
done
echo "== Open MPI"
one_launcher openmpi openmpi
echo "== MPICH"
one_launcher mpich hydra
