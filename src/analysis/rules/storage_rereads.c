/* Rule: much more was read from storage than programs requested. Thresholds: 1 GiB, and twice what read calls
 * returned. */
#include "analysis/rules.h"

#include "analysis/phrase.h"

#define FETCHED_MIN 1073741824.0
#define RATIO_MIN 2

static bool judge(const struct facts *facts, struct advice *advice)
{
    double fetched, asked;
    facts_io_bytes(facts, COUNTER_read_bytes, &fetched);
    facts_io_bytes(facts, COUNTER_rchar, &asked);
    if (fetched < FETCHED_MIN || fetched < RATIO_MIN * asked)
        return false;
    advice->severity = SEVERITY_HINT;
    advice->weight = 0.4;
    rule_set_sentence(advice,
                      "%s were read from storage, but programs read only %s: files were mapped, or read ahead in vain.",
                      phrase_bytes(fetched).s, phrase_bytes(asked).s);
    rule_set_fix(advice, "For random access use posix_fadvise or madvise with RANDOM; if the same data was read "
                         "several times, more memory would have cached it.");
    return true;
}

const struct rule rule_storage_rereads = {
    .name = "storage-rereads", .counters = RULE_COUNTER(read_bytes) | RULE_COUNTER(rchar), .judge = judge,
};
