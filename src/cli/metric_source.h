/* Where sonde get, list-metrics and track have metrics from: the agent of this node or of another, or a proxy of tau's. */
#ifndef SONDE_CLI_METRIC_SOURCE_H
#define SONDE_CLI_METRIC_SOURCE_H

#include "cli/command_agent.h"
#include "report/metric_list.h"
#include "report/metric_print.h"
#include "compat/tau/client.h"

/* The options that the three share; the first members of their settings. */
struct metric_source_settings {
    const char *host;       /* NULL: this node */
    const char *tau_socket; /* NULL: the agent; "": tau's usual socket, else the agent */
    const char *job, *user; /* NULL: the sums over all; both: of the job, if it is the user's */
    bool tau;               /* with tau's names for MPI and system calls */
};

#define METRIC_SOURCE_OPTIONS(of) \
    { .letter = 'j', .name = "job", .argument = "JOB", .type = OPTION_TEXT, .offset = offsetof(of, source.job), \
      .help = "Of this job, in place of the sums over the node" }, \
    { .letter = 'U', .name = "user", .argument = "USER", .type = OPTION_TEXT, .offset = offsetof(of, source.user), \
      .help = "Of this user's programs, in place of the sums over the node; with -j, of the job of that name that is this " \
              "user's. By number, where the user has no name" }, \
    { .name = "tau", .type = OPTION_FLAG, .offset = offsetof(of, source.tau), \
      .help = "Also under tau's names: tau_hits_total{function=\"mpi_send\"}, strace_hits_total{scall=\"read\"}" }, \
    { .name = "tau-socket", .argument = "PATH", .type = OPTION_TEXT, .offset = offsetof(of, source.tau_socket), \
      .help = "Ask a tau_metric_proxy, or an agent in its place, through this socket with tau's own messages; '' is tau's " \
              "usual socket or else this node's agent" }, \
    { .name = "host", .argument = "HOST", .type = OPTION_TEXT, .offset = offsetof(of, source.host), \
      .help = "Ask the agent of HOST, HOST:PORT, or that with this socket" }

struct metric_source {
    const struct metric_source_settings *settings;
    struct tau_client client; /* fd -1: none */
    bool is_tau;              /* it has answered once: no other is asked then */
    struct buf answer, path;
};

/* What is asked for. */
struct metric_query {
    bool is_list;             /* descriptions alone */
    bool is_all;              /* values, with the descriptions, which tau's proxy tells apart from them */
    const char *const *names; /* quoted; NULL-terminated; NULL: all */
};

/* EXIT_GOOD, or what main returns because of options that contradict one another. */
int metric_source_check(const struct command_call *call, const struct metric_source_settings *settings);

/* The list is empty: says so where a job or a user was asked for. Returns what main does. */
int metric_source_none(const struct command_call *call, const struct metric_source_settings *settings);

void metric_source_init(struct metric_source *source, const struct metric_source_settings *settings);
void metric_source_clear(struct metric_source *source);

/* Fills list, which is empty. On an error why says what is wrong; it may be asked again later, and connects anew. */
enum err metric_source_ask(struct metric_source *source, const struct metric_query *query, struct metric_list *list,
                           struct buf *why);

/* What sonde get and list-metrics do: asks for what the operands name (all, if none) and query says else, and hands the answer
 * to show. Its status, or that of what went wrong, which is said. */
int metric_source_show(const struct command_call *call, const struct metric_source_settings *settings, struct metric_query query,
                       int (*show)(const struct command_call *call, struct metric_list *list, char *const *names));

/* Prints a list in one of tau_metric_client's formats (enum metric_format). */
int metric_source_print(const struct command_call *call, const struct metric_list *list, enum metric_columns columns, int format);

/* Says which of the names mean none of the list, and fails if there are any. Where these are values, the metric may be there and
 * have none now. */
int metric_source_missing(const struct command_call *call, const struct metric_list *list, char *const *names, bool are_values);

extern const struct command_fact metric_source_environment[]; /* of the three, for their pages */

#endif
