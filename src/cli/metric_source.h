/* Where sonde get, list-metrics and track read program metrics from: the agent of this node or another, or a tau
 * proxy. */
#ifndef SONDE_CLI_METRIC_SOURCE_H
#define SONDE_CLI_METRIC_SOURCE_H

#include "cli/command_agent.h"
#include "report/metric_list.h"
#include "report/metric_print.h"
#include "compat/tau/client.h"

/* The options that the three commands share; the first member of their settings. */
struct metric_source_settings {
    const char *host;       /* NULL: this node */
    const char *tau_socket; /* NULL: the agent; "": tau's default socket, else the agent */
    const char *job, *user; /* NULL: the totals of the node; both: the user's job of this id */
    bool tau;               /* also under tau's names for MPI and system calls */
};

#define METRIC_SOURCE_OPTIONS(of) \
    { .letter = 'j', .name = "job", .argument = "JOB", .type = OPTION_TEXT, .offset = offsetof(of, source.job), \
      .help = "Only this job, instead of the totals of the node" }, \
    { .letter = 'U', .name = "user", .argument = "USER", .type = OPTION_TEXT, .offset = offsetof(of, source.user), \
      .help = "Only this user's programs, instead of the totals of the node; with -j, the job of that id that belongs to " \
              "this user. Name or numeric uid" }, \
    { .name = "tau", .type = OPTION_FLAG, .offset = offsetof(of, source.tau), \
      .help = "Also under tau's names: tau_hits_total{function=\"mpi_send\"}, strace_hits_total{scall=\"read\"}" }, \
    { .name = "tau-socket", .argument = "PATH", .type = OPTION_TEXT, .offset = offsetof(of, source.tau_socket), \
      .help = "Query a tau_metric_proxy, or an agent that replaces it, through this socket with tau's protocol; '' is tau's " \
              "default socket, else this node's agent" }, \
    { .name = "host", .argument = "HOST", .type = OPTION_TEXT, .offset = offsetof(of, source.host), \
      .help = "Query this agent: HOST[:PORT] or the path of its socket" }

struct metric_source {
    const struct metric_source_settings *settings;
    struct tau_client client; /* fd -1: none */
    bool is_tau;              /* the tau socket has answered once, so there is no fallback to the agent */
    struct buf answer, path;
};

/* A query. */
struct metric_query {
    bool is_list;             /* only the descriptions */
    bool is_all;              /* values and descriptions, which tau's proxy returns separately */
    const char *const *names; /* quoted; NULL-terminated; NULL: all */
};

/* Returns EXIT_GOOD, or EXIT_USAGE after printing that options contradict each other. */
int metric_source_check(const struct command_call *call, const struct metric_source_settings *settings);

/* For an empty list: prints an error if a job or a user was given. Returns the exit status. */
int metric_source_none(const struct command_call *call, const struct metric_source_settings *settings);

void metric_source_init(struct metric_source *source, const struct metric_source_settings *settings);
void metric_source_clear(struct metric_source *source);

/* Fills list, which is empty. On error, adds a message to error; may be called again later, and then reconnects. */
enum err metric_source_ask(struct metric_source *source, const struct metric_query *query, struct metric_list *list,
                           struct buf *error);

/* Implements sonde get and list-metrics: queries the metrics named by the operands (default: all) and passes the answer
 * to show. Returns its exit status, or that of an error, which has been printed. */
int metric_source_show(const struct command_call *call, const struct metric_source_settings *settings,
                       struct metric_query query,
                       int (*show)(const struct command_call *call, struct metric_list *list, char *const *names));

/* Prints a list in one of tau_metric_client's formats (enum metric_format). */
int metric_source_print(const struct command_call *call, const struct metric_list *list, enum metric_columns columns, int format);

/* Prints an error for each name that matches nothing in the list. are_values: the metric may exist but have no value
 * now. */
int metric_source_missing(const struct command_call *call, const struct metric_list *list, char *const *names, bool are_values);

extern const struct command_fact metric_source_environment[]; /* for the help of the three commands */

#endif
