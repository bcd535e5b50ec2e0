/* A profile of tau's, whoever wrote it: texts end, names are unique, and what is written again reads the same. */
#include "compat/tau/profile.h"
#include "compat/tau/profile_writer.h"

#include <stdlib.h>
#include <string.h>

int fuzz_tau_profile(const uint8_t *data, size_t size);

static void must_read_again(const struct tau_profile *profile)
{
    struct tau_profile again;
    struct buf bytes;
    buf_init(&bytes, TAU_PROFILE_BYTES_MAX);
    tau_profile_write(profile, &bytes);
    if (tau_profile_read(&again, (struct bytes){ bytes.data, bytes.size }) || again.count != profile->count
        || memcmp(&again.job, &profile->job, sizeof again.job) != 0)
        abort();
    if (tau_profile_merge(&again, profile) || again.count != profile->count)
        abort();
    tau_profile_clear(&again);
    buf_clear(&bytes);
}

int fuzz_tau_profile(const uint8_t *data, size_t size)
{
    struct tau_profile profile;
    if (!tau_profile_read(&profile, (struct bytes){ (const char *)data, size })) {
        char name[65];
        tau_profile_file_name(name, profile.job.id);
        if (*name == '.' || strchr(name, '/'))
            abort();
        for (size_t i = 0; i < profile.count; i++)
            if (strnlen(profile.metrics[i].event.name, TAU_TEXT_MAX) == TAU_TEXT_MAX)
                abort();
        must_read_again(&profile);
        tau_profile_real_command(profile.job.command);
    }
    tau_profile_clear(&profile);
    return 0;
}
