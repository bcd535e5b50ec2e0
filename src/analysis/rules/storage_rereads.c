/* Rule: storage delivered much more than the programs asked for. Thresholds: 1 GiB, and twice what read calls
 * returned. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define FETCHED_MIN 1073741824.0
#define RATIO_MIN 2

static bool judge(const struct facts *facts, struct advice *advice)
{
    double fetched, asked;
    facts_moved(facts, COUNTER_read_bytes, &fetched);
    facts_moved(facts, COUNTER_rchar, &asked);
    if (fetched < FETCHED_MIN || fetched < RATIO_MIN * asked)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.4;
    rule_say(advice, "Storage delivered %s, though programs read %s: files were mapped or read ahead in vain.",
             say_bytes(fetched).s, say_bytes(asked).s);
    rule_advise(advice, "For scattered access tell the kernel (posix_fadvise or madvise with RANDOM); if the same "
                        "data came several times, more memory would have kept it.");
    return true;
}

const struct rule rule_storage_rereads = {
    .name = "storage-rereads", .counters = RULE_COUNTER(read_bytes) | RULE_COUNTER(rchar), .judge = judge,
};
