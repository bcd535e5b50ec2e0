/* sonde track: what programs count, over time, into a file that is whole at every moment. */
#include "cli/metric_source.h"

#include "base/clock.h"
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
#define PATIENCE 20 /* asks in a row that may fail before it is said */

struct settings {
    struct metric_source_settings source;
    int format; /* enum metric_format */
    const char *output, *frequency;
    bool always, all, nonzero, announce;
    uint64_t count;
};

/* All that is told of a metric: a histogram that observes 0, or a gauge that rises in one program and falls in another, changes
 * while its value does not. */
enum { TS, VALUE, SPREAD, NUMBERS = SPREAD + METRIC_LIST_SPREAD };
struct numbers {
    double of[NUMBERS];
};

/* What was written last of each name. */
struct seen {
    struct dictionary names;
    struct metric_list texts; /* keeps the names */
    struct numbers *numbers;
    size_t room;
};

struct track {
    const struct command_call *call;
    const struct settings *settings;
    struct metric_source source;
    struct metric_query query;
    struct metric_log log;
    struct seen seen;
    struct buf why;
    unsigned failures; /* in a row */
    bool is_told;      /* … and said */
    bool is_unanswered; /* the first one */
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

/* What is not a number is not news for ever. */
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
static bool make_room(struct seen *seen, uint32_t number)
{
    if (number < seen->room)
        return true;
    size_t room = seen->room ? 2 * seen->room : 256;
    struct numbers *grown = reallocarray(seen->numbers, room, sizeof *grown);
    if (!grown)
        return false;
    seen->numbers = grown;
    seen->room = room;
    return true;
}

/* True: this was not written yet. */
static bool is_news(struct seen *seen, const struct metric_item *item)
{
    size_t before = seen->names.count;
    uint32_t number = dictionary_add(&seen->names, bytes_of(item->name));
    if (number == DICTIONARY_NONE)
        return true;
    if (seen->names.count > before) {
        const char *copy = metric_list_text(&seen->texts, item->name);
        seen->names.texts[number].data = copy; /* the one that it was added with goes with this answer */
    }
    if (!make_room(seen, number))
        return true;
    struct numbers numbers = numbers_of(item);
    bool is_new = seen->names.count > before || !is_same(&seen->numbers[number], &numbers);
    seen->numbers[number] = numbers;
    return is_new;
}

static void keep_news(struct track *track, struct metric_list *list)
{
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct metric_item *item = &list->items[i];
        if (track->settings->nonzero && item->value == 0)
            continue;
        if (is_news(&track->seen, item) || track->settings->always)
            list->items[kept++] = *item;
    }
    list->count = kept;
}

/* An agent that is being started anew is no reason to end: the next sample may come. */
static void tell_failure(struct track *track, enum err err)
{
    if (++track->failures == PATIENCE && !track->is_told) {
        command_fail(track->call, "%s; waiting for it", track->why.size ? buf_text(&track->why) : err_text(err));
        track->is_told = true;
    }
}

static const char *shown_output(const struct settings *settings)
{
    return settings->output ? settings->output : "standard output";
}

/* As tau_metric_client says it. */
static void announce(const struct settings *settings)
{
    if (settings->announce) {
        printf("Logging in %s interrupt with CTRL + C when done... ", shown_output(settings));
        fflush(stdout);
    }
}

/* Not before there is something to write: who finds no agent keeps the file of the last time. */
static enum err open_log(struct track *track)
{
    const struct settings *settings = track->settings;
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
    buf_reset(&track->why);
    enum err err = metric_source_ask(&track->source, &track->query, &list, &track->why);
    if (err && !is_first) {
        tell_failure(track, err);
        metric_list_clear(&list);
        return OK;
    }
    track->is_unanswered = err != OK;
    if (!err && is_first)
        err = open_log(track);
    if (!err) {
        track->failures = 0;
        track->is_told = false;
        keep_news(track, &list);
        err = metric_log_add(&track->log, &list);
    }
    metric_list_clear(&list);
    return err;
}

/* True: a signal asks to end. */
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
            next_ns = now_ns; /* what was missed is not made up for */
        if (sleep_until(track, next_ns)) {
            err = sample(track, false); /* what changed since */
            break;
        }
    }
    return err;
}

static int finish(struct track *track, enum err err)
{
    enum err closed = metric_log_close(&track->log);
    if (track->is_unanswered)
        return command_fail(track->call, "%s", track->why.size ? buf_text(&track->why) : err_text(err));
    err = err ? err : closed;
    if (err && err != GONE)
        return command_fail(track->call, "cannot write to %s: %s", shown_output(track->settings),
                            err == ABSENT ? "there is no such folder" : err_text(err));
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

static bool is_folder(const char *path)
{
    struct stat there;
    return path && stat(path, &there) == 0 && S_ISDIR(there.st_mode);
}

static int track_run(const struct command_call *call)
{
    const struct settings *settings = call->settings;
    struct track track = { .call = call, .settings = settings, .log = { .fd = -1 } };
    uint64_t period_ns;
    int wrong = metric_source_check(call, &settings->source);
    if (wrong)
        return wrong;
    if (is_folder(settings->output))
        return command_misused(call, "--output wants a file, and %s is a folder", settings->output);
    if (frequency_of(settings->frequency, &period_ns))
        return command_misused(call, "--freq: '%s' is no frequency up to 1000; say 10 for ten times a second, 0.1 for every ten "
                               "seconds", settings->frequency);
    char **names = metric_names_quoted(call->operands, call->count);
    if (!names)
        return command_fail(call, "out of memory");
    track.query.is_all = settings->all;
    track.query.names = call->count ? (const char *const *)names : NULL;
    metric_source_init(&track.source, &settings->source);
    metric_list_init(&track.seen.texts);
    dictionary_init(&track.seen.names);
    buf_init(&track.why, 8192);
    block_signals(&track);
    int status = finish(&track, loop(&track, period_ns));
    metric_source_clear(&track.source);
    metric_list_clear(&track.seen.texts);
    dictionary_clear(&track.seen.names);
    free(track.seen.numbers);
    metric_names_free(&names);
    buf_clear(&track.why);
    return status;
}

#define AT(field) .offset = offsetof(struct settings, field)
static const struct option options[] = {
    { .letter = 'f', .name = "format", .argument = "FORMAT", .type = OPTION_CHOICE, AT(format), .initial = "json",
      .choices = METRIC_FORMATS, .help = "How to write; json is an array with one array per sample, as tau_metric_client's" },
    { .letter = 'o', .name = "output", .argument = "FILE", .type = OPTION_TEXT, AT(output),
      .help = "Write to FILE in place of standard output" },
    { .letter = 'F', .name = "freq", .argument = "HZ", .type = OPTION_TEXT, AT(frequency), .initial = "10",
      .help = "Look so many times a second, up to 1000; 0.1 is every ten seconds" },
    { .name = "always", .type = OPTION_FLAG, AT(always), .help = "Write all values at each look, not only those that changed" },
    { .letter = 'a', .name = "all", .type = OPTION_FLAG, AT(all), .help = "Write all that is known of each metric" },
    { .name = "nonzero", .type = OPTION_FLAG, AT(nonzero), .help = "Leave out values that are 0" },
    { .letter = 'n', .name = "count", .argument = "N", .type = OPTION_U64, AT(count), .help = "End after N looks; 0: never" },
    { .name = "announce", .type = OPTION_FLAG, AT(announce), .hidden = true, .help = "Say what is written where, as tau does" },
    METRIC_SOURCE_OPTIONS(struct settings),
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde track -o log.json", "all metrics of this node, whenever they change, until Ctrl-C" },
    { "sonde track -F 1 -f txt cells_total", "one, at most once a second, on the screen" },
    { "sonde track --always -F 0.1 -j 4711 -o log.json", "all of job 4711, every ten seconds" },
    { 0 },
};

const struct command command_track = {
    .name = "track",
    .about = "follow what programs count over time",
    .usage = "[OPTIONS] [NAME...]",
    .description =
        "Writes the counters and gauges that programs tell whenever they change, until it is ended by Ctrl-C or SIGTERM. "
        "NAME is as of 'sonde get'; without one all are followed.\n\n"
        "The agent reads what programs have in memory at its own ticks: looking more often shows nothing more of them. A "
        "file is whole after each sample, also when sonde is killed; an agent that is started anew is waited for.",
    .options = options,
    .settings_size = sizeof(struct settings),
    .operands_max = -1,
    .operand = "NAME",
    .examples = examples,
    .environment = metric_source_environment,
    .see_also = "get list-metrics agent",
    .run = track_run,
};
