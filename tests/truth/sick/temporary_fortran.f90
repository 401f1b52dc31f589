! truth: sick
! what: a strided section is packed into a temporary at each call
! expect: compiler-temporaries
! flags: -O1
! small: yes
module kernel
  implicit none
contains
  subroutine relax(a, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: a(n)
    integer :: i
    do i = 2, n
      a(i) = 0.5d0 * (a(i) + a(i - 1))
    end do
  end subroutine relax
  subroutine sweep(field, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: field(:, :)
    integer :: row
    do row = 1, n
      call relax(field(row, :), n) ! guilty: sweep
    end do
  end subroutine sweep
end module kernel

program main
  use kernel
  implicit none
  real(8), allocatable :: field(:, :)
  integer :: step
  allocate (field(300, 300))
  field = 1.5d0
  do step = 1, 60
    call sweep(field, 300)
  end do
  print *, sum(field)
end program main
