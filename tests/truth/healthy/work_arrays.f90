! truth: healthy
! what: work arrays are allocated once and passed down; sections are contiguous
module solver
  implicit none
contains
  subroutine relax(x, work)
    real(8), intent(inout) :: x(:)
    real(8), intent(out) :: work(:)
    integer :: i
    work(1) = x(1)
    do i = 2, size(x)
      work(i) = 0.5d0*(x(i) + x(i - 1))
    end do
    x = work
  end subroutine relax
end module solver

program main
  use solver
  implicit none
  real(8), allocatable :: field(:, :), work(:)
  integer :: step, column
  allocate (field(1000, 200), work(1000))
  field = 1d0
  do step = 1, 100
    do column = 1, 200
      call relax(field(:, column), work)
    end do
  end do
  print *, sum(field)
  deallocate (field, work)
end program main
