/* sonde ls: the current metric sets of an agent, as ldms_ls prints them. */
#include "api/schema.h"
#include "cli/command_agent.h"

#include "report/ls.h"

#include <fnmatch.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct ls_settings {
    bool values, json, regex, by_schema, ldms;
    int table;
    const char **names;
    const char *job;
    int auth;
};

enum { AUTH_NONE, AUTH_MUNGE };

/* The selected sets. */
struct ls_choice {
    const struct ls_settings *settings;
    const struct sets_answer *sets;
    regex_t *regexes; /* as many as there are names, with -E */
    size_t name_count;
};

static size_t count_names(const char **names)
{
    size_t count = 0;
    while (names && names[count])
        count++;
    return count;
}

/* Returns an exit status. */
static int choice_open(const struct command_call *call, struct ls_choice *choice)
{
    const struct ls_settings *settings = choice->settings;
    size_t count = count_names(settings->names);
    choice->name_count = settings->regex ? 0 : count;
    if (!settings->regex || !count)
        return EXIT_GOOD;
    choice->regexes = calloc(count, sizeof *choice->regexes);
    if (!choice->regexes)
        return command_fail(call, "out of memory");
    for (; choice->name_count < count; choice->name_count++) {
        const char *name = settings->names[choice->name_count];
        if (regcomp(&choice->regexes[choice->name_count], name, REG_EXTENDED | REG_NOSUB))
            return command_usage_error(call, "invalid regular expression '%s'", name);
    }
    return EXIT_GOOD;
}

static void choice_close(struct ls_choice *choice)
{
    for (size_t i = 0; choice->regexes && i < choice->name_count; i++)
        regfree(&choice->regexes[i]);
    free(choice->regexes);
}

static bool matches(const struct ls_choice *choice, const char *text)
{
    if (choice->name_count == 0)
        return true;
    for (size_t i = 0; i < choice->name_count; i++)
        if (choice->regexes ? regexec(&choice->regexes[i], text, 0, NULL, 0) == 0
                            : fnmatch(choice->settings->names[i], text, 0) == 0)
            return true;
    return false;
}

static enum ls_form form_of(const struct ls_settings *settings)
{
    return settings->ldms ? LS_LDMS : LS_OURS;
}

static bool is_chosen(const struct ls_choice *choice, const struct sets_item *item)
{
    const struct ls_settings *settings = choice->settings;
    struct buf name;
    if (settings->job && (!item->job || strcmp(item->job, settings->job) != 0))
        return false;
    buf_init(&name, 8192);
    if (settings->by_schema)
        buf_add_text(&name, ls_schema(item, form_of(settings)));
    else
        ls_name(&name, choice->sets, item, form_of(settings));
    bool is = matches(choice, buf_text(&name));
    buf_clear(&name);
    return is;
}

static void print_table(struct buf *out, const struct ls_choice *choice, const bool *chosen)
{
    ls_table(out, choice->sets, chosen, form_of(choice->settings));
    if (choice->settings->values)
        buf_add_char(out, '\n');
}

static void print_chosen(struct buf *out, const struct ls_choice *choice, const bool *chosen)
{
    const struct sets_answer *sets = choice->sets;
    const struct ls_settings *settings = choice->settings;
    if (settings->json) {
        ls_json(out, sets, chosen);
        return;
    }
    if (settings->table)
        print_table(out, choice, chosen);
    for (size_t i = 0; i < sets->count; i++) {
        if (!chosen[i])
            continue;
        if (settings->values)
            ls_values(out, sets, &sets->items[i], form_of(settings));
        else if (!settings->table) {
            ls_name(out, sets, &sets->items[i], form_of(settings));
            buf_add_char(out, '\n');
        }
    }
}

static int print_sets(const struct command_call *call, const struct sets_answer *sets)
{
    struct ls_choice choice = { .settings = call->settings, .sets = sets };
    bool *chosen = calloc(sets->count + 1, sizeof *chosen);
    struct buf out;
    size_t count = 0;
    if (!chosen)
        return command_fail(call, "out of memory");
    buf_init(&out, COMMAND_ANSWER_MAX);
    int status = choice_open(call, &choice);
    for (size_t i = 0; status == EXIT_GOOD && i < sets->count; i++)
        count += chosen[i] = is_chosen(&choice, &sets->items[i]);
    if (status == EXIT_GOOD && sets->count > 0 && count == 0)
        status = command_fail(call, "none of the %zu metric sets matches", sets->count);
    if (status == EXIT_GOOD) {
        print_chosen(&out, &choice, chosen);
        status = command_print(call, &out);
    }
    choice_close(&choice);
    free(chosen);
    buf_clear(&out);
    return status;
}

static int ls_run(const struct command_call *call)
{
    const struct ls_settings *settings = call->settings;
    bool with_values = settings->values || settings->json || settings->table;
    struct buf answer;
    struct sets_answer sets;
    buf_init(&answer, COMMAND_ANSWER_MAX);
    if (settings->auth == AUTH_MUNGE)
        setenv(AGENT_CLIENT_AUTH, "munge", 1);
    int status = command_request(call, call->count ? call->operands[0] : "", "GET",
                                 with_values ? API_PATH_SETS "?" API_QUERY_VALUES : API_PATH_SETS, (struct bytes){ 0 }, &answer);
    if (status == EXIT_GOOD && sets_client_read(&sets, buf_text(&answer), answer.size))
        status = command_fail(call, "cannot parse the agent's response; is it of another version?");
    else if (status == EXIT_GOOD) {
        status = settings->ldms && ls_convert_ldms(&sets) ? command_fail(call, "out of memory") : print_sets(call, &sets);
        sets_client_clear(&sets);
    }
    buf_clear(&answer);
    return status;
}

#define AT(field) .offset = offsetof(struct ls_settings, field)
static const struct option options[] = {
    { .letter = 'l', .name = "long", .type = OPTION_FLAG, AT(values), .help = "Print the values of each set" },
    { .letter = 'v', .name = "verbose", .type = OPTION_COUNT, AT(table),
      .help = "Print a table: size, owner, time of the last sample, interval" },
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_LIST, AT(names),
      .help = "Only sets with this name, as printed by 'sonde ls'; may contain * and ?; may be repeated" },
    { .letter = 'E', .name = "regex", .type = OPTION_FLAG, AT(regex), .help = "Treat names as regular expressions" },
    { .letter = 'S', .name = "schema", .type = OPTION_FLAG, AT(by_schema),
      .help = "Match the name of the metric set, such as meminfo, without host and instance" },
    { .letter = 'j', .name = "job", .argument = "JOB", .type = OPTION_TEXT, AT(job), .help = "Only sets of this job" },
    { .name = "auth", .argument = "METHOD", .type = OPTION_CHOICE, AT(auth),
      .choices = OPTION_CHOICES(AUTH_MUNGE, "none", "munge"),
      .help = "How to authenticate to another node: none, or munge" },
    { .name = "json", .type = OPTION_FLAG, AT(json), .help = "Print the sets with all their values as JSON" },
    { .name = "ldms", .type = OPTION_FLAG, AT(ldms),
      .help = "Use LDMS's names of sets, metrics and units, as ldms_ls does" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde ls", "the metric sets of this node's agent" },
    { "sonde ls -l -S -n meminfo", "the current memory usage of this node" },
    { "sonde ls -v n7", "the metric sets of node n7" },
    { "sonde ls -l -j 4711", "all current values of a job" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "Directory of the agent's socket, instead of the default." },
    { "SONDE_AUTH", "munge: authenticate with munge, as with --auth; also for sonde top." },
    { "SONDE_MUNGE_SOCKET", "Socket of munged, instead of the default." },
    { 0 },
};

const struct command command_ls = {
    .name = "ls",
    .about = "show the current metric sets of an agent or a collector",
    .usage = "[OPTIONS] [HOST]",
    .description =
        "Lists the metric sets that the agent of this node, or of HOST, has sampled last, as ldms_ls does: HOST/SET, or "
        "HOST/SET/INSTANCE for sets with several instances, such as network devices; sets of a job are HOST/JOB/SET. Users see "
        "the node and their own jobs, root sees all jobs; an agent that listens on the network shows all jobs to other nodes.\n\n"
        "HOST is a host name or an address, with :PORT if it is not 1337, or the path of an agent's socket. For a collector "
        "(HOST:1338, or its socket), the recent sets of all its hosts are shown.\n\n"
        "Missing values are printed as a hyphen. When called as ldms_ls, it accepts the options of LDMS's program.",
    .options = options,
    .settings_size = sizeof(struct ls_settings),
    .shares = COMMAND_OWN_VERBOSE,
    .operands_max = 1,
    .operand = "HOST",
    .examples = examples,
    .environment = environment,
    .see_also = "agent top ctl",
    .run = ls_run,
};
