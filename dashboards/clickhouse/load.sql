-- SPDX-License-Identifier: GPL-2.0
-- All recordings below {dir}, where `faultline export --parquet` has written them, that are not loaded yet: this may run
-- again and again. Columns are found by their names; one that a file does not have is null.

INSERT INTO faultline.facts SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/facts/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.facts)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;

INSERT INTO faultline.devices SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/devices/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.devices)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;

INSERT INTO faultline.faults SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/faults/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.faults)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;

INSERT INTO faultline.bursts SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/bursts/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.bursts)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;

INSERT INTO faultline.footprint SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/footprint/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.footprint)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;

INSERT INTO faultline.loss SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/loss/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.loss)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;
