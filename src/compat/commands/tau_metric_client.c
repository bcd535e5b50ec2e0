/* tau_metric_client …: sonde list-metrics, get and track, with the options and the output of tau's program. With -u it talks to
 * any proxy; without, to the user's own at the usual place, else to the agent of the node. */
#include "compat/commands/names.h"

#include "compat/commands/old_options.h"
#include "report/metric_names.h"

#include <stdlib.h>
#include <string.h>

enum id { HELP, OUTPUT, SOCKET, FREQUENCY, FORMAT, LIST, VALUES, GET, TRACK, TRACK_LIST, IDS };

static const struct old_option table[] = {
    { 'h', "--help", OLD_FLAG, HELP, NULL },
    { 'o', "--output", OLD_VALUE, OUTPUT, NULL },
    { 'u', "--unix", OLD_VALUE, SOCKET, NULL },
    { 'F', "--freq", OLD_VALUE, FREQUENCY, NULL },
    { 'f', "--format", OLD_VALUE, FORMAT, NULL },
    { 'l', "--list", OLD_FLAG, LIST, NULL },
    { 'v', "--values", OLD_FLAG, VALUES, NULL },
    { 'g', "--get", OLD_VALUE, GET, NULL },
    { 't', "--track", OLD_FLAG, TRACK, NULL },
    { 'T', "--track-list", OLD_VALUE, TRACK_LIST, NULL },
    { 0 },
};

static const char help[] =
    "usage: tau_metric_client [-h] [-o OUTPUT] [-u UNIX] [-F FREQ] [-f {md,json,yaml,txt}]\n"
    "                         [-l] [-v] [-g GET] [-t] [-T TRACK_LIST]\n"
    "\n"
    "  -h, --help            show this page\n"
    "  -o, --output OUTPUT   file that -t and -T write to (./log.js)\n"
    "  -u, --unix UNIX       path of the proxy's UNIX socket\n"
    "  -F, --freq FREQ       how often to look, in Hz (10)\n"
    "  -f, --format FORMAT   md, json, yaml or txt (md)\n"
    "  -l, --list            list metrics\n"
    "  -v, --values          list all values that are greater than 0\n"
    "  -g, --get GET         get values by name, ',' between\n"
    "  -t, --track           track all values that are not 0 over time, until Ctrl-C\n"
    "  -T, --track-list LIST track these over time, ',' between\n"
    "\n"
    "This is Sonde's; see 'sonde get --help' and 'sonde track --help' for more.\n";

static void add_pair(struct names_words *words, const char *option, const char *value)
{
    names_add(words, option);
    names_add(words, value);
}

/* What stands between commas; where that is nothing, a name that no metric has: without one all are meant. */
static void add_names(struct names_words *words, const char *list)
{
    struct buf name;
    buf_init(&name, 1u << 20);
    names_add(words, "--");
    int before = words->count;
    while (metric_names_next(&list, &name))
        names_add(words, buf_text(&name));
    if (words->count == before)
        names_add(words, "");
    buf_clear(&name);
}

static void add_track(struct names_words *words, const char *const values[IDS])
{
    add_pair(words, "--output", values[OUTPUT] ? values[OUTPUT] : "./log.js");
    add_pair(words, "--freq", values[FREQUENCY] ? values[FREQUENCY] : "10");
    names_add(words, "--announce");
    if (values[TRACK])
        names_add(words, "--nonzero");
}

static void write_words(struct names_words *words, const char *const values[IDS])
{
    bool is_list = values[LIST], is_values = !is_list && values[VALUES], is_get = !is_list && !is_values && values[GET];
    bool is_track = !is_list && !is_values && !is_get;
    names_add(words, "sonde");
    names_add(words, is_list ? "list-metrics" : is_track ? "track" : "get");
    names_add(words, "--tau");
    add_pair(words, "--tau-socket", values[SOCKET] ? values[SOCKET] : "");
    if (!is_track)
        add_pair(words, "--format", values[FORMAT] ? values[FORMAT] : "md");
    if (is_values)
        names_add(words, "--positive");
    else if (is_get)
        names_add(words, "--lenient");
    else if (is_track)
        add_track(words, values);
    if (is_get || (is_track && !values[TRACK]))
        add_names(words, values[is_get ? GET : TRACK_LIST]);
}

static enum err tau_metric_client_turn(int argc, char **argv, struct names_words *words, struct buf *message)
{
    struct old_options options = { .argc = argc, .at = 1, .argv = argv };
    const char *values[IDS] = { 0 };
    int id;
    enum err err;
    while (!(err = old_options_next(&options, table, &id, message)))
        values[id] = id == HELP || id == LIST || id == VALUES || id == TRACK ? "" : options.whole;
    if (err != GONE)
        return err;
    if (values[HELP] || !(values[LIST] || values[VALUES] || values[GET] || values[TRACK] || values[TRACK_LIST]))
        return GONE;
    write_words(words, values);
    return OK;
}

const struct names_entry names_tau_metric_client = { "tau_metric_client", tau_metric_client_turn, help };
