! truth: sick
! what: output gathers nearly as much as the assembly of the matrix did
! expect: secondary-peak
module phases
  implicit none
contains
  subroutine assemble(total)
    real(8), intent(inout) :: total
    real(8), allocatable :: matrix(:, :)
    integer :: i
    allocate (matrix(2000, 2000))
    matrix = 1d0
    do i = 1, 10
      total = total + sum(matrix)
    end do
    deallocate (matrix)
  end subroutine assemble
  subroutine gather(total)
    real(8), intent(inout) :: total
    real(8), allocatable :: fields(:, :)
    integer :: i
    allocate (fields(2000, 1800)) ! guilty: gather
    fields = 2d0
    do i = 1, 10
      total = total + sum(fields)
    end do
    deallocate (fields)
  end subroutine gather
end module phases

program main
  use phases
  implicit none
  real(8) :: total
  integer :: i
  total = 0
  call assemble(total)
  do i = 1, 20000000
    total = total + 1d-9*mod(i, 7)
  end do
  call gather(total)
  print *, total
end program main
