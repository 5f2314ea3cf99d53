/* SPDX-License-Identifier: MIT */
/*
 * Temperatures from sys/class/hwmon, or from the thermal zones where there is no hwmon. Sensors are
 * found rarely, and at once when one of them is gone; their files stay open. Limits are properties
 * of the hardware and read when a sensor is found.
 */
#include "plugins/proc/proc.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SENSOR_LIMIT = 512, CHANNEL_LIMIT = 64 };

void sensors_init(struct sensors *sensors, const struct options *options)
{
    sensors->enabled = options->sensors;
}

static void drop_all(struct sensors *sensors, struct reader *reader)
{
    for (uint32_t i = 0; i < sensors->count; i++) {
        source_close(&sensors->items[i].file, reader);
    }
    free(sensors->items);
    sensors->items = NULL;
    sensors->count = 0;
}

void sensors_fini(struct sensors *sensors, struct reader *reader)
{
    drop_all(sensors, reader);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* Files tell thousandths of a degree. */
static bool read_degrees(struct reader *reader, const char *path, double *out)
{
    int64_t number;
    if (!reader_number(reader, path, &number)) {
        return false;
    }
    *out = (double)number / 1000;
    return true;
}

static struct sensor *add_sensor(struct sensors *sensors)
{
    if (sensors->count == SENSOR_LIMIT) {
        return NULL;
    }
    struct sensor *moved = realloc(sensors->items, (sensors->count + 1) * sizeof *sensors->items);
    if (!moved) {
        return NULL;
    }
    sensors->items = moved;
    struct sensor *sensor = &moved[sensors->count++];
    memset(sensor, 0, sizeof *sensor);
    sensor->file.fd = -1;
    return sensor;
}

/* The device behind a hwmon folder: its number is given anew at each start, the device's is not. */
static void device_name(struct reader *reader, const char *folder, char *out, size_t size)
{
    char path[96];
    char target[256];
    (void)snprintf(path, sizeof path, "%s/device", folder);
    ssize_t length = readlinkat(reader->root, path, target, sizeof target - 1);
    const char *name = "";
    if (length > 0) {
        target[length] = '\0';
        name = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
    }
    scan_copy(out, size, name, strlen(name));
}

static void add_channel(struct sensors *sensors, struct reader *reader, const char *folder,
                        const char *chip, unsigned channel)
{
    char path[96];
    char device[64];
    (void)snprintf(path, sizeof path, "%s/temp%u_input", folder, channel);
    if (faccessat(reader->root, path, F_OK, 0) != 0) {
        return;
    }
    struct sensor *sensor = add_sensor(sensors);
    if (!sensor) {
        return;
    }
    device_name(reader, folder, device, sizeof device);
    memcpy(sensor->path, path, sizeof sensor->path);
    (void)snprintf(sensor->chip, sizeof sensor->chip, "%s", chip);
    (void)snprintf(sensor->key, sizeof sensor->key, "%.40s%s%.60s/temp%u", chip,
                   device[0] ? "@" : "", device, channel);
    (void)snprintf(path, sizeof path, "%s/temp%u_label", folder, channel);
    (void)reader_line(reader, path, sensor->label, sizeof sensor->label);
    (void)snprintf(path, sizeof path, "%s/temp%u_max", folder, channel);
    sensor->has_maximum = read_degrees(reader, path, &sensor->maximum);
    (void)snprintf(path, sizeof path, "%s/temp%u_crit", folder, channel);
    sensor->has_critical = read_degrees(reader, path, &sensor->critical);
}

struct finder {
    struct sensors *sensors;
    struct reader *reader;
};

static void add_hwmon(void *context, const char *name)
{
    struct sensors *sensors = ((struct finder *)context)->sensors;
    struct reader *reader = ((struct finder *)context)->reader;
    char folder[64];
    char path[96];
    char chip[48];
    (void)snprintf(folder, sizeof folder, "sys/class/hwmon/%.32s", name);
    (void)snprintf(path, sizeof path, "%s/name", folder);
    if (!reader_line(reader, path, chip, sizeof chip)) {
        scan_copy(chip, sizeof chip, name, strlen(name));
    }
    for (unsigned channel = 0; channel < CHANNEL_LIMIT; channel++) {
        add_channel(sensors, reader, folder, chip, channel);
    }
}

static void add_zone(void *context, const char *name)
{
    struct sensors *sensors = ((struct finder *)context)->sensors;
    struct reader *reader = ((struct finder *)context)->reader;
    char path[96];
    (void)snprintf(path, sizeof path, "sys/class/thermal/%.32s/temp", name);
    if (strncmp(name, "thermal_zone", 12) != 0 || faccessat(reader->root, path, F_OK, 0) != 0) {
        return;
    }
    struct sensor *sensor = add_sensor(sensors);
    if (!sensor) {
        return;
    }
    memcpy(sensor->path, path, sizeof sensor->path);
    (void)snprintf(sensor->key, sizeof sensor->key, "%.32s", name);
    (void)snprintf(path, sizeof path, "sys/class/thermal/%.32s/type", name);
    (void)reader_line(reader, path, sensor->chip, sizeof sensor->chip);
    for (unsigned point = 0; point < 16 && !sensor->has_critical; point++) {
        char type[16];
        (void)snprintf(path, sizeof path, "sys/class/thermal/%.32s/trip_point_%u_type", name,
                       point);
        if (!reader_line(reader, path, type, sizeof type)) {
            break;
        }
        (void)snprintf(path, sizeof path, "sys/class/thermal/%.32s/trip_point_%u_temp", name,
                       point);
        sensor->has_critical =
            strcmp(type, "critical") == 0 && read_degrees(reader, path, &sensor->critical);
    }
}

static int compare_keys(const void *left, const void *right)
{
    const struct sensor *a = left;
    const struct sensor *b = right;
    return strcmp(a->key, b->key);
}

static void pass(void *context, const char *name)
{
    (void)context;
    (void)name;
}

static void find_sensors(struct sensors *sensors, struct reader *reader)
{
    struct finder finder = {.sensors = sensors, .reader = reader};
    uint64_t seen = reader_list(reader, "sys/class/hwmon", pass, NULL) ^
                    reader_list(reader, "sys/class/thermal", pass, NULL) << 1;
    sensors->listed_ns = reader->now_ns;
    if (seen == sensors->seen && !sensors->list_again) {
        return;
    }
    drop_all(sensors, reader);
    (void)reader_list(reader, "sys/class/hwmon", add_hwmon, &finder);
    if (!sensors->count) {
        (void)reader_list(reader, "sys/class/thermal", add_zone, &finder);
    }
    if (sensors->count) {
        qsort(sensors->items, sensors->count, sizeof *sensors->items, compare_keys);
    }
    sensors->seen = seen;
    sensors->list_again = false;
}

/* ---- reading and publishing ------------------------------------------------------------------ */

void sensors_read(struct proc *proc)
{
    struct sensors *sensors = &proc->sensors;
    struct reader *reader = &proc->reader;
    if (!sensors->enabled) {
        return;
    }
    if (!sensors->listed_ns || sensors->list_again ||
        reader->now_ns - sensors->listed_ns >= proc->options.slow_interval_ns) {
        find_sensors(sensors, reader);
    }
    for (uint32_t i = 0; i < sensors->count; i++) {
        struct sensor *sensor = &sensors->items[i];
        int64_t number = 0;
        sensor->file.path = sensor->path;
        ssize_t length = source_read(&sensor->file, reader, 0);
        struct scan scan = scan_text(reader->buffer, length < 0 ? 0 : (size_t)length);
        sensor->reason = length < 0                 ? reason_of(length)
                         : scan_i64(&scan, &number) ? 0
                                                    : TACHO_ABSENT_ERROR;
        sensor->temperature = (double)number / 1000;
        sensors->list_again = sensors->list_again || sensor->reason == TACHO_ABSENT_LOST ||
                              sensor->reason == TACHO_ABSENT_UNSUPPORTED;
    }
}

static void put_degrees(const struct out *out, int32_t metric, bool known, double degrees,
                        int reason)
{
    if (known) {
        out_exact(out, metric, degrees);
    } else {
        out_absent(out, metric, reason);
    }
}

void sensors_list(const struct proc *proc, const struct out *out)
{
    const struct sensors *sensors = &proc->sensors;
    for (uint32_t i = 0; i < sensors->count; i++) {
        const struct sensor *sensor = &sensors->items[i];
        out->host->entity(out->batch, "sensor", sensor->key, out->root, 0);
        out->host->label(out->batch, "chip", sensor->chip);
        out->host->label(out->batch, "label", sensor->label);
        put_degrees(out, M_SENSOR_TEMPERATURE, sensor->reason == 0, sensor->temperature,
                    sensor->reason);
        put_degrees(out, M_SENSOR_MAXIMUM, sensor->has_maximum, sensor->maximum,
                    TACHO_ABSENT_UNSUPPORTED);
        put_degrees(out, M_SENSOR_CRITICAL, sensor->has_critical, sensor->critical,
                    TACHO_ABSENT_UNSUPPORTED);
    }
}
