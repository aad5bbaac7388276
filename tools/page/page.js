// SPDX-License-Identifier: GPL-2.0
// What a page does: tables that sort, columns on demand, plots that zoom together. All that it says is there without it.
"use strict";

(() => {
	const units = [["s", 1e9], ["ms", 1e6], ["us", 1e3], ["ns", 1]];

	function element(name, properties, ...children) {
		const made = Object.assign(document.createElement(name), properties);

		made.append(...children);
		return made;
	}

	// Three digits and a unit, as report has them.
	function duration(ns) {
		const [unit, size] = units.find(([, least]) => Math.abs(ns) >= least) || units[3];
		const value = ns / size;

		return ns ? value.toFixed(size === 1 || value >= 100 ? 0 : value >= 10 ? 1 : 2) + unit : "0";
	}

	// Tables

	function valueOf(row, index) {
		const cell = row.cells[index];

		return cell.dataset.v ?? cell.textContent;
	}

	// Those without a value are last in either order.
	function compare(a, b, number) {
		if (a === "" || b === "")
			return (a === "") - (b === "") || 0;
		return number ? Number(a) - Number(b) : a < b ? -1 : a > b ? 1 : 0;
	}

	function sort(table, head) {
		const index = head.cellIndex, number = head.classList.contains("n");
		const sign = head.ariaSort === "descending" || (!head.ariaSort && !number) ? 1 : -1;
		const rows = [...table.tBodies[0].rows];

		rows.sort((x, y) => {
			const a = valueOf(x, index), b = valueOf(y, index);

			return a === "" || b === "" ? compare(a, b) : sign * compare(a, b, number);
		});
		table.tBodies[0].append(...rows);
		for (const other of table.tHead.rows[0].cells)
			other.ariaSort = null;
		head.ariaSort = sign > 0 ? "ascending" : "descending";
	}

	function makeSortable(table) {
		for (const head of table.tHead.rows[0].cells) {
			const button = element("button", {type: "button", title: "Sort"}, ...head.childNodes);

			button.addEventListener("click", () => sort(table, head));
			head.replaceChildren(button);
		}
	}

	function addColumnsButton() {
		const button = element("button", {type: "button", id: "columns", ariaPressed: "false"}, "All columns");

		button.addEventListener("click", () => {
			const whole = document.body.classList.toggle("whole");

			button.ariaPressed = String(whole);
		});
		document.getElementById("devices").querySelector("h2").after(element("div", {className: "columns"}, button));
	}

	for (const table of document.querySelectorAll("table"))
		makeSortable(table);
	addColumnsButton();

	// Plots

	const data = JSON.parse(document.getElementById("data").textContent);
	const kinds = {count: 0, bars: 1, range: 2};
	const plots = [];
	const span = data.span_ns / 1e9;
	let whole = [0, span], told = null, zooming = false;

	if (typeof uPlot === "undefined" || !(data.plots.length || data.lanes.length))
		return;

	function color(name) {
		return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
	}

	// Wall-clock where it is known, else since the beginning; as many digits as differ.
	function when(seconds, step) {
		const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step || 1))));
		const ns = BigInt(data.wall_ns) + BigInt(Math.round(seconds * 1e9));

		if (data.wall_ns === "0")
			return "+" + seconds.toFixed(digits) + "s";
		const text = new Date(Number(ns / 1000000n)).toISOString().slice(11, 19);
		const fraction = String(ns % 1000000000n).padStart(9, "0").slice(0, digits);

		return digits ? text + "." + fraction : text;
	}

	function zoom(from, to) {
		const length = Math.min(Math.max(to - from, 1e-6), whole[1] - whole[0]);

		from = Math.min(Math.max(from, whole[0]), whole[1] - length);
		zooming = true;
		for (const plot of plots)
			plot.setScale("x", {min: from, max: from + length});
		zooming = false;
		told.textContent = `${when(from, length / 100)} to ${when(from + length, length / 100)}` +
			` (${duration(length * 1e9)})`;
	}

	function now() {
		const {min, max} = plots[0].scales.x;

		return {min, max, length: max - min, middle: (min + max) / 2};
	}

	const actions = {
		in: () => zoom(now().middle - now().length / 4, now().middle + now().length / 4),
		out: () => zoom(now().middle - now().length, now().middle + now().length),
		back: () => zoom(now().min - now().length / 4, now().max - now().length / 4),
		on: () => zoom(now().min + now().length / 4, now().max + now().length / 4),
		all: () => zoom(...whole),
	};
	const keys = {"+": "in", "=": "in", "-": "out", ArrowLeft: "back", ArrowRight: "on", "0": "all", Home: "all"};

	function onKey(event) {
		if (!keys[event.key] || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		actions[keys[event.key]]();
	}

	function addControls() {
		const controls = element("div", {className: "controls", role: "group", ariaLabel: "Zoom of all plots"});

		for (const [name, text, hint] of [["in", "Zoom in", "+"], ["out", "Zoom out", "-"],
						  ["back", "Earlier", "left arrow"], ["on", "Later", "right arrow"],
						  ["all", "All", "0"]]) {
			const button = element("button", {type: "button", title: `Key in a plot: ${hint}`}, text);

			button.dataset.action = name;
			button.addEventListener("click", actions[name]);
			controls.append(button);
		}
		told = element("output", {});
		controls.append(told);
		document.getElementById("plots").before(controls);
	}

	// From the least to the greatest of a bin, as wide as the bin is, and never too small to be seen.
	function drawBins(binSeconds, least) {
		return (u, index, from, to) => {
			const path = new Path2D(), xs = u.data[0], thin = Math.max(1, devicePixelRatio);
			const wide = u.valToPos(u.scales.x.min + binSeconds, "x", true) - u.valToPos(u.scales.x.min, "x", true);
			const floor = u.scales.y.min;

			for (let i = Math.max(0, from - 1); i <= to; i++) {
				const most = u.data[index][i];

				if (most == null)
					continue;
				const low = least === null ? floor : Math.max(floor, u.data[least][i]);
				const top = u.valToPos(most, "y", true), bottom = u.valToPos(low, "y", true);
				const height = Math.max(bottom - top, 3 * thin);

				path.rect(u.valToPos(xs[i], "x", true), bottom - height, Math.max(wide, 2 * thin), height);
			}
			return {stroke: null, fill: path, flags: 0};
		};
	}

	// One row of times for all series of a plot, which may have bins of different lengths.
	function align(series) {
		const times = new Set(whole), rows = series.map((s) => {
			const row = new Map();

			for (const [bin, least, most, count] of s.bins) {
				const time = (s.begin_ns + bin * s.bin_ns) / 1e9;

				times.add(time);
				row.set(time, [least, most, count]);
			}
			return row;
		});
		const xs = [...times].sort((a, b) => a - b);

		return [xs, rows.map((row) => xs.map((x) => row.get(x)))];
	}

	function seriesOf(plot) {
		const [xs, rows] = align(plot.series), columns = [xs], series = [{label: "time", value: (u, x) => x == null ? "-" : when(x, 1e-6)}];
		const value = (u, v) => v == null ? "-" : plot.time ? duration(v) : String(v);

		plot.series.forEach((s, i) => {
			const range = s.kind === kinds.range, fill = () => color(`--c${i}`);
			const most = (bin) => bin && Math.max(plot.time ? 1 : 0, s.kind === kinds.count ? bin[2] : bin[1]);

			columns.push(rows[i].map((bin) => most(bin) ?? null));
			series.push({label: range ? `${s.label}, most` : s.label, fill, stroke: fill, value, points: {show: false},
				     paths: drawBins(s.bin_ns / 1e9, range ? columns.length : null)});
			if (!range)
				return;
			columns.push(rows[i].map((bin) => bin ? Math.max(1, bin[0]) : null));
			series.push({label: "least", stroke: fill, value, points: {show: false}, paths: () => null});
		});
		return [columns, series];
	}

	function axis(more) {
		return Object.assign({stroke: () => color("--text"), grid: {stroke: () => color("--line"), width: 1},
				      ticks: {stroke: () => color("--line"), width: 1}}, more);
	}

	function decades(u, index, min, max) {
		const first = Math.ceil(Math.log10(min) - 1e-9), last = Math.floor(Math.log10(max) + 1e-9);

		return Array.from({length: last - first + 1}, (_, i) => 10 ** (first + i));
	}

	function width(figure) {
		return Math.max(240, figure.clientWidth);
	}

	// Its own zoom, by dragging, is that of all.
	function add(figure, options, columns) {
		const place = element("div", {className: "drawn", tabIndex: 0, role: "group"});

		place.ariaLabel = figure.querySelector("figcaption").textContent + ": + and - zoom, arrows move, 0 shows all";
		place.addEventListener("keydown", onKey);
		figure.querySelector("svg").before(place);
		const plot = new uPlot(Object.assign({
			width: width(figure), height: 180, padding: [8, 40, 0, 0], cursor: {sync: {key: "time"}, drag: {x: true, y: false}},
			hooks: {
				setScale: [(u, key) => {
					if (key === "x" && !zooming && plots.includes(u))
						zoom(u.scales.x.min, u.scales.x.max);
				}],
				...options.hooks,
			},
		}, options.plot), columns, place);

		plots.push(plot);
	}

	const times = axis({values: (u, splits, index, space, step) => splits.map((x) => when(x, step)), space: 110});

	function addPlot(plot) {
		const figure = document.getElementById(plot.id), [columns, series] = seriesOf(plot);
		const greatest = plot.series.flatMap((s) => s.bins.map(([, , most, count]) => s.kind === kinds.count ? count : most))
			.reduce((a, b) => Math.max(a, b), 0);
		const bin = figure.querySelector(".bin");

		add(figure, {plot: {
			series,
			scales: {x: {time: false}, y: plot.time ? {distr: 3} : {range: (u, min, max) => [0, max > 0 ? max * 1.05 : 1]}},
			axes: [times, axis({size: 70, ...(plot.time ? {splits: decades} : {}), values: (u, splits) => splits.map((v) => v == null ? null : plot.time ? duration(v) : String(v))})],
		}}, columns);
		figure.querySelector(".most").textContent = plot.time ? duration(greatest) : String(greatest);
		if (bin)
			bin.textContent = duration(plot.series[0].bin_ns);
	}

	function addLanes(lanes) {
		const draw = (u) => {
			const thin = Math.max(1, devicePixelRatio), half = 0.3;

			u.ctx.save();
			u.ctx.beginPath();
			u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
			u.ctx.clip();
			u.ctx.fillStyle = color("--bad");
			lanes.forEach((lane, i) => {
				const top = u.valToPos(i + 1 - half, "y", true), bottom = u.valToPos(i + 1 + half, "y", true);

				for (const [from, to] of lane.spans) {
					const x = u.valToPos(from / 1e9, "x", true);

					u.ctx.fillRect(x, top, Math.max(u.valToPos(to / 1e9, "x", true) - x, thin), bottom - top);
				}
			});
			u.ctx.restore();
		};

		add(document.getElementById("plot-objectives"), {
			hooks: {draw: [draw]},
			plot: {
				height: 60 + 24 * lanes.length,
				legend: {show: false},
				series: [{}, {paths: () => null, points: {show: false}}],
				scales: {x: {time: false}, y: {range: [0.5, lanes.length + 0.5], dir: -1}},
				axes: [times, axis({size: 70, splits: () => lanes.map((lane, i) => i + 1)})],
			},
		}, [whole, [null, null]]);
	}

	function redraw() {
		for (const plot of plots) {
			plot.setSize({width: width(plot.root.parentElement), height: plot.height});
			plot.redraw(false, true);
		}
	}

	whole[0] = Math.min(0, ...data.plots.flatMap((plot) => plot.series.map((s) => s.bins.length ? (s.begin_ns + s.bins[0][0] * s.bin_ns) / 1e9 : 0)));
	addControls();
	data.plots.forEach(addPlot);
	if (data.lanes.length)
		addLanes(data.lanes);
	zoom(...whole);
	for (const media of ["(prefers-color-scheme: dark)", "print"])
		matchMedia(media).addEventListener("change", redraw);
	addEventListener("resize", redraw);
	// For whoever tests the page.
	Object.assign(window, {faultlinePlots: plots});
})();
