/* colmet-collector …: sonde collect, with the options of Colmet's collectors: it listens for Colmet's nodes alone, and writes
 * what they send to HDF5, to Elasticsearch and to standard output as Colmet does. What stands behind "--" are options of
 * sonde collect. */
#include "compat/commands/names.h"

#include "base/log.h"
#include "compat/commands/old_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum id {
    HELP, VERSION, VERBOSE, UNUSED, STDOUT, BIND, FILEPATH, LEVEL, CODEC, HOST, PREFIX, CREDENTIALS, NO_CHECK, IDS,
};

static const struct old_option table[] = {
    { 'h', "--help", OLD_FLAG, HELP, NULL },
    { '\0', "--version", OLD_FLAG, VERSION, NULL },
    { 'v', "--verbose", OLD_COUNT, VERBOSE, NULL },
    { 's', "--sample-period", OLD_VALUE, UNUSED, NULL }, /* what comes is taken at once, … */
    { '\0', "--buffer-size", OLD_VALUE, UNUSED, NULL },  /* … all of it, … */
    { '\0', "--zeromq-hwm", OLD_VALUE, UNUSED, NULL },   /* … and kept on disk */
    { '\0', "--zeromq-linger", OLD_VALUE, UNUSED, NULL },
    { '\0', "--enable-stdout-backend", OLD_FLAG, STDOUT, NULL },
    { '\0', "--zeromq-bind-uri", OLD_VALUE, BIND, NULL },
    { '\0', "--zeromq-uri", OLD_VALUE, BIND, NULL },
    { '\0', "--hdf5-filepath", OLD_VALUE, FILEPATH, NULL },
    { '\0', "--hdf5-complevel", OLD_VALUE, LEVEL, NULL },
    { '\0', "--hdf5-complib", OLD_VALUE, CODEC, NULL },
    { '\0', "--elastic-host", OLD_VALUE, HOST, NULL },
    { '\0', "--elastic-index-prefix", OLD_VALUE, PREFIX, NULL },
    { 'P', "--http-credentials", OLD_VALUE, CREDENTIALS, NULL },
    { '\0', "--no-check-certificates", OLD_FLAG, NO_CHECK, NULL },
    { 0 },
};

static const char help[] =
    "usage: colmet-collector [OPTIONS] [-- OPTIONS OF SONDE COLLECT]\n"
    "\n"
    "      --zeromq-bind-uri URI  where Colmet's nodes push to (tcp://0.0.0.0:5556)\n"
    "      --hdf5-filepath PATH   write PATH.TIME.hdf5, or PATH when it ends in .hdf5\n"
    "      --hdf5-complevel N     zlib 0 to 9 (0)\n"
    "      --hdf5-complib NAME    zlib\n"
    "      --elastic-host URL     write to Elasticsearch\n"
    "      --elastic-index-prefix TEXT  (colmet_)\n"
    "  -P, --http-credentials FILE      a line USER:PASSWORD\n"
    "      --no-check-certificates\n"
    "      --enable-stdout-backend      print what comes\n"
    "  -v, --verbose              tell more; -vv, -vvv\n"
    "  -h, --help, --version\n"
    "\n"
    "At least one output is needed. Taken and not needed: -s, --buffer-size,\n"
    "--zeromq-hwm, --zeromq-linger: what comes is taken at once and kept on disk;\n"
    "a warning says so.\n"
    "This is Sonde's; see 'sonde collect --help' for more.\n";

struct collector {
    bool is_on[IDS];
    unsigned verbose;
    char values[IDS][1024];
};

static enum err read_options(struct collector *collector, int argc, char **argv, int *rest, struct buf *message)
{
    struct old_options options = { .argc = argc, .at = 1, .argv = argv };
    int id;
    enum err err;
    while ((err = old_options_next(&options, table, &id, message)) == OK) {
        collector->is_on[id] = strcmp(options.value, "false") != 0;
        collector->verbose += id == VERBOSE ? (unsigned)(options.value[0] - '0') : 0;
        snprintf(collector->values[id], sizeof collector->values[id], "%s", options.value);
    }
    *rest = options.at;
    return err == GONE ? OK : err;
}

static enum err check(const struct collector *collector, struct buf *message)
{
    const char *level = collector->values[LEVEL], *codec = collector->values[CODEC];
    if (!collector->is_on[VERSION] && !collector->is_on[FILEPATH] && !collector->is_on[STDOUT] && !collector->is_on[HOST]) {
        buf_add_text(message, "You need to provide at least one output backend [hdf5|stdout|elasticsearch]");
        return USAGE;
    }
    if (strlen(level) != 1 || level[0] < '0' || level[0] > '9') {
        buf_add_text(message, "--hdf5-complevel is 0 to 9");
        return USAGE;
    }
    if (level[0] != '0' && strcmp(codec, "zlib") != 0) {
        buf_printf(message, "--hdf5-complib %.40s: zlib is what every reader of HDF5 has, and the only one here", codec);
        return USAGE;
    }
    return OK;
}

/* What has no effect, once, at the start. */
static void tell_differences(const struct collector *collector)
{
    static const struct { enum id id, needs; const char *option, *output; } alone[] = {
        { LEVEL, FILEPATH, "--hdf5-complevel", "--hdf5-filepath" }, { CODEC, FILEPATH, "--hdf5-complib", "--hdf5-filepath" },
        { PREFIX, HOST, "--elastic-index-prefix", "--elastic-host" },
        { CREDENTIALS, HOST, "--http-credentials", "--elastic-host" },
        { NO_CHECK, HOST, "--no-check-certificates", "--elastic-host" },
    };
    for (size_t i = 0; i < sizeof alone / sizeof *alone; i++)
        if (collector->is_on[alone[i].id] && !collector->is_on[alone[i].needs])
            log_warn("%s has no effect without %s", alone[i].option, alone[i].output);
    if (collector->is_on[UNUSED])
        log_warn("--sample-period, --buffer-size, --zeromq-hwm and --zeromq-linger are not needed and have no "
                 "effect: what comes is taken at once and kept on disk");
}

static void add_sink(struct names_words *words, const struct buf *sink)
{
    names_add(words, "--sink");
    names_add(words, buf_text(sink));
}

static void add_sinks(const struct collector *collector, struct names_words *words)
{
    struct buf sink;
    buf_init(&sink, 8192);
    if (collector->is_on[FILEPATH]) {
        buf_printf(&sink, "hdf5:path=%s,level=%s", collector->values[FILEPATH], collector->values[LEVEL]);
        add_sink(words, &sink);
    }
    buf_reset(&sink);
    if (collector->is_on[HOST]) {
        buf_printf(&sink, "elasticsearch:layout=colmet,url=%s,prefix=%s", collector->values[HOST], collector->values[PREFIX]);
        if (collector->is_on[CREDENTIALS])
            buf_printf(&sink, ",credentials=%s", collector->values[CREDENTIALS]);
        if (collector->is_on[NO_CHECK])
            buf_add_text(&sink, ",insecure=yes");
        add_sink(words, &sink);
    }
    buf_reset(&sink);
    buf_add_text(&sink, "colmet-stdout");
    if (collector->is_on[STDOUT])
        add_sink(words, &sink);
    buf_clear(&sink);
}

static void add_pair(struct names_words *words, const char *option, const char *value)
{
    names_add(words, option);
    names_add(words, value);
}

static void write_words(const struct collector *collector, struct names_words *words)
{
    names_add(words, "sonde");
    if (collector->is_on[VERSION]) {
        names_add(words, "--version");
        return;
    }
    names_add(words, "collect");
    for (unsigned i = 1; i <= collector->verbose && i <= 3; i++)
        names_add(words, "-v");
    add_pair(words, "--config", "/dev/null");
    names_add(words, "--plain");
    add_pair(words, "--listen", "tcp://127.0.0.1:*"); /* no agent of ours is expected */
    add_pair(words, "--http", "none");
    add_pair(words, "--colmet", collector->values[BIND]);
    add_sinks(collector, words);
}

static enum err colmet_collector_turn(int argc, char **argv, struct names_words *words, struct buf *message)
{
    struct collector *collector = calloc(1, sizeof *collector);
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
        tell_differences(collector);
        write_words(collector, words);
    }
    for (; !err && rest < argc; rest++)
        names_add(words, argv[rest]); /* behind "--": options of sonde collect */
    free(collector);
    return err;
}

const struct names_entry names_colmet_collector = { "colmet-collector", colmet_collector_turn, help };
