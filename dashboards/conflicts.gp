# SPDX-License-Identifier: GPL-2.0
# Which sets of the DevTLB tenants fight over: sets across, the last dimension of the sweep upwards, a
# panel for each combination of the others (the kind of HyperTRIO's figure 9).
# conflicts: blocks (one a combination) of: set, place of the value, cross evictions per access, value
load "style.gp"
heading = "DevTLB: other tenants' entries evicted, per access" . content("by") . " (model)"
titles = content("titles")
sets = content("sets")
last = content("last")
load "panels.gp"
set style fill solid 1 noborder
set palette defined (0 "#f2f2f2", 0.02 "#fff3d9", 0.3 "#fdbb84", 0.6 "#ef6548", 0.8 "#b30000", 1 "#4d0000")
set cbrange [0:(most > 0 ? most : 1)]
unset grid
unset key
set tics out
set yrange [-0.5:places - 0.5]
set colorbox user origin screen 0.84,bottom size screen 0.02,top - bottom
do for [i = 0:panels - 1] {
	count = word(sets, i + 1) + 0
	set xrange [-0.5:count - 0.5]
	set xtics 0, (count > 8 ? 2 ** ceil(log(count / 8.0) / log(2)) : 1)
	set title word(titles, i + 1)
	set xlabel is_bottom(i) ? "set" : ""
	set ylabel is_left(i) ? last : ""
	plot "conflicts" index i using 1:2:(0.5):(0.5):3:ytic(4) with boxxyerror linecolor palette
	unset label 1
	unset colorbox
}
unset multiplot
