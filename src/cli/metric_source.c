/* Over HTTP the response is JSON; over tau's socket each metric is a separate struct. */
#include "cli/metric_source.h"

#include "api/schema.h"
#include "model/dictionary.h"
#include "report/metric_names.h"

#include <string.h>
#include <unistd.h>

const struct command_fact metric_source_environment[] = {
    { "SONDE_SOCKET_DIR", "Directory of the agent's socket, instead of the default." },
    { 0 },
};

void metric_source_init(struct metric_source *source, const struct metric_source_settings *settings)
{
    *source = (struct metric_source){ .settings = settings, .client = { -1 } };
    buf_init(&source->answer, COMMAND_ANSWER_MAX);
    buf_init(&source->path, 1u << 20);
}

int metric_source_check(const struct command_call *call, const struct metric_source_settings *settings)
{
    if (settings->tau_socket && (settings->job || settings->user || settings->host))
        return command_usage_error(call, "--tau-socket cannot be combined with -j, -U or --host: tau's protocol has no "
                                         "jobs, users or other nodes");
    return EXIT_GOOD;
}

int metric_source_none(const struct command_call *call, const struct metric_source_settings *settings)
{
    const char *job = settings->job, *user = settings->user;
    if (!job && !user)
        return EXIT_GOOD;
    return command_fail(call, "no program metrics of %s%s%s%s%s: there are none, or you are not allowed to see them",
                        job ? "job " : "", job ? job : "", job && user ? " of " : "", user ? "user " : "",
                        user ? user : "");
}

void metric_source_clear(struct metric_source *source)
{
    tau_client_close(&source->client);
    buf_clear(&source->answer);
    buf_clear(&source->path);
}

/* Does any of the names match this metric? */
static bool is_asked_for(const struct metric_query *query, const char *name)
{
    if (!query->names)
        return true;
    for (const char *const *at = query->names; *at; at++)
        if (metric_names_match(*at, name))
            return true;
    return false;
}

static bool is_same(const char *text, const char *wanted)
{
    return wanted ? text && strcmp(text, wanted) == 0 : !text;
}

/* Keeps only what was requested: an agent may return more. */
static void filter(struct metric_list *list, const struct metric_source_settings *settings, const struct metric_query *query)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct metric_item *item = &list->items[i];
        bool is_of_any_user = settings->job && !settings->user;
        bool is_right = is_same(item->job, settings->job) && (is_of_any_user || is_same(item->user, settings->user));
        if (is_right && is_asked_for(query, item->name))
            list->items[kept++] = *item;
    }
    list->count = kept;
}

static void add_text(struct buf *path, const char *key, const char *text)
{
    struct buf quoted;
    if (!text)
        return;
    buf_init(&quoted, 1u << 16);
    metric_names_add_query(&quoted, text);
    buf_printf(path, "%s=%s&", key, buf_text(&quoted) + strlen(API_QUERY_NAME "="));
    buf_clear(&quoted);
}

/* tau's names are returned if asked for explicitly, even without --tau. */
static bool is_of_tau(const struct metric_query *query)
{
    for (const char *const *at = query->names; at && *at; at++)
        if (strncmp(*at, "strace_", 7) == 0 || strncmp(*at, "tau_", 4) == 0)
            return true;
    return false;
}

/* Patterns are matched here, against all metrics. */
static void make_path(struct metric_source *source, const struct metric_query *query)
{
    struct buf *path = &source->path;
    bool is_exact = query->names != NULL;
    buf_reset(path);
    buf_add_text(path, API_PATH_PROGRAMS "?");
    if (query->is_list)
        buf_add_text(path, API_QUERY_LIST "&");
    if (source->settings->tau)
        buf_add_text(path, API_QUERY_TAU "&");
    else if (is_of_tau(query))
        buf_add_text(path, API_QUERY_ALIASES "&");
    add_text(path, API_QUERY_JOB, source->settings->job);
    add_text(path, API_QUERY_USER, source->settings->user);
    for (const char *const *at = query->names; at && *at; at++)
        is_exact = is_exact && strchr(*at, '{') && !metric_names_is_pattern(*at);
    for (const char *const *at = query->names; is_exact && *at && path->size < 6000; at++) {
        metric_names_add_query(path, *at);
        buf_add_char(path, '&');
    }
    if (path->size >= 6000 && is_exact) { /* too long for a request: query all, and filter here */
        const struct metric_query all = { .is_list = query->is_list };
        make_path(source, &all);
        buf_add_text(path, is_of_tau(query) && !source->settings->tau ? API_QUERY_ALIASES "&" : "");
    }
}

static enum err ask_agent(struct metric_source *source, const struct metric_query *query, struct metric_list *list,
                          struct buf *error)
{
    buf_reset(&source->answer);
    make_path(source, query);
    enum err err = command_try_request(source->settings->host, "GET", buf_text(&source->path), (struct bytes){ 0 },
                                       &source->answer, error);
    if (err)
        return err;
    err = metric_list_read(list, buf_text(&source->answer), source->answer.size);
    if (err)
        buf_add_text(error, "cannot parse the agent's response; is it of another version?");
    filter(list, source->settings, query);
    return err;
}

static void take_descriptor(void *context, const struct tau_descriptor *descriptor)
{
    struct metric_list *list = context;
    struct metric_item *item = metric_list_add(list);
    if (!item)
        return;
    item->name = metric_list_text(list, descriptor->name);
    item->doc = metric_list_text(list, descriptor->doc);
    item->type = descriptor->type == TAU_COUNTER ? METRIC_LIST_COUNTER
                 : descriptor->type == TAU_GAUGE ? METRIC_LIST_GAUGE
                                                 : METRIC_LIST_OTHER;
}

static void take_event(void *context, const struct tau_event *event)
{
    struct metric_list *list = context;
    struct metric_item *item = metric_list_add(list);
    if (!item)
        return;
    item->name = metric_list_text(list, event->name);
    item->value = event->value;
    item->ts_s = event->update_s;
}

/* One request per name, in the given order; unknown names are left out. */
static enum err ask_each(struct metric_source *source, const struct metric_query *query, struct metric_list *list)
{
    enum err err = OK;
    for (const char *const *at = query->names; *at && !err; at++) {
        struct tau_event event;
        err = tau_client_value(&source->client, *at, &event);
        if (!err)
            take_event(list, &event);
        else if (err == ABSENT)
            err = OK;
    }
    return err;
}

static bool has_patterns(const struct metric_query *query)
{
    for (const char *const *at = query->names; at && *at; at++)
        if (metric_names_is_pattern(*at))
            return true;
    return false;
}

/* Copies types and descriptions to the items of list. */
static void describe(struct metric_list *list, struct metric_list *described)
{
    struct dictionary names;
    size_t known = 0;
    dictionary_init(&names);
    for (size_t i = 0; i < described->count; i++)
        if (dictionary_add(&names, bytes_of(described->items[i].name)) == known) /* tau may send duplicates with an empty name */
            described->items[known++] = described->items[i];
    for (size_t i = 0; i < list->count; i++) {
        struct metric_item *item = &list->items[i];
        uint32_t number = dictionary_add(&names, bytes_of(item->name));
        if (number >= known) /* it appeared between the two responses */
            continue;
        item->type = described->items[number].type;
        item->doc = metric_list_text(list, described->items[number].doc);
    }
    dictionary_clear(&names);
}

/* tau sends values without types and descriptions, which need a second request. */
static enum err ask_descriptions(struct metric_source *source, struct metric_list *list)
{
    struct metric_list described;
    metric_list_init(&described);
    enum err err = tau_client_list(&source->client, take_descriptor, &described);
    if (!err)
        describe(list, &described);
    metric_list_clear(&described);
    return err;
}

static enum err ask_tau(struct metric_source *source, const struct metric_query *query, struct metric_list *list)
{
    enum err err;
    if (query->is_list || has_patterns(query) || !query->names) {
        err = query->is_list ? tau_client_list(&source->client, take_descriptor, list)
                             : tau_client_values(&source->client, take_event, list);
        filter(list, &(struct metric_source_settings){ 0 }, query);
    } else {
        err = ask_each(source, query, list);
    }
    return err || !query->is_all ? err : ask_descriptions(source, list);
}

static enum err connect_tau(struct metric_source *source, const char *path, bool is_usual, struct buf *error)
{
    if (source->client.fd >= 0)
        return OK;
    enum err err = tau_client_connect(&source->client, path, is_usual);
    if (err == ABSENT)
        buf_printf(error, "cannot connect to %s: no server is listening. Start 'sonde agent' or tau_metric_proxy, or give its "
                   "socket (--tau-socket; tau_metric_client -u).", path);
    else if (err == USAGE)
        buf_printf(error, "the path of the socket is longer than 107 bytes: %s", path);
    else if (err == DENIED && is_usual)
        buf_printf(error, "%s belongs to another user and is not used", path);
    else if (err)
        buf_printf(error, "cannot connect to %s: %s", path, err_text(err));
    return err;
}

static enum err ask_socket(struct metric_source *source, const char *path, bool is_usual,
                           const struct metric_query *query, struct metric_list *list, struct buf *error)
{
    enum err err = connect_tau(source, path, is_usual, error);
    if (err)
        return err;
    source->is_tau = true;
    err = ask_tau(source, query, list);
    if (err)
        buf_printf(error, "the proxy at %s %s", path,
                   err == GONE ? "closed the connection" : err == AGAIN ? "does not respond" : "speaks another protocol");
    return err;
}

enum err metric_source_ask(struct metric_source *source, const struct metric_query *query, struct metric_list *list,
                           struct buf *error)
{
    const char *socket = source->settings->tau_socket;
    char usual[TAU_CLIENT_PATH_MAX];
    if (!socket)
        return ask_agent(source, query, list, error);
    tau_client_default_path(usual);
    enum err err = ask_socket(source, *socket ? socket : usual, !*socket, query, list, error);
    if (*socket || (err != ABSENT && err != DENIED) || source->is_tau)
        return err;
    struct buf other;
    buf_init(&other, 4096);
    err = ask_agent(source, query, list, &other); /* if there is no agent either, the error is about tau's socket */
    if (err != ABSENT) {
        buf_reset(error);
        buf_add_text(error, buf_text(&other));
    }
    buf_clear(&other);
    return err;
}

int metric_source_show(const struct command_call *call, const struct metric_source_settings *settings,
                       struct metric_query query,
                       int (*show)(const struct command_call *call, struct metric_list *list, char *const *names))
{
    int wrong = metric_source_check(call, settings);
    if (wrong)
        return wrong;
    char **names = metric_names_quoted(call->operands, call->count);
    struct metric_source source;
    struct metric_list list;
    struct buf error;
    if (!names)
        return command_fail(call, "out of memory");
    query.names = call->count ? (const char *const *)names : NULL;
    buf_init(&error, 8192);
    metric_list_init(&list);
    metric_source_init(&source, settings);
    enum err err = metric_source_ask(&source, &query, &list, &error);
    int status = err ? command_fail(call, "%s", error.size ? buf_text(&error) : err_text(err)) : show(call, &list, names);
    metric_source_clear(&source);
    metric_list_clear(&list);
    metric_names_free(&names);
    buf_clear(&error);
    return status;
}

int metric_source_print(const struct command_call *call, const struct metric_list *list, enum metric_columns columns, int format)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    struct buf out;
    buf_init(&out, COMMAND_ANSWER_MAX);
    metric_print(&out, list, columns, (enum metric_format)format, &terminal);
    int status = buf_err(&out) ? command_fail(call, "the response is too large") : command_print(call, &out);
    buf_clear(&out);
    return status;
}

int metric_source_missing(const struct command_call *call, const struct metric_list *list, char *const *names, bool are_values)
{
    const char *more = are_values ? " with a value: gauges have none unless a running process has set them" : "";
    int status = EXIT_GOOD;
    for (; *names; names++) {
        size_t i = 0;
        while (i < list->count && !metric_names_match(*names, list->items[i].name))
            i++;
        if (i == list->count)
            status = command_fail(call, "no metric %s%s; 'sonde list-metrics' shows all", *names, more);
    }
    return status;
}
