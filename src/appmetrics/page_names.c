/* Nearly all stand on the page under their own name and are found by it; only the others are in a table of their own. */
#include "appmetrics/page_names.h"

#include "model/prom_label.h"

#include <stdio.h>
#include <string.h>

#define LABEL "program_name"
#define TRIES 8 /* who wants to can make a name that is taken again and again */

/* Is the page "a{b=\"c\"," of the name "a{b=\"c\"}", or "a{" of "a"? */
static bool is_own(struct bytes page, struct bytes name)
{
    bool has_labels = name.size && name.data[name.size - 1] == '}';
    size_t same = has_labels ? name.size - 1 : name.size;
    return page.size == same + 1 && memcmp(page.data, name.data, same) == 0;
}

static struct bytes page_of(const struct program_metric *metric)
{
    return (struct bytes){ metric->page, metric->page_size };
}

static bool is_elsewhere(const struct program_metric *metric)
{
    return !is_own(page_of(metric), (struct bytes){ metric->name, metric->name_size });
}

static size_t place_of(struct bytes page)
{
    return program_table_hash(page) % PROGRAM_PAGES_HASH;
}

static bool has_elsewhere(const struct program_table *table, struct bytes page)
{
    const struct program_metric *metric = table->pages[place_of(page)];
    while (metric && !bytes_equal(page_of(metric), page))
        metric = metric->next_in_pages;
    return metric != NULL;
}

/* By the one who would have it as its own name: the last character is another there, or not there. */
static bool is_taken(const struct program_table *table, struct buf *page)
{
    struct bytes whole = { page->data, page->size };
    char last = page->data[page->size - 1];
    page->data[page->size - 1] = '}';
    const struct program_metric *metric = program_table_exact(table, (struct bytes){ page->data, page->size - (last == '{') });
    page->data[page->size - 1] = last;
    return (metric && bytes_equal(page_of(metric), whole)) || has_elsewhere(table, whole);
}

/* Values have no quotation mark without a backslash before it: only a label itself can look so. */
static bool has_label(const struct buf *page, const char *label)
{
    char text[128];
    size_t size = (size_t)snprintf(text, sizeof text, "%s=\"", label);
    for (const char *at = page->data; (at = memmem(at, page->size - (size_t)(at - page->data), text, size)); at++)
        if (at > page->data && strchr("{,", at[-1]))
            return true;
    return false;
}

static void add_whole_name(struct program_name *name)
{
    char label[TRIES * sizeof "program_" + sizeof LABEL] = LABEL;
    while (has_label(&name->page, label) && strlen(label) + sizeof "program_" < sizeof label) {
        memmove(label + strlen("program_"), label, strlen(label) + 1);
        memcpy(label, "program_", strlen("program_"));
    }
    bool is_first = name->page.data[name->page.size - 1] == '{';
    name->page.size--; /* the brace or comma comes again */
    metrics_label_add(&name->page, is_first, label, buf_text(&name->text));
    buf_add_char(&name->page, ',');
}

bool program_pages_make_own(const struct program_table *table, struct program_name *name)
{
    bool is_another = true;
    for (int i = 0; i < TRIES && !buf_err(&name->page) && (is_another = is_taken(table, &name->page)); i++)
        add_whole_name(name);
    return !is_another && !buf_err(&name->page);
}

void program_pages_add(struct program_table *table, struct program_metric *metric)
{
    if (!is_elsewhere(metric))
        return;
    struct program_metric **slot = &table->pages[place_of(page_of(metric))];
    metric->next_in_pages = *slot;
    *slot = metric;
}

void program_pages_remove(struct program_table *table, struct program_metric *metric)
{
    if (!is_elsewhere(metric))
        return;
    struct program_metric **at = &table->pages[place_of(page_of(metric))];
    while (*at != metric)
        at = &(*at)->next_in_pages;
    *at = metric->next_in_pages;
}
