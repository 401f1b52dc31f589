! truth: sick
! what: a pointer section that may have strides is copied for each call with an explicit shape
! expect: compiler-temporaries
module blocks
  implicit none
contains
  subroutine scale(n, a)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    a = 1.0001d0*a
  end subroutine scale
  subroutine iterate(field, n)
    integer, intent(in) :: n
    real(8), intent(inout), target :: field(2*n)
    real(8), pointer :: odd(:)
    odd => field(1:2*n:2)
    call scale(n, odd) ! guilty: iterate
  end subroutine iterate
end module blocks

program main
  use blocks
  implicit none
  real(8) :: field(400)
  integer :: i
  field = 1d0
  do i = 1, 30000
    call iterate(field, 200)
  end do
  print *, sum(field)
end program main
