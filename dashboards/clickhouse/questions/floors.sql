-- SPDX-License-Identifier: GPL-2.0
-- Which recordings do not tell all, and why? What is counted from them are floors.
SELECT
    host,
    date,
    recording,
    anyIf(value, fact = 'floor') AS floor,
    anyIf(value, fact = 'complete') AS complete,
    anyIf(value, fact = 'recording') AS file
FROM faultline.facts
GROUP BY host, date, recording
HAVING floor != 'no' OR complete != 'yes'
ORDER BY host, date, recording;
