! truth: sick
! what: a list of integers is made longer by one in each step: list = [list(:), i]
! expect: copy-growth realloc-constant-growth
module graph
  implicit none
  integer, allocatable :: list(:)
contains
  subroutine visit(i)
    integer, intent(in) :: i
    list = [list(:), i] ! guilty: visit
  end subroutine visit
end module graph

program main
  use graph
  implicit none
  integer :: i
  allocate (list(1))
  list = 0
  do i = 1, 12000
    call visit(i)
  end do
  print *, sum(int(list, 8))
end program main
