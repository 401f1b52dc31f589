! Arrays that the compiler makes and that nobody wrote: the YALES2 case of the MALT paper, section
! 5.1. Both sides of the assignment are pointers that may point to the same memory: gfortran copies
! the right-hand side into an array of its own first, with malloc and free around each assignment
! (-Warray-temporaries says so, if one thinks of asking).
!
!   gfortran -g -O1 examples/fortran_temporaries.f90 -o fortran_temporaries
!   tidemark record -o run.tmk ./fortran_temporaries
!   tidemark insight run.tmk
!
! What to look for: "compiler-temporaries" at the line of gather() marked below, where no allocate
! stands: 20,000 blocks of 24 bytes, each freed at once. A loop over 1:dim1 makes none.
module mesh
   implicit none
   type field
      real(8), pointer :: val(:, :)
   end type field
contains
   subroutine gather(group, whole, index, dim1)
      type(field), pointer, intent(in) :: group, whole
      integer, intent(in) :: index(:), dim1
      integer :: i, ind
      do i = 1, size(index)
         ind = index(i)
         group%val(1:dim1, i) = whole%val(1:dim1, ind) ! guilty
      end do
   end subroutine gather
end module mesh

program fortran_temporaries
   use mesh
   implicit none
   integer, parameter :: nodes = 1000, steps = 20, dim1 = 3
   type(field), pointer :: group, whole
   integer :: index(nodes), i
   allocate (group, whole)
   allocate (group%val(dim1, nodes), whole%val(dim1, nodes))
   whole%val = 1.0d0
   index = [(nodes + 1 - i, i=1, nodes)]
   do i = 1, steps
      call gather(group, whole, index, dim1)
   end do
   print '(f10.1)', sum(group%val)
   deallocate (group%val, whole%val)
   deallocate (group, whole)
end program fortran_temporaries
