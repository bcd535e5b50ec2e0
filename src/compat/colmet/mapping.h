/* What the numbered counters of a host are (perf, RAPL, temperatures): told once, and again when it changes; and as the CSV
 * files that Colmet's node leaves in its folder. */
#ifndef SONDE_COMPAT_COLMET_MAPPING_H
#define SONDE_COMPAT_COLMET_MAPPING_H

#include "base/buf.h"
#include "compat/colmet/rows.h"

struct colmet_mapping {
    struct colmet_mapping_entry {
        uint64_t key, labels; /* hashes of host and backend; of all labels; key 0: free */
    } *entries;
    size_t count, capacity;
};

void colmet_mapping_clear(struct colmet_mapping *mapping);

/* The row has labels, and they are not those that were last noted of its host. Notes nothing. */
bool colmet_mapping_is_new(const struct colmet_mapping *mapping, const struct colmet_row *row);
enum err colmet_mapping_note(struct colmet_mapping *mapping, const struct colmet_row *row);

/* The text of "perfhw_mapping.1794767738.867961.csv", "RAPL_mapping.…", "temperature_mapping.…". */
void colmet_mapping_csv(const struct colmet_row *row, struct buf *out);

/* Writes it into folder; with_host: into a folder in it that is named after the host. */
enum err colmet_mapping_write(const struct colmet_row *row, const char *folder, bool with_host);

#endif
