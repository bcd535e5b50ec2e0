/* Formats the bits that the merge has set (docs/merge.md). */
#include "report/usage_mark.h"

static const struct mark {
    unsigned kind;
    const char *sign, *text;
} marks[] = { /* in order of importance */
    { USAGE_WITH_OTHERS, "*", "* includes children or earlier executables of the process, which could not be separated" },
    { USAGE_ESTIMATED, "~", "~ part of the CPU time is estimated" },
};

static const struct mark *mark_of(unsigned sources)
{
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
        if (sources & marks[i].kind)
            return &marks[i];
    return NULL;
}

unsigned usage_mark_kind(unsigned sources)
{
    const struct mark *mark = mark_of(sources);
    return mark ? mark->kind : 0;
}

const char *usage_mark(unsigned sources)
{
    const struct mark *mark = mark_of(sources);
    return mark ? mark->sign : "";
}

const char *usage_mark_next(unsigned kinds, size_t *at)
{
    while (*at < sizeof marks / sizeof *marks) {
        const struct mark *mark = &marks[(*at)++];
        if (kinds & mark->kind)
            return mark->text;
    }
    return NULL;
}

void usage_mark_json(struct json *json, unsigned sources)
{
    if (sources & USAGE_WITH_OTHERS)
        json_field_bool(json, "with_others", true);
    if (sources & USAGE_ESTIMATED)
        json_field_bool(json, "estimated", true);
}
