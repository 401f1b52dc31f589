! The same in Fortran (MALT paper, section 5.3): there is no realloc, so a larger array is
! allocated, the old one copied and freed, each time. Far more memory traffic than C's realloc makes.
!
!   gfortran -g -O1 examples/realloc_growth.f90 -o realloc_growth_f
!   tidemark record -o run.tmk ./realloc_growth_f
!   tidemark insight run.tmk
!
! What to look for: "copy-growth" at the allocate statement of append() marked below: 2,000 arrays,
! each a little larger than the one before, 15 MB in all for an array of 16 kB.
module growing
   implicit none
   real(8), allocatable :: items(:)
contains
   subroutine append(value)
      real(8), intent(in) :: value
      real(8), allocatable :: larger(:)
      integer :: n
      n = size(items)
      allocate (larger(n + 1)) ! guilty
      larger(1:n) = items
      larger(n + 1) = value
      call move_alloc(larger, items)
   end subroutine append
end module growing

program realloc_growth
   use growing
   implicit none
   integer :: i
   allocate (items(1))
   items = 0.0d0
   do i = 1, 2000
      call append(real(i, 8))
   end do
   print '(f12.0)', sum(items)
end program realloc_growth
