/* Prints the entries of a journal: position, kind, host, stream, sequence, time, size. Usage: journal_dump
 * FILE.journal… Only reads the files, so it can run while the journal is in use. */
#include "journal/journal_scan.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void dump(const char *path)
{
    static const char *const kinds[] = { "?", "state", "record", "gap" };
    struct journal_scan scan;
    struct journal_entry entry;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    journal_scan_init(&scan);
    enum err err = journal_scan_open(&scan, AT_FDCWD, path, strtoull(name, NULL, 16), 0);
    if (err)
        fprintf(stderr, "%s: %s\n", path, err_text(err));
    while (!err && (err = journal_scan_next(&scan, &entry)) != GONE) {
        if (err == CORRUPT)
            printf("%" PRIu64 " damaged %" PRIu64 " bytes\n", scan.at - scan.damaged_bytes, scan.damaged_bytes);
        if (err == OK)
            printf("%" PRIu64 " %s %s %016" PRIx64 " %" PRIu64 " %" PRIu64 " %zu\n", entry.position,
                   kinds[entry.kind < 4 ? entry.kind : 0], entry.host, entry.stream, entry.sequence, entry.time_ns,
                   entry.body.size);
        err = err == CORRUPT ? OK : err;
    }
    journal_scan_clear(&scan);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        dump(argv[i]);
    return argc > 1 ? 0 : 2;
}
