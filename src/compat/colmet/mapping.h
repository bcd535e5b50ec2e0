/* The labels of a host's numbered counters (perf, RAPL, temperatures): detects when they change, and writes the CSV
 * files that a Colmet node creates. */
#ifndef SONDE_COMPAT_COLMET_MAPPING_H
#define SONDE_COMPAT_COLMET_MAPPING_H

#include "base/buf.h"
#include "compat/colmet/rows.h"

struct colmet_mapping {
    struct colmet_mapping_entry {
        uint64_t key, labels; /* hash of host and backend (0: free); hash of all labels */
    } *entries;
    size_t count, capacity;
};

void colmet_mapping_clear(struct colmet_mapping *mapping);

/* Does the row have labels that differ from the last ones noted for its host? */
bool colmet_mapping_is_new(const struct colmet_mapping *mapping, const struct colmet_row *row);
enum err colmet_mapping_note(struct colmet_mapping *mapping, const struct colmet_row *row);

/* The content of "perfhw_mapping.1794767738.867961.csv", "RAPL_mapping.…", "temperature_mapping.…". */
void colmet_mapping_csv(const struct colmet_row *row, struct buf *out);

/* Writes the file into directory; with_host: into its subdirectory named after the host. */
enum err colmet_mapping_write(const struct colmet_row *row, const char *directory, bool with_host);

#endif
