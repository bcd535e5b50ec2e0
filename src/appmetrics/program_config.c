/* Nine keys. */
#include "appmetrics/program_config.h"

#include "base/config_file.h"
#include "base/nearest.h"
#include "base/parse.h"
#include "model/setting.h"
#include "appmetrics/registry.h"

#include <stdlib.h>
#include <string.h>

void program_config_clear(struct program_config *config)
{
    free(config->boards);
    free(config->tau);
    free(config->profiles);
    *config = (struct program_config){ 0 };
}

enum err program_config_copy(struct program_config *copy, const struct program_config *config)
{
    *copy = *config;
    copy->boards = config->boards ? strdup(config->boards) : NULL;
    copy->tau = config->tau ? strdup(config->tau) : NULL;
    copy->profiles = config->profiles ? strdup(config->profiles) : NULL;
    bool is_whole = !config->boards == !copy->boards && !config->tau == !copy->tau && !config->profiles == !copy->profiles;
    return is_whole ? OK : NOMEM;
}

static enum err parse_flag(const char *key, const char *value, bool *flag, struct buf *error)
{
    static const struct setting flags[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (setting_apply(flags, flag, "flag", value) == OK)
        return OK;
    buf_printf(error, "%s is yes or no, not '%.60s'", key, value);
    return USAGE;
}

/* A path that is absolute, or none; "" is what it is when nobody says anything. */
static enum err set_path(char **path, const char *key, const char *value, struct buf *error)
{
    if (*value && *value != '/' && strcmp(value, PROGRAM_CONFIG_NONE) != 0) {
        buf_printf(error, "%s is a path, which begins with '/', or none, not '%.60s'", key, value);
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
static enum err set_inverse(const char *key, const char *value, bool *flag, struct buf *error)
{
    bool is_on = !*flag;
    enum err err = parse_flag(key, value, &is_on, error);
    *flag = !is_on;
    return err;
}

enum err program_config_set(struct program_config *config, const char *key, const char *value, struct buf *error)
{
    static const char *const names[] = {
        "enabled", "boards", "tau", "only_named", "tau_names", "tau_paths", "metrics", "profiles", "merge_profiles",
    };
    if (strcmp(key, "enabled") == 0)
        return set_inverse(key, value, &config->is_off, error);
    if (strcmp(key, "tau") == 0)
        return set_path(&config->tau, key, value, error);
    if (strcmp(key, "boards") == 0)
        return set_path(&config->boards, key, value, error);
    if (strcmp(key, "profiles") == 0)
        return set_path(&config->profiles, key, strcmp(value, PROGRAM_CONFIG_NONE) == 0 ? "" : value, error);
    if (strcmp(key, "merge_profiles") == 0)
        return set_inverse(key, value, &config->is_worker, error);
    if (strcmp(key, "tau_names") == 0)
        return parse_flag(key, value, &config->has_tau_names, error);
    if (strcmp(key, "only_named") == 0)
        return parse_flag(key, value, &config->is_only_named, error);
    if (strcmp(key, "tau_paths") == 0)
        return parse_flag(key, value, &config->has_tau_paths, error);
    if (strcmp(key, "metrics") == 0 && parse_u64(value, &config->metrics_max) == OK && config->metrics_max <= UINT32_MAX)
        return OK;
    struct nearest nearest = nearest_to(key);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        nearest_try(&nearest, names[i]);
    if (strcmp(key, "metrics") == 0)
        buf_printf(error, "metrics is a number, not '%.60s'", value);
    else if (nearest.best)
        buf_printf(error, "there is no '%.60s' in [programs]; did you mean '%s'?", key, nearest.best);
    else
        buf_printf(error, "there is no '%.60s' in [programs]; there are enabled, boards, tau, only_named, tau_names, "
                        "tau_paths, metrics, profiles and merge_profiles", key);
    return USAGE;
}

static void write_text(struct buf *out, const char *key, const char *value, const char *usual)
{
    buf_printf(out, "%s%s = ", value ? "" : "#", key);
    config_file_add_value(out, value ? value : usual);
    buf_add_char(out, '\n');
}

void program_config_write(struct buf *out, const struct program_config *config)
{
    buf_printf(out, "\n# What programs tell of themselves: libsonde's, the probes' and tau's.\n[programs]\n%senabled = %s\n",
               config->is_off ? "" : "#", config->is_off ? "no" : "yes");
    buf_add_text(out, "# Folder of the boards of libsonde and of the probes, or none\n");
    write_text(out, "boards", config->boards, "/dev/shm");
    buf_add_text(out, "# Socket for programs that speak as tau's, or none\n");
    write_text(out, "tau", config->tau, "/tmp/tau_metric_proxy.UID.unix");
    buf_printf(out, "# Read the boards of such programs alone that name this socket\n%sonly_named = %s\n",
               config->is_only_named ? "" : "#", config->is_only_named ? "yes" : "no");
    buf_printf(out, "# Show what our probes count under tau's names too\n%stau_names = %s\n", config->has_tau_names ? "" : "#",
               config->has_tau_names ? "yes" : "no");
    buf_printf(out, "# Serve /metrics at every path that has this word, as tau's proxy does\n%stau_paths = %s\n",
               config->has_tau_paths ? "" : "#", config->has_tau_paths ? "yes" : "no");
    buf_printf(out, "# At most so many metrics\n%smetrics = ", config->metrics_max ? "" : "#");
    buf_add_u64(out, config->metrics_max ? config->metrics_max : REGISTRY_METRICS_MAX);
    buf_add_text(out, "\n# A folder for tau's profiles of jobs, written when a job's last program has gone\n");
    write_text(out, "profiles", config->profiles, PROGRAM_CONFIG_NONE);
    buf_printf(out, "# Merge what other nodes leave in it\n%smerge_profiles = %s\n", config->is_worker ? "" : "#",
               config->is_worker ? "no" : "yes");
}
