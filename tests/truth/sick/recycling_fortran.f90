! truth: sick
! what: a work array of 8 MB is allocated in each call of the solver
! expect: large-recycling short-lived-blocks
module solver
  implicit none
contains
  subroutine solve(b, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: b(n)
    real(8), allocatable :: work(:)
    allocate (work(n)) ! guilty: solve
    work = 2d0*b
    b = b + work/3d0
    deallocate (work)
  end subroutine solve
end module solver

program main
  use solver
  implicit none
  real(8), allocatable :: b(:)
  integer :: step
  allocate (b(1000000))
  b = 1d0
  do step = 1, 150
    call solve(b, 1000000)
    b = b/maxval(b)
  end do
  print *, sum(b)
end program main
