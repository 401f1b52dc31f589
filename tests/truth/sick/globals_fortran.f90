! truth: sick
! what: a module's array of 32 MB of fixed size
! expect: large-globals
! place: variable
module state
  implicit none
  real(8) :: density(2000, 2000) ! guilty: density
end module state

program main
  use state
  implicit none
  real(8), allocatable :: row(:)
  integer :: i
  allocate (row(2000))
  density = 1d0
  do i = 1, 100
    row = density(:, i)
  end do
  print *, sum(row), sum(density)
end program main
