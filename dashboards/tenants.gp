# SPDX-License-Identifier: GPL-2.0
# How unlike tenants fare: the share of them that get at most a bandwidth, and that wait at most a time for
# a translation. A line for each combination of the sweep's dimensions but the last.
# tenants.bandwidth, .mean, .p99: blocks (one a combination) of: "unit" or us in order, percent
load "style.gp"
panels = 2
heading = "Tenants" . content("at") . " (model)"
titles = content("titles")
load "panels.gp"
set yrange [0:100]
set grid xtics
set xrange [0:*]
set xlabel "bandwidth (" . content("unit") . ")"
set ylabel "tenants with at most that (%)"
set title "bandwidth"
set key at screen 0.99,top right top vertical title content("others")
plot for [i = 0:lines - 1] "tenants.bandwidth" index i using 1:2 with steps linetype (i + 1) linewidth 2 \
     title word(titles, i + 1)
unset key
unset label 1
set title "latency: mean (solid), p99 (dotted)"
set xlabel "latency of a translation, logarithmic"
set ylabel ""
set logscale x
set xrange [*:*]
eval "set xtics (" . times . ")"
plot for [i = 0:lines - 1] "tenants.mean" index i using 1:2 with steps linetype (i + 1) linewidth 2, \
     for [i = 0:lines - 1] "tenants.p99" index i using 1:2 with steps linetype (i + 1) linewidth 2 dashtype 3
unset multiplot
