/* The list of commands, in the order in which `sonde --help` prints them. */
#ifndef SONDE_CLI_COMMANDS_H
#define SONDE_CLI_COMMANDS_H

/* X(name): the constant command_name in cli/name.c */
#define COMMANDS(X) \
    X(run) \
    X(attach) \
    X(report) \
    X(list) \
    X(ps) \
    X(export) \
    X(submit) \
    X(agent) \
    X(top) \
    X(ls) \
    X(get) \
    X(list_metrics) \
    X(track) \
    X(job) \
    X(ctl) \
    X(prometheus_config) \
    X(collect) \
    X(keygen) \
    X(doctor) \
    X(tau_run) \
    X(help) \
    X(completion)

#endif
