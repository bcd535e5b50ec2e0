/* burn MS [COMMAND…]: uses this much CPU time, then execs COMMAND or exits with 0. */
#include "tools/burn.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    burn(CLOCK_PROCESS_CPUTIME_ID, argc > 1 ? strtol(argv[1], NULL, 10) : 0);
    if (argc > 2)
        execvp(argv[2], argv + 2);
    return argc > 2 ? 127 : 0;
}
