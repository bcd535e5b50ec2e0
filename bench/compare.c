/* Runs two or more commands alternately and compares them. The node may have other load, so each is compared with the first command
 * in the same round, and the order changes every round. Prints for each command: minimum and median wall time; the median of the
 * differences to the first, with its 95 % confidence interval (by rank, for any distribution); the ratio of the medians; t, the mean
 * of the differences divided by its standard error (|t| < 2: not significant); and the same difference for the CPU time of the
 * command with its descendants. The last line is the CPU usage of other processes meanwhile.
 *
 *   compare [-n ROUNDS] [-u UNITS] [-q] [-z] NAME=COMMAND NAME=COMMAND…   COMMAND is run by /bin/sh; results are divided by UNITS
 *
 * -q: uses only the half of the rounds with the least CPU usage of other processes.
 * -z: replaces a % in COMMAND by the number of units. Each is run with that many and with none, to separate the cost per unit from
 * the fixed cost, which has its own lines. */
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

/* Times in ms, by round. */
struct series {
    double wall[ROUNDS_MAX], cpu[ROUNDS_MAX];
};

struct contestant {
    const char *name, *command, *command_of_none; /* command_of_none: NULL without -z */
    struct series all, once;                      /* once: with no units */
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

/* The CPU time of all processes of the node. */
static double busy_ms(void)
{
    double user = 0, nice = 0, system = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (!file || fscanf(file, "cpu %lf %lf %lf", &user, &nice, &system) != 3)
        fprintf(stderr, "compare: cannot read the CPU usage of other processes from /proc/stat\n");
    if (file)
        fclose(file);
    return (user + nice + system) * 1e3 / (double)sysconf(_SC_CLK_TCK);
}

static void run_once(const char *command, struct series *series, int round)
{
    double start = now_ms();
    pid_t pid = fork();
    if (pid == 0) {
        int null = open("/dev/null", O_RDWR);
        dup2(null, 0);
        dup2(null, 1);
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status = 0;
    struct rusage usage;
    wait4(pid, &status, 0, &usage);
    if (!WIFEXITED(status) || WEXITSTATUS(status) == 127) {
        fprintf(stderr, "compare: '%s' could not be run or was killed\n", command);
        exit(1);
    }
    series->wall[round] = now_ms() - start;
    series->cpu[round] = timeval_ms(usage.ru_utime) + timeval_ms(usage.ru_stime);
}

/* One round of all commands. */
struct round {
    int number;
    double wall_ms, others_ms; /* others_ms: of all CPUs */
};

/* The first command changes every round, and every other cycle has the reverse order, so that the predecessor of a command varies. */
static struct round run_round(struct contestant *all, int count, int number)
{
    double start = now_ms(), before = busy_ms(), own = 0;
    for (int i = 0; i < count; i++) {
        int step = number / count % 2 ? count - i : i;
        struct contestant *c = &all[(number + step) % count];
        run_once(c->command, &c->all, number);
        if (c->command_of_none)
            run_once(c->command_of_none, &c->once, number);
        own += c->all.cpu[number] + c->once.cpu[number];
    }
    double others = busy_ms() - before - own;
    return (struct round){ number, now_ms() - start, others > 0 ? others : 0 };
}

static int by_others(const void *a, const void *b)
{
    const struct round *x = a, *y = b;
    double left = x->others_ms / x->wall_ms, right = y->others_ms / y->wall_ms;
    return (left > right) - (left < right);
}

static void keep(struct series *series, const struct round *rounds, int count)
{
    static struct series before;
    before = *series;
    for (int i = 0; i < count; i++) {
        series->wall[i] = before.wall[rounds[i].number];
        series->cpu[i] = before.cpu[rounds[i].number];
    }
}

/* Moves the selected rounds to the front. */
static int keep_quiet(struct contestant *all, int count, struct round *rounds, int round_count)
{
    int kept = (round_count + 1) / 2;
    qsort(rounds, (size_t)round_count, sizeof *rounds, by_others);
    for (int i = 0; i < count; i++) {
        keep(&all[i].all, rounds, kept);
        keep(&all[i].once, rounds, kept);
    }
    return kept;
}

/* Subtracts the fixed cost from all. */
static void take_off_once(struct contestant *c, int rounds)
{
    for (int i = 0; i < rounds && c->command_of_none; i++) {
        c->all.wall[i] -= c->once.wall[i];
        c->all.cpu[i] -= c->once.cpu[i];
    }
}

static void print_others(const struct round *rounds, int count)
{
    double wall = 0, others = 0;
    for (int i = 0; i < count; i++) {
        wall += rounds[i].wall_ms;
        others += rounds[i].others_ms;
    }
    printf("%d rounds of %.0f ms; other processes used %.0f %% of the node\n", count, wall / count,
           100 * others / wall / (double)sysconf(_SC_NPROCESSORS_ONLN));
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Sorted; if there is a base, its values are subtracted by round before. */
static const double *sorted(const double *values, const double *base, int rounds)
{
    static double differences[ROUNDS_MAX];
    for (int i = 0; i < rounds; i++)
        differences[i] = values[i] - (base ? base[i] : 0);
    qsort(differences, (size_t)rounds, sizeof *differences, by_size);
    return differences;
}

static double median(const double *in_order, int rounds)
{
    return (in_order[(rounds - 1) / 2] + in_order[rounds / 2]) / 2;
}

static double t_of(const double *values, const double *base, int rounds)
{
    double sum = 0, squares = 0;
    for (int i = 0; i < rounds; i++)
        sum += values[i] - base[i];
    double mean = sum / rounds;
    for (int i = 0; i < rounds; i++)
        squares += (values[i] - base[i] - mean) * (values[i] - base[i] - mean);
    return squares > 0 ? mean / sqrt(squares / (rounds - 1) / rounds) : 0;
}

static void print_difference(const double *values, const double *base, int rounds, double units)
{
    const double *in_order = sorted(values, base, rounds);
    int off = (int)(0.98 * sqrt(rounds)) + 1, low = rounds / 2 - off, high = (rounds - 1) / 2 + off;
    char range[64];
    snprintf(range, sizeof range, "%+.4f..%+.4f", in_order[low < 0 ? 0 : low] / units,
             in_order[high >= rounds ? rounds - 1 : high] / units);
    printf(" %+10.4f %22s", median(in_order, rounds) / units, range);
}

static void print_line(const char *name, const struct series *series, const struct series *base, int rounds, double units)
{
    const double *in_order = sorted(series->wall, NULL, rounds);
    double middle = median(in_order, rounds);
    printf("%-22s %10.4f %10.4f", name, in_order[0] / units, middle / units);
    print_difference(series->wall, base->wall, rounds, units);
    printf(" %6.3f %+6.1f", middle / median(sorted(base->wall, NULL, rounds), rounds),
           t_of(series->wall, base->wall, rounds));
    print_difference(series->cpu, base->cpu, rounds, units);
    printf("\n");
}

static void print_head(const char *what)
{
    printf("%-22s %10s %10s %10s %22s %6s %6s %10s %22s\n", what, "minimum", "median", "more", "95 %", "ratio", "t", "more CPU",
           "95 %");
}

static void print(struct contestant *all, int count, int rounds, double units)
{
    for (int i = 0; i < count; i++)
        take_off_once(&all[i], rounds);
    bool is_tiny = all[0].all.wall[0] / units < 0.01;
    print_head(is_tiny ? "ns per unit" : "ms per unit");
    for (int i = 0; i < count; i++)
        print_line(all[i].name, &all[i].all, &all[0].all, rounds, is_tiny ? units / 1e6 : units);
    if (!all[0].command_of_none)
        return;
    print_head("ms once");
    for (int i = 0; i < count; i++)
        print_line(all[i].name, &all[i].once, &all[0].once, rounds, 1);
}

/* The command with a number instead of its %. */
static char *with_number(const char *command, int number)
{
    const char *place = strchr(command, '%');
    char *text = NULL;
    if (!place || asprintf(&text, "%.*s%d%s", (int)(place - command), command, number, place + 1) < 0) {
        fprintf(stderr, "compare: -z needs a %% in '%s'\n", command);
        exit(2);
    }
    return text;
}

int main(int argc, char **argv)
{
    static struct contestant all[COMMANDS_MAX];
    static struct round turns[ROUNDS_MAX];
    int rounds = 10, count = 0, option;
    double units = 1;
    bool wants_once = false, wants_quiet = false;
    while ((option = getopt(argc, argv, "n:u:qz")) != -1) {
        if (option == 'n')
            rounds = atoi(optarg);
        else if (option == 'u')
            units = atof(optarg);
        else if (option == 'q')
            wants_quiet = true;
        else if (option == 'z')
            wants_once = true;
    }
    for (; optind < argc && count < COMMANDS_MAX; optind++, count++) {
        char *equals = strchr(argv[optind], '=');
        if (!equals)
            break;
        *equals++ = '\0';
        all[count] = (struct contestant){
            .name = argv[optind],
            .command = wants_once ? with_number(equals, (int)units) : equals,
            .command_of_none = wants_once ? with_number(equals, 0) : NULL,
        };
    }
    if (count < 2 || rounds < 2 || rounds > ROUNDS_MAX || units <= 0) {
        fprintf(stderr, "usage: compare [-n ROUNDS] [-u UNITS] [-q] [-z] NAME=COMMAND NAME=COMMAND...\n");
        return 2;
    }
    for (int round = 0; round < rounds; round++)
        turns[round] = run_round(all, count, round);
    if (wants_quiet)
        rounds = keep_quiet(all, count, turns, rounds);
    print(all, count, rounds, units);
    print_others(turns, rounds);
    return 0;
}
