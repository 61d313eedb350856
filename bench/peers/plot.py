"""A chart with two logarithmic axes as SVG: a mark for every run, hollow if it came apart or was cut off, a colour for every engine."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 84, 150, 40, 52
COLOURS = dict(zip(["linkwork", "rapier-f64", "rapier-f32", "mujoco", "ode"], ["#1f6fb2", "#d9822b", "#b23a48", "#2e8b57", "#7654a8"]))


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def svg(title, x_label, y_label, series):
    points = [p for line in series.values() for p in line]
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>',
           f'<text x="{LEFT}" y="24" font-size="15">{escape(title)}</text>']
    if points:
        (x0, x1), (y0, y1) = decades([p[0] for p in points]), decades([p[1] for p in points])
        across = lambda x: LEFT + (math.log10(x) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        up = lambda y: HEIGHT - BOTTOM - (math.log10(y) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        for k in range(x0, x1 + 1):
            x = across(10.0 ** k)
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#dddddd"/>'
                       f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">1e{k}</text>')
        skip = max(1, (y1 - y0) // 8)
        for k in range(y0, y1 + 1, skip):
            y = up(10.0 ** k)
            out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dddddd"/>'
                       f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">1e{k}</text>')
        for engine, line in series.items():
            colour = COLOURS.get(engine, "#4d4d4d")
            for x, y, label, verdict in line:
                # hollow: it came apart, be it later than the error was taken, or was cut off
                look = f'fill="{colour}" fill-opacity="0.8"' if verdict in ("holds", "sags") else f'fill="none" stroke="{colour}" stroke-width="2"'
                out.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="5" {look}>'
                           f'<title>{escape(f"{engine}, {label}: {x:.3g} s/s, {y:.3g}, {verdict}")}</title></circle>')
        for k, engine in enumerate(series):
            y = TOP + 14 + 20 * k
            out.append(f'<circle cx="{WIDTH - RIGHT + 18}" cy="{y}" r="5" fill="{COLOURS.get(engine, "#4d4d4d")}"/>'
                       f'<text x="{WIDTH - RIGHT + 30}" y="{y + 4}">{escape(engine)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out += [f'<text x="{middle}" y="{HEIGHT - 12}" text-anchor="middle">{escape(x_label)}</text>',
            f'<text transform="translate(20 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" text-anchor="middle">{escape(y_label)}</text>', "</svg>\n"]
    return "\n".join(out)
