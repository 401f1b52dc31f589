! lost_fortran: a module array, a list that is cut, an array whose pointer is set to nothing.
module held
  implicit none
  type node
    type(node), pointer :: next => null()
    real(8) :: values(10) = 0
  end type
  real(8), allocatable :: table(:)
  type(node), pointer :: head => null()
contains
  subroutine fill()
    type(node), pointer :: new
    integer :: i
    allocate(table(1000))
    table = 1
    do i = 1, 5
      allocate(new)
      new%next => head
      head => new
    end do
    head%next => null()
  end subroutine
  subroutine forget()
    real(8), pointer :: lost(:)
    allocate(lost(500))
    lost = 2
    nullify(lost)
  end subroutine
  subroutine scrub()
    real(8) :: zero(2000)
    zero = 0
    if (sum(zero) > 1) print *, zero
  end subroutine
end module
program main
  use held
  call fill()
  call forget()
  call scrub()
end program
