/* A table of nine keys. */
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
    free(config->segment_dir);
    free(config->tau);
    free(config->profiles);
    *config = (struct program_config){ 0 };
}

enum err program_config_copy(struct program_config *copy, const struct program_config *config)
{
    *copy = *config;
    copy->segment_dir = config->segment_dir ? strdup(config->segment_dir) : NULL;
    copy->tau = config->tau ? strdup(config->tau) : NULL;
    copy->profiles = config->profiles ? strdup(config->profiles) : NULL;
    bool is_complete = !config->segment_dir == !copy->segment_dir && !config->tau == !copy->tau
                       && !config->profiles == !copy->profiles;
    return is_complete ? OK : NOMEM;
}

static enum err parse_flag(const char *key, const char *value, bool *flag, struct buf *error)
{
    static const struct setting flags[] = { { "flag", SETTING_FLAG }, { 0 } };
    if (setting_apply(flags, flag, "flag", value) == OK)
        return OK;
    buf_printf(error, "invalid %s '%.60s' (expected yes or no)", key, value);
    return USAGE;
}

/* An absolute path, or none; "" is the default. */
static enum err set_path(char **path, const char *key, const char *value, struct buf *error)
{
    if (*value && *value != '/' && strcmp(value, PROGRAM_CONFIG_NONE) != 0) {
        buf_printf(error, "invalid %s '%.60s' (expected an absolute path, or none)", key, value);
        return USAGE;
    }
    char *copy = *value ? strdup(value) : NULL;
    if (*value && !copy)
        return NOMEM;
    free(*path);
    *path = copy;
    return OK;
}

/* A flag whose 0 means yes. */
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
        return set_path(&config->segment_dir, key, value, error);
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
        buf_printf(error, "invalid metrics '%.60s' (expected a number)", value);
    else if (nearest.best)
        buf_printf(error, "unknown key '%.60s' in [programs]; did you mean '%s'?", key, nearest.best);
    else
        buf_printf(error, "unknown key '%.60s' in [programs]", key);
    return USAGE;
}

/* Commented out if it is the default. */
static void write_path(struct buf *out, const char *key, const char *value, const char *default_value)
{
    buf_printf(out, "%s%s = ", value ? "" : "#", key);
    config_file_add_value(out, value ? value : default_value);
    buf_add_char(out, '\n');
}

static void write_flag(struct buf *out, const char *key, bool value, bool default_value)
{
    buf_printf(out, "%s%s = %s\n", value == default_value ? "#" : "", key, value ? "yes" : "no");
}

void program_config_write(struct buf *out, const struct program_config *config)
{
    buf_add_text(out, "\n# Program metrics: of libsonde, the probes and clients of tau\n[programs]\n");
    write_flag(out, "enabled", !config->is_off, true);
    buf_add_text(out, "# Directory of the metrics segments of libsonde and of the probes, or none\n");
    write_path(out, "boards", config->segment_dir, "/dev/shm");
    buf_add_text(out, "# Socket for clients of tau, or none\n");
    write_path(out, "tau", config->tau, "/tmp/tau_metric_proxy.UID.unix");
    buf_add_text(out, "# Read only segments of programs that name this socket\n");
    write_flag(out, "only_named", config->is_only_named, false);
    buf_add_text(out, "# Serve what our probes count under tau's names too\n");
    write_flag(out, "tau_names", config->has_tau_names, false);
    buf_add_text(out, "# Serve /metrics at every path that contains this word, as tau's proxy does\n");
    write_flag(out, "tau_paths", config->has_tau_paths, false);
    buf_printf(out, "# Maximum number of metrics\n%smetrics = ", config->metrics_max ? "" : "#");
    buf_add_u64(out, config->metrics_max ? config->metrics_max : REGISTRY_METRICS_MAX);
    buf_add_text(out, "\n# Directory for tau's profiles of jobs, written when the last program of a job has ended\n");
    write_path(out, "profiles", config->profiles, PROGRAM_CONFIG_NONE);
    buf_add_text(out, "# Merge the profiles that other nodes leave in it\n");
    write_flag(out, "merge_profiles", !config->is_worker, true);
}
