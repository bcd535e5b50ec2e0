/* process_cost [PROBE [COUNT [REPEATS]]]: what the preloaded probe adds to a short process. A shell starts COUNT times
 * /bin/true, bare and with the probe in turn, REPEATS times each; the fastest round of each counts, since everything
 * that disturbs only makes it slower. The spool is a file below $TMPDIR, as with sonde run. */
#include "tools.h"

#include <stdio.h>
#include <stdlib.h>

#define SCRIPT "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done"

static double round_us(char *script, bool probe, int count)
{
    uint64_t start_ns = tools_now_ns();
    tools_run((char *[]){ "/bin/sh", "-c", script, NULL }, probe);
    return (double)(tools_now_ns() - start_ns) / 1e3 / count;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 10, repeats = argc > 3 ? atoi(argv[3]) : 200;
    char script[128];
    snprintf(script, sizeof script, SCRIPT, count);
    tools_spool_make(argc > 1 ? argv[1] : BENCH_PROBE);
    double bare_us = 1e12, probed_us = 1e12;
    for (int i = 0; i < repeats; i++) {
        bare_us = tools_smaller(bare_us, round_us(script, false, count));
        probed_us = tools_smaller(probed_us, round_us(script, true, count));
    }
    printf("a short process: bare %.1f us, with the probe %.1f us: %+.1f us, %.2f times (goal: +150 us)\n", bare_us,
           probed_us, probed_us - bare_us, probed_us / bare_us);
    tools_spool_remove();
    return 0;
}
