! truth: sick
! what: an array for 4000 x 4000 points of which a corner of 400 columns is used
! expect: untouched-memory
module grid
  implicit none
  real(8), allocatable :: field(:, :)
contains
  subroutine setup()
    allocate (field(4000, 4000)) ! guilty: setup
    field(:, 1:400) = 1d0
  end subroutine setup
end module grid

program main
  use grid
  implicit none
  integer :: step
  real(8) :: total
  call setup()
  total = 0
  do step = 1, 900
    total = total + sum(field(:, 1:400))
  end do
  print *, total
end program main
