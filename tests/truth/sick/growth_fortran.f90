! truth: sick
! what: y = [y, x] copies the whole array for each element
! expect: copy-growth realloc-constant-growth
! small: yes
module collect
  implicit none
  real(8), allocatable :: y(:)
contains
  subroutine push(x)
    real(8), intent(in) :: x
    y = [y, x] ! guilty: push
  end subroutine push
end module collect

program main
  use collect
  implicit none
  integer :: i
  allocate (y(0))
  do i = 1, 8000
    call push(real(i, 8))
  end do
  print *, sum(y)
end program main
