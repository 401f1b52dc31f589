# tidemark-mpi gives what tidemark job gives, bit for bit, on any number of processes of either MPI.
. "$HERE/lib.sh"

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl=self,vader HYDRA_LAUNCHER=fork
"$MAKE_JOB" run 37 10 4
echo nonsense >run/rank-00009.tmk
tidemark job -f json -o serial.tmk run >serial.json
tidemark job --width 90 run >serial.txt
"$MAKE_JOB" small 8
tidemark job --width 90 small run >serial.scaling

check() { # LAUNCHER BINARY PROCESSES
    $1 -n $3 "$2" -f json -o mpi.tmk run >mpi.json 2>err || cat err
    $1 -n $3 "$2" --width 90 run >mpi.txt 2>err || cat err
    $1 -n $3 "$2" --width 90 small run >mpi.scaling 2>err || cat err
    cmp serial.json mpi.json && cmp serial.tmk mpi.tmk && cmp serial.txt mpi.txt &&
        cmp serial.scaling mpi.scaling || echo "differs: $*"
    rm -f mpi.*
}

tried=0
for kind in openmpi mpich; do
    binary=$BIN/tidemark-mpi
    [ -x "$binary" ] && ldd "$binary" | grep -q "lib${kind/open/}\.so" || binary=$BIN/tidemark-mpi.$kind
    [ -x "$binary" ] && command -v "mpirun.$kind" >/dev/null || continue
    tried=$((tried + 1))
    for processes in 1 2 4; do
        check "mpirun.$kind" "$binary" $processes
    done
    # Open MPI gives its processes a terminal, whatever its own output is.
    NO_COLOR= TERM=xterm "mpirun.$kind" -n 2 "$binary" --width 90 run >mpi.txt
    cmp serial.txt mpi.txt || echo "$kind: colour in a file?"
    "mpirun.$kind" -n 2 "$binary" nowhere >out 2>err
    [ $? = 0 ] && echo "$kind: nowhere is no job, and that is no failure?"
    [ "$(grep -c '^tidemark-mpi: .*nowhere' err)" = 1 ] || cat err
done

# Under the launcher of another MPI one process does it all, and says so.
if [ $tried = 2 ]; then
    binary=$BIN/tidemark-mpi
    other=mpich
    ldd "$binary" | grep -q 'libmpi\.so' || other=openmpi
    "mpirun.$other" -n 3 "$binary" --width 90 -o mpi.tmk run >mpi.txt 2>err
    [ "$(grep -c '^tidemark-mpi: .*another MPI' err)" = 1 ] || cat err
    cmp serial.txt mpi.txt && cmp serial.tmk mpi.tmk || echo "differs: under the other launcher"
fi
[ $tried -gt 0 ] || skip "no MPI"
echo "the same as serial"
