/* Prints metrics segments, one metric per line: rank (RANK@WORLD of a spawned one), name with labels, value. Usage:
 * segment_dump FILE|DIRECTORY… */
#include "appmetrics/segment_reader.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void dump_value(const struct segment_info *facts, const struct segment_value *value)
{
    printf(facts->world ? "%d@%u " : "%d ", facts->rank, facts->world);
    printf("%.*s", (int)value->name.size, (const char *)value->name.data);
    if (value->labels.size)
        printf("{%.*s}", (int)value->labels.size, (const char *)value->labels.data);
    if (!value->is_known)
        printf(" unknown\n");
    else if (value->kind == SEGMENT_HISTOGRAM)
        printf(" %" PRIu64 " %.9g\n", value->count, value->f64);
    else if (value->is_integer)
        printf(" %" PRIu64 "\n", value->u64);
    else
        printf(" %.9g\n", value->f64);
}

static bool dump(const char *path)
{
    struct segment_reader *reader;
    struct segment_value value;
    enum err err = segment_reader_open(&reader, path);
    if (!err)
        err = segment_reader_read(reader);
    if (err) {
        fprintf(stderr, "%s: %s\n", path, err_text(err));
        return false;
    }
    for (size_t i = 0; i < segment_reader_count(reader); i++) {
        segment_reader_value(reader, i, &value);
        dump_value(segment_reader_info(reader), &value);
    }
    segment_reader_close(&reader);
    return true;
}

static bool dump_all(const char *folder, DIR *dir)
{
    char path[4096];
    bool good = true;
    for (const struct dirent *entry; (entry = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (strncmp(entry->d_name, SEGMENT_PREFIX, strlen(SEGMENT_PREFIX)) == 0)
            good = dump(path) && good;
    }
    closedir(dir);
    return good;
}

int main(int argc, char **argv)
{
    bool good = argc > 1;
    for (int i = 1; i < argc; i++) {
        DIR *dir = opendir(argv[i]);
        good = (dir ? dump_all(argv[i], dir) : dump(argv[i])) && good;
    }
    return good ? 0 : 1;
}
