! truth: sick
! what: a pointer component is associated anew in each step, and the old target stays
! expect: leak-lost leak-growth
! wrapper: field_alloc
module fields
  implicit none
  type field
    real(8), pointer :: v(:) => null()
  end type field
contains
  subroutine field_alloc(v, n)
    real(8), pointer, intent(out) :: v(:)
    integer, intent(in) :: n
    allocate (v(n))
    v = 0
  end subroutine field_alloc

  subroutine advance(f, n)
    type(field), intent(inout) :: f
    integer, intent(in) :: n
    call field_alloc(f%v, n) ! guilty: advance
    f%v(1) = n
  end subroutine advance

  subroutine measure(s, n)
    real(8), intent(inout) :: s
    integer, intent(in) :: n
    type(field) :: g
    call field_alloc(g%v, n)
    g%v(1) = 1
    s = s + g%v(1)
    deallocate (g%v)
  end subroutine measure
end module fields

program main
  use fields
  implicit none
  type(field) :: f
  real(8) :: s
  integer :: i
  s = 0
  do i = 1, 4000
    call advance(f, 200 + mod(i, 9))
    call measure(s, 150)
    if (mod(i, 10) == 0) call sleep_a_little()
  end do
  print *, s + f%v(1)
contains
  subroutine sleep_a_little()
    interface
      integer(c_int) function usleep(us) bind(c)
        use iso_c_binding
        integer(c_int), value :: us
      end function usleep
    end interface
    integer :: ignored
    ignored = usleep(1000)
  end subroutine sleep_a_little
end program main
