# truth: healthy
# what: gfortran compiles a module
# needs: gfortran
{
    echo 'module m'; echo contains
    for i in $(seq 100); do printf 'subroutine s%d(a)\nreal, intent(inout) :: a(:)\na = a * %d.0 + sum(a)\nend subroutine\n' $i $i; done
    echo 'end module'
} >m.f90
record gfortran -O1 -c m.f90
