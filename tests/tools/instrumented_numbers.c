/* A program with libsonde and unusual values: instrumented_numbers MODE.
 *   none       negative, infinite and NaN values, and then 0.25; gauges with each of these
 *   too-much   sums that overflow */
#include <sonde.h>

#include <math.h>
#include <string.h>

static struct sonde_real_counter summed;
static struct sonde_gauge level;
static struct sonde_histogram sizes;

static void make_all(void)
{
    static const char *const labels[] = { "part", "a", NULL };
    static const double bounds[] = { 1, 2, 4 };
    sonde_real_counter_make(&summed, "phase_seconds_total", labels, "seconds", "");
    sonde_gauge_make(&level, "phase_level", NULL, NULL, NULL);
    sonde_histogram_make(&sizes, "phase_sizes", NULL, "bytes", "", bounds, 3);
}

static int none(void)
{
    const double bad[] = { NAN, -NAN, INFINITY, -INFINITY, -1 };
    for (int i = 0; i < 5; i++)
        sonde_add_real(&summed, bad[i]);
    sonde_add_real(&summed, 0.25);
    for (int i = 0; i < 4; i++)
        sonde_observe(&sizes, bad[i]);
    sonde_gauge_add(&level, NAN);
    sonde_gauge_add(&level, -2);
    struct sonde_gauge unknown, infinite;
    sonde_gauge_make(&unknown, "unknown", NULL, "", "");
    sonde_set(&unknown, 1);
    sonde_set(&unknown, NAN);
    sonde_gauge_make(&infinite, "infinite", NULL, "", "");
    sonde_set(&infinite, INFINITY);
    return 0;
}

static int too_much(void)
{
    for (int i = 0; i < 2; i++) {
        sonde_add_real(&summed, 1e308);
        sonde_observe(&sizes, 1.5e308);
    }
    return 0;
}

int main(int argc, char **argv)
{
    make_all();
    if (argc > 1 && strcmp(argv[1], "none") == 0)
        return none();
    return argc > 1 && strcmp(argv[1], "too-much") == 0 ? too_much() : 2;
}
