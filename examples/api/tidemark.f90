! Tidemark's API from Fortran: copy this module into a program and link with -ltidemark-api.
!   use tidemark
!   call region_begin('assemble')
!   ...
!   call region_end('assemble')
module tidemark
    use, intrinsic :: iso_c_binding
    implicit none
    private
    public :: mark, region_begin, region_end, pause_recording, resume_recording, snapshot, &
              current_bytes, peak_bytes, is_recording

    interface
        subroutine tidemark_mark(name) bind(c)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        subroutine tidemark_region_begin(name) bind(c)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        subroutine tidemark_region_end(name) bind(c)
            import :: c_char
            character(kind=c_char), intent(in) :: name(*)
        end subroutine
        subroutine pause_recording() bind(c, name='tidemark_pause')
        end subroutine
        subroutine resume_recording() bind(c, name='tidemark_resume')
        end subroutine
        function tidemark_snapshot(name) bind(c)
            import :: c_char, c_int
            character(kind=c_char), intent(in) :: name(*)
            integer(c_int) :: tidemark_snapshot
        end function
        function is_recording() bind(c, name='tidemark_is_recording')
            import :: c_int
            integer(c_int) :: is_recording
        end function
        ! -1: not known
        function current_bytes() bind(c, name='tidemark_current')
            import :: c_int64_t
            integer(c_int64_t) :: current_bytes
        end function
        function peak_bytes() bind(c, name='tidemark_peak')
            import :: c_int64_t
            integer(c_int64_t) :: peak_bytes
        end function
    end interface

contains

    ! Without an allocation of its own: it would be the region's.
    subroutine to_c(name, text)
        character(*), intent(in) :: name
        character(kind=c_char, len=60), intent(out) :: text
        integer :: length
        length = min(len_trim(name), 59)
        text(1:length) = name(1:length)
        text(length + 1:length + 1) = c_null_char
    end subroutine

    subroutine mark(name)
        character(*), intent(in) :: name
        character(kind=c_char, len=60) :: text
        call to_c(name, text)
        call tidemark_mark(text)
    end subroutine

    subroutine region_begin(name)
        character(*), intent(in) :: name
        character(kind=c_char, len=60) :: text
        call to_c(name, text)
        call tidemark_region_begin(text)
    end subroutine

    subroutine region_end(name)
        character(*), intent(in) :: name
        character(kind=c_char, len=60) :: text
        call to_c(name, text)
        call tidemark_region_end(text)
    end subroutine

    integer(c_int) function snapshot(name)
        character(*), intent(in) :: name
        character(kind=c_char, len=60) :: text
        call to_c(name, text)
        snapshot = tidemark_snapshot(text)
    end function
end module
