/* A program with libsonde whose labels are odd: speaks_labels MODE. Prints what making each metric gave.
 *   orders   the same labels in two orders: one metric, with one type and one set of bounds */
#include <sonde.h>

#include <stdio.h>
#include <string.h>

static int orders(void)
{
    static const char *const one[] = { "a", "1", "b", "2", NULL }, *const other[] = { "b", "2", "a", "1", NULL };
    static const double bounds[] = { 1, 2 }, others[] = { 1, 3 };
    struct sonde_gauge gauge, again;
    struct sonde_histogram histogram;
    printf("%d", sonde_gauge_make(&gauge, "order", one, "", ""));
    printf(" %d", sonde_gauge_make(&again, "order", other, "", ""));
    sonde_set(&gauge, 5);
    sonde_set(&again, 7);
    printf(" %d", sonde_histogram_make(&histogram, "ordered", one, "", "", bounds, 2));
    printf(" %d\n", sonde_histogram_make(&histogram, "ordered", other, "", "", others, 2));
    return 0;
}

int main(int argc, char **argv)
{
    return argc > 1 && strcmp(argv[1], "orders") == 0 ? orders() : 2;
}
