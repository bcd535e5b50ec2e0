/* Uses the library with changes held back, then applies them through redo.c. */
#include "sinks/hdf5/structure.h"

#include "base/scan.h"
#include "base/vec.h"
#include "sinks/hdf5/create.h"
#include "sinks/hdf5/redo.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TABLES_FIRST 64 /* initial capacity of the commit record */

enum err hdf5_structure_failure(struct hdf5_file *file)
{
    hdf5_create_reason(file->message, sizeof file->message);
    return file->driver.failure ? file->driver.failure : IO;
}

void hdf5_structure_path(const struct hdf5_table *table, char *path, size_t size)
{
    if (table->layout == HDF5_MAPPING)
        snprintf(path, size, "/mapping");
    else
        snprintf(path, size, "/job_%llu/%s", (unsigned long long)table->job, colmet_backends[table->layout].name);
}

enum err hdf5_structure_record(const struct hdf5_file *file, bool with_buffered, struct hdf5_record *next)
{
    *next = (struct hdf5_record){
        .generation = file->record.generation + 1,
        .position = with_buffered ? file->position : file->record.position,
        .count = file->tables.count,
        .rows = calloc(file->tables.count + 1, 8),
    };
    if (!next->rows)
        return NOMEM;
    for (size_t i = 0; i < file->tables.count; i++)
        next->rows[i] = file->tables.list[i]->rows + (with_buffered ? file->tables.list[i]->buffered_count : 0);
    return OK;
}

/* A contiguous dataset at a fixed offset: commits write there without the library. */
static hid_t create_record_dataset(hid_t at, size_t bytes)
{
    hsize_t size = bytes;
    hid_t space = H5Screate_simple(1, &size, NULL), properties = H5Pcreate(H5P_DATASET_CREATE), dataset = -1;
    if (space >= 0 && properties >= 0 && H5Pset_layout(properties, H5D_CONTIGUOUS) >= 0
        && H5Pset_alloc_time(properties, H5D_ALLOC_TIME_EARLY) >= 0 && H5Pset_fill_time(properties, H5D_FILL_TIME_NEVER) >= 0)
        dataset = H5Dcreate2(at, HDF5_RECORD_NAME, H5T_STD_U8LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (space >= 0)
        H5Sclose(space);
    if (properties >= 0)
        H5Pclose(properties);
    return dataset;
}

/* Writes both copies, so that an older one cannot be read later. */
static enum err write_record(struct hdf5_file *file, hid_t at, const struct hdf5_record *record)
{
    bool fits = hdf5_record_size(record->count) <= file->record_size;
    if (!fits) {
        file->record_size = hdf5_record_size(record->count < TABLES_FIRST ? TABLES_FIRST : 2 * record->count);
        if (H5Lexists(at, HDF5_RECORD_NAME, H5P_DEFAULT) > 0 && H5Ldelete(at, HDF5_RECORD_NAME, H5P_DEFAULT) < 0)
            return hdf5_structure_failure(file);
    }
    hid_t dataset = fits ? H5Dopen2(at, HDF5_RECORD_NAME, H5P_DEFAULT) : create_record_dataset(at, 2 * file->record_size);
    uint8_t *bytes = dataset < 0 ? NULL : malloc(2 * file->record_size);
    herr_t failed = -1;
    if (bytes) {
        hdf5_record_write(record, bytes, file->record_size);
        memcpy(bytes + file->record_size, bytes, file->record_size);
        failed = H5Dwrite(dataset, H5T_STD_U8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, bytes);
        haddr_t offset = H5Dget_offset(dataset);
        failed = offset == HADDR_UNDEF ? -1 : failed;
        file->record_at = offset;
    }
    free(bytes);
    if (dataset >= 0)
        H5Dclose(dataset);
    return failed < 0 ? hdf5_structure_failure(file) : OK;
}

static enum err renew_record(struct hdf5_file *file, hid_t at)
{
    struct hdf5_record next;
    enum err err = hdf5_structure_record(file, false, &next);
    if (!err)
        err = write_record(file, at, &next);
    if (err) {
        hdf5_record_clear(&next);
        return err;
    }
    hdf5_record_clear(&file->record);
    file->record = next;
    return OK;
}

/* Keeps attributes and links of the root in its header while there are few. */
static hid_t root_properties(void)
{
    hid_t properties = H5Pcreate(H5P_FILE_CREATE);
    if (properties >= 0 && H5Pset_link_phase_change(properties, 512, 256) < 0) {
        H5Pclose(properties);
        return -1;
    }
    return properties;
}

enum err hdf5_structure_create(struct hdf5_file *file, uint64_t position)
{
    hid_t properties = root_properties();
    hid_t made = properties < 0 ? -1 : H5Fcreate(file->path, H5F_ACC_TRUNC, properties, file->access);
    enum err err = made < 0 || hdf5_create_root(made) < 0 ? hdf5_structure_failure(file) : OK;
    file->record.position = position;
    if (!err)
        err = renew_record(file, made);
    if (made >= 0 && H5Fclose(made) < 0 && !err)
        err = hdf5_structure_failure(file);
    if (properties >= 0)
        H5Pclose(properties);
    return err;
}

/* Starts holding back changes. */
static enum err begin_change(struct hdf5_file *file, hid_t *held, uint64_t *end)
{
    enum err err = hdf5_driver_end(file->driver.fd, end);
    if (err)
        return err;
    if (file->driver.end)
        *end = file->driver.end;
    file->driver.is_held = true;
    *held = H5Fopen(file->path, H5F_ACC_RDWR, file->access);
    if (*held >= 0)
        return OK;
    err = hdf5_structure_failure(file);
    file->driver.is_held = false;
    hdf5_pages_clear(&file->driver.pages);
    return err;
}

/* Applies the changes if err is OK, else drops them. */
static enum err end_change(struct hdf5_file *file, hid_t held, uint64_t end, enum err err)
{
    if (H5Fclose(held) < 0 && !err)
        err = hdf5_structure_failure(file);
    file->driver.is_held = false;
    if (!err)
        err = hdf5_redo_change(file->driver.fd, file->path, &file->driver.pages, end);
    hdf5_pages_clear(&file->driver.pages);
    return err;
}

static herr_t add_table(struct hdf5_file *file, hid_t held, const struct hdf5_table *table, size_t number)
{
    const struct hdf5_layout *layout = &file->tables.layouts[table->layout];
    char name[32] = "/", title[64] = "What the numbered counters are";
    bool is_mapping = table->layout == HDF5_MAPPING;
    if (!is_mapping) {
        snprintf(name, sizeof name, "job_%llu", (unsigned long long)table->job);
        snprintf(title, sizeof title, "Metrics for the Job %llu", (unsigned long long)table->job);
    }
    hid_t group = is_mapping || H5Lexists(held, name, H5P_DEFAULT) > 0 ? H5Gopen2(held, name, H5P_DEFAULT)
                                                                        : hdf5_create_group(held, name);
    hid_t made = group < 0 ? -1 : hdf5_create_table(group, layout, file->types[table->layout], title, file->level,
                                                    (int64_t)number);
    if (made >= 0)
        H5Dclose(made);
    if (group >= 0)
        H5Gclose(group);
    return made < 0 ? -1 : 0;
}

enum err hdf5_structure_add(struct hdf5_file *file)
{
    hid_t held;
    uint64_t end;
    enum err err = begin_change(file, &held, &end);
    if (err)
        return err;
    size_t record_size = file->record_size;
    uint64_t record_at = file->record_at;
    for (size_t i = 0; i < file->tables.count && !err; i++)
        if (!file->tables.list[i]->exists && add_table(file, held, file->tables.list[i], i) < 0)
            err = hdf5_structure_failure(file);
    if (!err)
        err = renew_record(file, held);
    err = end_change(file, held, end, err);
    if (err) {
        file->record_size = record_size;
        file->record_at = record_at;
    }
    for (size_t i = 0; i < file->tables.count && !err; i++)
        file->tables.list[i]->exists = true;
    return err;
}

/* State while scanning a file. */
struct search {
    struct hdf5_file *file;
    uint64_t job;
    struct found_table {
        uint64_t number, job, rows;
        int layout;
    } *found;
    size_t count, capacity;
};

static bool add_found(struct search *search, const struct found_table *table)
{
    if (array_reserve(search->found, search->capacity, search->count + 1, VEC_MAX))
        return false;
    search->found[search->count++] = *table;
    return true;
}

/* Accepts only tables with our number attribute and our layout. */
static herr_t scan_table(struct search *search, hid_t group, const char *name, int layout)
{
    struct found_table table = { .job = search->job, .layout = layout };
    int64_t number;
    hsize_t rows = 0;
    hid_t dataset = H5Dopen2(group, name, H5P_DEFAULT);
    if (dataset < 0)
        return -1;
    hid_t space = H5Dget_space(dataset), type = H5Dget_type(dataset);
    bool is_ours = hdf5_create_get_number(dataset, HDF5_NUMBER, &number) >= 0 && space >= 0
                   && H5Sget_simple_extent_dims(space, &rows, NULL) == 1 && type >= 0
                   && H5Tequal(type, search->file->types[layout]) > 0;
    if (space >= 0)
        H5Sclose(space);
    if (type >= 0)
        H5Tclose(type);
    H5Dclose(dataset);
    table.number = is_ours ? (uint64_t)number : 0;
    table.rows = rows;
    return is_ours && add_found(search, &table) ? 0 : -1;
}

static herr_t scan_group(hid_t group, const char *name, const H5L_info_t *info, void *context)
{
    const struct colmet_backend *backend = colmet_backend_find(name);
    (void)info;
    return backend ? scan_table(context, group, name, (int)backend->id) : 0;
}

static herr_t scan_root(hid_t root, const char *name, const H5L_info_t *info, void *context)
{
    struct search *search = context;
    const char *digits = name + strlen("job_");
    (void)info;
    if (strcmp(name, "mapping") == 0) {
        search->job = 0;
        return scan_table(search, root, name, HDF5_MAPPING);
    }
    if (strncmp(name, "job_", strlen("job_")) != 0 || !scan_u64(&digits, &search->job) || *digits)
        return 0;
    hid_t group = H5Gopen2(root, name, H5P_DEFAULT);
    herr_t failed = group < 0 ? -1 : H5Literate(group, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, scan_group, search);
    if (group >= 0)
        H5Gclose(group);
    return failed;
}

static int compare_numbers(const void *a, const void *b)
{
    const struct found_table *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* Table numbers must be consecutive from 0. */
static enum err load_tables(struct hdf5_file *file, struct search *search)
{
    if (search->count)
        qsort(search->found, search->count, sizeof *search->found, compare_numbers);
    for (size_t i = 0; i < search->count; i++) {
        struct hdf5_table *table = hdf5_tables_find(&file->tables, search->found[i].job, search->found[i].layout);
        if (!table)
            return NOMEM;
        if (search->found[i].number != i || file->tables.count != i + 1)
            return CORRUPT;
        table->exists = true;
        table->rows = i < file->record.count ? file->record.rows[i] : 0;
        if (table->rows > search->found[i].rows)
            return CORRUPT;
    }
    return OK;
}

static enum err load_record(struct hdf5_file *file, hid_t opened)
{
    hid_t dataset = H5Lexists(opened, HDF5_RECORD_NAME, H5P_DEFAULT) > 0 ? H5Dopen2(opened, HDF5_RECORD_NAME, H5P_DEFAULT) : -1;
    if (dataset < 0)
        return CORRUPT;
    haddr_t offset = H5Dget_offset(dataset);
    size_t size = (size_t)H5Dget_storage_size(dataset);
    H5Dclose(dataset);
    uint8_t *bytes = offset == HADDR_UNDEF || size % 16 || !size ? NULL : malloc(size);
    if (!bytes)
        return CORRUPT;
    enum err err = hdf5_pages_pread(file->driver.fd, offset, bytes, size);
    if (!err)
        err = hdf5_record_read(&file->record, bytes, size);
    free(bytes);
    file->record_at = offset;
    file->record_size = size / 2;
    return err;
}

static enum err truncate_table(struct hdf5_file *file, hid_t held, size_t i)
{
    char path[96];
    hsize_t rows = file->tables.list[i]->rows;
    hdf5_structure_path(file->tables.list[i], path, sizeof path);
    hid_t dataset = H5Dopen2(held, path, H5P_DEFAULT);
    herr_t failed = dataset < 0 ? -1 : H5Dset_extent(dataset, &rows);
    if (failed >= 0)
        failed = hdf5_create_set_number(dataset, "NROWS", (int64_t)rows);
    if (dataset >= 0)
        H5Dclose(dataset);
    return failed < 0 ? hdf5_structure_failure(file) : OK;
}

static enum err truncate_tables(struct hdf5_file *file, const struct search *search)
{
    hid_t held;
    uint64_t end;
    bool is_needed = false;
    for (size_t i = 0; i < search->count; i++)
        is_needed |= search->found[i].rows > file->tables.list[i]->rows;
    if (!is_needed)
        return OK;
    enum err err = begin_change(file, &held, &end);
    if (err)
        return err;
    for (size_t i = 0; i < search->count && !err; i++)
        if (search->found[i].rows > file->tables.list[i]->rows)
            err = truncate_table(file, held, i);
    return end_change(file, held, end, err);
}

/* The file can be shorter than the superblock says only after a power failure during a change. */
static enum err extend_file(int fd)
{
    uint64_t end;
    struct stat status;
    enum err err = hdf5_driver_end(fd, &end);
    if (!err && (fstat(fd, &status) || ((uint64_t)status.st_size < end && ftruncate(fd, (off_t)end))))
        err = err_from_errno(errno);
    return err;
}

enum err hdf5_structure_load(struct hdf5_file *file)
{
    struct search search = { .file = file };
    enum err err = extend_file(file->driver.fd);
    hid_t opened = err ? -1 : H5Fopen(file->path, H5F_ACC_RDONLY, file->access);
    if (!err && opened < 0)
        err = hdf5_structure_failure(file);
    if (!err)
        err = load_record(file, opened);
    if (!err && H5Literate(opened, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, scan_root, &search) < 0)
        err = CORRUPT;
    if (opened >= 0)
        H5Fclose(opened);
    if (!err)
        err = load_tables(file, &search);
    if (!err)
        err = truncate_tables(file, &search);
    if (err == CORRUPT)
        snprintf(file->message, sizeof file->message, "not written by this version of Sonde; choose another path");
    free(search.found);
    return err;
}
