# SPDX-License-Identifier: GPL-2.0
# As many panels as `panels` says under one `heading`, in one row or two, with room for a common legend
# on the right.
rows = panels > 3 ? 2 : 1
columns = (panels + rows - 1) / rows
left = 0.085
right = 0.8
bottom = 0.12
top = 0.85
set multiplot layout rows,columns margins screen left,right,bottom,top spacing screen 0.06,0.13
set label 1 heading at screen left,0.955 left font "sans,13"
# Only the outer panels name their axes.
is_left(i) = i % columns == 0
is_bottom(i) = i + columns >= panels
