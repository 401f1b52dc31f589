! truth: sick
! what: an array function's result and transpose are temporaries in each step
! expect: compiler-temporaries large-recycling
module fields
  implicit none
contains
  function flux(u, n) result(f)
    integer, intent(in) :: n
    real(8), intent(in) :: u(n, n)
    real(8) :: f(n, n)
    f = 0.5d0*u
  end function flux
  subroutine advance(u, n)
    integer, intent(in) :: n
    real(8), intent(inout) :: u(n, n)
    u = u + transpose(flux(u, n)) ! guilty: advance
  end subroutine advance
end module fields

program main
  use fields
  implicit none
  real(8), allocatable :: u(:, :)
  integer :: step
  allocate (u(60, 60))
  u = 1d0
  do step = 1, 4000
    call advance(u, 60)
    u = u/maxval(u)
  end do
  print *, sum(u)
end program main
