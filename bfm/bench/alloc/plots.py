"""Plots of a bench, as SVG of our own: no program is needed to draw them, and they read in a browser.
Colours are told apart by the colour-blind as well, and every plot has its legend."""
import math
import os
from xml.sax.saxutils import escape

import tables

COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#000000", "#999999")
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 1100, 460, 80, 150, 46, 110


class Svg:
    def __init__(self, title, names):
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
                      'font-family="sans-serif" font-size="12">',
                      f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
                      f'<text x="{LEFT}" y="24" font-size="16">{escape(title)}</text>']
        self.colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
        for i, name in enumerate(names):
            y = TOP + 10 + i * 20
            self.parts.append(f'<rect x="{WIDTH - RIGHT + 20}" y="{y}" width="12" height="12" '
                              f'fill="{self.colours[name]}"/>')
            self.text(WIDTH - RIGHT + 38, y + 11, name)

    def text(self, x, y, text, anchor="start", turn=0):
        place = f' transform="rotate({turn} {x:.1f} {y:.1f})"' if turn else ""
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{place}>'
                          f'{escape(str(text))}</text>')

    def line(self, x1, y1, x2, y2, colour="#ccc", width=1.0):
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}"/>')

    def bar(self, x, y, width, height, name, tip):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                          f'fill="{self.colours[name]}"><title>{escape(tip)}</title></rect>')

    def dot(self, x, y, name, tip):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{self.colours[name]}">'
                          f'<title>{escape(tip)}</title></circle>')

    def path(self, points, name):
        text = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(f'<polyline points="{text}" fill="none" stroke="{self.colours[name]}" '
                          'stroke-width="2"/>')

    def write(self, path):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(self.parts + ["</svg>\n"]))


class Axis:
    """From values to pixels, linear from 0 or logarithmic."""

    def __init__(self, values, low, high, log):
        self.log, self.low, self.high = log, low, high
        top, bottom = max(values), min(values)
        self.top = 10 ** math.ceil(math.log10(top)) if log else top * 1.08
        self.bottom = 10 ** math.floor(math.log10(bottom)) if log else 0
        if log and self.top == self.bottom:
            self.top *= 10

    def at(self, value):
        if self.log:
            part = math.log(value / self.bottom) / math.log(self.top / self.bottom)
        else:
            part = value / self.top
        return self.low + (self.high - self.low) * part

    def marks(self):
        if self.log:
            first, last = round(math.log10(self.bottom)), round(math.log10(self.top))
            return [10 ** power for power in range(first, last + 1)]
        step = 10 ** math.floor(math.log10(self.top))
        step = next(step / part for part in (1, 2, 5, 10) if self.top / (step / part) >= 4)
        return [step * i for i in range(int(self.top / step) + 1)]


def label(value):
    for unit, size in (("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value:g}"


def frame(svg, axis, name):
    for mark in axis.marks():
        y = axis.at(mark)
        svg.line(LEFT, y, WIDTH - RIGHT, y)
        svg.text(LEFT - 8, y + 4, label(mark), "end")
    svg.text(18, (TOP + HEIGHT - BOTTOM) / 2, name, "middle", -90)


def bars(path, title, name, allocators, rows, one=False, log=False):
    """Groups of bars, one group a row: (label, {allocator: value})."""
    values = [value for _, row in rows for value in row.values() if value]
    if not values:
        return 0
    svg = Svg(title, allocators)
    axis = Axis(values, HEIGHT - BOTTOM, TOP, log)
    frame(svg, axis, name)
    group = (WIDTH - LEFT - RIGHT) / len(rows)
    width = group * 0.8 / len(allocators)
    for i, (text, row) in enumerate(rows):
        x = LEFT + group * (i + 0.1)
        for k, allocator in enumerate(allocators):
            value = row.get(allocator)
            if value:
                y = axis.at(value)
                svg.bar(x + k * width, y, width, HEIGHT - BOTTOM - y, allocator,
                        f"{text}, {allocator}: {value:,.4g}")
        svg.text(x + group * 0.4 + 4, HEIGHT - BOTTOM + 14, text, "end", -45)
    if one:
        svg.line(LEFT, axis.at(1), WIDTH - RIGHT, axis.at(1), "#333")
    svg.write(path)
    return 1


def lines(path, title, x_name, y_name, allocators, curves, log=True):
    """Curves are {allocator: [(x, y)]}."""
    points = [point for curve in curves.values() for point in curve]
    if not points:
        return 0
    svg = Svg(title, allocators)
    x_axis = Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, log)
    y_axis = Axis([y for _, y in points], HEIGHT - BOTTOM, TOP, log)
    frame(svg, y_axis, y_name)
    for mark in x_axis.marks():
        svg.line(x_axis.at(mark), TOP, x_axis.at(mark), HEIGHT - BOTTOM)
        svg.text(x_axis.at(mark), HEIGHT - BOTTOM + 16, label(mark), "middle")
    svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 40, x_name, "middle")
    for allocator, curve in curves.items():
        placed = [(x_axis.at(x), y_axis.at(y)) for x, y in curve]
        svg.path(placed, allocator)
        for (x, y), (px, py) in zip(curve, placed):
            svg.dot(px, py, allocator, f"{allocator}: {x:,.4g}, {y:,.6g}")
    svg.write(path)
    return 1


def scatter(path, title, x_name, y_name, allocators, points):
    known = {name: point for name, point in points.items() if None not in point}
    if not known:
        return 0
    svg = Svg(title, allocators)
    x_axis = Axis([x for x, _ in known.values()], LEFT, WIDTH - RIGHT, False)
    y_axis = Axis([y for _, y in known.values()], HEIGHT - BOTTOM, TOP, False)
    frame(svg, y_axis, y_name)
    for mark in x_axis.marks():
        svg.text(x_axis.at(mark), HEIGHT - BOTTOM + 16, label(mark), "middle")
    svg.text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 40, x_name, "middle")
    for name, (x, y) in known.items():
        svg.dot(x_axis.at(x), y_axis.at(y), name, f"{name}: {x:.3f}, {y:.3f}")
        svg.text(x_axis.at(x) + 7, y_axis.at(y) - 5, name)
    svg.write(path)
    return 1


# --- what is drawn --------------------------------------------------------------------------------------

def of_runs(bench, part):
    return list(dict.fromkeys(key[1] for key in bench.runs if key[0] == part))


def draw_ratios(bench, directory, names):
    drawn = 0
    for part, what in (("patterns", "the report's patterns"), ("threads", "netbuilds and the worst case"),
                       ("programs", "real programs")):
        for figure, title in (("cpu_ns", "CPU time"), ("rss_peak_bytes", "Peak RSS"),
                              ("rss_released_bytes", "RSS after release")):
            if part == "programs" and figure == "rss_released_bytes":
                continue
            rows = [(pattern, tables.by_allocator(
                bench, lambda name, p=pattern: tables.ratio(bench, part, p, name, figure)))
                for pattern in of_runs(bench, part)]
            path = os.path.join(directory, f"{part}-{figure.rsplit('_', 1)[0]}.svg")
            drawn += bars(path, f"{title} of {what}", "glibc = 1", names, rows, one=True)
    return drawn


def draw_latency(bench, directory, names):
    rows = [(pattern, tables.by_allocator(bench, lambda name, p=pattern: tables.slowest(bench, p, name)))
            for pattern in of_runs(bench, "latency")]
    return bars(os.path.join(directory, "slowest-call.svg"), "The slowest single call", "ns", names, rows,
                log=True)


def draw_counts(bench, directory, names, figures):
    curves = {name: [(blocks, row[name]["value"]) for blocks, row in figures["instructions"].items()
                     if row[name]["value"]] for name in names}
    return lines(os.path.join(directory, "instructions.svg"),
                 "Instructions of one call, worst over the streams", "blocks", "instructions", names,
                 {name: curve for name, curve in curves.items() if curve})


def draw_growth(bench, directory, names):
    curves = {}
    for name in names:
        for size in getattr(bench, "growth", []):
            for run in bench.runs.get(("growth", "ma:1-250", name, size), []):
                curves.setdefault(name, []).append((run["blocks"], run["cpu_ns"] / 1e6))
    return lines(os.path.join(directory, "growth.svg"), "Pattern 25 at different sizes (figure 9)",
                 "blocks", "CPU, ms", names, curves, log=False)


def draw(bench, figures, directory):
    """How many plots there are now in the directory."""
    names = list(bench.allocators)
    means = figures["means"]
    drawn = draw_ratios(bench, directory, names) + draw_latency(bench, directory, names)
    drawn += draw_counts(bench, directory, names, figures) + draw_growth(bench, directory, names)
    if means:
        drawn += scatter(os.path.join(directory, "means.svg"),
                         "Geometric means over the patterns, glibc = 1", "CPU time", "peak RSS", names,
                         {name: (means["cpu_ns"][name], means["rss_peak_bytes"][name])
                          for name in names})
    return drawn
