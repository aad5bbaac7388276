# SPDX-License-Identifier: GPL-2.0
# What faults do to the I/O: faults per second above, I/Os per second below, on one time axis.
# data.faults, data.ios: blocks (one a device) of: seconds since start, per second
load here . "/style.gp"
faults = data . ".faults"
ios = data . ".ios"
panels = (has_ios > 0) ? 2 : 1
set multiplot layout panels,1 title "I/O page faults and I/O rate" font "sans,13"
set lmargin 10
set rmargin 26
set xrange [0:*]
set yrange [0:*]
if (panels == 1) set xlabel "seconds since " . begin
set ylabel "faults/s"
plot for [i = 0:fault_devices - 1] faults index i using 1:2 with steps linetype (i + 1) \
     linewidth 2 title columnheader(1)
set xlabel "seconds since " . begin
if (panels == 2) {
	set ylabel "I/O per second"
	plot for [i = 0:io_devices - 1] ios index i using 1:2 with steps linetype (i + 1) \
	     linewidth 2 title columnheader(1)
}
unset multiplot
