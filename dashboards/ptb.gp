# SPDX-License-Identifier: GPL-2.0
# How full the pending translation buffer is over virtual time: a panel for each combination of the
# sweep's dimensions but the last, a line for each value of that, or eight of them. Time is logarithmic: filling caches
# takes microseconds, the run a thousand times as long.
# ptb: blocks (combination by combination, value by value) of: us, translations in flight
load "style.gp"
heading = "Pending translations over time" . content("by") . " (model)"
titles = content("titles")
names = content("names")
load "panels.gp"
set logscale x
step = (places + 7) / 8
set yrange [0:*]
set offsets 0, 0, graph 0.05, 0
do for [i = 0:panels - 1] {
	set title word(titles, i + 1)
	set xlabel is_bottom(i) ? "virtual time, logarithmic" : ""
	set ylabel is_left(i) ? "translations in flight" : ""
	eval "set xtics (" . (columns > 2 ? few_times : times) . ")"
	if (i == 0) { set key at screen 0.99,top right top vertical title content("last") }
	plot for [j = (places - 1) % step:places - 1:step] "ptb" index (i * places + j) using 1:2 with fsteps \
	     linetype (j / step + 1) linewidth 1.5 title word(names, j + 1)
	unset key
	unset label 1
}
unset multiplot
