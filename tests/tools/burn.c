/* burn MS: uses so much CPU time, then ends well. */
#include "tools/burn.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
    burn(CLOCK_PROCESS_CPUTIME_ID, argc > 1 ? strtol(argv[1], NULL, 10) : 0);
    return 0;
}
