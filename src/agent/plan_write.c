/* Writes what config.c reads. */
#include "agent/plan_write.h"

#include "agent/agent_http.h"
#include "base/config_file.h"
#include "jobs/job_source.h"

#include <string.h>

static void add_value(struct buf *out, const char *value)
{
    config_file_add_value(out, value);
    buf_add_char(out, '\n');
}

static void add_setting(struct buf *out, const struct setting_list *settings, const struct setting *setting)
{
    const char *value = setting_list_find(settings, setting->key);
    buf_printf(out, "# %s\n%s%s = ", setting->help, value ? "" : "#", setting->key);
    add_value(out, value ? value : setting->initial ? setting->initial : "");
}

static void add_sensor(struct buf *out, const struct plan *plan, const struct plan_sensor *sensor)
{
    const struct sampler *sampler = sensor->sampler;
    buf_printf(out, "\n# %s\n[%s]\n%senabled = %s\n", sampler->about, sampler->name, sensor->enabled ? "#" : "",
               sensor->enabled ? "yes" : "no");
    buf_printf(out, "%speriod = ", sensor->period_ns ? "" : "#");
    config_file_add_duration(out, plan_period_ns(plan, sensor));
    buf_add_char(out, '\n');
    for (const struct setting *s = sampler->settings; s && s->key; s++)
        add_setting(out, &sensor->settings, s);
}

void plan_write(struct buf *out, const struct plan *plan)
{
    buf_add_text(out, "period = ");
    config_file_add_duration(out, plan->period_ns);
    buf_add_text(out, "\nlisten = ");
    add_value(out, plan->listen);
    buf_printf(out, "%ssocket = ", plan->socket ? "" : "#");
    add_value(out, plan->socket ? plan->socket : "/run/sonde/agent.sock");
    buf_printf(out, "%scolmet = ", plan->colmet ? "" : "#");
    add_value(out, plan->colmet ? plan->colmet : "tcp://127.0.0.1:5557");
    buf_printf(out, "%sseries = ", plan->series ? "" : "#");
    buf_add_u64(out, plan->series ? plan->series : SERVE_SERIES_MAX);
    buf_printf(out, "\n%sjobs = ", plan->jobs == JOB_SOURCES_ALL ? "#" : "");
    job_sources_write(out, plan->jobs);
    buf_add_char(out, '\n');
    uplink_plan_write(out, &plan->uplink);
    for (size_t i = 0; i < plan->sink_count; i++)
        sink_choice_write_line(&plan->sinks[i], out);
    program_plan_write(out, &plan->programs);
    for (size_t i = 0; i < plan->sensor_count; i++)
        add_sensor(out, plan, &plan->sensors[i]);
}
