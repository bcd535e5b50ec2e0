/* Sections are named after sensors; all meaning is plan_set's. */
#include "agent/config.h"

#include "base/config_file.h"

#include <string.h>

/* One that nobody knows is a mistake even when it is empty. */
static enum err begin_section(void *context, const char *section, struct buf *why)
{
    struct plan *plan = context;
    if (strcmp(section, "agent") == 0 || strcmp(section, "programs") == 0)
        return OK;
    for (size_t i = 0; i < plan->sensor_count; i++)
        if (strcmp(plan->sensors[i].sampler->name, section) == 0)
            return OK;
    return plan_set(plan, section, "", "", why); /* says which is near */
}

static enum err set(void *context, const char *section, const char *key, const char *value, struct buf *why)
{
    return plan_set(context, section, key, value, why);
}

enum err config_parse(struct plan *plan, const char *name, char *text, struct buf *why)
{
    return config_file_parse(&(struct config_target){ begin_section, set, plan }, name, text, why);
}

enum err config_read(struct plan *plan, const char *path, struct buf *why)
{
    return config_file_read(&(struct config_target){ begin_section, set, plan }, path, why);
}
