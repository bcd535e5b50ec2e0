/* Prints doctor's findings as text and as JSON. */
#include "doctor/doctor.h"

#include "base/format.h"
#include "net/json.h"
#include "report/page.h"

#include <string.h>
#include <unistd.h>

#define NAME_COLUMNS 19
#define TEXT_AT (2 + 2 + NAME_COLUMNS) /* indent, mark and space, name */
#define FIX_COLUMNS 5 /* "Fix: " */

/* Leaves out what is unknown. */
static void print_head(struct page *page, const struct doctor *doctor)
{
    const struct host_facts *host = &doctor->host;
    const struct limits *limits = &doctor->limits;
    buf_printf(page->out, "Sonde %s on %s, Linux %s, as %s\n", SONDE_VERSION, host->name, host->kernel,
               geteuid() ? "a user" : "root");
    if (host->cpu_model[0])
        buf_printf(page->out, "%s\n", host->cpu_model);
    if (limits->cores_milli && host->cores)
        buf_printf(page->out, "Limits: %s of %s cores", format_milli(limits->cores_milli).s,
                   format_count(host->cores).s);
    if (limits->memory_bytes && host->memory_bytes)
        buf_printf(page->out, ", %s of %s memory", format_bytes(limits->memory_bytes).s,
                   format_bytes(host->memory_bytes).s);
    buf_add_char(page->out, '\n');
}

static void print_mark(struct page *page, const struct finding *finding)
{
    const struct terminal *terminal = &page->terminal;
    page_spaces(page, PAGE_INDENT);
    if (finding->there)
        terminal_add(page->out, terminal, GREEN, terminal_sign(terminal, "✓", "+"));
    else if (finding->essential)
        terminal_add(page->out, terminal, RED, terminal_sign(terminal, "✗", "X"));
    else
        terminal_add(page->out, terminal, YELLOW, terminal_sign(terminal, "–", "-"));
    buf_printf(page->out, " %-*s", NAME_COLUMNS, finding->name);
}

static void print_finding(struct page *page, const struct finding *finding)
{
    print_mark(page, finding);
    page_wrap(page, PLAIN, bytes_of(finding->there ? finding->detail : finding->reason), TEXT_AT, TEXT_AT, 0);
    if (finding->there || !finding->fix[0])
        return;
    page_spaces(page, TEXT_AT);
    terminal_add(page->out, &page->terminal, BOLD, "Fix: ");
    page_wrap(page, PLAIN, bytes_of(finding->fix), TEXT_AT + FIX_COLUMNS, TEXT_AT + FIX_COLUMNS, 0);
}

void doctor_print(const struct doctor *doctor, const struct terminal *terminal, struct buf *out)
{
    struct page page;
    const char *group = "";
    page_init(&page, out, terminal);
    print_head(&page, doctor);
    for (size_t i = 0; i < doctor->count; i++) {
        if (strcmp(doctor->findings[i].group, group))
            page_heading(&page, doctor->findings[i].group);
        group = doctor->findings[i].group;
        print_finding(&page, &doctor->findings[i]);
    }
    buf_add_char(out, '\n');
    if (doctor_is_well(doctor))
        terminal_add(out, terminal, GREEN, "Everything essential works.");
    else
        terminal_add(out, terminal, RED, "Something essential does not work.");
    buf_add_char(out, '\n');
}

static void json_limit(struct json *json, const char *key, uint64_t value)
{
    if (value)
        json_field_u64(json, key, value);
}

static void json_host(struct json *json, const struct doctor *doctor)
{
    json_field_text(json, "host", doctor->host.name);
    json_field_text(json, "kernel", doctor->host.kernel);
    json_field_text(json, "cpu_model", doctor->host.cpu_model);
    json_limit(json, "cores", doctor->host.cores);
    json_limit(json, "memory_bytes", doctor->host.memory_bytes);
    json_limit(json, "cores_allowed_milli", doctor->limits.cores_milli);
    json_limit(json, "memory_limit_bytes", doctor->limits.memory_bytes);
    json_limit(json, "address_space_limit_bytes", doctor->limits.address_space_bytes);
}

/* JSON keeps the names of version 0.1.0, since scripts select findings by group and name. */
static const char *json_name(const char *name)
{
    static const struct {
        const char *printed, *json;
    } renamed[] = {
        { "Perf events (sonde run -e, agent sensor perf)", "Perf events (sonde run -e, the agent's perf)" },
        { "kernel events", "in the kernel" },
        { "eBPF", "in the kernel" },
        { "libc", "in libc" },
        { "default method", "in use" },
    };
    for (size_t i = 0; i < sizeof renamed / sizeof *renamed; i++)
        if (strcmp(name, renamed[i].printed) == 0)
            return renamed[i].json;
    return name;
}

static void json_finding(struct json *json, const struct finding *finding)
{
    json_begin_object(json);
    json_field_text(json, "group", json_name(finding->group));
    json_field_text(json, "name", json_name(finding->name));
    json_field_bool(json, "there", finding->there);
    json_field_bool(json, "essential", finding->essential);
    if (finding->there)
        json_field_text(json, "detail", finding->detail);
    else {
        json_field_text(json, "reason", finding->reason);
        json_field_text(json, "remedy", finding->fix);
    }
    json_end_object(json);
}

void doctor_json(const struct doctor *doctor, struct buf *out)
{
    struct json json;
    json_init(&json, out);
    json_begin_object(&json);
    json_field_text(&json, "version", SONDE_VERSION);
    json_field_bool(&json, "well", doctor_is_well(doctor));
    json_host(&json, doctor);
    json_key(&json, "modules"); /* kept for compatibility: always empty */
    json_begin_array(&json);
    json_end_array(&json);
    json_key(&json, "findings");
    json_begin_array(&json);
    for (size_t i = 0; i < doctor->count; i++)
        json_finding(&json, &doctor->findings[i]);
    json_end_array(&json);
    json_end_object(&json);
    json_end(&json);
}
