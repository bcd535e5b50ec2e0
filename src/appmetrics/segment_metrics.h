/* The metrics of one board, for segment_reader.c: descriptors come in as bytes, pages of values are summed up. Takes
 * any bytes. */
#ifndef SONDE_APPMETRICS_SEGMENT_METRICS_H
#define SONDE_APPMETRICS_SEGMENT_METRICS_H

#include "appmetrics/segment_reader.h"

#define BOARD_METRICS_MAX (4u << 20)
#define BOARD_METRICS_BYTES_MAX BOARD_BYTES_MAX

union board_slot {
    uint64_t u64;
    double f64;
};

struct board_metrics {
    size_t count, room;
    uint32_t *places;        /* of descriptors in texts, / 8 */
    char *texts;             /* descriptors as they came, one behind another */
    size_t text_bytes, text_room;
    uint32_t chunks;         /* that metrics have slots in */
    union board_slot *slots; /* sums, chunks x BOARD_CHUNK_SLOTS */
    uint8_t *types;          /* of slots: 0, or how they are summed */
    uint64_t slot_count;     /* of all descriptors */
    double seconds_per_tick; /* 0: not known yet */
};

enum err board_metrics_add(struct board_metrics *metrics, const char *bytes, size_t size);
void board_metrics_clear_values(struct board_metrics *metrics);
void board_metrics_sum(struct board_metrics *metrics, uint32_t chunk, const uint64_t *page);
void board_metrics_value(const struct board_metrics *metrics, size_t place, struct board_value *value);
void board_metrics_clear(struct board_metrics *metrics);

#endif
