/* Arbitrary cgroup paths, process titles and command lines, for every batch system. */
#include "jobs/job_source.h"
#include "jobs/slurm_node.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int fuzz_job_source(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t capacity)
{
    size_t size = strnlen(text, capacity);
    if (size == capacity)
        abort();
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            abort();
}

int fuzz_job_source(const uint8_t *data, size_t size)
{
    const struct job_source *source;
    struct job_source_facts facts;
    char id[JOB_ID_MAX] = "";
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    enum cgroup_kind place = job_source_classify(text, &source, &facts);
    if ((place == CGROUP_UNRELATED) != (source == NULL) || ((place == CGROUP_JOB || place == CGROUP_STEP) && !*facts.id))
        abort();
    if (place != CGROUP_UNRELATED) {
        check_text(facts.id, sizeof facts.id);
        check_text(facts.node, sizeof facts.node);
        check_text(facts.user, sizeof facts.user);
        check_text(facts.step, sizeof facts.step);
    }
    if (job_source_slurm.title(text, id))
        check_text(id, sizeof id);
    if (slurm_node_parse(text, size + 1, facts.node))
        check_text(facts.node, sizeof facts.node);
    free(text);
    return 0;
}
