/* The tables and views as SQL. docs/schema.md explains them. */
#ifndef SONDE_STORE_SCHEMA_H
#define SONDE_STORE_SCHEMA_H

#define SCHEMA_APPLICATION_ID 0x536f6e64 /* "Sond": distinguishes our files from other SQLite databases */

extern const char schema_version_1[];
extern const char schema_version_2[], schema_version_3[];
extern const char schema_indexes_1[], schema_sqlite_version_4[];
extern const char schema_postgres_functions_1[], schema_postgres_indexes_1[], schema_postgres_version_4[];

#endif
