/* The layout of LDMS's ldms_ls, so that existing scripts can parse it. */
#include "report/ls.h"

#include "base/clock.h"
#include "base/utf8.h"
#include "compat/ldms/names.h"

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

const char *ls_schema(const struct sets_item *item, enum ls_form form)
{
    return form == LS_LDMS ? ldms_set_name(item->schema->name) : item->schema->name;
}

static void add_part(struct buf *out, const char *text)
{
    buf_add_char(out, '/');
    utf8_add_safe(out, bytes_of(text), true);
}

void ls_name(struct buf *out, const struct sets_answer *sets, const struct sets_item *item, enum ls_form form)
{
    utf8_add_safe(out, bytes_of(item->producer ? item->producer : item->host ? item->host : sets->host), true);
    if (item->job)
        add_part(out, item->job);
    add_part(out, ls_schema(item, form));
    if (*item->instance)
        add_part(out, item->instance);
}

/* LDMS's widths, or more for longer names. */
struct widths {
    int schema, instance;
};

static struct widths measure(const struct sets_answer *sets, const bool *chosen, enum ls_form form)
{
    struct widths widths = { 14, 24 };
    struct buf name;
    buf_init(&name, 4096);
    for (size_t i = 0; i < sets->count; i++) {
        if (!chosen[i])
            continue;
        buf_reset(&name);
        ls_name(&name, sets, &sets->items[i], form);
        int schema = (int)strlen(ls_schema(&sets->items[i], form));
        widths.schema = schema > widths.schema ? schema : widths.schema;
        widths.instance = (int)name.size > widths.instance ? (int)name.size : widths.instance;
    }
    buf_clear(&name);
    return widths;
}

static void add_line(struct buf *out, struct widths widths)
{
    for (int i = 0; i < widths.schema; i++)
        buf_add_char(out, '-');
    buf_add_char(out, ' ');
    for (int i = 0; i < widths.instance; i++)
        buf_add_char(out, '-');
    buf_add_text(out, " ------ ------ ------ ------ ------ ------ ---------- ----------------- ----------------- --------\n");
}

static void add_head(struct buf *out, struct widths widths)
{
    buf_printf(out, "%-*s %-*s %6s %6s %6s %6s %6s %6s %10s %17s %17s %s\n", widths.schema, "Schema", widths.instance, "Instance",
               "Flags", "Msize", "Dsize", "Hsize", "UID", "GID", "Perm", "Update", "Duration", "Info");
    add_line(out, widths);
}

/* Size of the descriptions, which are sent once. */
static size_t description_bytes(const struct set *schema)
{
    size_t bytes = sizeof *schema + strlen(schema->name) + 1;
    for (size_t i = 0; schema->metrics && i < schema->size; i++)
        bytes += sizeof *schema->metrics + strlen(schema->metrics[i].name) + strlen(schema->metrics[i].unit)
            + strlen(schema->metrics[i].help) + 3;
    return bytes;
}

static size_t value_bytes(const struct set *schema)
{
    return schema->size * (sizeof(union value) + 1);
}

/* Only the owner can see jobs, everybody can see the node, whose sets belong to the user of the agent. */
static void add_owner(struct buf *out, const struct sets_answer *sets, const struct sets_item *item)
{
    uint32_t uid = item->job ? item->uid : sets->uid, gid = item->job ? UINT32_MAX : sets->gid;
    const struct passwd *user = item->job && uid != UINT32_MAX ? getpwuid(uid) : NULL;
    char uid_text[16] = "-", gid_text[16] = "-";
    if (user)
        gid = user->pw_gid;
    if (uid != UINT32_MAX)
        snprintf(uid_text, sizeof uid_text, "%" PRIu32, uid);
    if (gid != UINT32_MAX)
        snprintf(gid_text, sizeof gid_text, "%" PRIu32, gid);
    buf_printf(out, "%6s %6s %10s", uid_text, gid_text, item->job ? "-r--------" : "-r--r--r--");
}

/* Sampling is aligned to multiples of the interval, so the offset of the hint is 0. A collector has measured the interval:
 * rounded to milliseconds it is the configured one. */
static void add_info(struct buf *out, const struct sets_item *item, enum ls_form form)
{
    uint64_t age_ns = item->time_ns > item->first_ns ? item->time_ns - item->first_ns : 0;
    uint64_t period_us = (item->period_ns + NS_PER_MS / 2) / NS_PER_MS * 1000;
    if (form == LS_LDMS && period_us)
        buf_printf(out, "\"updt_hint_us\"=\"%llu:0\"", (unsigned long long)period_us);
    else if (form == LS_OURS)
        buf_printf(out, "\"updates\"=\"%llu\" \"period\"=\"%lluus\" \"since\"=\"%llus\"",
                   (unsigned long long)item->updates, item->period_ns / NS_PER_US, age_ns / NS_PER_S);
    if (item->user) {
        buf_add_text(out, " \"user\"=\"");
        utf8_add_safe(out, bytes_of(item->user), true);
        buf_add_char(out, '"');
    }
    buf_add_char(out, '\n');
}

static void add_item(struct buf *out, const struct sets_answer *sets, const struct sets_item *item, enum ls_form form,
                     struct widths widths)
{
    struct buf name;
    buf_init(&name, 4096);
    ls_name(&name, sets, item, form);
    buf_printf(out, "%-*s %-*s %6s %6zu %6zu %6d ", widths.schema, ls_schema(item, form), widths.instance, buf_text(&name), "CR",
               description_bytes(item->schema), value_bytes(item->schema), 0);
    add_owner(out, sets, item);
    buf_printf(out, " %10llu.%06llu %10llu.%06llu ", item->time_ns / NS_PER_S, item->time_ns % NS_PER_S / NS_PER_US,
               item->read_ns / NS_PER_S, item->read_ns % NS_PER_S / NS_PER_US);
    add_info(out, item, form);
    buf_clear(&name);
}

static void add_sums(struct buf *out, const struct sets_answer *sets, const bool *chosen)
{
    size_t count = 0, descriptions = 0, values = 0;
    const struct set *schema = NULL;
    for (size_t i = 0; i < sets->count; i++) {
        if (!chosen[i])
            continue;
        count++;
        values += value_bytes(sets->items[i].schema);
        if (sets->items[i].schema != schema)
            descriptions += description_bytes(sets->items[i].schema);
        schema = sets->items[i].schema;
    }
    buf_printf(out, "Total Sets: %zu, Meta Data (kB): %.2f, Data (kB) %.2f, Memory (kB): %.2f\n", count,
               (double)descriptions / 1000, (double)values / 1000, (double)(descriptions + values) / 1000);
}

void ls_table(struct buf *out, const struct sets_answer *sets, const bool *chosen, enum ls_form form)
{
    struct widths widths = measure(sets, chosen, form);
    add_head(out, widths);
    for (size_t i = 0; i < sets->count; i++)
        if (chosen[i])
            add_item(out, sets, &sets->items[i], form, widths);
    add_line(out, widths);
    add_sums(out, sets, chosen);
}

/* "Sun Nov 15 18:29:07 2026 +0000 [1561us]" */
static void add_time(struct buf *out, uint64_t time_ns)
{
    time_t seconds = (time_t)(time_ns / NS_PER_S);
    struct tm local;
    char text[64] = "";
    if (localtime_r(&seconds, &local))
        strftime(text, sizeof text, "%a %b %d %H:%M:%S %Y %z", &local);
    buf_printf(out, "%s [%lluus]", text, time_ns % NS_PER_S / NS_PER_US);
}

static void add_value(struct buf *out, enum metric_type type, union value value)
{
    if (type == U64)
        buf_add_u64(out, value.u64);
    else if (type == I64)
        buf_printf(out, "%" PRId64, value.i64);
    else
        buf_printf(out, "%f", value.f64);
}

static void add_metric_name(struct buf *out, char sort, enum metric_type type, const char *name)
{
    static const char *const types[] = { [U64] = "u64", [I64] = "s64", [F64] = "d64" };
    struct buf safe;
    buf_init(&safe, 4096);
    utf8_add_safe(&safe, bytes_of(name), true);
    buf_printf(out, "%c %-12s %-42s ", sort, types[type], buf_text(&safe));
    buf_clear(&safe);
}

/* LDMS uses the kernel's names and units. */
static void add_metric(struct buf *out, const struct sets_item *item, size_t i, enum ls_form form)
{
    const struct metric *metric = &item->schema->metrics[i];
    union value value = item->values[i];
    struct ldms_unit unit = { strcmp(metric->unit, "1") == 0 ? "" : metric->unit, 1 };
    if (form == LS_LDMS)
        unit = ldms_unit_of(item->schema, metric);
    add_metric_name(out, 'D', metric->type, form == LS_LDMS && metric->source ? metric->source : metric->name);
    if (!item->known[i]) {
        buf_add_text(out, "-\n");
        return;
    }
    if (unit.divisor != 1)
        value.u64 /= unit.divisor;
    add_value(out, metric->type, value);
    if (*unit.name)
        buf_printf(out, " %s", unit.name);
    buf_add_char(out, '\n');
}

static void add_ldms_ids(struct buf *out, const struct sets_answer *sets, const struct sets_item *item)
{
    const char *host = item->host ? item->host : sets->host ? sets->host : "";
    const char *jobs = item->job_ids ? item->job_ids : item->job ? item->job : "";
    add_metric_name(out, 'M', U64, "component_id");
    buf_printf(out, "%" PRIu64 "\n", ldms_component(host));
    add_metric_name(out, 'D', U64, "job_id");
    utf8_add_safe(out, bytes_of(*jobs ? jobs : "0"), true);
    buf_add_char(out, '\n');
    add_metric_name(out, 'D', U64, "app_id");
    buf_add_text(out, "0\n");
}

void ls_values(struct buf *out, const struct sets_answer *sets, const struct sets_item *item, enum ls_form form)
{
    ls_name(out, sets, item, form);
    buf_add_text(out, ": consistent, last update: ");
    add_time(out, item->time_ns);
    buf_add_text(out, " \n");
    if (form == LS_LDMS)
        add_ldms_ids(out, sets, item);
    for (size_t i = 0; item->values && i < item->schema->size; i++)
        add_metric(out, item, i, form);
    buf_add_char(out, '\n');
}
