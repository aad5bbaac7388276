# SPDX-License-Identifier: GPL-2.0
# What faults do to the I/O: faults per second above, I/Os per second below, on one time axis.
# rate.faults, rate.ios: blocks (one a device) of: seconds since start, per second
load "style.gp"
panels = (io_devices > 0) ? 2 : 1
xname = "seconds since " . content("begin")
set multiplot layout panels,1 title "I/O page faults and I/O rate" font "sans,13"
set lmargin 10
set rmargin 26
set xrange [0:*]
set yrange [0:*]
if (panels == 1) set xlabel xname
set ylabel "faults/s"
plot for [i = 0:fault_devices - 1] "rate.faults" index i using 1:2 with steps linetype (i + 1) \
     linewidth 2 title columnheader(1)
set xlabel xname
if (panels == 2) {
	set ylabel "I/O per second"
	plot for [i = 0:io_devices - 1] "rate.ios" index i using 1:2 with steps linetype (i + 1) \
	     linewidth 2 title columnheader(1)
}
unset multiplot
