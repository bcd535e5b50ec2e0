/* Prints metrics segments: segment_show FILE|DIRECTORY…. One line per metric in Prometheus format, with the original
 * names, after a line for the segment that starts with '#'. With -g: only those whose program is gone. */
#include "appmetrics/segment_reader.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool only_gone;

static void print_name(const struct segment_value *value, const char *suffix, const char *more)
{
    bool has_labels = value->labels.size || *more;
    printf("%.*s%s%s%.*s%s%s%s ", (int)value->name.size, value->name.data, suffix, has_labels ? "{" : "",
           (int)value->labels.size, value->labels.data, value->labels.size && *more ? "," : "", more, has_labels ? "}" : "");
}

static void print_histogram(const struct segment_value *value)
{
    uint64_t sum = 0;
    for (size_t i = 0; i <= value->bound_count; i++) {
        char more[64] = "le=\"+Inf\"";
        if (i < value->bound_count)
            snprintf(more, sizeof more, "le=\"%g\"", value->bounds[i]);
        print_name(value, "_bucket", more);
        printf("%llu\n", (unsigned long long)(sum += value->buckets[i]));
    }
    print_name(value, "_sum", "");
    printf("%.17g\n", value->f64);
}

static void print_value(const struct segment_value *value)
{
    if (value->kind == SEGMENT_HISTOGRAM) {
        print_histogram(value);
        return;
    }
    print_name(value, "", "");
    if (!value->is_known)
        puts("unset");
    else if (value->is_integer)
        printf("%llu\n", (unsigned long long)value->u64);
    else
        printf("%.17g\n", value->f64);
}

static int print_board(const char *path)
{
    struct segment_reader *reader;
    enum err err = segment_reader_open(&reader, path);
    if (!err && only_gone && !segment_reader_is_finished(reader, "")) {
        segment_reader_close(&reader);
        return 0;
    }
    if (!err)
        err = segment_reader_read(reader);
    if (err)
        printf("# %s: %s\n", path, err_text(err));
    if (!reader)
        return 1;
    const struct segment_info *facts = segment_reader_info(reader);
    printf("# pid=%d library=%s job=%s rank=%d/%d ", (int)facts->pid, facts->library, facts->job, facts->rank, facts->size);
    printf("bytes=%llu lost=%llu state=%s ", (unsigned long long)facts->bytes, (unsigned long long)facts->lost,
           facts->is_ended ? "ended" : "alive");
    printf("gone=%d metrics=%zu command=%s\n", segment_reader_is_finished(reader, ""), segment_reader_count(reader),
           facts->command);
    for (size_t i = 0; i < segment_reader_count(reader); i++) {
        struct segment_value value;
        segment_reader_value(reader, i, &value);
        print_value(&value);
    }
    segment_reader_close(&reader);
    return err ? 1 : 0;
}

static int print_folder(const char *path)
{
    DIR *dir = opendir(path);
    int result = 0;
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char file[4096];
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        if (strncmp(entry->d_name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) == 0)
            result |= print_board(file);
    }
    if (dir)
        closedir(dir);
    return result;
}

int main(int argc, char **argv)
{
    int result = 0, option;
    while ((option = getopt(argc, argv, "g")) >= 0)
        only_gone = option == 'g';
    for (int i = optind; i < argc; i++) {
        struct stat st;
        result |= stat(argv[i], &st) == 0 && S_ISDIR(st.st_mode) ? print_folder(argv[i]) : print_board(argv[i]);
    }
    return result;
}
