-- SPDX-License-Identifier: GPL-2.0
-- Which share of the devices that faulted on a day had more than 5 faults within a second (VPRI section 2.2), and how
-- many within any one were most?
WITH seconds AS (
    SELECT host, device, toDate(start, 'UTC') AS day,
        count() OVER (
            PARTITION BY host, recording, device ORDER BY toUnixTimestamp64Nano(assumeNotNull(start))
            RANGE BETWEEN 999999999 PRECEDING AND CURRENT ROW
        ) AS within_a_second
    FROM faultline.faults
    WHERE start IS NOT NULL
),
peaks AS (SELECT host, day, device, max(within_a_second) AS peak FROM seconds GROUP BY host, day, device)
SELECT
    day,
    count() AS devices,
    countIf(peak > 5) AS with_bursts,
    100 * with_bursts / devices AS with_bursts_percent,
    max(peak) AS worst_per_s
FROM peaks
GROUP BY day
ORDER BY day;
