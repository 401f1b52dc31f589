! truth: sick
! what: an array grows by 64 elements with move_alloc
! expect: copy-growth
module particles
  implicit none
  real(8), allocatable :: x(:)
  integer :: n = 0
contains
  subroutine add(value)
    real(8), intent(in) :: value
    real(8), allocatable :: larger(:)
    if (n == size(x)) then
      allocate (larger(n + 64)) ! guilty: add
      larger(1:n) = x
      call move_alloc(larger, x)
    end if
    n = n + 1
    x(n) = value
  end subroutine add
end module particles

program main
  use particles
  implicit none
  integer :: i
  allocate (x(64))
  do i = 1, 40000
    call add(real(i, 8))
  end do
  print *, sum(x(1:n))
end program main
