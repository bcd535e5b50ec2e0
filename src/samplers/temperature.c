/* Temperatures, from the thermal zones of /sys/class/thermal and the chips of /sys/class/hwmon, in thousandths of a
 * degree. Each sensor is an instance: "x86_pkg_temp_0" (type and number of the zone), "coretemp/Core 3" (chip and
 * label), "coretemp.1/Core 3" on the second chip of that name. A sensor that does not answer (EIO, ENODATA, implausible
 * value) is unknown and does not affect the others. Slow: chips on an I2C bus take milliseconds each. */
#include "samplers/all.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"
#include "proc/listing.h"
#include "proc/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THERMAL "/sys/class/thermal"
#define HWMON "/sys/class/hwmon"
#define SENSORS_MAX 512 /* each keeps a file open */
#define TEXT_MAX 48
#define COLDEST_MILLI (-273150)
#define HOTTEST_MILLI 1000000 /* larger values are error codes of the firmware */

static const struct metric metrics[] = {
    { "temperature", "C", GAUGE, F64, "temperature at the sensor" },
    { "critical", "C", GAUGE, F64, "temperature at which the hardware protects itself" },
};

enum { TEMPERATURE, CRITICAL, METRICS };

static const struct set set = { "temperature", metrics, METRICS, "zone" };
_Static_assert(sizeof metrics / sizeof *metrics == METRICS, "a name for each metric");

struct temperature_sensor {
    int fd;
    bool has_critical;
    int64_t critical_milli;
    char instance[2 * TEXT_MAX + 16];
};

struct temperature {
    struct temperature_sensor *sensors;
    size_t count, capacity;
};

static bool is_plausible(int64_t milli)
{
    return milli >= COLDEST_MILLI && milli <= HOTTEST_MILLI;
}

/* Reads the first line of a file as part of an instance name: printable ASCII, truncated. */
static enum err read_name(const char *root, const char *directory, const char *file, char name[TEXT_MAX])
{
    char path[FILE_PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", directory, file);
    enum err err = file_read_line(root, path, name, TEXT_MAX);
    if (err)
        return err;
    for (char *c = name; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            *c = '_';
    return *name ? OK : CORRUPT;
}

/* Adds the sensor that is read from directory/file, or returns NULL. The caller names it. */
static struct temperature_sensor *add_sensor(struct temperature *temperature, const char *root, const char *directory,
                                             const char *file)
{
    char path[FILE_PATH_MAX];
    int fd;
    if (array_reserve(temperature->sensors, temperature->capacity, temperature->count + 1, SENSORS_MAX))
        return NULL;
    snprintf(path, sizeof path, "%s/%s", directory, file);
    if (file_open(root, path, &fd))
        return NULL;
    struct temperature_sensor *sensor = &temperature->sensors[temperature->count++];
    *sensor = (struct temperature_sensor){ .fd = fd };
    return sensor;
}

static void add_zone(struct temperature *temperature, const char *root, const char *zone)
{
    char directory[128], type[TEXT_MAX];
    snprintf(directory, sizeof directory, THERMAL "/%s", zone);
    struct temperature_sensor *sensor = add_sensor(temperature, root, directory, "temp");
    if (!sensor)
        return;
    if (read_name(root, directory, "type", type))
        snprintf(sensor->instance, sizeof sensor->instance, "%s", zone);
    else
        snprintf(sensor->instance, sizeof sensor->instance, "%s_%s", type, zone + strlen("thermal_zone"));
}

/* input is "temp3_input"; chip is the first part of the instance name. */
static void add_input(struct temperature *temperature, const char *root, const char *directory, const char *chip,
                      const char *input)
{
    char file[LISTING_NAME_MAX + 16], path[FILE_PATH_MAX], label[TEXT_MAX];
    int length = (int)(strlen(input) - strlen("_input"));
    if (length <= 0 || strcmp(input + length, "_input") != 0)
        return;
    struct temperature_sensor *sensor = add_sensor(temperature, root, directory, input);
    if (!sensor)
        return;
    snprintf(file, sizeof file, "%.*s_label", length, input);
    if (read_name(root, directory, file, label))
        snprintf(label, sizeof label, "%.*s", length, input);
    snprintf(sensor->instance, sizeof sensor->instance, "%s/%s", chip, label);
    snprintf(path, sizeof path, "%s/%.*s_crit", directory, length, input);
    sensor->has_critical = number_file_i64(root, path, &sensor->critical_milli) == OK
                           && is_plausible(sensor->critical_milli);
}

/* The number of earlier chips with the same name. */
static unsigned chips_before(const char (*names)[TEXT_MAX], size_t chip)
{
    unsigned count = 0;
    for (size_t i = 0; i < chip; i++)
        count += strcmp(names[i], names[chip]) == 0;
    return count;
}

static void add_chip(struct temperature *temperature, const char *root, const char *directory, const char *chip)
{
    struct listing inputs = { 0 };
    if (listing_read(&inputs, root, directory, "temp") == OK)
        for (size_t i = 0; i < inputs.count; i++)
            add_input(temperature, root, directory, chip, inputs.names[i]);
    listing_clear(&inputs);
}

/* Before Linux 3.15 the files are in the directory of the device. */
static void chip_directory(const char *root, const char *hwmon, char *directory, size_t size, char name[TEXT_MAX])
{
    snprintf(directory, size, HWMON "/%s", hwmon);
    if (read_name(root, directory, "name", name) == OK)
        return;
    snprintf(directory, size, HWMON "/%s/device", hwmon);
    if (read_name(root, directory, "name", name) != OK)
        snprintf(name, TEXT_MAX, "%s", hwmon);
}

static void add_chips(struct temperature *temperature, const char *root, const struct listing *chips)
{
    char (*names)[TEXT_MAX] = calloc(chips->count ? chips->count : 1, sizeof *names);
    for (size_t i = 0; names && i < chips->count; i++) {
        char directory[128], chip[TEXT_MAX + 16];
        chip_directory(root, chips->names[i], directory, sizeof directory, names[i]);
        unsigned before = chips_before((const char (*)[TEXT_MAX])names, i);
        if (before)
            snprintf(chip, sizeof chip, "%s.%u", names[i], before);
        else
            snprintf(chip, sizeof chip, "%s", names[i]);
        add_chip(temperature, root, directory, chip);
    }
    free(names);
}

static void temperature_close(void *state)
{
    struct temperature *temperature = state;
    for (size_t i = 0; i < temperature->count; i++)
        close(temperature->sensors[i].fd);
    free(temperature->sensors);
}

static enum err temperature_open(void *state, const struct sampler_context *context)
{
    struct temperature *temperature = state;
    struct listing names = { 0 };
    if (listing_read(&names, context->root, THERMAL, "thermal_zone") == OK)
        for (size_t i = 0; i < names.count; i++)
            add_zone(temperature, context->root, names.names[i]);
    if (listing_read(&names, context->root, HWMON, "hwmon") == OK)
        add_chips(temperature, context->root, &names);
    listing_clear(&names);
    if (temperature->count)
        return OK;
    temperature_close(temperature);
    return ABSENT;
}

static enum err temperature_read(void *state, struct batch *out)
{
    const struct temperature *temperature = state;
    uint64_t now_ns = clock_realtime_ns();
    for (size_t i = 0; i < temperature->count; i++) {
        const struct temperature_sensor *sensor = &temperature->sensors[i];
        struct sample *sample = batch_add(out, &set, now_ns, sensor->instance);
        int64_t milli;
        if (!sample)
            return NOMEM;
        if (number_read_i64(sensor->fd, &milli) == OK && is_plausible(milli))
            sample_set_f64(sample, TEMPERATURE, (double)milli / 1000);
        if (sensor->has_critical)
            sample_set_f64(sample, CRITICAL, (double)sensor->critical_milli / 1000);
    }
    return OK;
}

const struct sampler sampler_temperature = {
    .name = "temperature",
    .about = "temperatures of thermal zones and hwmon chips",
    .set = &set,
    .state_size = sizeof(struct temperature),
    .is_slow = true,
    .period_ns = 10 * NS_PER_S, /* reading wakes a sleeping core */
    .absent_reason = "There is no sensor below " THERMAL " or " HWMON ": virtual machines have none",
    .absent_fix = "On real hardware, load the driver of its sensors: modprobe coretemp (Intel), k10temp (AMD)",
    .open = temperature_open,
    .read = temperature_read,
    .close = temperature_close,
};
