# To be sourced by tests that start MPI jobs: mpi openmpi|mpich N PROGRAM… Both can be installed at
# once. Tests run as root in containers, with more ranks than processors.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
# Open MPI's sockets are in the temporary directory: the names of sockets are short.
unset TMPDIR

mpi() {
    local launcher=$1 ranks=$2
    shift 2
    mpirun.$launcher -n "$ranks" "$@" </dev/null
}

# An option that sets a variable for the ranks, not for mpirun: mpi_set openmpi NAME VALUE
mpi_set() {
    case $1 in
    openmpi) printf '%s\n' -x "$2=$3" ;;
    mpich) printf '%s\n' -genv "$2" "$3" ;;
    esac
}

# The value of KEY in the entry FILE.
entry() { sed -n "s/^$1 //p" "$2"; }
