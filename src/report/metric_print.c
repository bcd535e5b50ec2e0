/* One table of columns, printed in four formats. */
#include "report/metric_print.h"

#include "base/utf8.h"
#include "compat/tau/python_text.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

#define FIELDS_MAX 20
#define BULLET_COLUMNS 3
#define TITLE_LIST "List of tau_metric_exporter Metrics"
#define TITLE_VALUES "List of tau_metric_exporter Values"

struct print_field {
    const char *key;
    const char *text; /* NULL: a number */
    double number;
    bool is_raw; /* the text is valid JSON and YAML */
};

static size_t add_optional(struct print_field fields[FIELDS_MAX], size_t count, const struct metric_item *item)
{
    if (*item->unit)
        fields[count++] = (struct print_field){ "unit", item->unit, 0 };
    if (item->job)
        fields[count++] = (struct print_field){ "job", item->job, 0 };
    if (item->user)
        fields[count++] = (struct print_field){ "user", item->user, 0 };
    for (size_t i = 0; i < METRIC_LIST_SPREAD; i++)
        if (!isnan(item->spread[i]))
            fields[count++] = (struct print_field){ metric_list_spread_names[i], NULL, item->spread[i] };
    if (item->buckets)
        fields[count++] = (struct print_field){ .key = "buckets", .text = item->buckets, .is_raw = true };
    return count;
}

static size_t fields_of(struct print_field fields[FIELDS_MAX], const struct metric_item *item, enum metric_columns columns)
{
    size_t count = 0;
    fields[count++] = (struct print_field){ "name", item->name, 0 };
    if (columns != METRIC_VALUES) {
        fields[count++] = (struct print_field){ "doc", item->doc, 0 };
        fields[count++] = (struct print_field){ "type", metric_list_type_name(item->type), 0 };
    }
    if (columns != METRIC_DESCRIPTIONS) {
        fields[count++] = (struct print_field){ "ts", NULL, item->ts_s };
        fields[count++] = (struct print_field){ "value", NULL, item->value };
    }
    return columns == METRIC_ALL ? add_optional(fields, count, item) : count;
}

static void add_json(struct buf *out, const struct metric_item *item, enum metric_columns columns, const char *before,
                     const char *between, const char *after)
{
    struct print_field fields[FIELDS_MAX];
    size_t count = fields_of(fields, item, columns);
    buf_add_char(out, '{');
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%s\"%s\": ", i ? between : before, fields[i].key);
        if (fields[i].is_raw)
            buf_add_text(out, fields[i].text);
        else if (fields[i].text)
            python_text_json(out, fields[i].text);
        else
            python_text_json_float(out, fields[i].number);
    }
    buf_printf(out, "%s}", after);
}

void metric_print_json(struct buf *out, const struct metric_item *item, enum metric_columns columns)
{
    add_json(out, item, columns, "", ", ", "");
}

/* yaml.dump sorts the keys. */
static void sort(struct print_field *fields, size_t count)
{
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && strcmp(fields[k - 1].key, fields[k].key) > 0; k--) {
            struct print_field kept = fields[k];
            fields[k] = fields[k - 1];
            fields[k - 1] = kept;
        }
}

void metric_print_yaml(struct buf *out, const struct metric_item *item, enum metric_columns columns, size_t indent)
{
    struct print_field fields[FIELDS_MAX];
    size_t count = fields_of(fields, item, columns);
    sort(fields, count);
    for (size_t i = 0; i < count; i++) {
        buf_printf(out, "%*s%s: ", i ? (int)indent : 0, "", fields[i].key);
        if (fields[i].is_raw)
            buf_add_text(out, fields[i].text);
        else if (fields[i].text)
            python_text_yaml(out, fields[i].text);
        else
            python_text_yaml_float(out, fields[i].number);
        buf_add_char(out, '\n');
    }
}

void metric_print_txt_title(struct buf *out, enum metric_columns columns)
{
    static const char *const titles[] = { "# name doc type\n", "# name ts value\n", "# name doc type ts value\n" };
    buf_add_text(out, titles[columns]);
}

/* A line break would split the line, so strings are escaped. */
void metric_print_txt(struct buf *out, const struct metric_item *item, enum metric_columns columns)
{
    struct print_field fields[FIELDS_MAX];
    size_t count = fields_of(fields, item, columns);
    for (size_t i = 0; i < count; i++) {
        const char *text = fields[i].text, *quote = text && strchr(text, ' ') ? "\"" : "";
        if (columns == METRIC_ALL && i > 4)
            buf_printf(out, "%s=", fields[i].key);
        buf_add_text(out, quote);
        if (text)
            utf8_add_safe(out, bytes_of(text), true);
        else
            python_text_float(out, fields[i].number);
        buf_printf(out, "%s ", quote);
    }
    buf_add_char(out, '\n');
}

/* A bullet whose words are wrapped and whose lines are padded to the width, as Python's rich does. */
struct bullet {
    struct buf *out;
    const struct terminal *terminal;
    size_t column;
};

static void fill_line(const struct bullet *bullet)
{
    if (bullet->terminal->width != METRIC_NO_WIDTH && bullet->column < bullet->terminal->width)
        buf_printf(bullet->out, "%*s", (int)(bullet->terminal->width - bullet->column), "");
}

static void begin_line(struct bullet *bullet)
{
    fill_line(bullet);
    buf_printf(bullet->out, "\n%*s", BULLET_COLUMNS, "");
    bullet->column = BULLET_COLUMNS;
}

/* How much of a word fits on a line of its own. */
static size_t piece_of(const struct bullet *bullet, struct bytes word)
{
    size_t size = word.size, columns = bullet->terminal->width - BULLET_COLUMNS;
    while (size > 1 && utf8_columns((struct bytes){ word.data, size }, bullet->terminal->utf8) > columns)
        do
            size--;
        while (size > 1 && ((unsigned char)word.data[size] & 0xc0) == 0x80);
    return size;
}

static void add_word(struct bullet *bullet, struct bytes word, enum colour colour)
{
    size_t columns = utf8_columns(word, bullet->terminal->utf8), piece = piece_of(bullet, word);
    size_t gap = bullet->column > BULLET_COLUMNS;
    if (bullet->column + gap + columns > bullet->terminal->width && gap) {
        begin_line(bullet);
        gap = 0;
    }
    if (gap)
        buf_add_char(bullet->out, ' ');
    for (; piece < word.size; piece = piece_of(bullet, word)) {
        add_word(bullet, (struct bytes){ word.data, piece }, colour);
        begin_line(bullet);
        word = (struct bytes){ word.data + piece, word.size - piece };
        columns = utf8_columns(word, bullet->terminal->utf8);
    }
    buf_add_text(bullet->out, terminal_colour(bullet->terminal, colour));
    utf8_add_safe(bullet->out, word, bullet->terminal->utf8);
    buf_add_text(bullet->out, colour == PLAIN ? "" : terminal_colour(bullet->terminal, PLAIN));
    bullet->column += gap + columns;
}

static void add_wrapped(struct bullet *bullet, const char *text, enum colour colour)
{
    while (*text) {
        size_t size = strcspn(text, " ");
        if (size)
            add_word(bullet, (struct bytes){ text, size }, colour);
        text += size + (text[size] == ' ');
    }
}

static void add_number(struct bullet *bullet, double number, enum colour colour)
{
    struct buf text;
    buf_init(&text, 64);
    python_text_float(&text, number);
    add_word(bullet, (struct bytes){ buf_text(&text), text.size }, colour);
    buf_clear(&text);
}

static void add_spread(struct bullet *bullet, const struct metric_item *item)
{
    struct print_field fields[FIELDS_MAX];
    size_t count = add_optional(fields, 0, item);
    for (size_t i = 0; i < count; i++) {
        add_wrapped(bullet, fields[i].key, FAINT);
        if (fields[i].text)
            add_wrapped(bullet, fields[i].text, PLAIN);
        else
            add_number(bullet, fields[i].number, PLAIN);
    }
}

/* For a histogram the sum alone is not enough; tau has no histograms, so there is no format to imitate. */
static void add_histogram(struct bullet *bullet, const struct metric_item *item)
{
    static const size_t shown[] = { METRIC_LIST_COUNT, METRIC_LIST_MEAN, METRIC_LIST_P50, METRIC_LIST_P90, METRIC_LIST_P99 };
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (isnan(item->spread[shown[i]]))
            continue;
        add_wrapped(bullet, metric_list_spread_names[shown[i]], FAINT);
        add_number(bullet, item->spread[shown[i]], PLAIN);
    }
}

void metric_print_md(struct buf *out, const struct metric_item *item, enum metric_columns columns,
                     const struct terminal *terminal)
{
    struct bullet bullet = { out, terminal, BULLET_COLUMNS };
    bool is_listed = columns != METRIC_VALUES;
    char type[64];
    buf_printf(out, " %s ", terminal_sign(terminal, "•", "*"));
    add_wrapped(&bullet, item->name, is_listed ? BOLD : PLAIN);
    if (is_listed) {
        snprintf(type, sizeof type, "(%s)", metric_list_type_name(item->type));
        add_wrapped(&bullet, type, PLAIN);
        add_wrapped(&bullet, ":", PLAIN);
        add_wrapped(&bullet, item->doc, PLAIN);
    }
    if (columns != METRIC_DESCRIPTIONS) {
        add_wrapped(&bullet, "=", PLAIN);
        add_number(&bullet, item->value, BOLD);
        add_wrapped(&bullet, "@", PLAIN);
        add_number(&bullet, item->ts_s, PLAIN);
    }
    if (columns == METRIC_ALL)
        add_spread(&bullet, item);
    else if (columns == METRIC_VALUES && item->type == METRIC_LIST_HISTOGRAM)
        add_histogram(&bullet, item);
    fill_line(&bullet);
    buf_add_char(out, '\n');
}

static void add_repeated(struct buf *out, const char *sign, size_t count)
{
    while (count--)
        buf_add_text(out, sign);
}

static void add_heading(struct buf *out, const char *title, const struct terminal *terminal)
{
    size_t inside = terminal->width - 2, size = strlen(title), left = (inside - size) / 2;
    const char *line = terminal_sign(terminal, "━", "-"), *side = terminal_sign(terminal, "┃", "|");
    buf_add_text(out, terminal_sign(terminal, "┏", "+"));
    add_repeated(out, line, inside);
    buf_printf(out, "%s\n%s", terminal_sign(terminal, "┓", "+"), side);
    add_repeated(out, " ", left);
    terminal_add(out, terminal, BOLD, title);
    add_repeated(out, " ", inside - size - left);
    buf_printf(out, "%s\n%s", side, terminal_sign(terminal, "┗", "+"));
    add_repeated(out, line, inside);
    buf_printf(out, "%s\n\n", terminal_sign(terminal, "┛", "+"));
}

static void print_json(struct buf *out, const struct metric_list *list, enum metric_columns columns)
{
    buf_add_char(out, '[');
    for (size_t i = 0; i < list->count; i++) {
        buf_add_text(out, i ? ",\n    " : "\n    ");
        add_json(out, &list->items[i], columns, "\n        ", ",\n        ", "\n    ");
    }
    buf_add_text(out, list->count ? "\n]\n" : "]\n");
}

/* print() adds a line break to that of yaml.dump. */
static void print_yaml(struct buf *out, const struct metric_list *list, enum metric_columns columns)
{
    for (size_t i = 0; i < list->count; i++) {
        buf_add_text(out, "- ");
        metric_print_yaml(out, &list->items[i], columns, 2);
    }
    buf_add_text(out, list->count ? "\n" : "[]\n\n");
}

static void print_txt(struct buf *out, const struct metric_list *list, enum metric_columns columns)
{
    if (list->count)
        metric_print_txt_title(out, columns);
    for (size_t i = 0; i < list->count; i++)
        metric_print_txt(out, &list->items[i], columns);
}

void metric_print(struct buf *out, const struct metric_list *list, enum metric_columns columns,
                  enum metric_format format, const struct terminal *terminal)
{
    if (format == METRIC_JSON)
        print_json(out, list, columns);
    else if (format == METRIC_YAML)
        print_yaml(out, list, columns);
    else if (format == METRIC_TXT)
        print_txt(out, list, columns);
    else {
        add_heading(out, columns == METRIC_DESCRIPTIONS ? TITLE_LIST : TITLE_VALUES, terminal);
        for (size_t i = 0; i < list->count; i++)
            metric_print_md(out, &list->items[i], columns, terminal);
    }
}
