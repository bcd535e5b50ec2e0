/* tau_metric_proxy_run …: sonde tau-run, with the options of tau's launcher. */
#include "compat/commands/names.h"

#include <getopt.h>
#include <unistd.h>

static const char help[] =
    "usage: tau_metric_proxy_run [-m] [-s] [-v] [-F SEC] [-u PATH] -- COMMAND...\n"
    "       tau_metric_proxy_run [-v] -S PID\n"
    "\n"
    "  -m        count MPI calls\n"
    "  -s        count system calls\n"
    "  -S PID    count the system calls of a process that runs, until Ctrl-C\n"
    "  -F SEC    how often programs of tau's library tell their values (0.1)\n"
    "  -u PATH   the UNIX socket of the proxy ($TAU_METRIC_PROXY, /tmp/tau_metric_proxy.UID.unix)\n"
    "  -v        tell more\n"
    "  -h, --help  show this page\n"
    "\n"
    "This is Sonde's; see 'sonde run --help' for more.\n";

static enum err turn_option(int letter, char **argv, struct names_words *words, struct buf *message)
{
    char word[] = { '-', (char)letter, '\0' };
    if (letter == 'h')
        return GONE;
    if (letter == '?') {
        names_refuse(message, argv);
        return USAGE;
    }
    names_add(words, word);
    if (letter == 'F' || letter == 'u' || letter == 'S')
        names_add(words, optarg);
    return OK;
}

static enum err tau_metric_proxy_run_turn(int argc, char **argv, struct names_words *words, struct buf *message)
{
    static const struct option longer[] = { { "help", no_argument, NULL, 'h' }, { 0 } };
    enum err err = OK;
    int letter;
    names_add(words, "sonde");
    names_add(words, "tau-run");
    opterr = 0;
    optind = 1;
    while (!err && (letter = getopt_long(argc, argv, "+msvhF:u:S:", longer, NULL)) != -1)
        err = turn_option(letter, argv, words, message);
    names_add(words, "--");
    for (int i = optind; !err && i < argc; i++)
        names_add(words, argv[i]);
    return err;
}

const struct names_entry names_tau_metric_proxy_run = { "tau_metric_proxy_run", tau_metric_proxy_run_turn, help };
