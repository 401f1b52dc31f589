! truth: healthy
! what: allocatable arrays of the main program live until it ends; nothing is grown or copied
program main
  implicit none
  real(8), allocatable :: a(:), b(:)
  integer :: step
  allocate (a(1000000), b(1000000))
  a = 1d0
  b = 0d0
  do step = 1, 200
    b = 0.5d0*(a + b)
    a = a + 1d-3*b
  end do
  print *, sum(b)
end program main
