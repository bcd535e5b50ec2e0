/* tau_metric_proxy_run: sonde tau-run with the options of tau's launcher. */
#include "compat/commands/drop_in.h"

#include <getopt.h>
#include <unistd.h>

static const char help[] =
    "usage: tau_metric_proxy_run [-m] [-s] [-v] [-F SEC] [-u PATH] -- COMMAND...\n"
    "       tau_metric_proxy_run [-v] -S PID\n"
    "\n"
    "  -m        count MPI calls\n"
    "  -s        count system calls\n"
    "  -S PID    count the system calls of a running process, until Ctrl-C\n"
    "  -F SEC    interval at which programs with tau's library send their values (0.1)\n"
    "  -u PATH   UNIX socket of the proxy ($TAU_METRIC_PROXY, /tmp/tau_metric_proxy.UID.unix)\n"
    "  -v        print more details\n"
    "  -h, --help  show this help\n"
    "\n"
    "This is Sonde's replacement; see 'sonde run --help' for more.\n";

static enum err translate_option(int letter, char **argv, struct drop_in_args *args, struct buf *message)
{
    char word[] = { '-', (char)letter, '\0' };
    if (letter == 'h')
        return GONE;
    if (letter == '?') {
        drop_in_unknown_option(message, argv);
        return USAGE;
    }
    drop_in_add(args, word);
    if (letter == 'F' || letter == 'u' || letter == 'S')
        drop_in_add(args, optarg);
    return OK;
}

static enum err tau_metric_proxy_run_translate(int argc, char **argv, struct drop_in_args *args, struct buf *message)
{
    static const struct option longer[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
    enum err err = OK;
    int letter;
    drop_in_add(args, "sonde");
    drop_in_add(args, "tau-run");
    opterr = 0;
    optind = 1;
    while (!err && (letter = getopt_long(argc, argv, "+msvhF:u:S:", longer, NULL)) != -1)
        err = translate_option(letter, argv, args, message);
    drop_in_add(args, "--");
    for (int i = optind; !err && i < argc; i++)
        drop_in_add(args, argv[i]);
    return err;
}

const struct drop_in drop_in_tau_metric_proxy_run = { "tau_metric_proxy_run", tau_metric_proxy_run_translate, help };
