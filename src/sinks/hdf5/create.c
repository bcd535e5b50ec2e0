/* Writes the objects and attributes of PyTables' format 2.1. Attributes stay in the header of their object, so that
 * the number of rows and the size of a table change together. */
#include "sinks/hdf5/create.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ATTRIBUTES_IN_HEADER 60000
#define LINKS_IN_HEADER 512 /* with more jobs, groups are indexed by a B-tree */
#define BACKEND_VERSION 2

static hid_t text_type(size_t size, H5T_cset_t letters)
{
    hid_t type = H5Tcopy(H5T_C_S1);
    if (type >= 0 && (H5Tset_size(type, size) < 0 || H5Tset_cset(type, letters) < 0)) {
        H5Tclose(type);
        return -1;
    }
    return type;
}

static hid_t column_type(const struct hdf5_column *column)
{
    switch (column->type) {
    case HDF5_I64: return H5Tcopy(H5T_STD_I64LE);
    case HDF5_F32: return H5Tcopy(H5T_IEEE_F32LE);
    case HDF5_TEXT: break;
    }
    return text_type(column->size, H5T_CSET_ASCII);
}

hid_t hdf5_create_type(const struct hdf5_layout *layout)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, layout->row_size);
    herr_t failed = type < 0 ? -1 : 0;
    for (size_t i = 0; i < layout->count && failed >= 0; i++) {
        hid_t column = column_type(&layout->columns[i]);
        failed = column < 0 ? -1 : H5Tinsert(type, layout->columns[i].name, layout->columns[i].offset, column);
        if (column >= 0)
            H5Tclose(column);
    }
    if (failed < 0 && type >= 0)
        H5Tclose(type);
    return failed < 0 ? -1 : type;
}

/* value NULL: an empty attribute, as PyTables writes an empty string. */
static herr_t add_attribute(hid_t object, const char *name, hid_t type, const void *value)
{
    hid_t space = H5Screate(value ? H5S_SCALAR : H5S_NULL);
    hid_t attribute = space < 0 ? -1 : H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t failed = attribute < 0 ? -1 : value ? H5Awrite(attribute, type, value) : 0;
    if (attribute >= 0)
        H5Aclose(attribute);
    if (space >= 0)
        H5Sclose(space);
    return failed;
}

static herr_t add_text(hid_t object, const char *name, const char *text)
{
    size_t size = strlen(text);
    hid_t type = text_type(size ? size : 1, H5T_CSET_UTF8);
    herr_t failed = type < 0 ? -1 : add_attribute(object, name, type, size ? text : NULL);
    if (type >= 0)
        H5Tclose(type);
    return failed;
}

static herr_t add_number(hid_t object, const char *name, int64_t number)
{
    return add_attribute(object, name, H5T_STD_I64LE, &number);
}

herr_t hdf5_create_set_number(hid_t object, const char *name, int64_t number)
{
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    herr_t failed = attribute < 0 ? -1 : H5Awrite(attribute, H5T_STD_I64LE, &number);
    if (attribute >= 0)
        H5Aclose(attribute);
    return failed;
}

herr_t hdf5_create_get_number(hid_t object, const char *name, int64_t *number)
{
    if (H5Aexists(object, name) <= 0)
        return -1;
    hid_t attribute = H5Aopen(object, name, H5P_DEFAULT);
    herr_t failed = attribute < 0 ? -1 : H5Aread(attribute, H5T_STD_I64LE, number);
    if (attribute >= 0)
        H5Aclose(attribute);
    return failed;
}

static herr_t add_group_attributes(hid_t group)
{
    return add_text(group, "CLASS", "GROUP") < 0 || add_text(group, "VERSION", "1.0") < 0 || add_text(group, "TITLE", "") < 0
               ? -1 : 0;
}

herr_t hdf5_create_root(hid_t file)
{
    hid_t root = H5Gopen2(file, "/", H5P_DEFAULT);
    herr_t failed = root < 0 || add_group_attributes(root) < 0 ? -1 : add_text(root, "PYTABLES_FORMAT_VERSION", "2.1");
    if (root >= 0)
        H5Gclose(root);
    return failed;
}

hid_t hdf5_create_group(hid_t file, const char *name)
{
    hid_t properties = H5Pcreate(H5P_GROUP_CREATE);
    hid_t group = -1;
    if (properties >= 0 && H5Pset_attr_phase_change(properties, ATTRIBUTES_IN_HEADER, 0) >= 0
        && H5Pset_link_phase_change(properties, LINKS_IN_HEADER, LINKS_IN_HEADER / 2) >= 0)
        group = H5Gcreate2(file, name, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (properties >= 0)
        H5Pclose(properties);
    if (group >= 0 && add_group_attributes(group) < 0) {
        H5Gclose(group);
        return -1;
    }
    return group;
}

/* The fill value: a row without data. */
static herr_t set_fill(hid_t properties, const struct hdf5_layout *layout, hid_t type)
{
    static const float no_f32 = -1;
    static const int64_t no_i64 = -1;
    uint8_t *row = calloc(1, layout->row_size);
    if (!row)
        return -1;
    for (size_t i = 0; i < layout->count; i++)
        if (layout->columns[i].type != HDF5_TEXT)
            memcpy(row + layout->columns[i].offset,
                   layout->columns[i].type == HDF5_F32 ? (const void *)&no_f32 : (const void *)&no_i64, layout->columns[i].size);
    herr_t failed = H5Pset_fill_value(properties, type, row);
    free(row);
    return failed;
}

static hid_t table_properties(const struct hdf5_layout *layout, hid_t type, unsigned level)
{
    hsize_t rows = layout->chunk_rows;
    hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (properties < 0)
        return -1;
    if (H5Pset_chunk(properties, 1, &rows) < 0 || set_fill(properties, layout, type) < 0
        || H5Pset_attr_phase_change(properties, ATTRIBUTES_IN_HEADER, 0) < 0
        || (level && (H5Pset_shuffle(properties) < 0 || H5Pset_deflate(properties, level) < 0))) {
        H5Pclose(properties);
        return -1;
    }
    return properties;
}

static herr_t add_fields(hid_t table, const struct hdf5_layout *layout)
{
    static const float no_f32 = -1;
    hid_t text = text_type(1, H5T_CSET_ASCII);
    herr_t failed = text < 0 ? -1 : 0;
    for (size_t i = 0; i < layout->count && failed >= 0; i++) {
        char name[32];
        snprintf(name, sizeof name, "FIELD_%zu_NAME", i);
        failed = add_text(table, name, layout->columns[i].name);
        snprintf(name, sizeof name, "FIELD_%zu_FILL", i);
        if (failed >= 0)
            failed = layout->columns[i].type == HDF5_I64   ? add_number(table, name, -1)
                     : layout->columns[i].type == HDF5_F32 ? add_attribute(table, name, H5T_IEEE_F32LE, &no_f32)
                                                           : add_attribute(table, name, text, "");
    }
    if (text >= 0)
        H5Tclose(text);
    return failed;
}

static herr_t add_table_attributes(hid_t table, const struct hdf5_layout *layout, const char *title, int64_t number)
{
    return add_text(table, "CLASS", "TABLE") < 0 || add_text(table, "VERSION", "2.7") < 0 || add_text(table, "TITLE", title) < 0
                   || add_number(table, "NROWS", 0) < 0
                   || add_number(table, "backend_version", BACKEND_VERSION) < 0
                   || add_number(table, HDF5_NUMBER, number) < 0 || add_fields(table, layout) < 0
               ? -1 : 0;
}

hid_t hdf5_create_table(hid_t group, const struct hdf5_layout *layout, hid_t type, const char *title, unsigned level,
                        int64_t number)
{
    hsize_t none = 0, any = H5S_UNLIMITED;
    hid_t properties = table_properties(layout, type, level);
    hid_t space = properties < 0 ? -1 : H5Screate_simple(1, &none, &any);
    hid_t table = space < 0 ? -1 : H5Dcreate2(group, layout->name, type, space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (space >= 0)
        H5Sclose(space);
    if (properties >= 0)
        H5Pclose(properties);
    if (table >= 0 && add_table_attributes(table, layout, title, number) < 0) {
        H5Dclose(table);
        return -1;
    }
    return table;
}

struct reason {
    char *text;
    size_t size;
};

/* Called from the outermost to the innermost error: the last call, with the cause, wins. */
static herr_t save_reason(unsigned n, const H5E_error2_t *error, void *context)
{
    const struct reason *reason = context;
    (void)n;
    snprintf(reason->text, reason->size, "%s", error->desc ? error->desc : "");
    return 0;
}

void hdf5_create_reason(char *text, size_t size)
{
    struct reason reason = { text, size };
    text[0] = '\0';
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_DOWNWARD, save_reason, &reason);
}
