/* A small parser of Prometheus's names and labels. What it cannot parse is wrapped in a label, not refused. */
#include "appmetrics/metric_name.h"

#include "model/prom_label.h"

#include <string.h>

#define BASE_MAX 200u /* of a name that was replaced */

struct name_label {
    struct bytes name;
    size_t value_at; /* in values; ended by NUL */
};

struct name_labels {
    struct name_label list[METRIC_LABELS_MAX];
    size_t count;
    struct buf values;
};

void metric_name_init(struct metric_name *name)
{
    *name = (struct metric_name){ 0 };
    buf_init(&name->text, METRIC_NAME_MAX * 8);
    buf_init(&name->page, METRIC_NAME_MAX * 8);
}

void metric_name_clear(struct metric_name *name)
{
    buf_clear(&name->text);
    buf_clear(&name->page);
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name_char(char c, bool is_first)
{
    return is_letter(c) || c == ':' || (!is_first && c >= '0' && c <= '9');
}

static struct bytes skip(struct bytes text, size_t size)
{
    return (struct bytes){ text.data + size, text.size - size };
}

static struct bytes skip_blanks(struct bytes text)
{
    while (text.size && *text.data == ' ')
        text = skip(text, 1);
    return text;
}

static size_t base_of(struct bytes raw)
{
    size_t size = 0;
    while (size < raw.size && is_name_char(raw.data[size], size == 0))
        size++;
    return size;
}

/* After the opening quotation mark: the value without its escapes. False: it is not terminated. */
static bool read_quoted(struct bytes *text, struct buf *out)
{
    size_t i = 0;
    for (; i < text->size && text->data[i] != '"'; i++) {
        char c = text->data[i];
        if (c == '\\' && i + 1 < text->size) {
            char next = text->data[++i];
            c = next == 'n' ? '\n' : next;
        }
        if (c == '\0')
            return false;
        buf_add_char(out, c);
    }
    if (i == text->size)
        return false;
    *text = skip(*text, i + 1);
    return true;
}

/* a{b=c}: as the client of tau accepts it from people. */
static bool read_bare(struct bytes *text, struct buf *out)
{
    size_t size = 0;
    while (size < text->size && text->data[size] != ',' && text->data[size] != '}')
        size++;
    if (size == 0 || size == text->size || memchr(text->data, '"', size) || memchr(text->data, '\0', size))
        return false;
    buf_add(out, text->data, size);
    *text = skip(*text, size);
    return true;
}

static bool read_label(struct bytes *text, struct name_labels *labels)
{
    size_t size = 0;
    *text = skip_blanks(*text);
    while (size < text->size && is_name_char(text->data[size], size == 0) && text->data[size] != ':')
        size++;
    if (size == 0 || labels->count == METRIC_LABELS_MAX)
        return false;
    struct name_label *label = &labels->list[labels->count++];
    *label = (struct name_label){ { text->data, size }, labels->values.size };
    *text = skip_blanks(skip(*text, size));
    if (text->size < 2 || *text->data != '=')
        return false;
    *text = skip_blanks(skip(*text, 1));
    bool is_quoted = text->size && *text->data == '"';
    if (is_quoted)
        *text = skip(*text, 1);
    if (!(is_quoted ? read_quoted(text, &labels->values) : read_bare(text, &labels->values)))
        return false;
    buf_add_char(&labels->values, '\0');
    *text = skip_blanks(*text);
    return true;
}

/* "{a=\"b\",c=\"d\"}" and nothing after it. */
static bool read_labels(struct bytes text, struct name_labels *labels)
{
    text = skip(text, 1);
    while (text.size && *text.data != '}') {
        if (!read_label(&text, labels))
            return false;
        if (text.size && *text.data == ',')
            text = skip(text, 1);
        else if (!text.size || *text.data != '}')
            return false;
    }
    return text.size == 1;
}

static int compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.data, b.data, a.size < b.size ? a.size : b.size);
    return order ? order : a.size < b.size ? -1 : a.size > b.size;
}

/* By name. False: one is there twice. */
static bool sort_labels(struct name_labels *labels)
{
    for (size_t i = 1; i < labels->count; i++) {
        struct name_label label = labels->list[i];
        size_t at = i;
        for (; at > 0 && compare(labels->list[at - 1].name, label.name) > 0; at--)
            labels->list[at] = labels->list[at - 1];
        labels->list[at] = label;
        if (at > 0 && compare(labels->list[at - 1].name, label.name) == 0)
            return false;
    }
    return true;
}

static bool has_label(const struct name_labels *labels, struct bytes name, size_t prefix)
{
    for (size_t i = 0; i < labels->count; i++) {
        struct bytes other = labels->list[i].name;
        if (other.size == prefix + name.size && memcmp(other.data, "program_", prefix) == 0
            && memcmp(other.data + prefix, name.data, name.size) == 0)
            return true;
    }
    return false;
}

/* Labels that are ours, "le" of histograms, and "__name__", for which Prometheus would reject the whole page. */
static bool is_taken(struct bytes name)
{
    static const char *const taken[] = { "job", "user", "host", "le", "__name__" };
    for (size_t i = 0; i < sizeof taken / sizeof *taken; i++)
        if (bytes_equal(name, bytes_of(taken[i])))
            return true;
    return false;
}

/* Would the series have a label twice on the page? */
static bool is_clash(const struct name_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++)
        if (is_taken(labels->list[i].name) && has_label(labels, labels->list[i].name, strlen("program_")))
            return true;
    return false;
}

static void add_label(struct buf *out, bool is_first, bool is_renamed, struct bytes name, const char *value)
{
    char text[METRIC_NAME_MAX];
    size_t prefix = is_renamed ? strlen("program_") : 0;
    if (prefix + name.size >= sizeof text)
        return;
    memcpy(text, "program_", prefix);
    memcpy(text + prefix, name.data, name.size);
    text[prefix + name.size] = '\0';
    prom_label_add(out, is_first, text, value);
}

static void write_base(struct metric_name *name, struct bytes base)
{
    bool is_ours = base.size >= 6 && memcmp(base.data, "sonde_", 6) == 0;
    buf_add(&name->text, base.data, base.size);
    if (is_ours)
        buf_add_text(&name->page, "program_");
    buf_add(&name->page, base.data, base.size);
    name->base_size = base.size;
    name->page_base_size = name->page.size;
}

/* Prometheus takes an empty label for none: it is left out on the page, where two series would otherwise be one. */
static void write_labels(struct metric_name *name, const struct name_labels *labels)
{
    bool is_first = true;
    for (size_t i = 0; i < labels->count; i++) {
        const struct name_label *label = &labels->list[i];
        const char *value = labels->values.data + label->value_at;
        add_label(&name->text, i == 0, false, label->name, value);
        if (!*value)
            continue;
        add_label(&name->page, is_first, is_taken(label->name), label->name, value);
        is_first = false;
    }
    if (labels->count)
        buf_add_char(&name->text, '}');
    buf_add_char(&name->page, is_first ? '{' : ',');
}

/* The valid characters before '{', and the whole in a label. */
static void wrap(struct metric_name *name, struct bytes raw)
{
    char base[BASE_MAX + 1] = "unnamed", whole[METRIC_NAME_MAX + 1];
    size_t size = 0;
    for (; size < raw.size && size < BASE_MAX && raw.data[size] != '{'; size++)
        base[size] = is_name_char(raw.data[size], size == 0) ? raw.data[size] : '_';
    for (size_t i = 0; i < raw.size; i++)
        whole[i] = raw.data[i] ? raw.data[i] : ' ';
    whole[raw.size] = '\0';
    write_base(name, (struct bytes){ base, size ? size : strlen("unnamed") });
    add_label(&name->text, true, false, bytes_of("program_name"), whole);
    add_label(&name->page, true, false, bytes_of("program_name"), whole);
    buf_add_char(&name->text, '}');
    buf_add_char(&name->page, ',');
}

enum err metric_name_parse(struct metric_name *name, struct bytes raw)
{
    struct name_labels labels = { .count = 0 };
    buf_reset(&name->text);
    buf_reset(&name->page);
    if (raw.size == 0 || raw.size > METRIC_NAME_MAX)
        return raw.size ? FULL : USAGE;
    buf_init(&labels.values, METRIC_NAME_MAX * 2);
    size_t base = base_of(raw);
    bool is_good = base && (base == raw.size || (raw.data[base] == '{' && read_labels(skip(raw, base), &labels)))
                   && sort_labels(&labels) && !is_clash(&labels) && !buf_err(&labels.values);
    if (is_good) {
        write_base(name, (struct bytes){ raw.data, base });
        write_labels(name, &labels);
    } else {
        wrap(name, raw);
    }
    buf_clear(&labels.values);
    return buf_err(&name->text) ? buf_err(&name->text) : buf_err(&name->page);
}
