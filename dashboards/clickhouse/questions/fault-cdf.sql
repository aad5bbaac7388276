-- SPDX-License-Identifier: GPL-2.0
-- How many faults has a device in a day? The share of all devices and days that had at most so many, also none.
WITH device_days AS (
    SELECT host, day, device, sum(seen) AS faults
    FROM (
        SELECT host, date AS day, device, 0 AS seen FROM faultline.devices
        UNION ALL
        SELECT host, ifNull(toDate(start, 'UTC'), date) AS day, device, 1 AS seen FROM faultline.faults
    )
    GROUP BY host, day, device
)
SELECT
    faults,
    count() AS device_days,
    100 * sum(device_days) OVER (ORDER BY faults) / sum(device_days) OVER () AS at_most_percent
FROM device_days
GROUP BY faults
ORDER BY faults;
