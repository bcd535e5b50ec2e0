/* A program that loads libsonde at run time, unloads it and loads it again: instrumented_late LIBRARY TIMES. */
#include <sonde.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

typedef int make_function(struct sonde_counter *, const char *, const char *const *, const char *, const char *);
typedef void add_function(const struct sonde_counter *, uint64_t);

static int once(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct sonde_counter counter;
    if (!library) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    make_function *make = (make_function *)(uintptr_t)dlsym(library, "sonde_counter_make");
    add_function *add = (add_function *)(uintptr_t)dlsym(library, "sonde_call_add");
    if (!make || !add || make(&counter, "late_total", NULL, "", ""))
        return 1;
    add(&counter, 1);
    return dlclose(library);
}

int main(int argc, char **argv)
{
    long times = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    int result = argc < 2;
    for (long i = 0; i < times && !result; i++)
        result = once(argv[1]);
    return result;
}
