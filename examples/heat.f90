! The libsonde example in Fortran: heat in a rod.
!
!     gfortran -O2 $(pkg-config --variable=includedir sonde)/sonde.f90 heat.f90 $(pkg-config --libs sonde) -o heat
program heat
    use sonde
    implicit none
    integer, parameter :: cells = 1000, steps = 1000
    type(sonde_counter) :: computed
    type(sonde_real_counter) :: energy
    type(sonde_gauge) :: residual
    type(sonde_histogram) :: changes
    real(8) :: rod(cells), before(cells)
    integer :: i

    call sonde_counter_make(computed, 'heat_cells_total', &
        labels=[character(8) :: 'phase', 'solve', 'language', 'Fortran'], help='Cells that were computed')
    call sonde_real_counter_make(energy, 'heat_energy_total', unit='joules')
    call sonde_gauge_make(residual, 'heat_residual')
    call sonde_histogram_make(changes, 'heat_changes', [0.001d0, 0.1d0, 10d0])

    rod = 0
    rod(1) = 100
    do i = 1, steps
        before = rod
        rod(2:cells - 1) = (before(1:cells - 2) + before(3:cells)) / 2
        call sonde_add(computed, cells - 2)
        call sonde_add(energy, rod(1) - rod(2))
        call sonde_set(residual, maxval(abs(rod - before)))
        call sonde_observe(changes, maxval(abs(rod - before)))
    end do
    print *, rod(cells / 2)
end program
