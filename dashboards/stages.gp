# SPDX-License-Identifier: GPL-2.0
# Where the time of a fault goes. Left: the mean fault of each device, stage on stage (means add up,
# percentiles do not), with the whole fault's p50 and p99. Right: p50 and p99 of each stage.
# stages.devices: device, faults, p50, p99, mean of the seven stages (us); `scale` and "unit" make the
# linear axis readable.
# stages.stages:  stage, p50, p99, max (us), all devices together
load "style.gp"
devices = "stages.devices"
stages = "stages.stages"
set multiplot layout 1,2 title "I/O page faults: where the time goes" font "sans,13"

set style data histograms
set style histogram rowstacked
set style fill solid 0.9 border rgb "white"
set boxwidth 0.7
set title "mean fault of each device, by stage"
set ylabel "time (" . content("unit") . ")"
set yrange [0:*]
set xtics rotate by -30
set key outside below horizontal
set offsets 0, 0, graph 0.05, 0
array names[7] = ["request", "delivery", "dispatch", "resolve", "map", "respond", "resume"]
plot for [i = 1:7] devices using (column(i + 4) / scale):xtic(1) linetype i title names[i], \
     devices using 0:($3 / scale) with points pointtype 7 pointsize 1 linecolor rgb "black" title "p50", \
     devices using 0:($4 / scale) with points pointtype 2 pointsize 1.2 linecolor rgb "black" title "p99"

set title "each stage, all devices"
set style histogram clustered gap 1
set boxwidth 0.9
set logscale y
set yrange [*:*]
set ylabel "time, logarithmic"
eval "set ytics (" . times . ")"
plot stages using 2:xtic(1) linetype 1 title "p50", \
     stages using 3 linetype 2 title "p99", \
     stages using 4 linetype 4 title "max"
unset multiplot
