-- SPDX-License-Identifier: GPL-2.0
-- What does pinning avoid for what it costs? RPR (VPRI section 7.3) by policy and model of device, which is that of the
-- devices of the same host and name, empty for whole tenants: percent of faults avoided over percent of memory pinned in the mean.
SELECT
    pinned_by,
    ifNull(d.model, '') AS device_model,
    count() AS devices,
    100 * (sum(faults_none) - sum(faults)) / nullIf(sum(faults_none), 0) AS avoided_percent,
    100 * sum(pinned_mean_pages) / nullIf(sum(memory_pages), 0) AS pinned_percent,
    avoided_percent / nullIf(pinned_percent, 0) AS rpr
FROM faultline.protect AS p
LEFT JOIN (SELECT host, device, any(model) AS model FROM faultline.devices GROUP BY host, device) AS d
    ON p.host = d.host AND replaceRegexpOne(p.domain, '@[0-9]+$', '') = d.device
WHERE p.domain != 'total'
GROUP BY pinned_by, device_model
ORDER BY pinned_by, device_model;
