/* The list of supported batch systems, one line each. */
#include "jobs/job_source.h"

#include <stdio.h>
#include <string.h>

const struct job_source *const job_sources[] = { &job_source_slurm, &job_source_oar, &job_source_pbs, NULL };

enum cgroup_kind job_source_classify(const char *path, const struct job_source **source, struct job_source_facts *facts)
{
    for (const struct job_source *const *s = job_sources; *s; s++) {
        *facts = (struct job_source_facts){ .uid = UINT32_MAX };
        enum cgroup_kind place = (*s)->place(path, facts);
        if (place != CGROUP_UNRELATED) {
            *source = *s;
            return place;
        }
    }
    *source = NULL;
    return CGROUP_UNRELATED;
}

/* The set of one name in a list; 0: unknown. */
static uint32_t sources_of_name(const char *name)
{
    uint32_t bit = 1;
    for (const struct job_source *const *s = job_sources; *s; s++, bit <<= 1)
        if (strcmp((*s)->name, name) == 0)
            return bit;
    return 0;
}

enum err job_sources_parse(const char *text, uint32_t *sources, char *unknown)
{
    uint32_t found = 0;
    for (const char *at = text + strspn(text, ", \t"); *at; at += strspn(at, ", \t")) {
        char name[JOB_SOURCE_NAME_MAX];
        size_t size = strcspn(at, ", \t");
        snprintf(name, sizeof name, "%.*s", (int)(size < sizeof name ? size : sizeof name), at);
        uint32_t one = strcmp(name, "all") == 0 ? JOB_SOURCES_ALL : sources_of_name(name);
        if (!one && strcmp(name, "none") != 0) {
            memcpy(unknown, name, sizeof name);
            return USAGE;
        }
        found |= one;
        at += size;
    }
    *sources = found;
    return OK;
}

void job_sources_write(struct buf *out, uint32_t sources)
{
    size_t before = out->size;
    if (sources == JOB_SOURCES_ALL) {
        buf_add_text(out, "all");
        return;
    }
    for (const struct job_source *const *s = job_sources; *s; s++)
        if (job_sources_have(sources, *s))
            buf_printf(out, "%s%s", out->size > before ? "," : "", (*s)->name);
    if (out->size == before)
        buf_add_text(out, "none");
}

bool job_sources_have(uint32_t sources, const struct job_source *source)
{
    return sources & sources_of_name(source->name);
}
