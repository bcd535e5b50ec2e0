/* Nine keys. */
#include "appmetrics/config.h"

#include "base/config_file.h"
#include "base/nearest.h"
#include "base/text.h"
#include "model/setting.h"
#include "appmetrics/table.h"

#include <stdlib.h>
#include <string.h>

void program_plan_clear(struct program_plan *plan)
{
    free(plan->boards);
    free(plan->tau);
    free(plan->profiles);
    *plan = (struct program_plan){ 0 };
}

enum err program_plan_copy(struct program_plan *copy, const struct program_plan *plan)
{
    *copy = *plan;
    copy->boards = plan->boards ? strdup(plan->boards) : NULL;
    copy->tau = plan->tau ? strdup(plan->tau) : NULL;
    copy->profiles = plan->profiles ? strdup(plan->profiles) : NULL;
    bool is_whole = !plan->boards == !copy->boards && !plan->tau == !copy->tau && !plan->profiles == !copy->profiles;
    return is_whole ? OK : NOMEM;
}

static enum err parse_flag(const char *key, const char *value, bool *flag, struct buf *why)
{
    static const struct setting flags[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (setting_apply(flags, flag, "flag", value) == OK)
        return OK;
    buf_printf(why, "%s is yes or no, not '%.60s'", key, value);
    return USAGE;
}

/* A path that is absolute, or none; "" is what it is when nobody says anything. */
static enum err set_path(char **path, const char *key, const char *value, struct buf *why)
{
    if (*value && *value != '/' && strcmp(value, PROGRAM_PLAN_NONE) != 0) {
        buf_printf(why, "%s is a path, which begins with '/', or none, not '%.60s'", key, value);
        return USAGE;
    }
    char *copy = *value ? strdup(value) : NULL;
    if (*value && !copy)
        return NOMEM;
    free(*path);
    *path = copy;
    return OK;
}

/* A flag whose zero is yes. */
static enum err set_inverse(const char *key, const char *value, bool *flag, struct buf *why)
{
    bool is_on = !*flag;
    enum err err = parse_flag(key, value, &is_on, why);
    *flag = !is_on;
    return err;
}

enum err program_plan_set(struct program_plan *plan, const char *key, const char *value, struct buf *why)
{
    static const char *const names[] = {
        "enabled", "boards", "tau", "only_named", "tau_names", "tau_paths", "metrics", "profiles", "merge_profiles",
    };
    if (strcmp(key, "enabled") == 0)
        return set_inverse(key, value, &plan->is_off, why);
    if (strcmp(key, "tau") == 0)
        return set_path(&plan->tau, key, value, why);
    if (strcmp(key, "boards") == 0)
        return set_path(&plan->boards, key, value, why);
    if (strcmp(key, "profiles") == 0)
        return set_path(&plan->profiles, key, strcmp(value, PROGRAM_PLAN_NONE) == 0 ? "" : value, why);
    if (strcmp(key, "merge_profiles") == 0)
        return set_inverse(key, value, &plan->is_worker, why);
    if (strcmp(key, "tau_names") == 0)
        return parse_flag(key, value, &plan->has_tau_names, why);
    if (strcmp(key, "only_named") == 0)
        return parse_flag(key, value, &plan->is_only_named, why);
    if (strcmp(key, "tau_paths") == 0)
        return parse_flag(key, value, &plan->has_tau_paths, why);
    if (strcmp(key, "metrics") == 0 && text_parse_u64(value, &plan->metrics_max) == OK && plan->metrics_max <= UINT32_MAX)
        return OK;
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nearest_try(&nearest, names[i]);
    if (strcmp(key, "metrics") == 0)
        buf_printf(why, "metrics is a number, not '%.60s'", value);
    else if (nearest.best)
        buf_printf(why, "there is no '%.60s' in [programs]; did you mean '%s'?", key, nearest.best);
    else
        buf_printf(why, "there is no '%.60s' in [programs]; there are enabled, boards, tau, only_named, tau_names, "
                        "tau_paths, metrics, profiles and merge_profiles", key);
    return USAGE;
}

static void write_text(struct buf *out, const char *key, const char *value, const char *usual)
{
    buf_printf(out, "%s%s = ", value ? "" : "#", key);
    config_file_add_value(out, value ? value : usual);
    buf_add_char(out, '\n');
}

void program_plan_write(struct buf *out, const struct program_plan *plan)
{
    buf_printf(out, "\n# What programs tell of themselves: libsonde's, the probes' and tau's.\n[programs]\n%senabled = %s\n",
               plan->is_off ? "" : "#", plan->is_off ? "no" : "yes");
    buf_add_text(out, "# Folder of the boards of libsonde and of the probes, or none\n");
    write_text(out, "boards", plan->boards, "/dev/shm");
    buf_add_text(out, "# Socket for programs that speak as tau's, or none\n");
    write_text(out, "tau", plan->tau, "/tmp/tau_metric_proxy.UID.unix");
    buf_printf(out, "# Read the boards of such programs alone that name this socket\n%sonly_named = %s\n",
               plan->is_only_named ? "" : "#", plan->is_only_named ? "yes" : "no");
    buf_printf(out, "# Show what our probes count under tau's names too\n%stau_names = %s\n", plan->has_tau_names ? "" : "#",
               plan->has_tau_names ? "yes" : "no");
    buf_printf(out, "# Serve /metrics at every path that has this word, as tau's proxy does\n%stau_paths = %s\n",
               plan->has_tau_paths ? "" : "#", plan->has_tau_paths ? "yes" : "no");
    buf_printf(out, "# At most so many metrics\n%smetrics = ", plan->metrics_max ? "" : "#");
    buf_add_u64(out, plan->metrics_max ? plan->metrics_max : PROGRAM_METRICS_MAX);
    buf_add_text(out, "\n# A folder for tau's profiles of jobs, written when a job's last program has gone\n");
    write_text(out, "profiles", plan->profiles, PROGRAM_PLAN_NONE);
    buf_printf(out, "# Merge what other nodes leave in it\n%smerge_profiles = %s\n", plan->is_worker ? "" : "#",
               plan->is_worker ? "no" : "yes");
}
