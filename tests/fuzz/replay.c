/* Feeds a fuzz target with each seed and with mutations of it, then with the inputs that libFuzzer found. It fails by
 * crashing, by the target's own asserts, or when an input costs too much (cost.h). Usage: replay-<name> tests/fuzz NAME
 * [MUTATIONS]. After a crash the last input is in $TMPDIR/replay-<name>.last. */
#include "fuzz/cost.h"
#include "fuzz/mutate.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAPACITY (1u << 20)
#define NAME_OF(target) NAME_OF_(target)
#define NAME_OF_(target) #target

fuzz_target FUZZ_TARGET;

static uint8_t seed[CAPACITY], input[CAPACITY];
static size_t input_size;
static char last_path[4096];

/* Only calls that are allowed in a signal handler. */
static void keep_input(int signal)
{
    int fd = open(last_path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (fd >= 0) {
        ssize_t ignored = write(fd, input, input_size);
        (void)ignored;
    }
    raise(signal); /* the handler was set with SA_RESETHAND */
}

static void keep_input_when_it_crashes(void)
{
    const char *dir = getenv("TMPDIR");
    snprintf(last_path, sizeof last_path, "%s/replay-%s.last", dir ? dir : "/tmp", NAME_OF(FUZZ_TARGET));
    struct sigaction action = { .sa_handler = keep_input, .sa_flags = (int)SA_RESETHAND };
    sigaction(SIGABRT, &action, NULL);
    sigaction(SIGSEGV, &action, NULL);
}

/* A copy of the exact size, so that a sanitizer sees a read past its end. */
static void feed(void)
{
    uint8_t *copy = malloc(input_size ? input_size : 1);
    memcpy(copy, input, input_size);
    cost_run(FUZZ_TARGET, copy, input_size);
    free(copy);
}

static void feed_seed(size_t size, unsigned mutations)
{
    memcpy(input, seed, size);
    input_size = size;
    feed();
    uint64_t random = 0x9e3779b97f4a7c15ull + size;
    for (unsigned i = 0; i < mutations; i++) {
        memcpy(input, seed, size);
        input_size = mutate(&random, input, size, CAPACITY);
        feed();
    }
}

/* Returns the number of inputs. */
static unsigned feed_files(const char *path, unsigned mutations)
{
    DIR *dir = opendir(path);
    unsigned inputs = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir)); ) {
        int fd = entry->d_name[0] == '.' ? -1 : openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
        ssize_t size = fd < 0 ? -1 : read(fd, seed, CAPACITY);
        if (fd >= 0)
            close(fd);
        if (size < 0)
            continue;
        feed_seed((size_t)size, mutations);
        inputs++;
    }
    if (dir)
        closedir(dir);
    return inputs;
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 3) {
        fprintf(stderr, "usage: %s tests/fuzz NAME [MUTATIONS]\n", argv[0]);
        return 2;
    }
    unsigned mutations = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 5000;
    keep_input_when_it_crashes();
    feed_seed(0, mutations);
    snprintf(path, sizeof path, "%s/seeds/%s", argv[1], argv[2]);
    unsigned seeds = feed_files(path, mutations);
    printf("%sok 1 - %u seeds and %u mutations of each\n", seeds ? "" : "not ", seeds, mutations);
    snprintf(path, sizeof path, "%s/corpus/%s", argv[1], argv[2]);
    printf("ok 2 - %u inputs that libFuzzer found\n1..2\n", feed_files(path, 0));
    return seeds ? 0 : 1;
}
