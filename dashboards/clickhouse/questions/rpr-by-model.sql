-- SPDX-License-Identifier: GPL-2.0
-- What does pinning avoid for what it costs? RPR (VPRI section 7.3) by policy and model of device, which is that of the
-- devices of the same host and name: percent of faults avoided over percent of memory pinned in the mean.
SELECT
    pinned_by,
    model,
    count() AS devices,
    100 * (sum(faults_none) - sum(faults)) / nullIf(sum(faults_none), 0) AS avoided_percent,
    100 * sum(pinned_mean_pages) / nullIf(sum(memory_pages), 0) AS pinned_percent,
    avoided_percent / nullIf(pinned_percent, 0) AS rpr
FROM faultline.protect AS p
INNER JOIN (SELECT host, device AS domain, any(model) AS model FROM faultline.devices GROUP BY host, device) AS d
    USING (host, domain)
GROUP BY pinned_by, model
ORDER BY pinned_by, model;
