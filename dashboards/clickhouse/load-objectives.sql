-- SPDX-License-Identifier: GPL-2.0
-- Likewise the tables of objectives, of exports with -c.

INSERT INTO faultline.slo SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/slo/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.slo)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;

INSERT INTO faultline.violations SELECT * REPLACE (
    decodeURLComponent(extract(_path, '.*/host=([^/]*)/date=')) AS host,
    toDate(extract(_path, '.*/date=([-0-9]*)/')) AS date,
    extract(_file, '^[^.]*') AS recording
)
FROM file({dir:String} || '/violations/*/*/*.parquet', 'Parquet')
WHERE _file NOT IN (SELECT recording || '.parquet' FROM faultline.violations)
SETTINGS use_structure_from_insertion_table_in_table_functions = 1, use_hive_partitioning = 0;
