! A Fortran program for the tests of the web view.
module fields
    implicit none
contains
    subroutine grow(values, n)
        real(8), allocatable, intent(inout) :: values(:)
        integer, intent(in) :: n
        real(8), allocatable :: next(:)
        allocate(next(n))
        next = 1.0d0
        if (allocated(values)) next(1:size(values)) = values
        call move_alloc(next, values)
    end subroutine grow
end module fields

program field
    use fields
    implicit none
    real(8), allocatable :: values(:)
    integer :: i
    do i = 1, 200
        call grow(values, 100 * i)
    end do
    print *, sum(values)
end program field
