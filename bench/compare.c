/* Runs two or more commands by turns and compares them: the machine is shared, so only figures of the same minute mean
 * anything. For each command: the least and the median wall time, the same less the first command's, the ratio, and t:
 * the difference of the means over its standard error (Welch). |t| under 2 is a difference that the rounds do not show.
 *
 *   compare [-n ROUNDS] [-u UNITS] NAME=COMMAND NAME=COMMAND…      COMMAND goes to /bin/sh; UNITS divides (2000 processes) */
#include <fcntl.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMMANDS_MAX 8
#define ROUNDS_MAX 1000

struct contestant {
    const char *name, *command;
    double wall_ms[ROUNDS_MAX], cpu_ms[ROUNDS_MAX];
};

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double timeval_ms(struct timeval t)
{
    return (double)t.tv_sec * 1e3 + (double)t.tv_usec / 1e3;
}

static void run_once(struct contestant *c, int round)
{
    double start = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        execl("/bin/sh", "sh", "-c", c->command, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    wait4(pid, &status, 0, &usage);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        fprintf(stderr, "compare: '%s' could not be run or was killed\n", c->command);
        exit(1);
    }
    c->wall_ms[round] = now_ms() - start;
    c->cpu_ms[round] = timeval_ms(usage.ru_utime) + timeval_ms(usage.ru_stime);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void mean_and_error(const double *values, int count, double *mean, double *error_squared)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < count; i++)
        sum += values[i];
    *mean = sum / count;
    for (int i = 0; i < count; i++)
        squares += (values[i] - *mean) * (values[i] - *mean);
    *error_squared = count > 1 ? squares / (count - 1) / count : 0;
}

static double t_of(const double *values, const double *base, int count)
{
    double mean, base_mean, error, base_error;
    mean_and_error(values, count, &mean, &error);
    mean_and_error(base, count, &base_mean, &base_error);
    return error + base_error > 0 ? (mean - base_mean) / sqrt(error + base_error) : 0;
}

static void print(const struct contestant *all, int count, int rounds, double units)
{
    bool is_tiny = all[0].wall_ms[0] / units < 0.01;
    units /= is_tiny ? 1e6 : 1;
    double base_least = all[0].wall_ms[0], base_median = all[0].wall_ms[rounds / 2];
    printf("%-22s %11s %11s %11s %11s %7s %6s %11s\n", is_tiny ? "ns per unit" : "ms per unit", "least", "median", "+least", "+median", "ratio", "t",
           "cpu least");
    for (int i = 0; i < count; i++) {
        double least = all[i].wall_ms[0], median = all[i].wall_ms[rounds / 2];
        printf("%-22s %11.4f %11.4f %+11.4f %+11.4f %7.3f %+6.1f %11.4f\n", all[i].name, least / units, median / units,
               (least - base_least) / units, (median - base_median) / units, median / base_median,
               t_of(all[i].wall_ms, all[0].wall_ms, rounds), all[i].cpu_ms[0] / units);
    }
}

int main(int argc, char **argv)
{
    static struct contestant all[COMMANDS_MAX];
    int rounds = 10, count = 0, option;
    double units = 1;
    while ((option = getopt(argc, argv, "n:u:")) != -1) {
        if (option == 'n')
            rounds = atoi(optarg);
        else if (option == 'u')
            units = atof(optarg);
    }
    for (; optind < argc && count < COMMANDS_MAX; optind++, count++) {
        char *equals = strchr(argv[optind], '=');
        if (!equals)
            break;
        *equals = '\0';
        all[count] = (struct contestant){ .name = argv[optind], .command = equals + 1 };
    }
    if (count < 2 || rounds < 1 || rounds > ROUNDS_MAX || units <= 0) {
        fprintf(stderr, "usage: compare [-n ROUNDS] [-u UNITS] NAME=COMMAND NAME=COMMAND...\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++)
        for (int i = 0; i < count; i++)
            run_once(&all[i], round);
    for (int i = 0; i < count; i++) {
        qsort(all[i].wall_ms, (size_t)rounds, sizeof(double), by_size);
        qsort(all[i].cpu_ms, (size_t)rounds, sizeof(double), by_size);
    }
    print(all, count, rounds, units);
    return 0;
}
