/* One table of names for the whole agent, and one function per name. */
#include "agent/plan.h"

#include "agent/schedule.h"
#include "base/nearest.h"
#include "base/text.h"
#include "jobs/job_source.h"
#include "samplers/all.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_MAX 256

static enum err wrong(struct buf *why, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum err wrong(struct buf *why, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    buf_add_text(why, text);
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

/* The shape of one run means nothing to an agent, which has none. */
static bool is_for_agent(const struct sampler *sampler)
{
    return sampler != &sampler_process_tree;
}

enum err plan_init(struct plan *plan, const struct sampler *const *list)
{
    list = list ? list : sampler_all;
    size_t count = 0;
    while (list[count])
        count++;
    *plan = (struct plan){ .period_ns = NS_PER_S, .jobs = JOB_SOURCES_ALL };
    plan->sensors = calloc(count + 1, sizeof *plan->sensors);
    plan->listen = strdup(PLAN_LISTEN);
    if (!plan->sensors || !plan->listen) {
        plan_clear(plan);
        return NOMEM;
    }
    for (size_t i = 0; i < count; i++)
        if (is_for_agent(list[i]))
            plan->sensors[plan->sensor_count++] = (struct plan_sensor){ .sampler = list[i], .enabled = true };
    return OK;
}

void plan_clear(struct plan *plan)
{
    for (size_t i = 0; i < plan->sensor_count; i++)
        setting_list_clear(&plan->sensors[i].settings);
    for (size_t i = 0; i < plan->sink_count; i++)
        sink_choice_clear(&plan->sinks[i]);
    free(plan->sensors);
    free(plan->listen);
    free(plan->socket);
    free(plan->colmet);
    uplink_plan_clear(&plan->uplink);
    program_plan_clear(&plan->programs);
    *plan = (struct plan){ 0 };
}

static enum err copy_lists(struct plan *copy, const struct plan *plan)
{
    enum err err = OK;
    for (; copy->sensor_count < plan->sensor_count && !err; copy->sensor_count++) {
        copy->sensors[copy->sensor_count] = plan->sensors[copy->sensor_count];
        err = setting_list_copy(&copy->sensors[copy->sensor_count].settings, &plan->sensors[copy->sensor_count].settings);
    }
    for (; copy->sink_count < plan->sink_count && !err; copy->sink_count++)
        err = sink_choice_copy(&copy->sinks[copy->sink_count], &plan->sinks[copy->sink_count]);
    return err;
}

enum err plan_copy(struct plan *copy, const struct plan *plan)
{
    *copy = (struct plan){ .period_ns = plan->period_ns, .series = plan->series, .jobs = plan->jobs };
    copy->sensors = calloc(plan->sensor_count + 1, sizeof *copy->sensors);
    enum err err = copy->sensors ? OK : NOMEM;
    if (!err)
        err = replace(&copy->listen, plan->listen);
    if (!err)
        err = replace(&copy->socket, plan->socket);
    if (!err)
        err = replace(&copy->colmet, plan->colmet);
    if (!err)
        err = uplink_plan_copy(&copy->uplink, &plan->uplink);
    if (!err)
        err = program_plan_copy(&copy->programs, &plan->programs);
    if (!err)
        err = copy_lists(copy, plan);
    if (err)
        plan_clear(copy);
    return err;
}

uint64_t plan_period_ns(const struct plan *plan, const struct plan_sensor *sensor)
{
    if (sensor->period_ns)
        return sensor->period_ns;
    return sensor->sampler->period_ns > plan->period_ns ? sensor->sampler->period_ns : plan->period_ns;
}

static struct plan_sensor *find_sensor(struct plan *plan, const char *name)
{
    for (size_t i = 0; i < plan->sensor_count; i++)
        if (strcmp(plan->sensors[i].sampler->name, name) == 0)
            return &plan->sensors[i];
    return NULL;
}

static enum err no_sensor(const struct plan *plan, const char *name, struct buf *why)
{
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; i < plan->sensor_count; i++)
        nearest_try(&nearest, plan->sensors[i].sampler->name);
    if (nearest.best)
        return wrong(why, "there is no sensor '%.60s'; did you mean '%s'?", name, nearest.best);
    return wrong(why, "there is no sensor '%.60s'; 'sonde doctor' lists them", name);
}

static enum err parse_period(const char *value, uint64_t *period_ns, struct buf *why)
{
    uint64_t ns;
    if (text_parse_duration(value, &ns))
        return wrong(why, "'%.60s' is no duration: write 1s, 250ms or 5m", value);
    if (ns < SCHEDULE_PERIOD_MIN_NS || ns > SCHEDULE_PERIOD_MAX_NS)
        return wrong(why, "a period is at least 1 ms and at most 7 days, not '%.60s'", value);
    *period_ns = ns;
    return OK;
}

/* The next of words parted by commas or blanks; false behind the last. */
static bool next_word(const char **at, char word[WORD_MAX])
{
    *at += strspn(*at, ", \t");
    size_t size = strcspn(*at, ", \t"), kept = size < WORD_MAX ? size : WORD_MAX - 1;
    memcpy(word, *at, kept);
    word[kept] = '\0';
    *at += size;
    return size > 0;
}

static void enable_all(struct plan *plan, bool enabled)
{
    for (size_t i = 0; i < plan->sensor_count; i++)
        plan->sensors[i].enabled = enabled;
}

/* "meminfo,stat": these; "-ipmi,+perf": those that there were, but for; "all", "none". Looked at as a whole first. */
static enum err set_sensors(struct plan *plan, const char *value, struct buf *why)
{
    char word[WORD_MAX];
    bool first = true;
    for (const char *at = value; next_word(&at, word);) {
        const char *name = word + (*word == '+' || *word == '-');
        if (strcmp(name, "all") != 0 && strcmp(name, PLAN_NONE) != 0 && !find_sensor(plan, name))
            return no_sensor(plan, name, why);
    }
    for (const char *at = value; next_word(&at, word); first = false) {
        bool has_sign = *word == '+' || *word == '-';
        const char *name = word + has_sign;
        if (first && !has_sign)
            enable_all(plan, false);
        struct plan_sensor *sensor = find_sensor(plan, name);
        if (sensor)
            sensor->enabled = *word != '-';
        else
            enable_all(plan, (strcmp(name, "all") == 0) == (*word != '-'));
    }
    return first ? wrong(why, "name sensors, 'all' or 'none'") : OK;
}

static enum err check_listen(const char *value, struct buf *why)
{
    const char *colon = strrchr(value, ':');
    uint64_t port;
    if (strcmp(value, PLAN_NONE) == 0)
        return OK;
    if (!colon || colon == value || text_parse_u64(colon + 1, &port) || port > 65535)
        return wrong(why, "'%.60s' is no address: write 127.0.0.1:1337, [::1]:1337 or none", value);
    return OK;
}

/* Each adds one. */
static enum err set_sink(struct plan *plan, const char *value, struct buf *why)
{
    if (plan->sink_count == PLAN_SINKS_MAX)
        return wrong(why, "there are %d sinks already", PLAN_SINKS_MAX);
    enum err err = sink_choice_parse(&plan->sinks[plan->sink_count], value, why);
    plan->sink_count += err ? 0 : 1;
    return err;
}

static enum err set_of_sensor(struct plan_sensor *sensor, const char *key, const char *value, struct buf *why)
{
    const struct sampler *sampler = sensor->sampler;
    if (strcmp(key, "period") == 0)
        return parse_period(value, &sensor->period_ns, why);
    if (strcmp(key, "enabled") == 0) {
        static const struct setting flag[] = { { "enabled", SETTING_FLAG }, { 0 } };
        return setting_apply(flag, &sensor->enabled, key, value) ? wrong(why, "enabled is yes or no, not '%.60s'", value) : OK;
    }
    struct setting_owner owner = { sampler->name, sampler->settings, sampler->state_size };
    return setting_list_put_checked(&sensor->settings, &owner, key, value, why);
}

static enum err set_events(struct plan *plan, const char *value, struct buf *why)
{
    struct plan_sensor *perf = find_sensor(plan, "perf");
    return perf ? set_of_sensor(perf, "events", value, why) : wrong(why, "this build has no sensor perf");
}

static enum err set_colmet(struct plan *plan, const char *value, struct buf *why)
{
    if (!*value || strcmp(value, PLAN_NONE) == 0)
        return replace(&plan->colmet, NULL);
    if (strncmp(value, "tcp://", 6) != 0 || !strchr(value + 6, ':'))
        return wrong(why, "colmet is an address such as tcp://127.0.0.1:5557, or none, not '%.60s'", value);
    return replace(&plan->colmet, value);
}

static enum err set_jobs(struct plan *plan, const char *value, struct buf *why)
{
    char unknown[JOB_SOURCE_NAME_MAX];
    if (!job_sources_parse(value, &plan->jobs, unknown))
        return OK;
    wrong(why, "there is no batch system '%s'; jobs are all, none, or some of ", unknown);
    for (const struct job_source *const *source = job_sources; *source; source++)
        buf_printf(why, "%s%s", source == job_sources ? "" : ", ", (*source)->name);
    return USAGE;
}

static enum err set_of_agent(struct plan *plan, const char *key, const char *value, struct buf *why)
{
    if (strcmp(key, "period") == 0)
        return parse_period(value, &plan->period_ns, why);
    if (strcmp(key, "sensors") == 0)
        return set_sensors(plan, value, why);
    if (strcmp(key, "events") == 0)
        return set_events(plan, value, why);
    if (strcmp(key, "jobs") == 0)
        return set_jobs(plan, value, why);
    if (strcmp(key, "sink") == 0)
        return set_sink(plan, value, why);
    if (strcmp(key, "socket") == 0)
        return replace(&plan->socket, *value ? value : NULL);
    if (strcmp(key, "colmet") == 0)
        return set_colmet(plan, value, why);
    if (strcmp(key, "listen") == 0) {
        enum err err = check_listen(value, why);
        return err ? err : replace(&plan->listen, value);
    }
    if (strcmp(key, "series") == 0)
        return text_parse_u64(value, &plan->series) ? wrong(why, "series is a number, not '%.60s'", value) : OK;
    if (uplink_plan_has(key))
        return uplink_plan_set(&plan->uplink, key, value, why);
    static const char *const names[] = { "period", "sensors", "events", "jobs", "sink", "socket", "listen", "colmet", "series" };
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nearest_try(&nearest, names[i]);
    for (const char *const *name = uplink_plan_keys; *name; name++)
        nearest_try(&nearest, *name);
    return nearest.best ? wrong(why, "there is no '%.60s'; did you mean '%s'?", key, nearest.best)
                        : wrong(why, "there is no '%.60s'", key);
}

enum err plan_set(struct plan *plan, const char *section, const char *key, const char *value, struct buf *why)
{
    if (!*section || strcmp(section, "agent") == 0)
        return set_of_agent(plan, key, value, why);
    if (strcmp(section, "programs") == 0)
        return program_plan_set(&plan->programs, key, value, why);
    struct plan_sensor *sensor = find_sensor(plan, section);
    return sensor ? set_of_sensor(sensor, key, value, why) : no_sensor(plan, section, why);
}

enum err plan_set_line(struct plan *plan, const char *line, struct buf *why)
{
    char section[WORD_MAX], key[WORD_MAX];
    const char *equals = strchr(line, '='), *dot = strchr(line, '.');
    if (!equals || !dot || dot > equals)
        return wrong(why, "'%.60s' is not SENSOR.KEY=VALUE", line);
    size_t section_size = (size_t)(dot - line), key_size = (size_t)(equals - dot - 1);
    if (section_size >= WORD_MAX || key_size >= WORD_MAX)
        return wrong(why, "'%.60s' has a name that is too long", line);
    memcpy(section, line, section_size);
    section[section_size] = '\0';
    memcpy(key, dot + 1, key_size);
    key[key_size] = '\0';
    return plan_set(plan, section, key, equals + 1, why);
}
