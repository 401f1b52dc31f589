! Allocatable arrays of a module's procedures: allocate, deallocate, automatic deallocation,
! reallocation on assignment, pointers.
module victims
   implicit none
   real(8), allocatable :: kept(:)
   real(8), pointer :: leaked(:)
contains
   subroutine fill(n)
      integer, intent(in) :: n
      real(8), allocatable :: a(:), b(:)
      integer :: i
      do i = 1, n
         allocate (a(100), b(200))
         a = 1.0d0
         b = 2.0d0
         deallocate (a, b)
      end do
   end subroutine fill

   ! Deallocated by the compiler at the end of each call.
   subroutine automatic(n)
      integer, intent(in) :: n
      integer(4), allocatable :: work(:, :)
      allocate (work(n, n))
      work = 3
      if (sum(work) /= 3*n*n) stop 1
   end subroutine automatic

   subroutine grow()
      integer :: i
      kept = [1.0d0]
      do i = 2, 10
         allocate (leaked(i))
         leaked = real(i, 8)
      end do
   end subroutine grow

   recursive subroutine descend(depth)
      integer, intent(in) :: depth
      real(4), allocatable :: level(:)
      allocate (level(10))
      level = 0.0
      if (depth > 1) call descend(depth - 1)
   end subroutine descend
end module victims

program fortran
   use victims
   implicit none
   integer :: i
   call fill(50)
   do i = 1, 20
      call automatic(30)
   end do
   call grow()
   call descend(100)
   print '(a)', 'fortran: done'
end program fortran
