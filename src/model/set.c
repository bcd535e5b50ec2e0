/* A copy is one allocation: the set, its metrics, then all strings. */
#include "model/set.h"

#include <stdlib.h>
#include <string.h>

struct set_address set_address_of(const struct set *set)
{
    return (struct set_address){ set, set->name, set->metrics, set->size };
}

bool set_address_equal(const struct set_address *address, const struct set *set)
{
    return address->set == set && address->name == set->name && address->metrics == set->metrics
        && address->size == set->size;
}

static size_t text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
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

struct set *set_copy(const struct set *set)
{
    size_t strings = text_size(set->name) + text_size(set->instances);
    for (size_t i = 0; i < set->size; i++) {
        const struct metric *m = &set->metrics[i];
        strings += text_size(m->name) + text_size(m->unit) + text_size(m->help) + text_size(m->source);
    }
    struct set *copy = malloc(sizeof *copy + set->size * sizeof(struct metric) + strings);
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

static bool same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool metric_equal(const struct metric *a, const struct metric *b)
{
    return a->kind == b->kind && a->type == b->type && same(a->name, b->name) && same(a->unit, b->unit)
        && same(a->help, b->help) && same(a->source, b->source);
}

bool set_equal(const struct set *a, const struct set *b)
{
    if (a->size != b->size || !same(a->name, b->name) || !same(a->instances, b->instances))
        return false;
    for (size_t i = 0; i < a->size; i++)
        if (!metric_equal(&a->metrics[i], &b->metrics[i]))
            return false;
    return true;
}
