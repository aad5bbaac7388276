# SPDX-License-Identifier: GPL-2.0
# Memory that devices have touched since the start (solid, 4 KiB pages; dashed, 2 MiB pages): how far
# a device's working set is from its whole memory, and what huge pages would pin.
# footprint: blocks (one a device) of: seconds since start, touched 4K (MiB), touched 2M (MiB)
load "style.gp"
set title "DMA footprint" font "sans,13"
set xlabel "seconds since " . content("begin")
set ylabel "memory touched (MiB)"
set xrange [0:*]
set yrange [0:*]
plot for [i = 0:devices - 1] "footprint" index i using 1:2 with lines linetype (i + 1) linewidth 2 \
     title columnheader(1), \
     for [i = 0:devices - 1] "footprint" index i using 1:3 with lines linetype (i + 1) linewidth 1 \
     dashtype 2 notitle, \
     NaN with lines linecolor rgb "#555555" dashtype 2 title "in 2 MiB pages"
