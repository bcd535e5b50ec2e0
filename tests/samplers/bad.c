/* Damaged input for every sampler of /proc and /sys: lines missing, added or reordered, huge and negative numbers,
 * truncated, empty and binary files. Every reported value must be that of the good file, or be missing. */
#include "samplers/all.h"
#include "tools/node.h"
#include "tools/temp.h"
#include "tools/unit.h"

#include "base/file.h"

#include <unistd.h>

#define FILES_MAX 16
#define TEXT_MAX (1u << 20)
#define TRUTHS_MAX 4096

static const struct row {
    const struct sampler *sampler;
    const char *files[FILES_MAX];
    size_t head;      /* header lines that are left intact */
    bool one_number;  /* files contain one number: an added line is damage */
} rows[] = {
    { &sampler_meminfo, { "proc/meminfo" }, 0, false },
    { &sampler_vmstat, { "proc/vmstat" }, 0, false },
    { &sampler_stat, { "proc/stat" }, 0, false },
    { &sampler_loadavg, { "proc/loadavg" }, 1, false },
    { &sampler_interrupts, { "proc/interrupts" }, 1, false },
    { &sampler_diskstats, { "proc/diskstats" }, 0, false },
    { &sampler_netdev, { "proc/net/dev" }, 2, false },
    { &sampler_pressure, { "proc/pressure/cpu", "proc/pressure/memory", "proc/pressure/io", "proc/pressure/irq" }, 0, false },
    { &sampler_schedstat, { "proc/schedstat" }, 1, false },
    { &sampler_numa, { "sys/devices/system/node/node0/numastat", "sys/devices/system/node/node0/meminfo",
                       "sys/devices/system/node/node1/numastat", "sys/devices/system/node/node1/meminfo" }, 0, false },
    { &sampler_edac, { "sys/devices/system/edac/mc/mc0/ce_count", "sys/devices/system/edac/mc/mc0/ue_count",
                       "sys/devices/system/edac/mc/mc1/ce_count", "sys/devices/system/edac/mc/mc0/dimm0/dimm_ce_count",
                       "sys/devices/system/edac/mc/mc0/dimm0/dimm_ue_count" }, 0, true },
    { &sampler_nfs, { "proc/net/rpc/nfs" }, 0, false },
    { &sampler_self, { "proc/self/statm", "proc/self/io" }, 1, false },
};
#define ROWS (sizeof rows / sizeof *rows)

static char good[FILES_MAX][TEXT_MAX], bad[TEXT_MAX];
static char root[TEMP_PATH_MAX];

/* The values of the good files. */
static struct truth {
    const char *set;
    char instance[128], metric[64];
    uint64_t bits;
} truths[TRUTHS_MAX];
static size_t truth_count;

/* --- ways to damage a file; the result has capacity for TEXT_MAX --- */

static const char *skip_lines(const char *text, size_t lines)
{
    while (lines-- && strchr(text, '\n'))
        text = strchr(text, '\n') + 1;
    return text;
}

static void add(const char *text, size_t size)
{
    size_t used = strlen(bad);
    assert_true(used + size < TEXT_MAX);
    memcpy(bad + used, text, size);
    bad[used + size] = '\0';
}

static void add_head(const char *text, size_t head)
{
    bad[0] = '\0';
    add(text, (size_t)(skip_lines(text, head) - text));
}

static size_t line_size(const char *line)
{
    return strcspn(line, "\n") + (line[strcspn(line, "\n")] == '\n');
}

static void spoil_missing(const char *text, size_t head)
{
    add_head(text, head);
    size_t n = 0;
    for (const char *line = skip_lines(text, head); *line; line += line_size(line))
        if (n++ % 2)
            add(line, line_size(line));
}

static void spoil_added(const char *text, size_t head)
{
    static const char news[] = "zzz_new 17\nZzzNew:        7 kB\n 4711:  1 2 3 4  zzz\n\n\t\x01\xff\x80 5\n: 9\n";
    add_head(text, head);
    for (const char *line = skip_lines(text, head); *line; line += line_size(line)) {
        add(line, line_size(line));
        add(news, sizeof news - 1);
    }
}

static void spoil_order(const char *text, size_t head)
{
    add_head(text, head);
    const char *begin = skip_lines(text, head), *end = text + strlen(text);
    while (end > begin) {
        const char *line = end - 1;
        while (line > begin && line[-1] != '\n')
            line--;
        add(line, (size_t)(end - line));
        end = line;
    }
}

/* Prefixes each number with before, or replaces it by digits. */
static void spoil_numbers(const char *text, const char *before, const char *digits)
{
    bad[0] = '\0';
    for (const char *at = text; *at;) {
        size_t size = strspn(at, "0123456789");
        bool alone = size && at > text && strchr(" =:\t", at[-1]) && strchr(" \n", at[size]);
        alone |= size && at == text && strchr(" \n", at[size]);
        if (alone)
            add(before, strlen(before));
        add(alone && digits ? digits : at, alone && digits ? strlen(digits) : size ? size : 1);
        at += size ? size : 1;
    }
}

static void spoil_huge(const char *text, size_t head)
{
    (void)head;
    spoil_numbers(text, "", "99999999999999999999999");
}

static void spoil_negative(const char *text, size_t head)
{
    (void)head;
    spoil_numbers(text, "-", NULL);
}

static unsigned cut_at; /* in sixteenths */

static void spoil_cut(const char *text, size_t head)
{
    (void)head;
    bad[0] = '\0';
    add(text, strlen(text) * cut_at / 16);
}

static void spoil_long_line(const char *text, size_t head)
{
    static char line[200000];
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\n';
    add_head(text, head);
    add(line, sizeof line);
    add(skip_lines(text, head), strlen(skip_lines(text, head)));
}

static void spoil_garbage(const char *text, size_t head)
{
    (void)text, (void)head;
    uint32_t random = 12345;
    for (size_t i = 0; i < 5000; i++) {
        random = random * 1664525u + 1013904223u;
        bad[i] = (char)(random >> 24 ? random >> 24 : 1);
    }
    bad[5000] = '\0';
}

static const struct way {
    const char *name;
    void (*spoil)(const char *text, size_t head);
    bool is_whole;     /* no value may be lost */
    bool may_say_more; /* values that are not in the good file */
} ways[] = {
    { "lines missing", spoil_missing, false, false },
    { "lines added", spoil_added, true, true },
    { "another order", spoil_order, true, false },
    { "huge numbers", spoil_huge, false, false },
    { "negative numbers", spoil_negative, false, false },
    { "cut off", spoil_cut, false, false },
    { "a long line", spoil_long_line, true, false },
    { "garbage", spoil_garbage, false, true },
};
#define WAYS (sizeof ways / sizeof *ways)

/* --- reading and comparing --- */

static void put_all(const struct row *row, const struct way *way)
{
    for (size_t i = 0; i < FILES_MAX && row->files[i]; i++) {
        char path[TEMP_PATH_MAX];
        temp_join(path, root, row->files[i]);
        if (way)
            way->spoil(good[i], row->head);
        temp_write(path, way ? bad : good[i], strlen(way ? bad : good[i]));
    }
}

static void take_good(const struct row *row)
{
    for (size_t i = 0; i < FILES_MAX && row->files[i]; i++) {
        char path[TEMP_PATH_MAX];
        temp_join(path, "/", row->files[i]);
        assert_int_equal(file_read(node_root("server"), path + 1, good[i], TEXT_MAX, NULL), OK);
    }
    if (row->sampler == &sampler_diskstats) { /* distinguishes devices from partitions */
        char path[TEMP_PATH_MAX];
        temp_join(path, root, "sys/block/sda/size");
        temp_write(path, "1\n", 2);
        temp_join(path, root, "sys/block/nvme0n1/size");
        temp_write(path, "1\n", 2);
    }
}

/* Our own resource usage changes from reading to reading. */
static bool is_of_file(const char *set, const char *metric)
{
    static const char *const of_self[] = { "rss", "virtual", "shared", "rchar", "wchar", "syscr", "syscw", "read_bytes",
                                           "write_bytes" };
    if (strcmp(set, "self") != 0)
        return true;
    for (size_t i = 0; i < sizeof of_self / sizeof *of_self; i++)
        if (!strcmp(metric, of_self[i]))
            return true;
    return false;
}

static void each_value(const struct batch *batch, void (*see)(const struct sample *, size_t, void *), void *context)
{
    for (size_t n = 0; n < batch->count; n++)
        for (size_t i = 0; i < batch->samples[n].set->size; i++)
            if (batch->samples[n].known[i]
                && is_of_file(batch->samples[n].set->name, batch->samples[n].set->metrics[i].name))
                see(&batch->samples[n], i, context);
}

static void keep_truth(const struct sample *sample, size_t i, void *context)
{
    (void)context;
    assert_true(truth_count < TRUTHS_MAX);
    struct truth *truth = &truths[truth_count++];
    truth->set = sample->set->name;
    snprintf(truth->instance, sizeof truth->instance, "%s", sample->instance);
    snprintf(truth->metric, sizeof truth->metric, "%s", sample->set->metrics[i].name);
    truth->bits = sample->values[i].u64;
}

struct comparison {
    const struct row *row;
    const struct way *way;
    size_t equal;
};

static void compare(const struct sample *sample, size_t i, void *context)
{
    struct comparison *c = context;
    const char *metric = sample->set->metrics[i].name;
    for (size_t t = 0; t < truth_count; t++) {
        if (strcmp(truths[t].metric, metric) != 0 || strcmp(truths[t].instance, sample->instance) != 0
            || strcmp(truths[t].set, sample->set->name) != 0)
            continue;
        if (truths[t].bits != sample->values[i].u64)
            fail_msg("%s of %s, %s: %llu is wrong", metric, sample->instance, c->way ? c->way->name : "good again",
                     (unsigned long long)sample->values[i].u64);
        c->equal++;
        return;
    }
    if (!c->way || !c->way->may_say_more)
        fail_msg("%s of %s %s, %s: unexpected value", metric, sample->set->name, sample->instance,
                 c->way ? c->way->name : "good again");
}

/* NULL: it cannot be opened. */
static void *open_one(const struct row *row)
{
    struct sampler_context context = { .root = root };
    void *state = calloc(1, row->sampler->state_size);
    assert_int_equal(setting_defaults(row->sampler->settings, state), OK);
    if (row->sampler->open(state, &context) == OK)
        return state;
    free(state);
    return NULL;
}

static void close_one(const struct row *row, void *state)
{
    if (state)
        row->sampler->close(state);
    free(state);
}

/* Reads and compares; a failing sampler is reopened at the next reading, like in the agent. */
static size_t read_one(const struct row *row, const struct way *way, void **state)
{
    struct comparison c = { row, way, 0 };
    struct batch batch;
    batch_init(&batch);
    if (!*state)
        *state = open_one(row);
    enum err err = *state ? row->sampler->read(*state, &batch) : ABSENT;
    if (err == OK && !(way && way->spoil == spoil_garbage))
        each_value(&batch, compare, &c);
    if (err && *state) {
        close_one(row, *state);
        *state = NULL;
    }
    batch_clear(&batch);
    return c.equal;
}

static void learn_truth(const struct row *row)
{
    struct batch batch;
    put_all(row, NULL);
    void *state = open_one(row);
    assert_non_null(state);
    batch_init(&batch);
    assert_int_equal(row->sampler->read(state, &batch), OK);
    truth_count = 0;
    each_value(&batch, keep_truth, NULL);
    assert_true(truth_count > 2);
    batch_clear(&batch);
    close_one(row, state);
}

static void hold_whole(const struct row *row, const struct way *way, size_t equal)
{
    if (way->is_whole && !row->one_number && equal != truth_count)
        fail_msg("%s, %s: %zu of %zu values", row->sampler->name, way->name, equal, truth_count);
}

/* Damaged from the beginning; then damaged later, and good again. */
static void try_way(const struct row *row, const struct way *way)
{
    void *state = NULL;
    put_all(row, way);
    hold_whole(row, way, read_one(row, way, &state));
    close_one(row, state);

    state = NULL;
    put_all(row, NULL);
    assert_int_equal(read_one(row, NULL, &state), truth_count);
    put_all(row, way);
    hold_whole(row, way, read_one(row, way, &state));
    hold_whole(row, way, read_one(row, way, &state));
    put_all(row, NULL);
    static const struct way after = { "good again", NULL, false, true };
    read_one(row, &after, &state); /* counters read from garbage may have to restart */
    if (read_one(row, &after, &state) != truth_count)
        fail_msg("%s after %s: not all values are back", row->sampler->name, way->name);
    close_one(row, state);
}

static void reported_values_are_correct(void **state)
{
    (void)state;
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        temp_dir(root);
        take_good(row);
        learn_truth(row);
        for (const struct way *way = ways; way < ways + WAYS; way++)
            for (cut_at = 0; cut_at < (way->spoil == spoil_cut ? 16 : 1); cut_at++) /* 0: empty */
                try_way(row, way);
        temp_remove(root);
    }
}

static void negative_and_huge_numbers_are_left_out(void **state)
{
    (void)state;
    static const struct way *const none[] = { &ways[3], &ways[4] };
    for (const struct row *row = rows; row < rows + ROWS; row++) {
        if (row->sampler == &sampler_loadavg || row->sampler == &sampler_pressure)
            continue; /* have decimal fractions */
        temp_dir(root);
        take_good(row);
        learn_truth(row);
        for (size_t i = 0; i < 2; i++) {
            void *sampler = NULL;
            put_all(row, none[i]);
            size_t given = read_one(row, none[i], &sampler);
            if (given && row->sampler != &sampler_edac) /* of which only some files were damaged */
                fail_msg("%s: %zu values of %s", row->sampler->name, given, none[i]->name);
            close_one(row, sampler);
        }
        temp_remove(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reported_values_are_correct),
        cmocka_unit_test(negative_and_huge_numbers_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
