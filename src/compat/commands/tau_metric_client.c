/* tau_metric_client: sonde list-metrics, get and track with the options and output of tau's program. With -u it queries
 * any proxy; otherwise the user's own at the default path, else the agent of the node. */
#include "compat/commands/drop_in.h"

#include "compat/commands/foreign_options.h"
#include "report/metric_names.h"

#include <stdlib.h>
#include <string.h>

enum tau_metric_client_option { HELP, OUTPUT, SOCKET, FREQUENCY, FORMAT, LIST, VALUES, GET, TRACK, TRACK_LIST, IDS };

static const struct foreign_option table[] = {
    { 'h', "--help", FOREIGN_FLAG, HELP, NULL },
    { 'o', "--output", FOREIGN_VALUE, OUTPUT, NULL },
    { 'u', "--unix", FOREIGN_VALUE, SOCKET, NULL },
    { 'F', "--freq", FOREIGN_VALUE, FREQUENCY, NULL },
    { 'f', "--format", FOREIGN_VALUE, FORMAT, NULL },
    { 'l', "--list", FOREIGN_FLAG, LIST, NULL },
    { 'v', "--values", FOREIGN_FLAG, VALUES, NULL },
    { 'g', "--get", FOREIGN_VALUE, GET, NULL },
    { 't', "--track", FOREIGN_FLAG, TRACK, NULL },
    { 'T', "--track-list", FOREIGN_VALUE, TRACK_LIST, NULL },
    { 0 },
};

static const char help[] =
    "usage: tau_metric_client [-h] [-o OUTPUT] [-u UNIX] [-F FREQ] [-f {md,json,yaml,txt}]\n"
    "                         [-l] [-v] [-g GET] [-t] [-T TRACK_LIST]\n"
    "\n"
    "  -h, --help            show this help\n"
    "  -o, --output OUTPUT   output file of -t and -T (./log.js)\n"
    "  -u, --unix UNIX       path of the proxy's UNIX socket\n"
    "  -F, --freq FREQ       sampling frequency in Hz (10)\n"
    "  -f, --format FORMAT   md, json, yaml or txt (md)\n"
    "  -l, --list            list metrics\n"
    "  -v, --values          list all values greater than 0\n"
    "  -g, --get GET         get values by name, comma-separated\n"
    "  -t, --track           track all nonzero values over time, until Ctrl-C\n"
    "  -T, --track-list LIST track these over time, comma-separated\n"
    "\n"
    "This is Sonde's replacement; see 'sonde get --help' and 'sonde track --help' for more.\n";

static void add_pair(struct drop_in_args *args, const char *option, const char *value)
{
    drop_in_add(args, option);
    drop_in_add(args, value);
}

/* Splits a comma-separated list; an empty one becomes a name that no metric has, since no name at all means all
 * metrics. */
static void add_names(struct drop_in_args *args, const char *list)
{
    struct buf name;
    buf_init(&name, 1u << 20);
    drop_in_add(args, "--");
    int before = args->count;
    while (metric_names_next(&list, &name))
        drop_in_add(args, buf_text(&name));
    if (args->count == before)
        drop_in_add(args, "");
    buf_clear(&name);
}

static void add_track(struct drop_in_args *args, const char *const values[IDS])
{
    add_pair(args, "--output", values[OUTPUT] ? values[OUTPUT] : "./log.js");
    add_pair(args, "--freq", values[FREQUENCY] ? values[FREQUENCY] : "10");
    drop_in_add(args, "--announce");
    if (values[TRACK])
        drop_in_add(args, "--nonzero");
}

static void write_args(struct drop_in_args *args, const char *const values[IDS])
{
    bool is_list = values[LIST], is_values = !is_list && values[VALUES], is_get = !is_list && !is_values && values[GET];
    bool is_track = !is_list && !is_values && !is_get;
    drop_in_add(args, "sonde");
    drop_in_add(args, is_list ? "list-metrics" : is_track ? "track" : "get");
    drop_in_add(args, "--tau");
    add_pair(args, "--tau-socket", values[SOCKET] ? values[SOCKET] : "");
    if (!is_track)
        add_pair(args, "--format", values[FORMAT] ? values[FORMAT] : "md");
    if (is_values)
        drop_in_add(args, "--positive");
    else if (is_get)
        drop_in_add(args, "--lenient");
    else if (is_track)
        add_track(args, values);
    if (is_get || (is_track && !values[TRACK]))
        add_names(args, values[is_get ? GET : TRACK_LIST]);
}

static enum err tau_metric_client_translate(int argc, char **argv, struct drop_in_args *args, struct buf *message)
{
    struct foreign_options options = { .argc = argc, .at = 1, .argv = argv };
    const char *values[IDS] = { 0 };
    int id;
    enum err err;
    while (!(err = foreign_options_next(&options, table, &id, message)))
        values[id] = id == HELP || id == LIST || id == VALUES || id == TRACK ? "" : options.whole;
    if (err != GONE)
        return err;
    if (values[HELP] || !(values[LIST] || values[VALUES] || values[GET] || values[TRACK] || values[TRACK_LIST]))
        return GONE;
    write_args(args, values);
    return OK;
}

const struct drop_in drop_in_tau_metric_client = { "tau_metric_client", tau_metric_client_translate, help };
