-- SPDX-License-Identifier: GPL-2.0
-- The table `protect` of {file}, a CSV of `faultline protect`; columns are found by their names.

INSERT INTO faultline.protect (host, domain, pinned_by, memory_pages, faults_none, faults, pinned_mean_pages)
SELECT ifNull(host, ''), domain, pinned_by, memory_pages, faults_none, faults, pinned_mean_pages
FROM file({file:String}, 'CSVWithNames');
