# SPDX-License-Identifier: GPL-2.0
# Distribution of whole faults (detection to resume) per device; the upper end is stretched, because
# the tail is what freezes a guest.
# latency-cdf: blocks (one a device) of: latency (us), fraction of faults that took at most that
load "style.gp"
set title "Latency of I/O page faults, detection to resume" font "sans,13"
set xlabel "latency, logarithmic"
set ylabel "faults that took longer"
set logscale xy
set grid xtics
eval "set xtics (" . times . ")"
set yrange [*:1]
set ytics ("100%%" 1, "50%%" 0.5, "10%%" 0.1, "1%% (p99)" 0.01, "0.1%%" 0.001, "0.01%%" 0.0001)
plot for [i = 0:devices - 1] "latency-cdf" index i using 1:2 with steps linetype (i + 1) linewidth 2 \
     title columnheader(1)
