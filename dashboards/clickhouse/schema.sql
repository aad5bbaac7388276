-- SPDX-License-Identifier: GPL-2.0
-- Tables of a fleet's recordings, as `faultline export --parquet` writes them; columns are those of docs/analysis.md, then
-- where a row is from: its host, the day its recording began, and the recording (the file's name).
-- Who needs others: CREATE TABLE faultline.NAME ... EMPTY AS SELECT * FROM file('DIR/NAME/*/*/*.parquet').

CREATE DATABASE IF NOT EXISTS faultline;

CREATE TABLE IF NOT EXISTS faultline.facts (
    "fact" LowCardinality(String),
    "value" Nullable(String),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "fact");

CREATE TABLE IF NOT EXISTS faultline.devices (
    "device" LowCardinality(String),
    "handle" Nullable(UInt64),
    "source_id" Nullable(UInt64),
    "kind" LowCardinality(Nullable(String)),
    "model" LowCardinality(Nullable(String)),
    "vm" LowCardinality(Nullable(String)),
    "pid" Nullable(UInt64),
    "comm" LowCardinality(Nullable(String)),
    "queues" Nullable(UInt64),
    "memory_bytes" Nullable(UInt64),
    "iommu_group" Nullable(UInt64),
    "cgroup" Nullable(UInt64),
    "first_seen" Nullable(DateTime64(9, 'UTC')),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "device");

CREATE TABLE IF NOT EXISTS faultline.faults (
    "start" Nullable(DateTime64(9, 'UTC')),
    "device" LowCardinality(String),
    "handle" Nullable(UInt64),
    "queue" Nullable(UInt64),
    "pasid" Nullable(UInt64),
    "group" Nullable(UInt64),
    "instance" Nullable(UInt64),
    "address" Nullable(UInt64),
    "length_bytes" Nullable(UInt64),
    "access" LowCardinality(Nullable(String)),
    "kind" LowCardinality(Nullable(String)),
    "state" LowCardinality(Nullable(String)),
    "reached" LowCardinality(Nullable(String)),
    "response" LowCardinality(Nullable(String)),
    "total_ns" Nullable(UInt64),
    "request_ns" Nullable(UInt64),
    "delivery_ns" Nullable(UInt64),
    "dispatch_ns" Nullable(UInt64),
    "resolve_ns" Nullable(UInt64),
    "map_ns" Nullable(UInt64),
    "respond_ns" Nullable(UInt64),
    "resume_ns" Nullable(UInt64),
    "merged" LowCardinality(Nullable(String)),
    "cpu_faults" Nullable(UInt64),
    "cpu_fault" Nullable(DateTime64(9, 'UTC')),
    "handler_cpu" Nullable(UInt64),
    "handler_tid" Nullable(UInt64),
    "pid" Nullable(UInt64),
    "overflows" Nullable(UInt64),
    "repeats" Nullable(UInt64),
    "comm" LowCardinality(Nullable(String)),
    "span" LowCardinality(Nullable(String)),
    "cause" Nullable(String),
    "consumer" LowCardinality(Nullable(String)),
    "interrupt_ns" Nullable(UInt64),
    "queued_ns" Nullable(UInt64),
    "mm_fault_ns" Nullable(UInt64),
    "delivered_ns" Nullable(UInt64),
    "abandoned" Nullable(DateTime64(9, 'UTC')),
    "held_back_ns" Nullable(UInt64),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "device");

CREATE TABLE IF NOT EXISTS faultline.bursts (
    "device" LowCardinality(String),
    "from" Nullable(DateTime64(9, 'UTC')),
    "duration_ns" Nullable(UInt64),
    "faults" Nullable(UInt64),
    "peak_per_s" Nullable(UInt64),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "device");

CREATE TABLE IF NOT EXISTS faultline.footprint (
    "device" LowCardinality(String),
    "touched_4k_bytes" Nullable(UInt64),
    "touched_2m_bytes" Nullable(UInt64),
    "memory_percent" Nullable(Float64),
    "memory_2m_percent" Nullable(Float64),
    "accesses" Nullable(UInt64),
    "reads" Nullable(UInt64),
    "writes" Nullable(UInt64),
    "simulated_faults" Nullable(UInt64),
    "interval_p50_ns" Nullable(UInt64),
    "interval_p99_ns" Nullable(UInt64),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "device");

CREATE TABLE IF NOT EXISTS faultline.loss (
    "what" LowCardinality(String),
    "count" Nullable(UInt64),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "what");

CREATE TABLE IF NOT EXISTS faultline.slo (
    "slo" LowCardinality(String),
    "device" LowCardinality(String),
    "metric" LowCardinality(Nullable(String)),
    "target" Nullable(Float64),
    "io_windows" Nullable(UInt64),
    "violations" Nullable(UInt64),
    "state" LowCardinality(Nullable(String)),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "device");

CREATE TABLE IF NOT EXISTS faultline.violations (
    "window" Nullable(DateTime64(9, 'UTC')),
    "window_length_ns" Nullable(UInt64),
    "slo" LowCardinality(String),
    "device" LowCardinality(String),
    "metric" LowCardinality(Nullable(String)),
    "measured_text" Nullable(String),
    "target_text" Nullable(String),
    "measured" Nullable(Float64),
    "target" Nullable(Float64),
    "ios" Nullable(UInt64),
    "slow_ios" Nullable(UInt64),
    "recorded_ios" Nullable(UInt64),
    "overlapped_ios" Nullable(UInt64),
    "faults" Nullable(UInt64),
    "stage" LowCardinality(Nullable(String)),
    "stage_time_ns" Nullable(UInt64),
    "group" Nullable(UInt64),
    "instance" Nullable(UInt64),
    "address" Nullable(UInt64),
    "fault" Nullable(DateTime64(9, 'UTC')),
    "cause" Nullable(String),
    "merged" Nullable(UInt64),
    "flow" Nullable(String),
    "frames" Nullable(UInt64),
    "lost_fault" Nullable(UInt64),
    "lost_no_buffer" Nullable(UInt64),
    "lost_cache_full" Nullable(UInt64),
    "lost_backup_full" Nullable(UInt64),
    "lost_before_nic" Nullable(UInt64),
    "lost_wire" Nullable(UInt64),
    "lost_overlong" Nullable(UInt64),
    "lost_unknown" Nullable(UInt64),
    "held" Nullable(UInt64),
    "host" LowCardinality(String),
    "date" Date,
    "recording" LowCardinality(String)
) ENGINE = MergeTree PARTITION BY "date" ORDER BY ("host", "device");

-- What `faultline protect --csv` says, of which these columns are asked for here.
CREATE TABLE IF NOT EXISTS faultline.protect (
    "host" LowCardinality(String),
    "domain" LowCardinality(String),
    "pinned_by" LowCardinality(String),
    "memory_pages" Nullable(UInt64),
    "faults_none" Nullable(UInt64),
    "faults" Nullable(UInt64),
    "pinned_mean_pages" Nullable(Float64)
) ENGINE = MergeTree ORDER BY ("pinned_by", "host", "domain");
