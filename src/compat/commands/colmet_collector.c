/* colmet-collector: sonde collect with the options of Colmet's collectors. Receives only from Colmet's nodes, and
 * writes to HDF5, Elasticsearch and standard output as Colmet does. Arguments after "--" are options of sonde
 * collect. */
#include "compat/commands/drop_in.h"

#include "base/log.h"
#include "compat/commands/foreign_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum colmet_collector_option {
    HELP, VERSION, VERBOSE, UNUSED, STDOUT, BIND, FILEPATH, LEVEL, CODEC, HOST, PREFIX, CREDENTIALS, NO_CHECK, IDS,
};

static const struct foreign_option table[] = {
    { 'h', "--help", FOREIGN_FLAG, HELP, NULL },
    { '\0', "--version", FOREIGN_FLAG, VERSION, NULL },
    { 'v', "--verbose", FOREIGN_COUNT, VERBOSE, NULL },
    { 's', "--sample-period", FOREIGN_VALUE, UNUSED, NULL }, /* samples are received at once ... */
    { '\0', "--buffer-size", FOREIGN_VALUE, UNUSED, NULL },  /* ... without a limit ... */
    { '\0', "--zeromq-hwm", FOREIGN_VALUE, UNUSED, NULL },   /* ... and stored on disk */
    { '\0', "--zeromq-linger", FOREIGN_VALUE, UNUSED, NULL },
    { '\0', "--enable-stdout-backend", FOREIGN_FLAG, STDOUT, NULL },
    { '\0', "--zeromq-bind-uri", FOREIGN_VALUE, BIND, NULL },
    { '\0', "--zeromq-uri", FOREIGN_VALUE, BIND, NULL },
    { '\0', "--hdf5-filepath", FOREIGN_VALUE, FILEPATH, NULL },
    { '\0', "--hdf5-complevel", FOREIGN_VALUE, LEVEL, NULL },
    { '\0', "--hdf5-complib", FOREIGN_VALUE, CODEC, NULL },
    { '\0', "--elastic-host", FOREIGN_VALUE, HOST, NULL },
    { '\0', "--elastic-index-prefix", FOREIGN_VALUE, PREFIX, NULL },
    { 'P', "--http-credentials", FOREIGN_VALUE, CREDENTIALS, NULL },
    { '\0', "--no-check-certificates", FOREIGN_FLAG, NO_CHECK, NULL },
    { 0 },
};

static const char help[] =
    "usage: colmet-collector [OPTIONS] [-- OPTIONS OF SONDE COLLECT]\n"
    "\n"
    "      --zeromq-bind-uri URI  address that Colmet's nodes push to (tcp://0.0.0.0:5556)\n"
    "      --hdf5-filepath PATH   write PATH.TIME.hdf5, or PATH if it ends in .hdf5\n"
    "      --hdf5-complevel N     zlib 0 to 9 (0)\n"
    "      --hdf5-complib NAME    zlib\n"
    "      --elastic-host URL     write to Elasticsearch\n"
    "      --elastic-index-prefix PREFIX  (colmet_)\n"
    "  -P, --http-credentials FILE      file with a line USER:PASSWORD\n"
    "      --no-check-certificates\n"
    "      --enable-stdout-backend      print the samples\n"
    "  -v, --verbose              print more details; -vv, -vvv\n"
    "  -h, --help, --version\n"
    "\n"
    "At least one output is required. Accepted but ignored, with a warning: -s,\n"
    "--buffer-size, --zeromq-hwm, --zeromq-linger; samples are received at once and\n"
    "stored on disk.\n"
    "This is Sonde's replacement; see 'sonde collect --help' for more.\n";

struct colmet_collector_options {
    bool is_on[IDS];
    unsigned verbose;
    char values[IDS][1024];
};

static enum err read_options(struct colmet_collector_options *collector, int argc, char **argv, int *rest, struct buf *message)
{
    struct foreign_options options = { .argc = argc, .at = 1, .argv = argv };
    int id;
    enum err err;
    while ((err = foreign_options_next(&options, table, &id, message)) == OK) {
        collector->is_on[id] = strcmp(options.value, "false") != 0;
        collector->verbose += id == VERBOSE ? (unsigned)(options.value[0] - '0') : 0;
        snprintf(collector->values[id], sizeof collector->values[id], "%s", options.value);
    }
    *rest = options.at;
    return err == GONE ? OK : err;
}

static enum err check(const struct colmet_collector_options *collector, struct buf *message)
{
    const char *level = collector->values[LEVEL], *codec = collector->values[CODEC];
    if (!collector->is_on[VERSION] && !collector->is_on[FILEPATH] && !collector->is_on[STDOUT] && !collector->is_on[HOST]) {
        buf_add_text(message, "You need to provide at least one output backend [hdf5|stdout|elasticsearch]");
        return USAGE;
    }
    if (strlen(level) != 1 || level[0] < '0' || level[0] > '9') {
        buf_add_text(message, "invalid --hdf5-complevel (expected 0 to 9)");
        return USAGE;
    }
    if (level[0] != '0' && strcmp(codec, "zlib") != 0) {
        buf_printf(message, "unsupported --hdf5-complib '%.40s' (only zlib is supported)", codec);
        return USAGE;
    }
    return OK;
}

/* Logs once, at startup, which options have no effect. */
static void log_differences(const struct colmet_collector_options *collector)
{
    static const struct { enum colmet_collector_option id, needs; const char *option, *output; } alone[] = {
        { LEVEL, FILEPATH, "--hdf5-complevel", "--hdf5-filepath" }, { CODEC, FILEPATH, "--hdf5-complib", "--hdf5-filepath" },
        { PREFIX, HOST, "--elastic-index-prefix", "--elastic-host" },
        { CREDENTIALS, HOST, "--http-credentials", "--elastic-host" },
        { NO_CHECK, HOST, "--no-check-certificates", "--elastic-host" },
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (collector->is_on[alone[i].id] && !collector->is_on[alone[i].needs])
            log_warn("%s has no effect without %s", alone[i].option, alone[i].output);
    if (collector->is_on[UNUSED])
        log_warn("--sample-period, --buffer-size, --zeromq-hwm and --zeromq-linger have no effect: samples are received at "
                 "once and stored on disk");
}

static void add_sink(struct drop_in_args *args, const struct buf *sink)
{
    drop_in_add(args, "--sink");
    drop_in_add(args, buf_text(sink));
}

static void add_sinks(const struct colmet_collector_options *collector, struct drop_in_args *args)
{
    struct buf sink;
    buf_init(&sink, 8192);
    if (collector->is_on[FILEPATH]) {
        buf_printf(&sink, "hdf5:path=%s,level=%s", collector->values[FILEPATH], collector->values[LEVEL]);
        add_sink(args, &sink);
    }
    buf_reset(&sink);
    if (collector->is_on[HOST]) {
        buf_printf(&sink, "elasticsearch:layout=colmet,url=%s,prefix=%s", collector->values[HOST], collector->values[PREFIX]);
        if (collector->is_on[CREDENTIALS])
            buf_printf(&sink, ",credentials=%s", collector->values[CREDENTIALS]);
        if (collector->is_on[NO_CHECK])
            buf_add_text(&sink, ",insecure=yes");
        add_sink(args, &sink);
    }
    buf_reset(&sink);
    buf_add_text(&sink, "colmet-stdout");
    if (collector->is_on[STDOUT])
        add_sink(args, &sink);
    buf_clear(&sink);
}

static void add_pair(struct drop_in_args *args, const char *option, const char *value)
{
    drop_in_add(args, option);
    drop_in_add(args, value);
}

static void write_args(const struct colmet_collector_options *collector, struct drop_in_args *args)
{
    drop_in_add(args, "sonde");
    if (collector->is_on[VERSION]) {
        drop_in_add(args, "--version");
        return;
    }
    drop_in_add(args, "collect");
    for (unsigned i = 1; i <= collector->verbose && i <= 3; i++)
        drop_in_add(args, "-v");
    add_pair(args, "--config", "/dev/null");
    drop_in_add(args, "--plain");
    add_pair(args, "--listen", "tcp://127.0.0.1:*"); /* no agents are expected */
    add_pair(args, "--http", "none");
    add_pair(args, "--colmet", collector->values[BIND]);
    add_sinks(collector, args);
}

static enum err colmet_collector_translate(int argc, char **argv, struct drop_in_args *args, struct buf *message)
{
    struct colmet_collector_options *collector = calloc(1, sizeof *collector);
    if (!collector)
        return NOMEM;
    snprintf(collector->values[BIND], sizeof collector->values[BIND], "tcp://0.0.0.0:5556");
    snprintf(collector->values[LEVEL], sizeof collector->values[LEVEL], "0");
    snprintf(collector->values[CODEC], sizeof collector->values[CODEC], "zlib");
    snprintf(collector->values[PREFIX], sizeof collector->values[PREFIX], "colmet_");
    int rest = argc;
    enum err err = read_options(collector, argc, argv, &rest, message);
    if (!err)
        err = collector->is_on[HELP] ? GONE : check(collector, message);
    if (!err) {
        log_differences(collector);
        write_args(collector, args);
    }
    for (; !err && rest < argc; rest++)
        drop_in_add(args, argv[rest]); /* after "--": options of sonde collect */
    free(collector);
    return err;
}

const struct drop_in drop_in_colmet_collector = { "colmet-collector", colmet_collector_translate, help };
