/* A program with libsonde and unusual labels: instrumented_labels MODE. Prints the result of creating each metric.
 *   orders   the same labels in two orders: one metric, with one type and one set of bounds
 *   long     10,000 quotation marks; the longest name with its labels, one byte more; a name that is too long; a long help
 *   fat      1,000 metrics with the longest names and help, different in each process */
#include <sonde.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* Counts once, under a name and the label v with `size` times c as its value. */
static int count_long(const char *name, char c, size_t size, size_t help_size)
{
    static char value[70000], help[70000];
    const char *const labels[] = { "v", value, NULL };
    struct sonde_counter counter;
    memset(value, c, size);
    memset(help, 'x', help_size);
    value[size] = help[help_size] = '\0';
    int result = sonde_counter_make(&counter, name, labels, "", help);
    sonde_add(&counter, 1);
    return result;
}

static int long_ones(void)
{
    static char name[40001];
    const size_t rest = 32766 - strlen("most_total") - strlen("v=\"\"");
    memset(name, 'n', sizeof name - 1);
    printf("%d", count_long("quotes_total", '"', 10000, 0));
    printf(" %d", count_long("most_total", 'x', rest, 0));
    printf(" %d", count_long("more_total", 'x', rest + 1, 0));
    printf(" %d", count_long(name, 'x', 1, 0));
    printf(" %d\n", count_long("help_total", 'x', 1, 65535));
    return 0;
}

static int fat_ones(void)
{
    int failed = 0;
    for (int i = 0; i < 1000; i++) {
        char name[64];
        snprintf(name, sizeof name, "fat_%d_%d_total", (int)getpid(), i);
        failed += count_long(name, 'x', 32700, 65535) != 0;
    }
    printf("%d\n", failed);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "fat") == 0)
        return fat_ones();
    if (argc > 1 && strcmp(argv[1], "orders") == 0)
        return orders();
    return argc > 1 && strcmp(argv[1], "long") == 0 ? long_ones() : 2;
}
