# SPDX-License-Identifier: GPL-2.0
# What all plots share. gnuplot runs in the folder that plot.py has made: these files, the data beside them,
# and a file for each text. Variables from the command line are numbers.
content(name) = system("cat text." . name)
set terminal pngcairo size 1000,600 font "sans,11" background rgb "white" linewidth 1.4
set output "plot.png"
set border 3 linecolor rgb "#444444"
set tics nomirror textcolor rgb "#222222"
set grid ytics linecolor rgb "#dddddd" linetype 1 linewidth 0.6
set key outside right top samplen 1.5 spacing 1.15
set datafile separator "\t"
set encoding utf8
# Distinct for colour-blind readers, too (Okabe and Ito).
set linetype 1 linecolor rgb "#0072b2"
set linetype 2 linecolor rgb "#e69f00"
set linetype 3 linecolor rgb "#009e73"
set linetype 4 linecolor rgb "#d55e00"
set linetype 5 linecolor rgb "#56b4e9"
set linetype 6 linecolor rgb "#cc79a7"
set linetype 7 linecolor rgb "#f0e442"
set linetype 8 linecolor rgb "#555555"
# Again, dotted, for those who have more lines.
set linetype 9 linecolor rgb "#0072b2" dashtype 3
set linetype 10 linecolor rgb "#e69f00" dashtype 3
set linetype 11 linecolor rgb "#009e73" dashtype 3
set linetype 12 linecolor rgb "#d55e00" dashtype 3
set linetype cycle 12
# Underscores and slashes of names are meant literally.
set termoption noenhanced
# Ticks of a logarithmic axis of times in microseconds, as people say them.
times = "'1ns' 0.001, '10ns' 0.01, '100ns' 0.1, '1us' 1, '10us' 10, '100us' 100, '1ms' 1e3, '10ms' 1e4, '100ms' 1e5, '1s' 1e6, '10s' 1e7"
few_times = "'10ns' 0.01, '1us' 1, '100us' 100, '10ms' 1e4, '1s' 1e6"
