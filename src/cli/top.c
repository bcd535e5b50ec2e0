/* sonde top: the jobs of a node, or of all nodes of a collector, refreshed and sorted; full screen or, with -b, as
 * plain text. */
#include "api/schema.h"
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

/* The current sample and the previous one. */
struct top_session {
    const struct command_call *call;
    const char *where;
    struct jobs_answer now, before;
    struct top_view view;
    struct buf answer, page, error;
    uint64_t shown;
};

static void top_begin(struct top_session *top, const struct command_call *call)
{
    const struct top_settings *settings = call->settings;
    *top = (struct top_session){ .call = call, .where = call->count ? call->operands[0] : "" };
    top->view = (struct top_view){ .sort = (enum top_sort)settings->sort, .reverse = settings->reverse };
    buf_init(&top->answer, COMMAND_ANSWER_MAX);
    buf_init(&top->page, COMMAND_ANSWER_MAX);
    buf_init(&top->error, 8192);
}

static void top_end(struct top_session *top)
{
    jobs_client_clear(&top->now);
    jobs_client_clear(&top->before);
    buf_clear(&top->answer);
    buf_clear(&top->page);
    buf_clear(&top->error);
}

/* Reads a new sample; on error the last one is kept and view.error is set. */
static enum err refresh(struct top_session *top)
{
    struct jobs_answer next;
    buf_reset(&top->answer);
    buf_reset(&top->error);
    enum err err = command_try_request(top->where, "GET", API_PATH_JOBS, (struct bytes){ 0 }, &top->answer, &top->error);
    if (!err && jobs_client_read(&next, buf_text(&top->answer), top->answer.size)) {
        buf_add_text(&top->error, "cannot parse the agent's response; is it of another version?");
        err = CORRUPT;
    }
    top->view.error = err ? buf_text(&top->error) : NULL;
    if (err)
        return err;
    jobs_client_set_rates(&next, &top->now);
    jobs_client_clear(&top->before);
    top->before = top->now;
    top->now = next;
    return OK;
}

static bool has_rates(const struct jobs_answer *now)
{
    for (size_t i = 0; i < JOB_FIGURES_SIZE; i++) {
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

/* The first sample is only a baseline. An agent that samples less often than we ask gets some time for a second one. */
static enum err first_readings(struct top_session *top, uint64_t delay_ns, uint64_t *next_ns)
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

static int print_page(struct top_session *top, bool is_last)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    top_sort(&top->now, top->view.sort, top->view.reverse);
    top_print(&top->page, &top->now, &top->view, &terminal);
    if (!is_last)
        buf_add_char(&top->page, '\n');
    return command_print(top->call, &top->page);
}

static int run_batch(struct top_session *top)
{
    const struct top_settings *settings = top->call->settings;
    uint64_t pages = settings->count ? settings->count : UINT64_MAX, next_ns = clock_monotonic_ns();
    enum err err = first_readings(top, settings->delay_ns, &next_ns);
    int status = EXIT_GOOD;
    top->view.is_batch = true;
    for (uint64_t i = 1; !err && status == EXIT_GOOD; i++) {
        status = print_page(top, i == pages);
        if (i == pages || status != EXIT_GOOD)
            break;
        next_ns += settings->delay_ns;
        sleep_until(next_ns);
        err = refresh(top);
    }
    return err ? command_fail(top->call, "%s", buf_text(&top->error)) : status;
}

static void move(struct top_session *top, int key)
{
    size_t last = top->now.count > top->view.rows ? top->now.count - top->view.rows : 0, *first = &top->view.first;
    if (key == SCREEN_UP)
        *first -= *first > 0;
    else if (key == SCREEN_DOWN)
        *first += 1;
    else if (key == SCREEN_PAGE_UP)
        *first = *first > top->view.rows ? *first - top->view.rows : 0;
    else if (key == SCREEN_PAGE_DOWN)
        *first += top->view.rows;
    else if (key == SCREEN_HOME)
        *first = 0;
    else if (key == SCREEN_END)
        *first = last;
    if (*first > last)
        *first = last;
}

static void draw(struct top_session *top, struct screen *screen)
{
    struct terminal terminal = terminal_of(STDOUT_FILENO);
    size_t lines = screen_lines(screen);
    top->view.rows = lines > TOP_HEAD_LINES ? lines - TOP_HEAD_LINES : 1;
    move(top, SCREEN_NONE);
    top_sort(&top->now, top->view.sort, top->view.reverse);
    top_print(&top->page, &top->now, &top->view, &terminal);
    screen_draw(screen, &top->page);
}

/* False: quit. */
static bool take_key(struct top_session *top, int key)
{
    if (key == 'q' || key == 'Q' || key == SCREEN_CLOSED)
        return false;
    if (key == 'r')
        top->view.reverse = !top->view.reverse;
    else if (key > SCREEN_NONE && key < 256 && top_key((char)key, &top->view.sort))
        top->view.first = 0;
    else
        move(top, key);
    return true;
}

static int run_screen(struct top_session *top)
{
    const struct top_settings *settings = top->call->settings;
    struct screen screen;
    if (refresh(top))
        return command_fail(top->call, "%s", buf_text(&top->error));
    if (screen_open(&screen))
        return command_fail(top->call, "not a terminal; use -b for plain text");
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
    struct top_session top;
    top_begin(&top, call);
    int status = settings->batch || !is_terminal ? run_batch(&top) : run_screen(&top);
    top_end(&top);
    return status;
}

#define AT(field) .offset = offsetof(struct top_settings, field)
static const struct option options[] = {
    { .letter = 'd', .name = "delay", .argument = "TIME", .type = OPTION_DURATION, AT(delay_ns), .initial = "1s",
      .min = 100 * NS_PER_MS, .help = "Refresh interval" },
    { .letter = 's', .name = "sort", .argument = "KEY", .type = OPTION_CHOICE, AT(sort), .initial = "cpu",
      .choices = OPTION_CHOICES(TOP_SORTS - 1, "cpu", "memory", "io", "time", "power"),
      .help = "Sort key; the keys c, m, i, t and p change it" },
    { .letter = 'r', .name = "reverse", .type = OPTION_FLAG, AT(reverse), .help = "Reverse the sort order" },
    { .letter = 'b', .name = "batch", .type = OPTION_FLAG, AT(batch),
      .help = "Print pages one after the other, for files and pipes; the default if the output is not a terminal" },
    { .letter = 'n', .name = "number", .argument = "N", .type = OPTION_U64, AT(count), .min = 1,
      .help = "Exit after N pages" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde top", "the jobs on this node, busiest first" },
    { "sonde top -s memory n7", "the jobs on node n7, largest first" },
    { "sonde top login1:1338", "the jobs on all nodes of that collector, each with the totals over its nodes" },
    { "sonde top -b -n 1", "one page as plain text" },
    { 0 },
};

static const struct command_fact environment[] = {
    { "SONDE_SOCKET_DIR", "Directory of the agent's socket, instead of the default." },
    { "COLUMNS", "Output width if it is not a terminal. Default: 80." },
    { "NO_COLOR", "Disables colour if not empty." },
    { 0 },
};

const struct command command_top = {
    .name = "top",
    .about = "monitor the jobs on a node, or on all nodes",
    .usage = "[OPTIONS] [HOST]",
    .description =
        "Shows the node in one line and its jobs in a table, refreshed every second: cores used of those allocated (CORES), "
        "memory and its limit (MEM, OF), bytes read from and written to storage per second, threads, power, and the elapsed "
        "time of the job. Rates are differences between two samples of the agent; missing values are a hyphen or empty. Users "
        "see their own jobs and the number of others; root sees all, and so does anyone who queries an agent on another node "
        "that listens on the network.\n\n"
        "Keys: c, m, i, t, p sort by cpu, memory, io, time, power; r reverses the order; arrow and page keys scroll; q "
        "quits.\n\n"
        "HOST is a host name or an address, with :PORT if it is not 1337, or the path of an agent's socket. For a collector "
        "(port 1338, or its socket), the jobs on all its nodes are shown, each once: NODES is their number, and the values are "
        "totals over them.",
    .options = options,
    .settings_size = sizeof(struct top_settings),
    .operands_max = 1,
    .operand = "HOST",
    .examples = examples,
    .environment = environment,
    .see_also = "agent collect ls job",
    .run = top_run,
};
