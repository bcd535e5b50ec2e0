/* Opens, commits and closes a file. Changes of its structure are in structure.c. */
#include "sinks/hdf5/file.h"

#include "sinks/hdf5/create.h"
#include "sinks/hdf5/redo.h"
#include "sinks/hdf5/structure.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OPEN_MAX 256 /* datasets that stay open from one commit to the next */

/* An fcntl lock does not conflict with the flock of HDF5's own tools. */
static enum err lock(int fd)
{
    struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    return fcntl(fd, F_OFD_SETLK, &whole) ? (errno == EACCES || errno == EAGAIN ? AGAIN : err_from_errno(errno)) : OK;
}

static enum err open_path(struct hdf5_file *file, const char *path)
{
    file->driver.fd = open(path, O_RDWR | O_CLOEXEC);
    if (file->driver.fd < 0)
        return err_from_errno(errno);
    enum err err = lock(file->driver.fd);
    if (err)
        snprintf(file->message, sizeof file->message, err == AGAIN ? "another process writes to it" : "cannot lock it");
    return err;
}

/* Created under a temporary name: a file of this name is always complete. */
static enum err create_file(struct hdf5_file *file, uint64_t position)
{
    char making[PATH_MAX];
    if (snprintf(making, sizeof making, "%s.new", file->path) >= (int)sizeof making)
        return USAGE;
    file->driver.fd = open(making, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file->driver.fd < 0)
        return err_from_errno(errno);
    enum err err = lock(file->driver.fd);
    if (!err)
        err = hdf5_structure_create(file, position);
    if (!err && (fdatasync(file->driver.fd) || rename(making, file->path)))
        err = err_from_errno(errno);
    if (err)
        unlink(making);
    return err;
}

static enum err prepare(struct hdf5_file *file)
{
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL); /* do not print errors to stderr */
    file->access = hdf5_driver_access(&file->driver);
    bool is_good = file->access >= 0;
    for (int i = 0; i < HDF5_LAYOUTS; i++) {
        file->types[i] = is_good ? hdf5_create_type(&file->tables.layouts[i]) : -1;
        is_good = is_good && file->types[i] >= 0;
    }
    return is_good ? OK : NOMEM;
}

/* Opens the file for appending in SWMR mode. */
static enum err start(struct hdf5_file *file)
{
    enum err err = file->driver.announced_end ? OK : hdf5_driver_end(file->driver.fd, &file->driver.announced_end);
    if (!err)
        file->file = H5Fopen(file->path, H5F_ACC_RDWR | H5F_ACC_SWMR_WRITE, file->access);
    return err ? err : file->file < 0 ? hdf5_structure_failure(file) : OK;
}

enum err hdf5_file_open(struct hdf5_file *file, const struct hdf5_file_settings *settings)
{
    *file = (struct hdf5_file){ .level = settings->level, .driver.fd = -1, .access = -1, .file = -1 };
    if (snprintf(file->path, sizeof file->path, "%s", settings->path) >= (int)sizeof file->path)
        return USAGE;
    hdf5_tables_init(&file->tables, settings->involved_size);
    enum err err = prepare(file);
    if (!err)
        err = open_path(file, file->path);
    bool is_new = err == ABSENT;
    if (is_new)
        err = create_file(file, settings->position);
    else if (!err)
        err = hdf5_redo_recover(file->driver.fd, file->path);
    if (!err && !is_new)
        err = hdf5_structure_load(file);
    if (!err)
        err = start(file);
    file->position = file->record.position;
    if (err && !file->message[0])
        snprintf(file->message, sizeof file->message, "%s", err_text(err));
    if (err)
        hdf5_file_close(file);
    return err;
}

bool hdf5_file_is_foreign(const char *path)
{
    hid_t file = H5Fis_hdf5(path) > 0 ? H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT) : -1;
    bool is_ours = file < 0 || H5Lexists(file, HDF5_RECORD_NAME, H5P_DEFAULT) > 0;
    if (file >= 0)
        H5Fclose(file);
    return !is_ours;
}

static void close_datasets(struct hdf5_file *file)
{
    for (size_t i = 0; i < file->tables.count; i++) {
        if (file->tables.list[i]->dataset >= 0)
            H5Dclose(file->tables.list[i]->dataset);
        file->tables.list[i]->dataset = -1;
    }
    file->open_count = 0;
}

/* Ends appending. After a failure nothing more is written, because the state of the library is unknown. */
static enum err stop(struct hdf5_file *file)
{
    close_datasets(file);
    herr_t failed = file->file < 0 ? 0 : H5Fclose(file->file);
    file->file = -1;
    file->driver.is_dead = false;
    return failed < 0 ? hdf5_structure_failure(file) : OK;
}

static void give_up(struct hdf5_file *file)
{
    file->driver.is_dead = true;
    file->driver.end = 0;
    char message[sizeof file->message];
    memcpy(message, file->message, sizeof message);
    stop(file);
    memcpy(file->message, message, sizeof message);
}

static hid_t open_table(struct hdf5_file *file, struct hdf5_table *table)
{
    char path[96];
    const struct hdf5_layout *layout = &file->tables.layouts[table->layout];
    if (table->dataset >= 0)
        return table->dataset;
    hid_t properties = H5Pcreate(H5P_DATASET_ACCESS);
    hdf5_structure_path(table, path, sizeof path);
    if (properties >= 0 && H5Pset_chunk_cache(properties, 3, layout->chunk_rows * layout->row_size, 1.0) >= 0)
        table->dataset = H5Dopen2(file->file, path, properties);
    if (properties >= 0)
        H5Pclose(properties);
    file->open_count += table->dataset >= 0;
    return table->dataset;
}

static herr_t write_rows(const struct hdf5_file *file, const struct hdf5_table *table)
{
    hsize_t from = table->rows, count = table->buffered_count, all = from + count;
    if (H5Dset_extent(table->dataset, &all) < 0)
        return -1;
    hid_t space = H5Dget_space(table->dataset), memory = H5Screate_simple(1, &count, NULL);
    herr_t failed = space < 0 || memory < 0 ? -1 : H5Sselect_hyperslab(space, H5S_SELECT_SET, &from, NULL, &count, NULL);
    if (failed >= 0)
        failed = H5Dwrite(table->dataset, file->types[table->layout], memory, space, H5P_DEFAULT, table->buffered);
    if (space >= 0)
        H5Sclose(space);
    if (memory >= 0)
        H5Sclose(memory);
    return failed;
}

static herr_t append(struct hdf5_file *file, struct hdf5_table *table)
{
    if (open_table(file, table) < 0 || write_rows(file, table) < 0
        || hdf5_create_set_number(table->dataset, "NROWS", (int64_t)(table->rows + table->buffered_count)) < 0)
        return -1;
    if (file->open_count <= OPEN_MAX)
        return 0;
    herr_t failed = H5Dclose(table->dataset);
    table->dataset = -1;
    file->open_count--;
    return failed;
}

static enum err append_all(struct hdf5_file *file)
{
    herr_t failed = 0;
    for (size_t i = 0; i < file->tables.count && failed >= 0; i++)
        if (file->tables.list[i]->buffered_count)
            failed = append(file, file->tables.list[i]);
    if (failed >= 0)
        failed = H5Fflush(file->file, H5F_SCOPE_LOCAL);
    if (failed < 0)
        return hdf5_structure_failure(file);
    return fdatasync(file->driver.fd) ? err_from_errno(errno) : OK;
}

/* Writes the commit record: from here on the rows count. */
static enum err write_record(struct hdf5_file *file)
{
    struct hdf5_record next;
    enum err err = hdf5_structure_record(file, true, &next);
    uint8_t *bytes = err ? NULL : malloc(file->record_size);
    if (!err && !bytes)
        err = NOMEM;
    if (!err) {
        hdf5_record_write(&next, bytes, file->record_size);
        err = hdf5_pages_pwrite(file->driver.fd, file->record_at + (next.generation & 1) * file->record_size, bytes,
                                file->record_size);
    }
    if (!err && fdatasync(file->driver.fd))
        err = err_from_errno(errno);
    free(bytes);
    if (err) {
        hdf5_record_clear(&next);
        return err;
    }
    hdf5_record_clear(&file->record);
    file->record = next;
    return OK;
}

static bool has_new_tables(const struct hdf5_file *file)
{
    for (size_t i = file->tables.count; i > 0; i--)
        if (!file->tables.list[i - 1]->exists)
            return true;
    return false;
}

/* After a failure the file may hold uncommitted rows after the committed ones: they are overwritten later. */
enum err hdf5_file_commit(struct hdf5_file *file)
{
    enum err err = OK;
    file->message[0] = '\0';
    file->driver.failure = OK;
    if (!file->tables.buffered_bytes && file->position == file->record.position)
        return OK;
    if (has_new_tables(file)) {
        err = stop(file);
        if (!err)
            err = hdf5_structure_add(file);
    }
    if (!err && file->file < 0)
        err = hdf5_redo_recover(file->driver.fd, file->path);
    if (!err && file->file < 0)
        err = start(file);
    if (!err && file->tables.buffered_bytes)
        err = append_all(file);
    if (!err)
        err = write_record(file);
    if (!err)
        hdf5_tables_committed(&file->tables);
    else if (!file->message[0])
        snprintf(file->message, sizeof file->message, "%s", err_text(err));
    if (err)
        give_up(file);
    return err;
}

/* Truncates the sparse part after the data. */
static void trim(const struct hdf5_file *file)
{
    uint64_t end;
    struct stat status;
    if (hdf5_driver_end(file->driver.fd, &end) == OK && !fstat(file->driver.fd, &status) && (uint64_t)status.st_size > end
        && ftruncate(file->driver.fd, (off_t)end))
        return; /* keep it */
}

void hdf5_file_close(struct hdf5_file *file)
{
    bool was_open = file->file >= 0;
    file->driver.is_closing = true;
    enum err err = stop(file);
    for (int i = 0; i < HDF5_LAYOUTS; i++)
        if (file->types[i] > 0)
            H5Tclose(file->types[i]);
    if (file->access >= 0)
        H5Pclose(file->access);
    if (file->driver.fd >= 0 && was_open && !err)
        trim(file);
    if (file->driver.fd >= 0)
        close(file->driver.fd);
    hdf5_pages_clear(&file->driver.pages);
    hdf5_record_clear(&file->record);
    hdf5_tables_clear(&file->tables);
    file->access = file->driver.fd = -1;
    memset(file->types, 0, sizeof file->types);
}
