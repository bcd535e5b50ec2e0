/* From a choice, as it is written, to "sink-NAME-HASH" and back. */
#include "sinks/sink_worker_name.h"

#include <stdio.h>
#include <string.h>

#define PREFIX "sink-"

void sink_worker_name(const struct sink_choice *choice, char name[64])
{
    struct buf text;
    uint32_t hash = 2166136261u; /* FNV-1a of 32 bits: the names stand on disks, and must stay */
    buf_init(&text, 65536);
    sink_choice_write(choice, &text);
    for (size_t i = 0; i < text.size; i++)
        hash = (hash ^ (uint8_t)text.data[i]) * 16777619u;
    snprintf(name, 64, PREFIX "%.40s-%08x", choice->sink->name, hash);
    buf_clear(&text);
}

bool sink_worker_name_is_used(const char *name, const struct sink_choice *choices, size_t count)
{
    char wanted[64];
    for (size_t i = 0; i < count; i++) {
        sink_worker_name(&choices[i], wanted);
        if (strcmp(wanted, name) == 0)
            return true;
    }
    return strncmp(name, PREFIX, strlen(PREFIX)) != 0;
}
