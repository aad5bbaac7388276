-- SPDX-License-Identifier: GPL-2.0
-- Which objectives are broken, on how many devices and hosts, and which stage of faults stood in the way? A row without a
-- stage: of violations that no fault explains.
SELECT
    slo,
    metric,
    ifNull(stage, '') AS stage_in_the_way,
    count() AS violations,
    uniqExact(host) AS hosts,
    uniqExact(host, recording, device) AS devices,
    sum(ios) AS ios,
    sum(slow_ios) AS slow_ios,
    min(window) AS first,
    max(window) AS last
FROM faultline.violations
GROUP BY slo, metric, stage_in_the_way
ORDER BY violations DESC, slo, metric, stage_in_the_way;
