/* Sets, reads and prints the configuration: one function per key. */
#include "agent/agent_config.h"

#include "agent/agent_http.h"
#include "agent/schedule.h"
#include "base/config_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "compat/ldms/producer.h"
#include "jobs/job_source.h"
#include "samplers/all.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_BYTES 256

static enum err fail(struct buf *error, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum err fail(struct buf *error, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buf_add_text(error, text);
    return USAGE;
}

static enum err replace(char **text, const char *value)
{
    char *copy = value ? strdup(value) : NULL;
    if (value && !copy)
        return NOMEM;
    free(*text);
    *text = copy;
    return OK;
}

/* The process tree of a run means nothing to an agent. */
static bool is_for_agent(const struct sampler *sampler)
{
    return sampler != &sampler_process_tree;
}

enum err agent_config_init(struct agent_config *config, const struct sampler *const *list)
{
    list = list ? list : sampler_all;
    size_t count = 0;
    while (list[count])
        count++;
    *config = (struct agent_config){ .period_ns = NS_PER_S, .jobs = JOB_SOURCES_ALL };
    config->sensors = calloc(count + 1, sizeof *config->sensors);
    config->listen = strdup(AGENT_LISTEN);
    if (!config->sensors || !config->listen) {
        agent_config_clear(config);
        return NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        if (is_for_agent(list[i]))
            config->sensors[config->sensor_count++] = (struct sensor_config){ .sampler = list[i], .enabled = true };
    return OK;
}

void agent_config_clear(struct agent_config *config)
{
    for (size_t i = 0; i < config->sensor_count; i++)
        setting_list_clear(&config->sensors[i].settings);
    for (size_t i = 0; i < config->sink_count; i++)
        sink_choice_clear(&config->sinks[i]);
    free(config->sensors);
    free(config->listen);
    free(config->socket);
    free(config->colmet);
    free(config->producer);
    uplink_config_clear(&config->uplink);
    program_config_clear(&config->programs);
    *config = (struct agent_config){ 0 };
}

static enum err copy_lists(struct agent_config *copy, const struct agent_config *config)
{
    enum err err = OK;
    for (; copy->sensor_count < config->sensor_count && !err; copy->sensor_count++) {
        copy->sensors[copy->sensor_count] = config->sensors[copy->sensor_count];
        err = setting_list_copy(&copy->sensors[copy->sensor_count].settings, &config->sensors[copy->sensor_count].settings);
    }
    for (; copy->sink_count < config->sink_count && !err; copy->sink_count++)
        err = sink_choice_copy(&copy->sinks[copy->sink_count], &config->sinks[copy->sink_count]);
    return err;
}

enum err agent_config_copy(struct agent_config *copy, const struct agent_config *config)
{
    *copy = (struct agent_config){ .period_ns = config->period_ns, .series = config->series, .jobs = config->jobs,
                                  .http_munge = config->http_munge };
    copy->sensors = calloc(config->sensor_count + 1, sizeof *copy->sensors);
    enum err err = copy->sensors ? OK : NOMEM;
    if (!err)
        err = replace(&copy->listen, config->listen);
    if (!err)
        err = replace(&copy->socket, config->socket);
    if (!err)
        err = replace(&copy->colmet, config->colmet);
    if (!err)
        err = replace(&copy->producer, config->producer);
    if (!err)
        err = uplink_config_copy(&copy->uplink, &config->uplink);
    if (!err)
        err = program_config_copy(&copy->programs, &config->programs);
    if (!err)
        err = copy_lists(copy, config);
    if (err)
        agent_config_clear(copy);
    return err;
}

uint64_t agent_config_period_ns(const struct agent_config *config, const struct sensor_config *sensor)
{
    if (sensor->period_ns)
        return sensor->period_ns;
    return sensor->sampler->period_ns > config->period_ns ? sensor->sampler->period_ns : config->period_ns;
}

static struct sensor_config *find_sensor(struct agent_config *config, const char *name)
{
    for (size_t i = 0; i < config->sensor_count; i++)
        if (strcmp(config->sensors[i].sampler->name, name) == 0)
            return &config->sensors[i];
    return NULL;
}

static enum err unknown_sensor(const struct agent_config *config, const char *name, struct buf *error)
{
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < config->sensor_count; i++)
        nearest_try(&nearest, config->sensors[i].sampler->name);
    if (nearest.best)
        return fail(error, "unknown sensor '%.60s'; did you mean '%s'?", name, nearest.best);
    return fail(error, "unknown sensor '%.60s'; 'sonde doctor' lists them", name);
}

static enum err parse_period(const char *value, uint64_t *period_ns, struct buf *error)
{
    uint64_t ns;
    if (parse_duration(value, &ns))
        return fail(error, "invalid period '%.60s' (expected a duration such as 1s, 250ms or 5m)", value);
    if (ns < SCHEDULE_PERIOD_MIN_NS || ns > SCHEDULE_PERIOD_MAX_NS)
        return fail(error, "invalid period '%.60s' (expected 1ms to 7d)", value);
    *period_ns = ns;
    return OK;
}

/* The next word, separated by commas or blanks; false after the last. */
static bool next_word(const char **at, char word[NAME_BYTES])
{
    *at += strspn(*at, ", \t");
    size_t size = strcspn(*at, ", \t"), kept = size < NAME_BYTES ? size : NAME_BYTES - 1;
    memcpy(word, *at, kept);
    word[kept] = '\0';
    *at += size;
    return size > 0;
}

static void enable_all(struct agent_config *config, bool enabled)
{
    for (size_t i = 0; i < config->sensor_count; i++)
        config->sensors[i].enabled = enabled;
}

/* "meminfo,stat": only these; "-ipmi,+perf": changes to the current selection; "all", "none". Checked as a whole before
 * anything changes. */
static enum err set_sensors(struct agent_config *config, const char *value, struct buf *error)
{
    char word[NAME_BYTES];
    bool first = true;
    for (const char *at = value; next_word(&at, word);) {
        const char *name = word + (*word == '+' || *word == '-');
        if (strcmp(name, "all") != 0 && strcmp(name, AGENT_NONE) != 0 && !find_sensor(config, name))
            return unknown_sensor(config, name, error);
    }
    for (const char *at = value; next_word(&at, word); first = false) {
        bool has_sign = *word == '+' || *word == '-';
        const char *name = word + has_sign;
        if (first && !has_sign)
            enable_all(config, false);
        struct sensor_config *sensor = find_sensor(config, name);
        if (sensor)
            sensor->enabled = sensor->is_named = *word != '-';
        else
            enable_all(config, (strcmp(name, "all") == 0) == (*word != '-'));
    }
    return first ? fail(error, "missing sensors (expected names, 'all' or 'none')") : OK;
}

static enum err check_listen(const char *value, struct buf *error)
{
    const char *colon = strrchr(value, ':');
    uint64_t port;
    if (strcmp(value, AGENT_NONE) == 0)
        return OK;
    if (!colon || colon == value || parse_u64(colon + 1, &port) || port > 65535)
        return fail(error, "invalid address '%.60s' (expected 127.0.0.1:1337, [::1]:1337 or none)", value);
    return OK;
}

/* Adds one. */
static enum err set_sink(struct agent_config *config, const char *value, struct buf *error)
{
    if (config->sink_count == AGENT_SINKS_MAX)
        return fail(error, "too many sinks (maximum %d)", AGENT_SINKS_MAX);
    enum err err = sink_choice_parse(&config->sinks[config->sink_count], value, error);
    config->sink_count += err ? 0 : 1;
    return err;
}

static enum err set_for_sensor(struct sensor_config *sensor, const char *key, const char *value, struct buf *error)
{
    const struct sampler *sampler = sensor->sampler;
    if (strcmp(key, "period") == 0)
        return parse_period(value, &sensor->period_ns, error);
    if (strcmp(key, "enabled") == 0) {
        static const struct setting flag[] = { { "enabled", SETTING_FLAG }, { 0 } };
        return setting_apply(flag, &sensor->enabled, key, value)
                   ? fail(error, "invalid enabled '%.60s' (expected yes or no)", value)
                   : OK;
    }
    static const char *const others[] = { "enabled", "period", NULL };
    struct setting_owner owner = { sampler->name, sampler->settings, sampler->state_size, others };
    return setting_list_put_checked(&sensor->settings, &owner, key, value, error);
}

static enum err set_events(struct agent_config *config, const char *value, struct buf *error)
{
    struct sensor_config *perf = find_sensor(config, "perf");
    return perf ? set_for_sensor(perf, "events", value, error) : fail(error, "this build has no sensor perf");
}

static enum err set_colmet(struct agent_config *config, const char *value, struct buf *error)
{
    if (!*value || strcmp(value, AGENT_NONE) == 0)
        return replace(&config->colmet, NULL);
    if (strncmp(value, "tcp://", 6) != 0 || !strchr(value + 6, ':'))
        return fail(error, "invalid colmet '%.60s' (expected an address such as tcp://127.0.0.1:5557, or none)", value);
    return replace(&config->colmet, value);
}

static enum err set_producer(struct agent_config *config, const char *value, struct buf *error)
{
    enum err err = ldms_producer_check(value, error);
    return err ? err : replace(&config->producer, value);
}

static enum err set_http_munge(struct agent_config *config, const char *value, struct buf *error)
{
    static const struct setting flag[] = { { "http-munge", SETTING_FLAG }, { 0 } };
    return setting_apply(flag, &config->http_munge, "http-munge", value)
               ? fail(error, "invalid http-munge '%.60s' (expected yes or no)", value) : OK;
}

static enum err set_jobs(struct agent_config *config, const char *value, struct buf *error)
{
    char unknown[JOB_SOURCE_NAME_MAX];
    if (!job_sources_parse(value, &config->jobs, unknown))
        return OK;
    fail(error, "unknown batch system '%s'; expected all, none, or some of ", unknown);
    for (const struct job_source *const *source = job_sources; *source; source++)
        buf_printf(error, "%s%s", source == job_sources ? "" : ", ", (*source)->name);
    return USAGE;
}

static enum err set_for_agent(struct agent_config *config, const char *key, const char *value, struct buf *error)
{
    if (strcmp(key, "period") == 0)
        return parse_period(value, &config->period_ns, error);
    if (strcmp(key, "sensors") == 0)
        return set_sensors(config, value, error);
    if (strcmp(key, "events") == 0)
        return set_events(config, value, error);
    if (strcmp(key, "jobs") == 0)
        return set_jobs(config, value, error);
    if (strcmp(key, "sink") == 0)
        return set_sink(config, value, error);
    if (strcmp(key, "socket") == 0)
        return replace(&config->socket, *value ? value : NULL);
    if (strcmp(key, "colmet") == 0)
        return set_colmet(config, value, error);
    if (strcmp(key, "http-munge") == 0)
        return set_http_munge(config, value, error);
    if (strcmp(key, "producer") == 0)
        return set_producer(config, value, error);
    if (strcmp(key, "listen") == 0) {
        enum err err = check_listen(value, error);
        return err ? err : replace(&config->listen, value);
    }
    if (strcmp(key, "series") == 0)
        return parse_u64(value, &config->series) ? fail(error, "invalid series '%.60s' (expected a number)",
                                                             value) : OK;
    if (uplink_config_has(key))
        return uplink_config_set(&config->uplink, key, value, error);
    static const char *const names[] = { "period", "sensors", "events", "jobs", "sink", "socket", "listen", "colmet",
                                         "producer", "series", "http-munge" };
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nearest_try(&nearest, names[i]);
    for (const char *const *name = uplink_config_keys; *name; name++)
        nearest_try(&nearest, *name);
    return nearest.best ? fail(error, "unknown key '%.60s'; did you mean '%s'?", key, nearest.best)
                        : fail(error, "unknown key '%.60s'", key);
}

enum err agent_config_set(struct agent_config *config, const char *section, const char *key, const char *value,
                          struct buf *error)
{
    if (!*section || strcmp(section, "agent") == 0)
        return set_for_agent(config, key, value, error);
    if (strcmp(section, "programs") == 0)
        return program_config_set(&config->programs, key, value, error);
    struct sensor_config *sensor = find_sensor(config, section);
    return sensor ? set_for_sensor(sensor, key, value, error) : unknown_sensor(config, section, error);
}

enum err agent_config_set_line(struct agent_config *config, const char *line, struct buf *error)
{
    char section[NAME_BYTES], key[NAME_BYTES];
    const char *equals = strchr(line, '='), *dot = strchr(line, '.');
    if (!equals || !dot || dot > equals)
        return fail(error, "invalid setting '%.60s' (expected SENSOR.KEY=VALUE)", line);
    size_t section_size = (size_t)(dot - line), key_size = (size_t)(equals - dot - 1);
    if (section_size >= NAME_BYTES || key_size >= NAME_BYTES)
        return fail(error, "name too long in '%.60s'", line);
    memcpy(section, line, section_size);
    section[section_size] = '\0';
    memcpy(key, dot + 1, key_size);
    key[key_size] = '\0';
    return agent_config_set(config, section, key, equals + 1, error);
}

/* An unknown section is an error even if it is empty. */
static enum err begin_section(void *context, const char *section, struct buf *error)
{
    struct agent_config *config = context;
    if (strcmp(section, "agent") == 0 || strcmp(section, "programs") == 0)
        return OK;
    for (size_t i = 0; i < config->sensor_count; i++)
        if (strcmp(config->sensors[i].sampler->name, section) == 0)
            return OK;
    return agent_config_set(config, section, "", "", error); /* suggests the nearest name */
}

static enum err set_line(void *context, const char *section, const char *key, const char *value, struct buf *error)
{
    return agent_config_set(context, section, key, value, error);
}

enum err agent_config_parse(struct agent_config *config, const char *name, char *text, struct buf *error)
{
    return config_file_parse(&(struct config_target){ begin_section, set_line, config }, name, text, error);
}

enum err agent_config_read(struct agent_config *config, const char *path, struct buf *error)
{
    return config_file_read(&(struct config_target){ begin_section, set_line, config }, path, error);
}

static void write_value(struct buf *out, const char *value)
{
    config_file_add_value(out, value);
    buf_add_char(out, '\n');
}

static void write_setting(struct buf *out, const struct setting_list *settings, const struct setting *setting)
{
    const char *value = setting_list_find(settings, setting->key);
    buf_printf(out, "# %s\n%s%s = ", setting->help, value ? "" : "#", setting->key);
    write_value(out, value ? value : setting->initial ? setting->initial : "");
}

static void write_sensor(struct buf *out, const struct agent_config *config, const struct sensor_config *sensor)
{
    const struct sampler *sampler = sensor->sampler;
    buf_printf(out, "\n# %s\n[%s]\n%senabled = %s\n", sampler->about, sampler->name, sensor->enabled ? "#" : "",
               sensor->enabled ? "yes" : "no");
    buf_printf(out, "%speriod = ", sensor->period_ns ? "" : "#");
    config_file_add_duration(out, agent_config_period_ns(config, sensor));
    buf_add_char(out, '\n');
    for (const struct setting *s = sampler->settings; s && s->key; s++)
        write_setting(out, &sensor->settings, s);
}

void agent_config_write(struct buf *out, const struct agent_config *config)
{
    buf_add_text(out, "period = ");
    config_file_add_duration(out, config->period_ns);
    buf_add_text(out, "\nlisten = ");
    write_value(out, config->listen);
    buf_printf(out, "%ssocket = ", config->socket ? "" : "#");
    write_value(out, config->socket ? config->socket : "/run/sonde/agent.sock");
    buf_printf(out, "%scolmet = ", config->colmet ? "" : "#");
    write_value(out, config->colmet ? config->colmet : "tcp://127.0.0.1:5557");
    buf_printf(out, "%shttp-munge = %s\n", config->http_munge ? "" : "#", config->http_munge ? "yes" : "no");
    buf_printf(out, "%sproducer = ", config->producer ? "" : "#");
    write_value(out, config->producer ? config->producer : LDMS_PRODUCER);
    buf_printf(out, "%sseries = ", config->series ? "" : "#");
    buf_add_u64(out, config->series ? config->series : AGENT_HTTP_SERIES_MAX);
    buf_printf(out, "\n%sjobs = ", config->jobs == JOB_SOURCES_ALL ? "#" : "");
    job_sources_write(out, config->jobs);
    buf_add_char(out, '\n');
    uplink_config_write(out, &config->uplink);
    for (size_t i = 0; i < config->sink_count; i++)
        sink_choice_write_line(&config->sinks[i], out);
    program_config_write(out, &config->programs);
    for (size_t i = 0; i < config->sensor_count; i++)
        write_sensor(out, config, &config->sensors[i]);
}
