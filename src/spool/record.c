/* Writers and readers, generated from the lists in the header. Also part of the probe: no allocation. */
#include "spool/record.h"

#define FIELD(type, field) pack_##type(p, record->field);
#define X(number, name, fields) \
    void record_pack_##name(struct packer *p, const struct name##_record *record) \
    { \
        fields(FIELD) \
    }
RECORD_KINDS(X)
#undef X
#undef FIELD

/* A body that ends before a field is from an older version; one that ends inside a field is damaged. */
#define INTO_number(field) record->field = unpack_number(&u);
#define INTO_text(field) record->field = unpack_text(&u);
#define INTO_counters(field) unpack_counters_into(&u, &record->field);
#define FIELD(type, field) \
    if (u.at < u.end) { \
        INTO_##type(field) \
    }
#define X(number, name, fields) \
    enum err record_unpack_##name(struct bytes body, struct name##_record *record) \
    { \
        struct unpacker u = { (const uint8_t *)body.data, (const uint8_t *)body.data + body.size, false }; \
        *record = (struct name##_record){ 0 }; \
        fields(FIELD) \
        return u.bad ? CORRUPT : OK; \
    }
RECORD_KINDS(X)
#undef X
#undef FIELD
