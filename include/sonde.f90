! libsonde for Fortran: the same metrics as sonde.h, through iso_c_binding. Compile this file with your own, link with -lsonde.
!
!     use sonde
!     type(sonde_counter) :: cells
!     call sonde_counter_make(cells, 'cells_total', labels=[character(5) :: 'phase', 'solve'], help='Computed cells')
!     call sonde_add(cells, 100)
!
! Trailing blanks of strings are ignored. result: as in sonde.h, 0 is success.
module sonde
    use, intrinsic :: iso_c_binding
    implicit none
    private

    public :: sonde_counter, sonde_real_counter, sonde_gauge, sonde_histogram
    public :: sonde_counter_make, sonde_real_counter_make, sonde_gauge_make, sonde_histogram_make
    public :: sonde_add, sonde_set, sonde_gauge_add, sonde_observe, sonde_rank
    public :: SONDE_OK, SONDE_FULL, SONDE_OTHER_TYPE, SONDE_INVALID

    integer, parameter :: SONDE_OK = 0, SONDE_FULL = 1, SONDE_OTHER_TYPE = 2, SONDE_INVALID = 3

    type, bind(c) :: sonde_counter
        integer(c_int32_t) :: place = 0
    end type
    type, bind(c) :: sonde_real_counter
        integer(c_int32_t) :: place = 0
    end type
    type, bind(c) :: sonde_gauge
        integer(c_int32_t) :: place = 0
    end type
    type, bind(c) :: sonde_histogram
        integer(c_int32_t) :: place = 0, count = 0
        type(c_ptr) :: bounds = c_null_ptr
    end type

    ! Adds an integer to a counter, or a real number to a real counter.
    interface sonde_add
        module procedure add_int32, add_int64, add_real32, add_real64
    end interface
    interface sonde_set
        module procedure set_real32, set_real64
    end interface
    interface sonde_observe
        module procedure observe_real32, observe_real64
    end interface

    interface
        function c_counter_make(counter, name, labels, unit, help) bind(c, name='sonde_counter_make') result(status)
            import
            type(sonde_counter), intent(out) :: counter
            character(kind=c_char), intent(in) :: name(*), unit(*), help(*)
            type(c_ptr), intent(in) :: labels(*)
            integer(c_int) :: status
        end function
        function c_real_counter_make(counter, name, labels, unit, help) bind(c, name='sonde_real_counter_make') result(status)
            import
            type(sonde_real_counter), intent(out) :: counter
            character(kind=c_char), intent(in) :: name(*), unit(*), help(*)
            type(c_ptr), intent(in) :: labels(*)
            integer(c_int) :: status
        end function
        function c_gauge_make(gauge, name, labels, unit, help) bind(c, name='sonde_gauge_make') result(status)
            import
            type(sonde_gauge), intent(out) :: gauge
            character(kind=c_char), intent(in) :: name(*), unit(*), help(*)
            type(c_ptr), intent(in) :: labels(*)
            integer(c_int) :: status
        end function
        function c_histogram_make(histogram, name, labels, unit, help, bounds, count) &
            bind(c, name='sonde_histogram_make') result(status)
            import
            type(sonde_histogram), intent(out) :: histogram
            character(kind=c_char), intent(in) :: name(*), unit(*), help(*)
            type(c_ptr), intent(in) :: labels(*)
            real(c_double), intent(in) :: bounds(*)
            integer(c_size_t), value :: count
            integer(c_int) :: status
        end function
        subroutine c_add(counter, amount) bind(c, name='sonde_call_add')
            import
            type(sonde_counter), intent(in) :: counter
            integer(c_int64_t), value :: amount
        end subroutine
        subroutine c_add_real(counter, amount) bind(c, name='sonde_call_add_real')
            import
            type(sonde_real_counter), intent(in) :: counter
            real(c_double), value :: amount
        end subroutine
        subroutine c_set(gauge, amount) bind(c, name='sonde_call_set')
            import
            type(sonde_gauge), intent(in) :: gauge
            real(c_double), value :: amount
        end subroutine
        subroutine c_gauge_add(gauge, amount) bind(c, name='sonde_gauge_add')
            import
            type(sonde_gauge), intent(in) :: gauge
            real(c_double), value :: amount
        end subroutine
        subroutine c_observe(histogram, amount) bind(c, name='sonde_observe')
            import
            type(sonde_histogram), intent(in) :: histogram
            real(c_double), value :: amount
        end subroutine
        subroutine sonde_rank(rank, size) bind(c, name='sonde_rank')
            import
            integer(c_int), value :: rank, size
        end subroutine
    end interface

contains

    ! A C string.
    function c_text(text) result(made)
        character(*), intent(in), optional :: text
        character(kind=c_char, len=:), allocatable :: made
        made = c_null_char
        if (present(text)) made = trim(text) // c_null_char
    end function

    ! Names and values of labels for C: strings, and a null-terminated array of pointers to them.
    subroutine c_labels(labels, texts, pointers)
        character(*), intent(in), optional :: labels(:)
        character(kind=c_char), allocatable, target, intent(out) :: texts(:, :)
        type(c_ptr), allocatable, intent(out) :: pointers(:)
        integer :: i, k, count
        count = 0
        if (present(labels)) count = size(labels)
        allocate (pointers(count + 1))
        pointers(count + 1) = c_null_ptr
        if (count == 0) return
        allocate (texts(len(labels) + 1, count))
        do i = 1, count
            texts(:, i) = c_null_char
            do k = 1, len_trim(labels(i))
                texts(k, i) = labels(i)(k:k)
            end do
            pointers(i) = c_loc(texts(1, i))
        end do
    end subroutine

    subroutine sonde_counter_make(counter, name, labels, unit, help, result)
        type(sonde_counter), intent(out) :: counter
        character(*), intent(in) :: name
        character(*), intent(in), optional :: labels(:), unit, help
        integer, intent(out), optional :: result
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)
        integer :: status
        call c_labels(labels, texts, pointers)
        status = c_counter_make(counter, c_text(name), pointers, c_text(unit), c_text(help))
        if (present(result)) result = status
    end subroutine

    subroutine sonde_real_counter_make(counter, name, labels, unit, help, result)
        type(sonde_real_counter), intent(out) :: counter
        character(*), intent(in) :: name
        character(*), intent(in), optional :: labels(:), unit, help
        integer, intent(out), optional :: result
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)
        integer :: status
        call c_labels(labels, texts, pointers)
        status = c_real_counter_make(counter, c_text(name), pointers, c_text(unit), c_text(help))
        if (present(result)) result = status
    end subroutine

    subroutine sonde_gauge_make(gauge, name, labels, unit, help, result)
        type(sonde_gauge), intent(out) :: gauge
        character(*), intent(in) :: name
        character(*), intent(in), optional :: labels(:), unit, help
        integer, intent(out), optional :: result
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)
        integer :: status
        call c_labels(labels, texts, pointers)
        status = c_gauge_make(gauge, c_text(name), pointers, c_text(unit), c_text(help))
        if (present(result)) result = status
    end subroutine

    subroutine sonde_histogram_make(histogram, name, bounds, labels, unit, help, result)
        type(sonde_histogram), intent(out) :: histogram
        character(*), intent(in) :: name
        real(c_double), intent(in) :: bounds(:)
        character(*), intent(in), optional :: labels(:), unit, help
        integer, intent(out), optional :: result
        character(kind=c_char), allocatable, target :: texts(:, :)
        type(c_ptr), allocatable :: pointers(:)
        integer :: status
        call c_labels(labels, texts, pointers)
        status = c_histogram_make(histogram, c_text(name), pointers, c_text(unit), c_text(help), bounds, &
                                  size(bounds, kind=c_size_t))
        if (present(result)) result = status
    end subroutine

    ! Negative values are ignored: C would take them for very large numbers.
    subroutine add_int64(counter, amount)
        type(sonde_counter), intent(in) :: counter
        integer(c_int64_t), intent(in) :: amount
        if (amount > 0) call c_add(counter, amount)
    end subroutine

    subroutine add_int32(counter, amount)
        type(sonde_counter), intent(in) :: counter
        integer(c_int32_t), intent(in) :: amount
        if (amount > 0) call c_add(counter, int(amount, c_int64_t))
    end subroutine

    subroutine add_real64(counter, amount)
        type(sonde_real_counter), intent(in) :: counter
        real(c_double), intent(in) :: amount
        call c_add_real(counter, amount)
    end subroutine

    subroutine add_real32(counter, amount)
        type(sonde_real_counter), intent(in) :: counter
        real(c_float), intent(in) :: amount
        call c_add_real(counter, real(amount, c_double))
    end subroutine

    subroutine set_real64(gauge, amount)
        type(sonde_gauge), intent(in) :: gauge
        real(c_double), intent(in) :: amount
        call c_set(gauge, amount)
    end subroutine

    subroutine set_real32(gauge, amount)
        type(sonde_gauge), intent(in) :: gauge
        real(c_float), intent(in) :: amount
        call c_set(gauge, real(amount, c_double))
    end subroutine

    subroutine sonde_gauge_add(gauge, amount)
        type(sonde_gauge), intent(in) :: gauge
        real(c_double), intent(in) :: amount
        call c_gauge_add(gauge, amount)
    end subroutine

    subroutine observe_real64(histogram, amount)
        type(sonde_histogram), intent(in) :: histogram
        real(c_double), intent(in) :: amount
        call c_observe(histogram, amount)
    end subroutine

    subroutine observe_real32(histogram, amount)
        type(sonde_histogram), intent(in) :: histogram
        real(c_float), intent(in) :: amount
        call c_observe(histogram, real(amount, c_double))
    end subroutine

end module
