#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""A page of faultline in a headless Chromium: page.py PAGE.html REPORT.json FORM

It is served under a policy that allows nothing but what it has within itself. FORM is `whole`, `plain` (of a program
without uPlot), `spike` (one fault of SPIKE_NS must be seen) or `hostile` (names must stay text). REPORT.json is what
`report --json` says of the same recording.
"""
import base64
import hashlib
import html.parser
import http.server
import json
import os
import re
import sys
import tempfile
import threading

from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "reference"))
import verdict  # noqa: E402

SPIKE_NS = 777777777  # bench/page_bench.c
# Of these a page has a part, or none.
ELSEWHERE = re.compile(r"faults|rates|footprint.*")
FLAGS = ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-extensions", "--window-size=1280,900")


class Elements(html.parser.HTMLParser):
    """What the source has, by a parser that is not the browser's."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.styles, self.scripts, self.tags, self.policy, self.within = [], [], [], None, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.append((tag, attributes))
        if attributes.get("http-equiv") == "Content-Security-Policy":
            self.policy = attributes["content"]
        if tag == "style" or (tag == "script" and "type" not in attributes):
            self.within = self.styles if tag == "style" else self.scripts
            self.within.append("")

    def handle_endtag(self, tag):
        self.within = None

    def handle_data(self, data):
        if self.within is not None:
            self.within[-1] += data


def sources(texts):
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'" for t in texts)


class Server(http.server.ThreadingHTTPServer):
    """Serves one page at /, and knows what it was asked for."""

    def __init__(self, page, policy):
        requests = self.requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                requests.append(self.path)
                self.send_response(200 if self.path == "/" else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                if self.path == "/":
                    self.wfile.write(page)

            def log_message(self, *words):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()


def browser(profile):
    options = Options()
    for flag in (*FLAGS, f"--user-data-dir={profile}"):
        options.add_argument(flag)
    options.binary_location = "/usr/bin/chromium"
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def emulate(driver, **features):
    media = features.pop("media", "")
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {
        "media": media, "features": [{"name": k.replace("_", "-"), "value": v} for k, v in features.items()]})


def shown(text):
    """As printable() shows it."""
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
    return "".join(named.get(c) or (c if " " <= c <= "~" else f"\\x{ord(c):02x}" if ord(c) < 0x80 else
                                    f"\\u{ord(c):04x}" if ord(c) < 0x10000 else f"\\U{ord(c):08x}") for c in text)


def expected(value):
    """A value of JSON as a cell has it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return shown(value)
    return f"{value:.10g}" if isinstance(value, float) else str(value)


def same(cell, value):
    return cell == expected(value) or (isinstance(value, float) and cell and float(cell) == value)


TABLES = """return [...document.querySelectorAll("table[data-name]")].map((t) => [t.dataset.name,
    [...t.tHead.rows[0].cells].map((c) => c.dataset.f),
    [...t.tBodies[0].rows].map((r) => [...r.cells].map((c) => c.dataset.v ?? c.textContent))])"""


def compare_tables(driver, report):
    problems, told = [], {}
    for name, fields, rows in driver.execute_script(TABLES):
        told[name] = len(rows)
        truth = report["tables"].get(name, [])
        if name == "faults":
            # Ties may be in any order: each must be one of them, and no other may be slower.
            known = {tuple(expected(row[f]) for f in fields) for row in truth}
            problems += [f"faults: {row} is none of report's" for row in rows if tuple(row) not in known][:3]
            slowest = max((row["total_ns"] or 0 for row in truth), default=0)
            total = fields.index("total_ns")
            if slowest != max((int(row[total] or 0) for row in rows), default=0):
                problems.append(f"faults: the slowest takes {slowest} ns")
            continue
        if fields != list(truth[0] if truth else ()):
            problems.append(f"{name}: fields {fields}")
            continue
        if len(rows) != len(truth) and len(rows) not in (50, 300):
            problems.append(f"{name}: {len(rows)} rows, report has {len(truth)}")
        for row, right in zip(rows, truth):
            problems += [f"{name}.{f}: {cell!r}, report has {right[f]!r}" for f, cell in zip(fields, row)
                         if not same(cell, right[f])]
    for name, rows in report["tables"].items():
        if rows and name not in told and not ELSEWHERE.fullmatch(name):
            problems.append(f"{name} is not there")
    facts = dict(driver.execute_script(
        """return [...document.querySelectorAll("dl div")].map((d) => [d.firstChild.textContent, d.lastChild.textContent])"""))
    problems += [f"{name}: {facts.get(name)!r}, report has {value!r}" for name, value in report.items()
                 if name not in ("tables", "recording") and facts.get(name) != shown(value)]
    verdict.result(f"its numbers are those of report ({len(told)} tables, {sum(told.values())} rows)", problems)


def compare_plots(driver, report):
    """What plots are drawn of, and what is said of them."""
    data = json.loads(driver.execute_script("""return document.getElementById("data").textContent"""))
    plots = {plot["id"]: plot for plot in data["plots"]}
    faults, problems = report["tables"]["faults"], []
    if faults:
        bins = plots["plot-latency"]["series"][0]["bins"]
        if sum(count for *_, count in bins) != len(faults):
            problems.append(f"{sum(count for *_, count in bins)} faults, report has {len(faults)}")
        slowest = max(row["total_ns"] or 0 for row in faults)
        if max(most for _, _, most, _ in bins) < slowest:
            problems.append(f"the slowest is gone: {slowest} ns")
    ios = sum(row["rate_per_s"] or 0 for row in report["tables"]["rates"] if row["kind"] in ("I/O completion", "block request"))
    if ios:
        # A bin is a second in recordings this short.
        drawn = sum(most for _, _, most, _ in plots["plot-ios"]["series"][0]["bins"])
        if drawn != ios:
            problems.append(f"{drawn} I/Os, report has {ios}")
    verdict.result("plots are of all that report counts", problems)
    return plots


def urls(driver):
    """What the browser was made to ask for, as it says itself."""
    messages = (json.loads(entry["message"])["message"] for entry in driver.get_log("performance"))
    return [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]


CANVASES = """return [...document.querySelectorAll("canvas")].map((c) => {
    const bytes = c.getContext("2d").getImageData(0, 0, c.width, c.height).data, colors = new Set();
    let painted = 0;
    for (let i = 0; i < bytes.length; i += 4)
        if (bytes[i + 3]) { painted++; colors.add(bytes[i] << 16 | bytes[i + 1] << 8 | bytes[i + 2]); }
    return [painted, colors.size, c.toDataURL().length + c.toDataURL().slice(-4000)];
})"""
SCALES = "return faultlinePlots.map((p) => [p.scales.x.min, p.scales.x.max])"


def one_scale(driver):
    """Of all plots, which must agree."""
    scales = {tuple(round(x, 9) for x in scale) for scale in driver.execute_script(SCALES)}
    return scales.pop() if len(scales) == 1 else None


def check_zoom(driver):
    problems = []

    def step(what, act, good):
        before = one_scale(driver)
        act()
        after = one_scale(driver)
        if not before or not after or not good(before, after):
            problems.append(f"{what}: from {before} to {after}")

    def length(scale):
        return scale[1] - scale[0]

    def press(key):
        return lambda: driver.find_element("css selector", ".drawn").send_keys(key)

    def click(action):
        return lambda: driver.find_element("css selector", f"[data-action={action}]").click()

    def drag():
        over = driver.find_element("css selector", ".u-over")
        driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", over)
        ActionChains(driver).move_to_element_with_offset(over, -200, 0).click_and_hold().move_by_offset(150, 0).release().perform()

    whole = one_scale(driver)
    step("dragged", drag, lambda a, b: length(b) < length(a) / 2)
    step("all, by its button", click("all"), lambda a, b: b == whole)
    step("in, by its button", click("in"), lambda a, b: abs(length(b) - length(a) / 2) < 1e-6)
    step("later", click("on"), lambda a, b: b[0] > a[0] and abs(length(b) - length(a)) < 1e-6)
    step("out", click("out"), lambda a, b: length(b) > length(a))
    step("+ of the keyboard", press("+"), lambda a, b: length(b) < length(a))
    step("left", press(Keys.ARROW_LEFT), lambda a, b: b[0] < a[0])
    step("right", press(Keys.ARROW_RIGHT), lambda a, b: b[0] > a[0])
    step("0", press("0"), lambda a, b: b == whole)
    verdict.result("plots zoom together, by mouse and by keyboard", problems)


COLUMN = """const t = document.querySelector(`table[data-name=${arguments[0]}]`);
    const h = [...t.tHead.rows[0].cells].find((c) => c.dataset.f === arguments[1]);
    return [h.ariaSort, [...t.tBodies[0].rows].map((r) => r.cells[h.cellIndex].dataset.v ?? r.cells[h.cellIndex].textContent)]"""


def check_sort(driver):
    problems = []
    for table, field, number in (("stages", "max_ns", True), ("stages", "stage", False), ("summary", "device", False)):
        button = driver.find_element("css selector", f"table[data-name={table}] th[data-f={field}] button")
        for order, act in (("first", button.click), ("second", lambda: button.send_keys(Keys.ENTER))):
            act()
            said, values = driver.execute_script(COLUMN, table, field)
            values = [int(v) for v in values if v] if number else values
            right = sorted(values, reverse=(said == "descending"))
            if said not in ("ascending", "descending") or values != right or (said == "descending") != (number == (order == "first")):
                problems.append(f"{table}.{field}, {order} time: {said}, {values[:5]}")
    verdict.result("tables sort, by mouse and by keyboard", problems)


def luminance(color):
    parts = [int(x) / 255 for x in re.findall(r"\d+", color)[:3]]
    r, g, b = (x / 12.92 if x <= 0.03928 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(driver, selector):
    fore, back = driver.execute_script("""const e = document.querySelector(arguments[0]);
        return [getComputedStyle(e).color, getComputedStyle(document.body).backgroundColor]""", selector)
    a, b = sorted((luminance(fore), luminance(back)))
    return (b + 0.05) / (a + 0.05), back


def check_looks(driver, plots):
    problems, backs, drawn = [], [], []
    for scheme in ("light", "dark"):
        emulate(driver, prefers_color_scheme=scheme)
        for selector in ("body", "a", ".more, time, dt", ".worst"):
            ratio, back = contrast(driver, selector)
            if ratio < 4.5:
                problems.append(f"{scheme}: contrast of {selector}: {ratio:.1f}")
        backs.append(back)
        drawn.append(driver.execute_script(CANVASES))
    if backs[0] == backs[1]:
        problems.append(f"light and dark are {backs[0]}")
    if plots and any(a[2] == b[2] for a, b in zip(*drawn)):
        problems.append("a plot is as it was in the light")
    verdict.result("light and dark differ, and can be read", problems)
    emulate(driver, media="print", prefers_color_scheme="dark")
    pdf = base64.b64decode(driver.print_page())
    seen = driver.execute_script("""return [getComputedStyle(document.querySelector("nav")).display,
        getComputedStyle(document.body).backgroundColor, document.documentElement.scrollWidth]""")
    verdict.result("it prints: dark on white, without what is clicked on",
                   [] if pdf.startswith(b"%PDF") and len(pdf) > 20000 and seen[:2] == ["none", "rgb(255, 255, 255)"]
                   else [f"{len(pdf)} bytes, {seen}"])
    emulate(driver)


def check_spike(driver, plots):
    series = plots["plot-latency"]["series"][0]
    bins = [b for b in series["bins"] if b[2] >= SPIKE_NS]
    problems = [] if len(bins) == 1 else [f"{len(bins)} bins hold it"]
    at, most = (bins[0][0] * series["bin_ns"] + series["begin_ns"]) / 1e9, bins[0][2]
    painted = driver.execute_script("""
        const p = faultlinePlots[1], x = p.valToPos(arguments[0], "x", true), y = p.valToPos(arguments[1], "y", true);
        const bytes = p.ctx.getImageData(Math.floor(x) - 1, Math.floor(y), 4, 12).data;
        const fill = getComputedStyle(document.documentElement).getPropertyValue("--c0").match(/[0-9a-f]{2}/g).map((h) => parseInt(h, 16));
        let painted = 0;
        for (let i = 0; i < bytes.length; i += 4)
            painted += fill.every((c, k) => Math.abs(c - bytes[i + k]) < 40) && bytes[i + 3] > 100;
        return painted""", at, most)
    if not painted:
        problems.append(f"nothing is painted at {at} s, {most} ns")
    if "778ms" not in driver.find_element("css selector", "#plot-latency figcaption").text:
        problems.append("its caption does not name it")
    verdict.result("one spike among a million events is there, and painted", problems)


def check_hostile(driver, elements):
    text = driver.execute_script("return document.body.textContent")
    problems = [f"{name!r} is not shown" for name in ("<script>alert(1)</script>", "</script><img src=x onerror=alert(1)>",
                                                      "\"><svg onload=alert(1)>", "<!--") if name not in text]
    problems += [f"<{tag}> {attributes}" for tag, attributes in elements.tags
                 if tag == "img" or any(name.startswith("on") for name in attributes)]
    if driver.execute_script("return document.querySelectorAll('img').length"):
        problems.append("an image was made of a name")
    if len(elements.scripts) > 2:
        problems.append(f"{len(elements.scripts)} scripts")
    verdict.result("names of strangers are text", problems)


def check_structure(driver):
    """What those need who do not see it, or have no mouse."""
    problems = driver.execute_script("""
        const wrong = [];
        if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
        for (const t of document.querySelectorAll("table[data-name]")) {
            if (!t.caption) wrong.push(t.dataset.name + ": no caption");
            for (const h of t.tHead.rows[0].cells) if (h.scope !== "col") wrong.push(t.dataset.name + ": a head without scope");
            if (t.parentElement.tabIndex !== 0) wrong.push(t.dataset.name + ": cannot be scrolled by keyboard");
        }
        for (const s of document.querySelectorAll("svg")) if (!s.ariaLabel && s.getAttribute("aria-label") === null && s.getAttribute("aria-hidden") !== "true") wrong.push("an SVG without a name");
        for (const a of document.querySelectorAll("nav a")) if (!document.querySelector(a.getAttribute("href"))) wrong.push(a.href + " leads nowhere");
        for (const c of document.querySelectorAll(".drawn")) if (!c.ariaLabel || c.tabIndex !== 0) wrong.push("a plot without a name");
        return wrong""")
    verdict.result("tables and plots have names and heads, links lead somewhere", problems)


def check_canvases(driver):
    canvases = driver.execute_script(CANVASES)
    figures = driver.execute_script("return document.querySelectorAll('figure').length")
    verdict.result(f"no canvas is blank ({figures})", [f"{painted} pixels, {colors} colors" for painted, colors, _ in canvases
                                                       if painted < 500 or colors < 3] +
                   ([] if len(canvases) == figures and figures else [f"{len(canvases)} canvases, {figures} figures"]))


def check_plain(driver):
    problems = driver.execute_script("""
        const wrong = [];
        if (document.querySelector("canvas")) wrong.push("there is a canvas");
        const all = [...document.querySelectorAll("figure svg")];
        if (!all.length) wrong.push("there is no SVG");
        for (const s of all) {
            const box = s.getBoundingClientRect();
            if (box.height < 15 || box.width < 300 || ![...s.querySelectorAll("path")].some((p) => p.getAttribute("d"))) wrong.push("an SVG is not seen");
        }
        if (!document.querySelector("footer").textContent.includes("built without uPlot")) wrong.push("it does not say so");
        return wrong""")
    verdict.result("without uPlot there are SVG, and it says so", problems)


def look(driver, form, report, elements, server):
    address = f"http://127.0.0.1:{server.server_port}/"
    driver.get(address)
    said = driver.get_log("browser")
    compare_tables(driver, report)
    plots = compare_plots(driver, report)
    if form == "plain":
        check_plain(driver)
    elif plots:
        check_canvases(driver)
    check_structure(driver)
    if form in ("whole", "plain"):
        check_sort(driver)
        check_looks(driver, form == "whole")
    if form == "whole":
        check_zoom(driver)
    if form == "spike":
        check_spike(driver, plots)
    if form == "hostile":
        check_hostile(driver, elements)
    # Those of the browser's own first tab are not the page's.
    asked = [url for url in urls(driver) if url != address and not re.match("chrome|data:", url)]
    verdict.result("nothing is asked for", asked + server.requests[1:])
    # What this test does to canvases is told, too.
    said += [entry for entry in driver.get_log("browser") if "willReadFrequently" not in entry["message"]]
    verdict.result("nothing is on the console", [entry["message"] for entry in said])


def main(path, report, form):
    with open(path, "rb") as file:
        page = file.read()
    with open(report) as file:
        report = json.load(file)
    elements = Elements(page.decode())
    policy = (f"default-src 'none'; base-uri 'none'; form-action 'none'; img-src data:; "
              f"style-src {sources(elements.styles)}; script-src {sources(elements.scripts)}")
    verdict.result("its own policy allows what it has within, and nothing else",
                   [] if elements.policy == policy else [elements.policy, policy])
    server = Server(page, policy)
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as profile:
        driver = browser(profile)
        try:
            look(driver, form, report, elements, server)
        finally:
            driver.quit()
    return verdict.closing()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
