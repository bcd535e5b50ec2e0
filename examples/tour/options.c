/* The command line. */
#include "particles.h"

#include <stdlib.h>

static int read_number(const char *text, size_t *number)
{
    char *end;
    *number = strtoul(text, &end, 10);
    return *text != '\0' && *end == '\0' && *number > 0;
}

int options_read(struct options *options, int argc, char **argv)
{
    *options = (struct options){ .bodies = 1000, .steps = 10, .threads = 2 };
    if (argc > 1 && !read_number(argv[1], &options->bodies))
        return 0;
    if (argc > 2 && !read_number(argv[2], &options->steps))
        return 0;
    return argc <= 3;
}
