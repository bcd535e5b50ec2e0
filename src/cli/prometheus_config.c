/* sonde prometheus-config: what Prometheus needs to know of the agents, as its configuration or as a file of targets. */
#include "cli/command.h"

#include "base/clock.h"
#include "net/json.h"

#include <string.h>

#define OUTPUT_MAX (64u << 20)

struct prometheus_settings {
    bool targets;
    uint64_t port, interval_ns;
    const char *file_sd, *name;
};

static bool is_host(const char *host)
{
    static const char good[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]%";
    return *host && strspn(host, good) == strlen(host);
}

/* HOST, HOST:PORT, an IPv6 address with or without brackets; with the port behind it where there is none. */
static void add_target(struct buf *out, const char *host, uint64_t port)
{
    const char *colon = strchr(host, ':');
    bool is_bracketed = *host == '[', is_v6 = colon && strchr(colon + 1, ':');
    bool has_port = is_bracketed ? strstr(host, "]:") != NULL : colon && !is_v6;
    buf_printf(out, is_v6 && !is_bracketed ? "[%s]" : "%s", host);
    if (!has_port)
        buf_printf(out, ":%llu", (unsigned long long)port);
}

/* [{"targets": ["n1:1337", …]}], for file_sd_configs. */
static void add_target_file(struct buf *out, const struct command_call *call)
{
    const struct prometheus_settings *settings = call->settings;
    struct json json;
    struct buf target;
    buf_init(&target, 4096);
    json_init(&json, out);
    json_begin_array(&json);
    json_begin_object(&json);
    json_key(&json, "targets");
    json_begin_array(&json);
    for (int i = 0; i < call->count; i++) {
        buf_reset(&target);
        add_target(&target, call->operands[i], settings->port);
        json_text(&json, buf_text(&target));
    }
    json_end_array(&json);
    json_end_object(&json);
    json_end_array(&json);
    json_end(&json);
    buf_clear(&target);
}

/* In single quotes, as YAML wants it. */
static void add_quoted(struct buf *out, const char *text)
{
    buf_add_char(out, '\'');
    for (; *text; text++) {
        if (*text == '\'')
            buf_add_char(out, '\'');
        buf_add_char(out, *text);
    }
    buf_add_char(out, '\'');
}

static void add_interval(struct buf *out, uint64_t interval_ns)
{
    uint64_t ms = interval_ns / NS_PER_MS;
    buf_printf(out, ms % 1000 ? "%llums" : "%llus", (unsigned long long)(ms % 1000 ? ms : ms / 1000));
}

static void add_scrape(struct buf *out, const struct prometheus_settings *settings)
{
    buf_add_text(out, "# Made by 'sonde prometheus-config'.\nscrape_configs:\n  - job_name: ");
    add_quoted(out, settings->name);
    buf_add_text(out, "\n    scrape_interval: ");
    add_interval(out, settings->interval_ns);
    buf_add_text(out, "\n    scrape_timeout: ");
    add_interval(out, settings->interval_ns < 10 * NS_PER_S ? settings->interval_ns : 10 * NS_PER_S);
    buf_add_text(out, "\n    # The label 'job' is the job on the node; without this it would be called exported_job.\n"
                      "    honor_labels: true\n");
}

static void add_configuration(struct buf *out, const struct command_call *call)
{
    const struct prometheus_settings *settings = call->settings;
    add_scrape(out, settings);
    if (settings->file_sd) {
        buf_add_text(out, "    file_sd_configs:\n      - files:\n          - ");
        add_quoted(out, settings->file_sd);
        buf_add_char(out, '\n');
        return;
    }
    buf_add_text(out, "    static_configs:\n      - targets:\n");
    for (int i = 0; i < call->count; i++) {
        buf_add_text(out, "          - '");
        add_target(out, call->operands[i], settings->port);
        buf_add_text(out, "'\n");
    }
}

static int prometheus_run(const struct command_call *call)
{
    const struct prometheus_settings *settings = call->settings;
    struct buf out;
    if (call->count == 0 && !settings->file_sd)
        return command_misused(call, "say which hosts: sonde prometheus-config HOST...");
    for (int i = 0; i < call->count; i++)
        if (!is_host(call->operands[i]))
            return command_misused(call, "'%s' is no host", call->operands[i]);
    buf_init(&out, OUTPUT_MAX);
    if (settings->targets)
        add_target_file(&out, call);
    else
        add_configuration(&out, call);
    int status = command_print(call, &out);
    buf_clear(&out);
    return status;
}

#define AT(field) .offset = offsetof(struct prometheus_settings, field)
static const struct option options[] = {
    { .letter = 'p', .name = "port", .argument = "PORT", .type = OPTION_U64, AT(port), .initial = "1337", .min = 1,
      .max = 65535, .help = "The port of the agents, for hosts that have none" },
    { .letter = 'i', .name = "interval", .argument = "TIME", .type = OPTION_DURATION, AT(interval_ns), .initial = "15s",
      .min = NS_PER_MS, .help = "How often Prometheus asks" },
    { .letter = 'n', .name = "name", .argument = "NAME", .type = OPTION_TEXT, AT(name), .initial = "sonde",
      .help = "The name of the targets; it is the label 'job' of the node's own series" },
    { .name = "file_sd", .argument = "FILE", .type = OPTION_TEXT, AT(file_sd),
      .help = "Let Prometheus read the hosts from FILE, whenever it changes; --targets makes it" },
    { .name = "targets", .type = OPTION_FLAG, AT(targets), .help = "Print the hosts as such a file" },
    OPTION_END,
};

static const struct command_fact examples[] = {
    { "sonde prometheus-config n1 n2 n3 >prometheus.yml", "a whole configuration" },
    { "sonde prometheus-config $(scontrol show hostnames 'n[1-400]') >prometheus.yml", "all nodes of a partition" },
    { "sonde prometheus-config --file_sd nodes.json >prometheus.yml", "hosts in a file that may change" },
    { "sonde prometheus-config --targets n1 n2 >nodes.json", "that file" },
    { 0 },
};

const struct command command_prometheus_config = {
    .name = "prometheus-config",
    .about = "write the configuration with which Prometheus scrapes agents",
    .usage = "[OPTIONS] HOST...",
    .description =
        "Prints a configuration of Prometheus that scrapes the agents of the given hosts. Agents listen on 127.0.0.1 only, "
        "unless told otherwise: 'sonde agent --listen 0.0.0.0:1337' lets others in.",
    .options = options,
    .settings_size = sizeof(struct prometheus_settings),
    .operands_max = -1,
    .operand = "HOST",
    .examples = examples,
    .see_also = "agent",
    .run = prometheus_run,
};
