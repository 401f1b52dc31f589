! truth: sick
! what: a pointer is allocated in each step and never deallocated
! expect: leak-lost leak-growth
module halo
  implicit none
  real(8), pointer :: ghost(:) => null()
contains
  subroutine exchange(step)
    integer, intent(in) :: step
    allocate (ghost(200)) ! guilty: exchange
    ghost = step
  end subroutine exchange
end module halo

program main
  use halo
  implicit none
  integer :: step, i
  real(8) :: total
  total = 0
  do step = 1, 8000
    call exchange(step)
    total = total + ghost(3)
    do i = 1, 30000
      total = total + 1d-9*sin(real(i, 8))
    end do
  end do
  print *, total
end program main
