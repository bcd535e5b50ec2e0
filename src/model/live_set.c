/* Sets are copied into one piece of memory: the set, its metrics, then all texts. */
#include "model/live_set.h"

#include <stdlib.h>
#include <string.h>

struct live_address live_address_of(const struct set *set)
{
    return (struct live_address){ set, set->name, set->metrics, set->size };
}

bool live_address_equal(const struct live_address *address, const struct set *set)
{
    return address->set == set && address->name == set->name && address->metrics == set->metrics
        && address->size == set->size;
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t metric_texts(const struct metric *metric)
{
    return text_size(metric->name) + text_size(metric->unit) + text_size(metric->help) + text_size(metric->source);
}

static const char *copy_text(char **at, const char *text)
{
    size_t size = text_size(text);
    if (!size)
        return NULL;
    char *copy = memcpy(*at, text, size);
    *at += size;
    return copy;
}

struct set *live_set_copy(const struct set *set)
{
    size_t texts = text_size(set->name) + text_size(set->instances);
    for (size_t i = 0; i < set->size; i++)
        texts += metric_texts(&set->metrics[i]);
    struct set *copy = malloc(sizeof *copy + set->size * sizeof(struct metric) + texts);
    if (!copy)
        return NULL;
    struct metric *metrics = (struct metric *)(copy + 1);
    char *at = (char *)(metrics + set->size);
    for (size_t i = 0; i < set->size; i++) {
        metrics[i] = set->metrics[i];
        metrics[i].name = copy_text(&at, set->metrics[i].name);
        metrics[i].unit = copy_text(&at, set->metrics[i].unit);
        metrics[i].help = copy_text(&at, set->metrics[i].help);
        metrics[i].source = copy_text(&at, set->metrics[i].source);
    }
    *copy = (struct set){ copy_text(&at, set->name), metrics, set->size, copy_text(&at, set->instances) };
    return copy;
}

void live_set_free(struct set **set)
{
    free(*set);
    *set = NULL;
}

static bool metric_equal(const struct metric *a, const struct metric *b)
{
    return a->kind == b->kind && a->type == b->type && strcmp(a->name, b->name) == 0 && strcmp(a->unit, b->unit) == 0;
}

bool live_set_equal(const struct set *a, const struct set *b)
{
    if (a->size != b->size || strcmp(a->name, b->name) != 0)
        return false;
    for (size_t i = 0; i < a->size; i++)
        if (!metric_equal(&a->metrics[i], &b->metrics[i]))
            return false;
    return true;
}
