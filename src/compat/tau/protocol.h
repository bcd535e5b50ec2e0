/* The messages of tau_metric_proxy's clients on their UNIX socket, and the content of its profiles: structs with the
 * layout of the wire (little endian, aligned as on x86-64). Strings that we write end with NUL; those of others may
 * not. */
#ifndef SONDE_COMPAT_TAU_PROTOCOL_H
#define SONDE_COMPAT_TAU_PROTOCOL_H

#include <stddef.h>
#include <stdint.h>

#define TAU_TEXT_MAX 300 /* of names and docs, with the NUL */
#define TAU_CANARY 0x07
#define TAU_SNAPSHOT_CANARY 0x1337
#define TAU_PROFILE_END 0x77
#define TAU_MERGED 0x50de0000u /* in the upper half; the number of nodes is in the lower */

enum tau_metric_type { TAU_NULL, TAU_COUNTER, TAU_GAUGE };

enum tau_message_type {
    TAU_DESC,     /* descriptor: announces a metric */
    TAU_VAL,      /* event: an increment of a counter, the value of a gauge */
    TAU_LIST_ALL, /* answered with int32 N and N descriptors */
    TAU_GET_ALL,  /* answered with int32 N and N events */
    TAU_GET_ONE,  /* descriptor with the name; answered with an event, whose name is empty if it is unknown */
    TAU_JOB,      /* a struct tau_job follows the message */
};

struct tau_descriptor {
    char name[TAU_TEXT_MAX], doc[TAU_TEXT_MAX];
    int32_t type; /* enum tau_metric_type */
};

struct tau_event {
    char name[TAU_TEXT_MAX];
    int32_t pad;
    double value;
    double update_s; /* since 1970; 0 in what clients send */
};

struct tau_message {
    int32_t type; /* enum tau_message_type */
    int32_t pad;
    union {
        struct tau_descriptor descriptor;
        struct tau_event event;
    };
    uint8_t canary;
    uint8_t rest[7];
};

struct tau_job {
    char id[64]; /* empty: the program is in no job */
    char command[512];
    int32_t size; /* ranks; -1: unknown */
    char nodelist[128], partition[64], cluster[64], run_dir[256];
    int32_t pad;
    uint64_t start_s, end_s; /* since 1970 */
};

/* One metric of a profile. */
struct tau_snapshot {
    int32_t type; /* enum tau_metric_type */
    char doc[TAU_TEXT_MAX];
    struct tau_event event;
    int32_t canary;
    uint32_t merged; /* padding in tau; here TAU_MERGED and the number of nodes over which a gauge is the mean */
};

/* The beginning of a profile; count snapshots and TAU_PROFILE_END as int32 follow. */
struct tau_profile_head {
    int32_t count, pad;
    struct tau_job job;
};

_Static_assert(sizeof(struct tau_descriptor) == 604, "as tau sends it");
_Static_assert(sizeof(struct tau_event) == 320 && offsetof(struct tau_event, value) == 304, "as tau sends it");
_Static_assert(sizeof(struct tau_message) == 624 && offsetof(struct tau_message, canary) == 616, "as tau sends it");
_Static_assert(sizeof(struct tau_job) == 1112 && offsetof(struct tau_job, start_s) == 1096, "as tau sends it");
_Static_assert(sizeof(struct tau_snapshot) == 632 && offsetof(struct tau_snapshot, canary) == 624, "as tau writes it");
_Static_assert(sizeof(struct tau_profile_head) == 1120, "as tau writes it");

#endif
