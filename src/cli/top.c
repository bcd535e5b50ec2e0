/* sonde top: the jobs on a node, or on all nodes of a collector, refreshed, sorted by what one likes; on a terminal or, with -b,
 * as text. */
#include "cli/command_agent.h"

#include "base/clock.h"
#include "report/screen.h"
#include "report/top.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define FIRST_RATES_NS (3 * NS_PER_S)

struct top_settings {
    bool batch, reverse;
    uint64_t count, delay_ns;
    int sort;
};

/* What is shown, and what it is compared with. */
struct top {
    const struct command_call *call;
    const char *where;
    struct jobs_now now, before;
    struct top_look look;
    struct buf answer, page, why;
    uint64_t shown;
};

static void top_begin(struct top *top, const struct command_call *call)
{
    const struct top_settings *settings = call->settings;
    *top = (struct top){ .call = call, .where = call->count ? call->operands[0] : "" };
    top->look = (struct top_look){ .sort = (enum top_sort)settings->sort, .reverse = settings->reverse };
    buf_init(&top->answer, COMMAND_ANSWER_MAX);
    buf_init(&top->page, COMMAND_ANSWER_MAX);
    buf_init(&top->why, 8192);
}

static void top_end(struct top *top)
{
    jobs_now_clear(&top->now);
    jobs_now_clear(&top->before);
    buf_clear(&top->answer);
    buf_clear(&top->page);
    buf_clear(&top->why);
}

/* A new reading; on an error the last one stays, and look.trouble says why. */
static enum err refresh(struct top *top)
{
    struct jobs_now next;
    buf_reset(&top->answer);
    buf_reset(&top->why);
    enum err err = command_ask_quietly(top->where, "GET", "/jobs", (struct bytes){ 0 }, &top->answer, &top->why);
    if (!err && jobs_now_read(&next, buf_text(&top->answer), top->answer.size)) {
        buf_add_text(&top->why, "the agent's answer cannot be read; is it of another version?");
        err = CORRUPT;
    }
    top->look.trouble = err ? buf_text(&top->why) : NULL;
    if (err)
        return err;
    jobs_now_compare(&next, &top->now);
    jobs_now_clear(&top->before);
    top->before = top->now;
    top->now = next;
    return OK;
}

static bool has_rates(const struct jobs_now *now)
{
    for (size_t i = 0; i < FIGURES_SIZE; i++) {
        if (now->node[i].has_rate)
            return true;
        for (size_t k = 0; k < now->count; k++)
            if (now->jobs[k].figures[i].has_rate)
                return true;
    }
    return false;
}

static void sleep_until(uint64_t until_ns)
{
    struct timespec until = { (time_t)(until_ns / NS_PER_S), (long)(until_ns % NS_PER_S) };
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR)
        ;
}

/* The first reading is only to compare with. An agent that reads more seldom than we ask gets some time to read anew. */
static enum err first_readings(struct top *top, uint64_t delay_ns, uint64_t *next_ns)
{
    uint64_t give_up_ns = clock_monotonic_ns() + FIRST_RATES_NS;
    enum err err = refresh(top);
    do {
        *next_ns += delay_ns;
        sleep_until(*next_ns);
        err = err ? err : refresh(top);
    } while (!err && !has_rates(&top->now) && clock_monotonic_ns() + delay_ns < give_up_ns);
    return err;
}

static int print_page(struct top *top, bool is_last)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    top_sort(&top->now, top->look.sort, top->look.reverse);
    top_print(&top->page, &top->now, &top->look, &terminal);
    if (!is_last)
        buf_add_char(&top->page, '\n');
    return command_print(top->call, &top->page);
}

static int run_batch(struct top *top)
{
    const struct top_settings *settings = top->call->settings;
    uint64_t pages = settings->count ? settings->count : UINT64_MAX, next_ns = clock_monotonic_ns();
    enum err err = first_readings(top, settings->delay_ns, &next_ns);
    int status = EXIT_GOOD;
    top->look.is_batch = true;
    for (uint64_t i = 1; !err && status == EXIT_GOOD; i++) {
        status = print_page(top, i == pages);
        if (i == pages || status != EXIT_GOOD)
            break;
        next_ns += settings->delay_ns;
        sleep_until(next_ns);
        err = refresh(top);
    }
    return err ? command_fail(top->call, "%s", buf_text(&top->why)) : status;
}

static void move(struct top *top, int key)
{
    size_t last = top->now.count > top->look.rows ? top->now.count - top->look.rows : 0, *first = &top->look.first;
    if (key == SCREEN_UP)
        *first -= *first > 0;
    else if (key == SCREEN_DOWN)
        *first += 1;
    else if (key == SCREEN_PAGE_UP)
        *first = *first > top->look.rows ? *first - top->look.rows : 0;
    else if (key == SCREEN_PAGE_DOWN)
        *first += top->look.rows;
    else if (key == SCREEN_HOME)
        *first = 0;
    else if (key == SCREEN_END)
        *first = last;
    if (*first > last)
        *first = last;
}

static void draw(struct top *top, struct screen *screen)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    size_t lines = screen_lines(screen);
    top->look.rows = lines > TOP_HEAD_LINES ? lines - TOP_HEAD_LINES : 1;
    move(top, SCREEN_NONE);
    top_sort(&top->now, top->look.sort, top->look.reverse);
    top_print(&top->page, &top->now, &top->look, &terminal);
    screen_draw(screen, &top->page);
}

/* False: the person wants to leave. */
static bool take_key(struct top *top, int key)
{
    if (key == 'q' || key == 'Q' || key == SCREEN_CLOSED)
        return false;
    if (key == 'r')
        top->look.reverse = !top->look.reverse;
    else if (key > SCREEN_NONE && key < 256 && top_key((char)key, &top->look.sort))
        top->look.first = 0;
    else
        move(top, key);
    return true;
}

static int run_screen(struct top *top)
{
    const struct top_settings *settings = top->call->settings;
    struct screen screen;
    if (refresh(top))
        return command_fail(top->call, "%s", buf_text(&top->why));
    if (screen_open(&screen))
        return command_fail(top->call, "there is no terminal; -b prints pages");
    uint64_t next_ns = clock_monotonic_ns() + settings->delay_ns;
    for (bool goes_on = true; goes_on && (!settings->count || top->shown < settings->count);) {
        draw(top, &screen);
        goes_on = take_key(top, screen_key(&screen, next_ns));
        if (!goes_on || clock_monotonic_ns() < next_ns)
            continue;
        refresh(top);
        top->shown++;
        next_ns = clock_monotonic_ns() + settings->delay_ns;
    }
    screen_close(&screen);
    return EXIT_GOOD;
}

static int top_run(const struct command_call *call)
{
    const struct top_settings *settings = call->settings;
    bool is_terminal = isatty(STDOUT_FILENO) && isatty(STDIN_FILENO);
    struct top top;
    top_begin(&top, call);
    int status = settings->batch || !is_terminal ? run_batch(&top) : run_screen(&top);
    top_end(&top);
    return status;
}

#define AT(field) .offset = offsetof(struct top_settings, field)
static const struct option options[] = {
    { .letter = 'd', .name = "delay", .argument = "TIME", .type = OPTION_DURATION, AT(delay_ns), .initial = "1s",
      .min = 100 * NS_PER_MS, .help = "Time between two pages" },
    { .letter = 's', .name = "sort", .argument = "KEY", .type = OPTION_CHOICE, AT(sort), .initial = "cpu",
      .choices = "cpu memory io time power", .help = "What comes first; the keys c, m, i, t and p change it" },
    { .letter = 'r', .name = "reverse", .type = OPTION_FLAG, AT(reverse), .help = "Turn the order round" },
    { .letter = 'b', .name = "batch", .type = OPTION_FLAG, AT(batch),
      .help = "Print pages one behind the other, for files and pipes; so it is where output is no terminal" },
    { .letter = 'n', .name = "number", .argument = "N", .type = OPTION_U64, AT(count), .min = 1,
      .help = "End after N pages" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde top", "the jobs on this node, the busiest first" },
    { "sonde top -s memory n7", "the jobs on node n7, the largest first" },
    { "sonde top login1:1338", "the jobs on all nodes of the collector there, each once, with the sums of its nodes" },
    { "sonde top -b -n 1", "one page as text" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "the folder of the agent's socket, in place of the usual one" },
    { "COLUMNS", "How wide the output may be where it is not a terminal; 80 when it is not set." },
    { "NO_COLOR", "When it is set, nothing is coloured." },
    { 0 },
};

const struct command command_top = {
    .name = "top",
    .about = "watch the jobs on a node, or on all of them",
    .usage = "[OPTIONS] [HOST]",
    .description =
        "Shows the node in one line and its jobs in a table, refreshed every second: cores used of those allowed (CORES), "
        "memory of its limit (MEM, OF), bytes read from and written to storage per second, threads, power, and the time "
        "since the job began. Rates are differences of two readings of the agent; what is not known is a hyphen or empty. "
        "Users see their own jobs and how many others there are; root sees all, and so does who asks an agent on another machine "
        "that listens to the network.\n\n"
        "Keys: c, m, i, t, p sort by cpu, memory, io, time, power; r turns the order round; arrows and page keys move; q "
        "leaves.\n\n"
        "HOST is a name or an address, with :PORT when it is not 1337, or the path of an agent's socket. Of a collector (port "
        "1338, or its socket) the jobs on all its nodes are shown, each once: NODES are how many it is on, and its numbers are "
        "the sums over them.",
    .options = options,
    .settings_size = sizeof(struct top_settings),
    .operands_max = 1,
    .operand = "HOST",
    .examples = examples,
    .environment = environment,
    .see_also = "agent collect ls job",
    .run = top_run,
};
