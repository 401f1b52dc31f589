! What each phase of a Fortran program needs:
!   gfortran -g tidemark.f90 regions.f90 -ltidemark-api -o regions
!   tidemark record -o regions.tmk ./regions
!   tidemark report --show regions regions.tmk
program regions
    use tidemark
    implicit none
    real(8), allocatable :: matrix(:, :), vector(:)

    call region_begin('setup')
    allocate (matrix(500, 500))
    matrix = 1
    call region_end('setup')
    call mark('matrix ready')

    call region_begin('solve')
    allocate (vector(1000))
    vector = 2
    deallocate (vector)
    call region_end('solve')
    print '(f0.1)', matrix(1, 1)
    deallocate (matrix)
end program
