-- SPDX-License-Identifier: GPL-2.0
-- What did a change at {change} (as '2026-11-21 14:02:03') do? Faults per device and hour that was recorded, and how long
-- they took, before and from then on, by model of device.
WITH
    {change:DateTime64(9, 'UTC')} AS change,
    recordings AS (
        SELECT recording,
            parseDateTime64BestEffortOrNull(anyIf(value, fact = 'from'), 9, 'UTC') AS from,
            parseDateTime64BestEffortOrNull(anyIf(value, fact = 'to'), 9, 'UTC') AS to
        FROM faultline.facts GROUP BY recording
    ),
    hours AS (
        SELECT recording,
            (toUnixTimestamp64Nano(least(to, change)) - toUnixTimestamp64Nano(least(from, change))) / 3600e9 AS before,
            (toUnixTimestamp64Nano(greatest(to, change)) - toUnixTimestamp64Nano(greatest(from, change))) / 3600e9 AS after
        FROM recordings
    ),
    watched AS (
        SELECT model, sum(before) AS hours_before, sum(after) AS hours_after
        FROM faultline.devices INNER JOIN hours USING (recording) GROUP BY model
    ),
    counted AS (
        SELECT model,
            countIf(start < change) AS faults_before, countIf(start >= change) AS faults_after,
            quantileExactIf(0.99)(total_ns, start < change) AS p99_before_ns,
            quantileExactIf(0.99)(total_ns, start >= change) AS p99_after_ns
        FROM faultline.faults
        INNER JOIN (SELECT recording, handle, model FROM faultline.devices) AS d USING (recording, handle)
        GROUP BY model
    )
SELECT
    model,
    faults_before, faults_after,
    if(hours_before > 0, faults_before / hours_before, NULL) AS before_per_hour,
    if(hours_after > 0, faults_after / hours_after, NULL) AS after_per_hour,
    if(faults_before > 0, p99_before_ns, NULL) AS p99_before_ns,
    if(faults_after > 0, p99_after_ns, NULL) AS p99_after_ns
FROM watched LEFT JOIN counted USING (model)
ORDER BY model;
