/* Sessions, sensor data records and readings with freeipmi. The records are read once and kept in memory; freeipmi can
 * only read them into a file, which is created in a private directory and removed at once. */
#include "samplers/ipmi_bmc.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/vec.h"

#include <freeipmi/freeipmi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SENSORS_MAX 512
#define RECORD_MAX 128
#define CIPHER_SUITE 3 /* HMAC-SHA1 and AES, mandatory in IPMI 2.0 */

struct ipmi_bmc_sensor {
    char name[IPMI_BMC_NAME_MAX];
    enum ipmi_metric metric;
    unsigned record_size;
    unsigned char record[RECORD_MAX];
};

struct ipmi_bmc {
    ipmi_ctx_t session;
    ipmi_sensor_read_ctx_t reader;
    fiid_obj_t power_answer;
    bool has_power;
    struct ipmi_bmc_sensor *sensors;
    size_t count, capacity;
};

static enum err err_of_session(ipmi_ctx_t session)
{
    switch (ipmi_ctx_errnum(session)) {
    case IPMI_ERR_PERMISSION:
    case IPMI_ERR_USERNAME_INVALID:
    case IPMI_ERR_PASSWORD_INVALID:
    case IPMI_ERR_PASSWORD_VERIFICATION_TIMEOUT:
    case IPMI_ERR_PRIVILEGE_LEVEL_INSUFFICIENT:
    case IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED: return DENIED;
    case IPMI_ERR_DEVICE_NOT_FOUND:
    case IPMI_ERR_DEVICE_NOT_SUPPORTED: return ABSENT;
    case IPMI_ERR_OUT_OF_MEMORY: return NOMEM;
    case IPMI_ERR_DRIVER_BUSY:
    case IPMI_ERR_BMC_BUSY: return AGAIN;
    default: return IO;
    }
}

static enum err find_password(const struct ipmi_settings *settings, char *password, size_t size)
{
    if (*settings->password_file)
        return file_read_line("", settings->password_file, password, size);
    snprintf(password, size, "%s", settings->password);
    return OK;
}

static enum err find_privilege(const char *name, uint8_t *privilege)
{
    *privilege = !strcmp(name, "user")       ? IPMI_PRIVILEGE_LEVEL_USER
                 : !strcmp(name, "operator") ? IPMI_PRIVILEGE_LEVEL_OPERATOR
                 : !strcmp(name, "admin")    ? IPMI_PRIVILEGE_LEVEL_ADMIN
                                             : 0;
    return *privilege ? OK : USAGE;
}

/* Credentials of a network session. */
struct ipmi_login {
    const char *host, *user;
    char password[64];
    uint8_t privilege;
    unsigned timeout_ms;
};

static bool open_2_0(struct ipmi_bmc *bmc, const struct ipmi_login *login, unsigned workarounds)
{
    return ipmi_ctx_open_outofband_2_0(bmc->session, login->host, login->user, login->password, NULL, 0,
                                       login->privilege, CIPHER_SUITE, login->timeout_ms, login->timeout_ms / 4,
                                       workarounds, 0) == 0;
}

static bool open_1_5(struct ipmi_bmc *bmc, const struct ipmi_login *login)
{
    return ipmi_ctx_open_outofband(bmc->session, login->host, login->user, login->password,
                                   IPMI_AUTHENTICATION_TYPE_MD5, login->privilege, login->timeout_ms,
                                   login->timeout_ms / 4, 0, 0) == 0;
}

/* Tries IPMI 2.0; then with the workaround for BMCs that grant another privilege than requested; then IPMI 1.5. */
static enum err open_login(struct ipmi_bmc *bmc, const struct ipmi_login *login)
{
    if (open_2_0(bmc, login, 0))
        return OK;
    if (ipmi_ctx_errnum(bmc->session) == IPMI_ERR_PRIVILEGE_LEVEL_CANNOT_BE_OBTAINED
        && open_2_0(bmc, login, IPMI_WORKAROUND_FLAGS_OUTOFBAND_2_0_OPEN_SESSION_PRIVILEGE))
        return OK;
    int number = ipmi_ctx_errnum(bmc->session);
    if ((number == IPMI_ERR_IPMI_2_0_UNAVAILABLE || number == IPMI_ERR_CIPHER_SUITE_ID_UNAVAILABLE)
        && open_1_5(bmc, login))
        return OK;
    return err_of_session(bmc->session);
}

static enum err open_over_network(struct ipmi_bmc *bmc, const struct ipmi_settings *settings)
{
    struct ipmi_login login = { .host = settings->host, .user = settings->user,
                           .timeout_ms = (unsigned)(settings->timeout_ns / NS_PER_MS) };
    enum err err = find_password(settings, login.password, sizeof login.password);
    if (!err)
        err = find_privilege(settings->privilege, &login.privilege);
    if (!err)
        err = open_login(bmc, &login);
    explicit_bzero(login.password, sizeof login.password);
    return err;
}

/* Locally only through the kernel's driver: freeipmi's own driver would bypass it and probe hardware addresses. */
static enum err open_session(struct ipmi_bmc *bmc, const struct ipmi_settings *settings)
{
    bmc->session = ipmi_ctx_create();
    if (!bmc->session)
        return NOMEM;
    if (*settings->host)
        return open_over_network(bmc, settings);
    if (ipmi_ctx_open_inband(bmc->session, IPMI_DEVICE_OPENIPMI, 1, 0, 0, NULL, 0, 0) < 0)
        return err_of_session(bmc->session);
    return OK;
}

static enum ipmi_metric metric_of(uint8_t percentage, uint8_t unit)
{
    if (percentage)
        return IPMI_PERCENT;
    switch (unit) {
    case IPMI_SENSOR_UNIT_DEGREES_C: return IPMI_TEMPERATURE;
    case IPMI_SENSOR_UNIT_VOLTS: return IPMI_VOLTAGE;
    case IPMI_SENSOR_UNIT_AMPS: return IPMI_CURRENT;
    case IPMI_SENSOR_UNIT_WATTS: return IPMI_POWER;
    case IPMI_SENSOR_UNIT_JOULES: return IPMI_ENERGY;
    case IPMI_SENSOR_UNIT_RPM: return IPMI_FAN;
    default: return IPMI_OTHER;
    }
}

static void clean_name(char *name)
{
    size_t size = strlen(name);
    while (size && name[size - 1] == ' ')
        name[--size] = '\0';
    for (char *c = name; *c; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            *c = '_';
}

/* Appends a number to the second sensor of the same name. */
static void make_unique(const struct ipmi_bmc *bmc, struct ipmi_bmc_sensor *sensor)
{
    unsigned same = 1;
    size_t size = strlen(sensor->name);
    for (size_t i = 0; i < bmc->count; i++) {
        const char *other = bmc->sensors[i].name;
        same += !strncmp(other, sensor->name, size) && (other[size] == '\0' || other[size] == '#');
    }
    if (same > 1)
        snprintf(sensor->name + size, sizeof sensor->name - size, "#%u", same);
}

static enum err add_sensor(struct ipmi_bmc *bmc, const struct ipmi_bmc_sensor *sensor)
{
    if (array_reserve(bmc->sensors, bmc->capacity, bmc->count + 1, SENSORS_MAX))
        return FULL;
    bmc->sensors[bmc->count++] = *sensor;
    return OK;
}

/* Only full records have a scale; the others are switches and events. Callback of freeipmi; a negative result stops
 * it. */
static int take_record(ipmi_sdr_ctx_t records, uint8_t type, const void *record, unsigned size, void *context)
{
    struct ipmi_bmc *bmc = context;
    struct ipmi_bmc_sensor sensor = { .record_size = size };
    uint8_t percentage, modifier, rate, unit, second_unit;
    if (type != IPMI_SDR_FORMAT_FULL_SENSOR_RECORD || size > sizeof sensor.record)
        return 0;
    if (ipmi_sdr_parse_sensor_units(records, record, size, &percentage, &modifier, &rate, &unit, &second_unit) < 0
        || ipmi_sdr_parse_id_string(records, record, size, sensor.name, sizeof sensor.name - 8) < 0)
        return 0;
    clean_name(sensor.name);
    make_unique(bmc, &sensor);
    sensor.metric = metric_of(percentage, rate || modifier ? IPMI_SENSOR_UNIT_UNSPECIFIED : unit);
    memcpy(sensor.record, record, size);
    return add_sensor(bmc, &sensor) == OK ? 0 : -1;
}

static enum err read_records(struct ipmi_bmc *bmc, const char *file)
{
    ipmi_sdr_ctx_t records = ipmi_sdr_ctx_create();
    if (!records)
        return NOMEM;
    bool good = ipmi_sdr_cache_create(records, bmc->session, file, IPMI_SDR_CACHE_CREATE_FLAGS_DEFAULT, NULL, NULL) == 0
                && ipmi_sdr_cache_open(records, bmc->session, file) == 0;
    if (good) {
        ipmi_sdr_cache_iterate(records, take_record, bmc);
        ipmi_sdr_cache_close(records);
    }
    ipmi_sdr_ctx_destroy(records);
    return good ? OK : IO;
}

static enum err find_sensors(struct ipmi_bmc *bmc)
{
    char directory[256], file[300];
    const char *place = getenv("TMPDIR");
    snprintf(directory, sizeof directory, "%s/sonde-ipmi-XXXXXX", place && *place ? place : "/tmp");
    if (!mkdtemp(directory))
        return IO;
    snprintf(file, sizeof file, "%s/records", directory);
    enum err err = read_records(bmc, file);
    unlink(file);
    rmdir(directory);
    bmc->reader = err ? NULL : ipmi_sensor_read_ctx_create(bmc->session);
    return err ? err : bmc->reader ? OK : NOMEM;
}

enum err ipmi_bmc_open(struct ipmi_bmc **opened, const struct ipmi_settings *settings)
{
    struct ipmi_bmc_power power;
    struct ipmi_bmc *bmc = *opened = calloc(1, sizeof *bmc);
    if (!bmc)
        return NOMEM;
    bmc->power_answer = fiid_obj_create(tmpl_cmd_dcmi_get_power_reading_rs);
    enum err err = bmc->power_answer ? open_session(bmc, settings) : NOMEM;
    if (!err) {
        bmc->has_power = true;
        bmc->has_power = ipmi_bmc_read_power(bmc, &power) == OK;
        enum err sensors = settings->sensors ? find_sensors(bmc) : OK;
        err = bmc->has_power || bmc->count ? OK : sensors ? sensors : ABSENT;
    }
    if (err)
        ipmi_bmc_close(opened);
    return err;
}

void ipmi_bmc_close(struct ipmi_bmc **opened)
{
    struct ipmi_bmc *bmc = *opened;
    if (!bmc)
        return;
    if (bmc->reader)
        ipmi_sensor_read_ctx_destroy(bmc->reader);
    if (bmc->session) {
        ipmi_ctx_close(bmc->session);
        ipmi_ctx_destroy(bmc->session);
    }
    if (bmc->power_answer)
        fiid_obj_destroy(bmc->power_answer);
    free(bmc->sensors);
    free(bmc);
    *opened = NULL;
}

static bool get(struct ipmi_bmc *bmc, const char *field, uint64_t *value)
{
    return fiid_obj_get(bmc->power_answer, field, value) == 1;
}

enum err ipmi_bmc_read_power(struct ipmi_bmc *bmc, struct ipmi_bmc_power *power)
{
    uint64_t measures;
    if (!bmc->has_power)
        return ABSENT;
    if (ipmi_cmd_dcmi_get_power_reading(bmc->session, IPMI_DCMI_POWER_READING_MODE_SYSTEM_POWER_STATISTICS, 0,
                                        bmc->power_answer) < 0)
        return err_of_session(bmc->session);
    if (!get(bmc, "power_reading_state.power_measurement", &measures) || !measures
        || !get(bmc, "current_power", &power->now_w)
        || !get(bmc, "minimum_power_over_sampling_duration", &power->least_w)
        || !get(bmc, "maximum_power_over_sampling_duration", &power->most_w)
        || !get(bmc, "average_power_over_sampling_duration", &power->average_w)
        || !get(bmc, "statistics_reporting_time_period", &power->window_ms))
        return ABSENT;
    return OK;
}

size_t ipmi_bmc_sensor_count(const struct ipmi_bmc *bmc)
{
    return bmc->count;
}

const char *ipmi_bmc_sensor_name(const struct ipmi_bmc *bmc, size_t i)
{
    return bmc->sensors[i].name;
}

enum ipmi_metric ipmi_bmc_sensor_metric(const struct ipmi_bmc *bmc, size_t i)
{
    return bmc->sensors[i].metric;
}

/* A broken session is one of many error codes of freeipmi. */
static enum err err_of_reader(struct ipmi_bmc *bmc)
{
    switch (ipmi_sensor_read_ctx_errnum(bmc->reader)) {
    case IPMI_SENSOR_READ_ERR_IPMI_ERROR:
    case IPMI_SENSOR_READ_ERR_SYSTEM_ERROR: {
        int number = ipmi_ctx_errnum(bmc->session);
        return number == IPMI_ERR_SESSION_TIMEOUT || number == IPMI_ERR_SYSTEM_ERROR || number == IPMI_ERR_DRIVER_TIMEOUT
                       || number == IPMI_ERR_DEVICE_NOT_OPEN
                   ? IO
                   : AGAIN;
    }
    default: return AGAIN;
    }
}

enum err ipmi_bmc_read_sensor(struct ipmi_bmc *bmc, size_t i, double *value)
{
    const struct ipmi_bmc_sensor *sensor = &bmc->sensors[i];
    double *reading = NULL;
    uint16_t events;
    uint8_t raw;
    int got = ipmi_sensor_read(bmc->reader, sensor->record, sensor->record_size, 0, &raw, &reading, &events);
    enum err err = got < 0 ? err_of_reader(bmc) : reading ? OK : AGAIN;
    if (!err)
        *value = *reading;
    free(reading);
    return err;
}
