/* Paths of cgroups and titles of processes with any content, for every batch system. */
#include "jobs/source.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

int fuzz_source(const uint8_t *data, size_t size);

static void check_text(const char *text, size_t room)
{
    size_t size = strnlen(text, room);
    if (size == room)
        abort();
    for (size_t i = 0; i < size; i++)
        if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
            abort();
}

int fuzz_source(const uint8_t *data, size_t size)
{
    const struct job_source *source;
    struct source_facts facts;
    char id[ID_MAX] = "";
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    enum source_place place = source_place(text, &source, &facts);
    if ((place == PLACE_NONE) != (source == NULL) || ((place == PLACE_JOB || place == PLACE_STEP) && !*facts.id))
        abort();
    if (place != PLACE_NONE) {
        check_text(facts.id, sizeof facts.id);
        check_text(facts.node, sizeof facts.node);
        check_text(facts.user, sizeof facts.user);
        check_text(facts.step, sizeof facts.step);
    }
    if (job_source_slurm.title(text, id))
        check_text(id, sizeof id);
    free(text);
    return 0;
}
