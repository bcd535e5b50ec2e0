/* sonde track: logs program metrics over time, to a file that is valid at every moment. */
#include "cli/metric_source.h"

#include "base/clock.h"
#include "base/vec.h"
#include "model/dictionary.h"
#include "report/metric_log.h"
#include "report/metric_names.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FREQUENCY_MAX 1000.0
#define FAILURES_BEFORE_MESSAGE 20 /* consecutive failures before a message is printed */

struct track_options {
    struct metric_source_settings source;
    int format; /* enum metric_format */
    const char *output, *frequency;
    bool always, all, nonzero, announce;
    uint64_t count;
};

/* All values of a metric: a histogram that observes 0, or a gauge that rises in one process and falls in another,
 * changes without a change of its value. */
enum { TS, VALUE, SPREAD, NUMBERS = SPREAD + METRIC_LIST_SPREAD };
struct numbers {
    double of[NUMBERS];
};

/* The values last written for each name. */
struct written {
    struct dictionary names;
    struct metric_list strings; /* owns the names */
    struct numbers *numbers;
    size_t capacity;
};

struct track {
    const struct command_call *call;
    const struct track_options *settings;
    struct metric_source source;
    struct metric_query query;
    struct metric_log log;
    struct written written;
    struct buf error;
    unsigned failures; /* consecutive */
    bool is_failure_printed;      /* the failure has been printed */
    bool is_unanswered; /* the first query */
    sigset_t signals;
};

static enum err frequency_of(const char *text, uint64_t *period_ns)
{
    char *end;
    double hz = strtod(text, &end);
    if (end == text || *end || !(hz > 0) || hz > FREQUENCY_MAX || 1 / hz > 1e6)
        return USAGE;
    *period_ns = (uint64_t)((double)NS_PER_S / hz);
    return OK;
}

/* NaN equals NaN here, so that it is not written again and again. */
static bool is_same(const struct numbers *a, const struct numbers *b)
{
    for (size_t i = 0; i < NUMBERS; i++)
        if (a->of[i] != b->of[i] && !(isnan(a->of[i]) && isnan(b->of[i])))
            return false;
    return true;
}

static struct numbers numbers_of(const struct metric_item *item)
{
    struct numbers numbers = { .of = { [TS] = item->ts_s, [VALUE] = item->value } };
    memcpy(&numbers.of[SPREAD], item->spread, sizeof item->spread);
    return numbers;
}

/* False: memory ran out. */
static bool grow(struct written *written, uint32_t number)
{
    return !array_reserve(written->numbers, written->capacity, (size_t)number + 1, VEC_MAX);
}

/* True: these values have not been written yet. */
static bool is_changed(struct written *written, const struct metric_item *item)
{
    size_t before = written->names.count;
    uint32_t number = dictionary_add(&written->names, bytes_of(item->name));
    if (number == DICTIONARY_NONE)
        return true;
    if (written->names.count > before) {
        const char *copy = metric_list_text(&written->strings, item->name);
        written->names.strings[number].data = copy; /* the string it was added with belongs to this answer only */
    }
    if (!grow(written, number))
        return true;
    struct numbers numbers = numbers_of(item);
    bool is_new = written->names.count > before || !is_same(&written->numbers[number], &numbers);
    written->numbers[number] = numbers;
    return is_new;
}

static void keep_changed(struct track *track, struct metric_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct metric_item *item = &list->items[i];
        if (track->settings->nonzero && item->value == 0)
            continue;
        if (is_changed(&track->written, item) || track->settings->always)
            list->items[kept++] = *item;
    }
    list->count = kept;
}

/* A restarting agent is no reason to exit: the next sample may succeed. */
static void report_failure(struct track *track, enum err err)
{
    if (++track->failures == FAILURES_BEFORE_MESSAGE && !track->is_failure_printed) {
        command_fail(track->call, "%s; retrying", track->error.size ? buf_text(&track->error) : err_text(err));
        track->is_failure_printed = true;
    }
}

static const char *shown_output(const struct track_options *settings)
{
    return settings->output ? settings->output : "standard output";
}

/* The message of tau_metric_client. */
static void announce(const struct track_options *settings)
{
    if (settings->announce) {
        printf("Logging in %s interrupt with CTRL + C when done... ", shown_output(settings));
        fflush(stdout);
    }
}

/* Only once there is something to write: without an agent, the file of the last time is kept. */
static enum err open_log(struct track *track)
{
    const struct track_options *settings = track->settings;
    enum err err = metric_log_open(&track->log, settings->output, (enum metric_format)settings->format,
                                   settings->all ? METRIC_ALL : METRIC_VALUES);
    if (!err)
        announce(settings);
    return err;
}

/* is_first: without an answer there is nothing to track. */
static enum err sample(struct track *track, bool is_first)
{
    struct metric_list list;
    metric_list_init(&list);
    buf_reset(&track->error);
    enum err err = metric_source_ask(&track->source, &track->query, &list, &track->error);
    if (err && !is_first) {
        report_failure(track, err);
        metric_list_clear(&list);
        return OK;
    }
    track->is_unanswered = err != OK;
    if (!err && is_first)
        err = open_log(track);
    if (!err) {
        track->failures = 0;
        track->is_failure_printed = false;
        keep_changed(track, &list);
        err = metric_log_add(&track->log, &list);
    }
    metric_list_clear(&list);
    return err;
}

/* True: a signal asks to exit. */
static bool sleep_until(const struct track *track, uint64_t until_ns)
{
    for (;;) {
        uint64_t now_ns = clock_monotonic_ns(), left_ns = now_ns < until_ns ? until_ns - now_ns : 0;
        struct timespec left = { (time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S) };
        if (sigtimedwait(&track->signals, NULL, &left) > 0)
            return true;
        if (errno != EINTR && clock_monotonic_ns() >= until_ns)
            return false;
    }
}

static enum err loop(struct track *track, uint64_t period_ns)
{
    uint64_t next_ns = clock_monotonic_ns();
    enum err err = OK;
    for (uint64_t i = 0; !err; i++) {
        err = sample(track, i == 0);
        if (err || (track->settings->count && i + 1 >= track->settings->count))
            break;
        uint64_t now_ns = clock_monotonic_ns();
        next_ns += period_ns;
        if (next_ns < now_ns)
            next_ns = now_ns; /* missed samples are not made up for */
        if (sleep_until(track, next_ns)) {
            err = sample(track, false); /* the last changes */
            break;
        }
    }
    return err;
}

static int finish(struct track *track, enum err err)
{
    enum err closed = metric_log_close(&track->log);
    if (track->is_unanswered)
        return command_fail(track->call, "%s", track->error.size ? buf_text(&track->error) : err_text(err));
    err = err ? err : closed;
    if (err && err != GONE)
        return command_fail(track->call, "cannot write to %s: %s", shown_output(track->settings),
                            err == ABSENT ? "no such directory" : err_text(err));
    return EXIT_GOOD;
}

static void block_signals(struct track *track)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
    sigemptyset(&track->signals);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaddset(&track->signals, numbers[i]);
    sigprocmask(SIG_BLOCK, &track->signals, NULL);
    signal(SIGPIPE, SIG_IGN);
}

static bool is_directory(const char *path)
{
    struct stat there;
    return path && stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

static int track_run(const struct command_call *call)
{
    const struct track_options *settings = call->settings;
    struct track track = { .call = call, .settings = settings, .log = { .fd = -1 } };
    uint64_t period_ns;
    int wrong = metric_source_check(call, &settings->source);
    if (wrong)
        return wrong;
    if (is_directory(settings->output))
        return command_usage_error(call, "--output: %s is a directory", settings->output);
    if (frequency_of(settings->frequency, &period_ns))
        return command_usage_error(call, "invalid value '%s' for --freq (expected up to 1000 per second; 10 is ten times a "
                                         "second, 0.1 every ten seconds)", settings->frequency);
    char **names = metric_names_quoted(call->operands, call->count);
    if (!names)
        return command_fail(call, "out of memory");
    track.query.is_all = settings->all;
    track.query.names = call->count ? (const char *const *)names : NULL;
    metric_source_init(&track.source, &settings->source);
    metric_list_init(&track.written.strings);
    dictionary_init(&track.written.names);
    buf_init(&track.error, 8192);
    block_signals(&track);
    int status = finish(&track, loop(&track, period_ns));
    metric_source_clear(&track.source);
    metric_list_clear(&track.written.strings);
    dictionary_clear(&track.written.names);
    free(track.written.numbers);
    metric_names_free(&names);
    buf_clear(&track.error);
    return status;
}

#define AT(field) .offset = offsetof(struct track_options, field)
static const struct option options[] = {
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "json",
      .choices = METRIC_FORMATS, .help = "Output format, as in tau_metric_client (json is an array with one array per sample)" },
    { .letter = 'o', .name = "output", .argument = "FILE", .type = OPTION_TEXT, AT(output),
      .help = "Write to FILE instead of standard output" },
    { .letter = 'F', .name = "freq", .argument = "HZ", .type = OPTION_TEXT, AT(frequency), .initial = "10",
      .help = "Samples per second, up to 1000; 0.1 is every ten seconds" },
    { .name = "always", .type = OPTION_FLAG, AT(always), .help = "Write all values in each sample, not only those that changed" },
    { .letter = 'a', .name = "all", .type = OPTION_FLAG, AT(all), .help = "Also write type, unit and description" },
    { .name = "nonzero", .type = OPTION_FLAG, AT(nonzero), .help = "Print only values other than 0" },
    { .letter = 'n', .name = "count", .argument = "N", .type = OPTION_U64, AT(count), .help = "Exit after N samples; 0: never" },
    { .name = "announce", .type = OPTION_FLAG, AT(announce), .hidden = true, .help = "Print where the log is, as tau does" },
    METRIC_SOURCE_OPTIONS(struct track_options),
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde track -o log.json", "all program metrics of this node, whenever they change, until Ctrl-C" },
    { "sonde track -F 1 -f txt cells_total", "one metric, at most once a second, on the terminal" },
    { "sonde track --always -F 0.1 -j 4711 -o log.json", "all metrics of job 4711, every ten seconds" },
    { 0 },
};

const struct command command_track = {
    .name = "track",
    .about = "log program metrics over time",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "Writes the counters and gauges that programs publish whenever they change, until Ctrl-C or SIGTERM. NAME is as for "
        "'sonde get'; without NAME all are logged.\n\n"
        "The agent reads the metrics of programs at its own interval; a higher frequency here shows nothing more. The file is "
        "valid after each sample, even if sonde is killed; if the agent restarts, sonde track waits for it.",
    .options = options,
    .settings_size = sizeof(struct track_options),
    .operands_max = -1,
    .operand = "NAME",
    .examples = examples,
    .environment = metric_source_environment,
    .see_also = "get list-metrics agent",
    .run = track_run,
};
