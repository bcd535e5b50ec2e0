/* An example of libsonde: heat in a rod, with a counter, a gauge and a histogram.
 *
 *     cc -O2 heat.c $(pkg-config --cflags --libs sonde) -o heat
 *     sonde run -- ./heat 2000
 */
#include <sonde.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CELLS 1000

static struct sonde_counter cells;
static struct sonde_real_counter energy;
static struct sonde_gauge residual;
static struct sonde_histogram step_seconds;

/* Called once, before any thread counts. A metric that could not be created ignores its updates, so results need not be checked. */
static void create_metrics(void)
{
    static const char *const solve[] = { "phase", "solve", "method", "jacobi", NULL };
    static const double bounds[] = { 1e-6, 1e-5, 1e-4, 1e-3 };
    int result = sonde_counter_make(&cells, "heat_cells_total", solve, "", "Cells computed");
    if (result)
        fprintf(stderr, "heat: %s\n", sonde_result_text(result));
    sonde_real_counter_make(&energy, "heat_energy_total", NULL, "joules", "Energy received at the hot end");
    sonde_gauge_make(&residual, "heat_residual", NULL, "", "Largest change in the last step");
    sonde_histogram_make(&step_seconds, "heat_step_seconds", NULL, "seconds", "Duration of a step", bounds, 4);
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double step(double *now, const double *before)
{
    double largest = 0;
    for (int i = 1; i < CELLS - 1; i++) {
        now[i] = (before[i - 1] + before[i + 1]) / 2;
        largest = fmax(largest, fabs(now[i] - before[i]));
        sonde_add(&cells, 1);
    }
    return largest;
}

int main(int argc, char **argv)
{
    static double rods[2][CELLS] = { { 100 }, { 100 } };
    long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 1000;
    create_metrics();
    for (long i = 0; i < steps; i++) {
        double begin_s = now_s();
        sonde_set(&residual, step(rods[(i + 1) % 2], rods[i % 2]));
        sonde_add_real(&energy, rods[0][0] - rods[(i + 1) % 2][1]);
        sonde_observe(&step_seconds, now_s() - begin_s);
    }
    printf("%g\n", rods[steps % 2][CELLS / 2]);
    return 0;
}
