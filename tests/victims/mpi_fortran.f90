! A ring of halos in Fortran: what a rank holds grows with its number.
module ring
   use mpi
   implicit none
   real(8), allocatable :: field(:)
contains
   subroutine fill(rank)
      integer, intent(in) :: rank
      allocate (field(1000*(rank + 1)))
      field = rank
   end subroutine fill

   subroutine exchange(rank, ranks)
      integer, intent(in) :: rank, ranks
      real(8), allocatable :: halo(:), edge(:)
      integer :: error, step
      do step = 1, 10
         allocate (halo(100), edge(100))
         edge = field(1:100)
         call MPI_Sendrecv(edge, 100, MPI_DOUBLE_PRECISION, mod(rank + 1, ranks), 1, &
                           halo, 100, MPI_DOUBLE_PRECISION, mod(rank + ranks - 1, ranks), 1, &
                           MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
         if (halo(1) /= mod(rank + ranks - 1, ranks)) stop 1
         deallocate (halo, edge)
      end do
   end subroutine exchange
end module ring

program mpi_fortran
   use ring
   implicit none
   integer :: error, rank, ranks
   call MPI_Init(error)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
   call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
   call fill(rank)
   call exchange(rank, ranks)
   print '(a,i0)', 'fortran rank ', rank
   call MPI_Finalize(error)
end program mpi_fortran
