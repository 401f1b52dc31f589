# Functions that the compiler cut out of others have these functions' names, and threads that OpenMP's
# run-time made are one row where not all have room. For gcc and for clang, as far as they are here.
. "$HERE/lib.sh"
export LC_ALL=C.UTF-8

tried=0
for compiler in gcc clang; do
    for debug in -g -g0; do
        $compiler $debug -O1 -fopenmp "$HERE/openmp.c" -o openmp 2>/dev/null || continue
        ./openmp >bare || continue
        tried=1
        tidemark record -q -o run.tmk ./openmp | cmp bare - || echo "$compiler $debug: other output"
        tidemark report --json run.tmk >run.json
        tidemark export --to folded -m count -o - run.tmk >folded
        case $compiler$debug in clang-g0) ;; # before 17 nothing says whose region it is
        *)
            grep -q 'solve \[OpenMP ' folded || echo "$compiler $debug: no region named"
            grep -E '_omp_fn|omp_outlined' folded && echo "$compiler $debug: a name is left"
            awk '/solve \[OpenMP/ && !/;(GOMP_|__kmp|libg?omp)[^;]*$/ && !/libg?omp[^;]* [0-9]+$/ { n += $NF }
                END { if (n != 161) print "blocks of regions:", n }' folded
            ;;
        esac
        jq -r '[.threads[] | select(.team == "OpenMP")] | length | select(. != 15) | "team of \(.)"' run.json
        jq -r '.threads[0].team | select(. != null) | "the main thread is in it"' run.json
        tidemark report --show=threads run.tmk >threads
        grep -q '^  *15 of OpenMP.s team' threads || echo "$compiler $debug: not one"
        grep -q 'Threads  17, .* 15 of OpenMP' threads || echo "$compiler $debug: title"
        grep -cE '^ *[0-9]+ (openmp|-) ' threads | grep -vx 2
        grep -q "OpenMP's team → openmp" threads || echo "$compiler $debug: exchanges"
        tidemark report --show=threads --top=17 run.tmk | grep -cE '^ *[0-9]+ (openmp|-) ' | grep -vx 17
        tidemark report run.tmk | grep -q '^  threads .* 15 of OpenMP.s team' || echo "$compiler $debug: head"
    done
done
[ $tried = 1 ] || skip "no compiler with OpenMP"
echo "all said"
