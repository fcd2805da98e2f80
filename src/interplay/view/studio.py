"""What stands around bodies in a picture: ground with its lines and shade, backdrop; and how bodies are laid over it."""

from __future__ import annotations

import numba
import numpy as np

_kernel = numba.njit(cache=True, nogil=True, fastmath=True)

LINE, HALF_LINE = 0.014, 0.009
"""Widths of the lines on the ground, at whole metres and between them [m]."""


@_kernel
def _line(x, width, blur):
    """Return how much of a pixel, ``blur`` wide, lines at whole numbers cover: their exact share, so that nothing flickers."""
    overlap = np.float32(0.5) * (blur + width) - abs(x - np.floor(x + np.float32(0.5)))
    share = min(max(overlap, np.float32(0.0)), min(width, blur)) / blur
    return share if blur < np.float32(0.5) else width


@_kernel
def ground_and_backdrop(eye, axes, centre, fade, backdrop, colors, maps, shades, depths, out):
    """Fill a picture with the ground, lines and shade on it, and the backdrop into which it fades.

    Args:
        eye: where the camera is (3) [m].
        axes: what it sees at the picture's centre, and how that changes with a pixel to the right and down (3, 3).
        centre: the point of the ground (2) [m] from which it fades …
        fade: … and how far from there it has become one with the backdrop [m]; 0: there is no ground.
        backdrop: colours from top to bottom (h, 3).
        colors: of the ground, of lines each metre and between them, and what is left of light in the deepest shade (4, 3).
        maps: for each shade, where a point (x, y, 1) of the ground is in it (k, 2, 3).
        shades: how much light is taken away (k, n, n).
        depths: how deep each shade is, 0 to 1 (k).
        out: the picture (h, w, 3).
    """
    h, w = out.shape[0], out.shape[1]
    shaded = shades.shape[0]
    gx, gy, lit = np.empty(w, np.float32), np.empty(w, np.float32), np.empty(w, np.float32)
    near, full, half = np.empty(w, np.float32), np.empty(w, np.float32), np.empty(w, np.float32)
    fading = np.float32(1.0 / max(fade * fade, 1e-6))
    c0, c1 = np.float32(centre[0]), np.float32(centre[1])
    e0, e1 = np.float32(eye[0]), np.float32(eye[1])
    r0, r1, r2 = np.float32(axes[1, 0]), np.float32(axes[1, 1]), np.float32(axes[1, 2])
    d0, d1, d2 = np.float32(axes[2, 0]), np.float32(axes[2, 1]), np.float32(axes[2, 2])
    wide, thin, one = np.float32(LINE), np.float32(HALF_LINE), np.float32(1.0)
    for y in range(h):
        down = y + 0.5 - 0.5 * h
        a0, a1, a2 = axes[0, 0] + down * axes[2, 0], axes[0, 1] + down * axes[2, 1], axes[0, 2] + down * axes[2, 2]
        b0, b1, b2 = np.float32(a0), np.float32(a1), np.float32(a2)
        if fade <= 0.0 or a2 * eye[2] > -1e-6:  # the camera does not roll: a row is above the horizon, or below it
            for x in range(w):
                for c in range(3):
                    out[y, x, c] = backdrop[y, c]
            continue
        height = np.float32(-eye[2])
        for x in range(w):  # in one go, without branches: so it is done for eight pixels at once
            right = np.float32(x + 0.5 - 0.5 * w)
            back = one / (b2 + right * r2)
            t = height * back
            dx, dy = b0 + right * r0, b1 + right * r1
            px, py = e0 + t * dx, e1 + t * dy
            gx[x], gy[x], lit[x] = px, py, one
            rest = max(one - ((px - c0) ** 2 + (py - c1) ** 2) * fading, np.float32(0.0))
            near[x] = rest * rest
            # How far the next pixels are on the ground: how much of it this one shows.
            sx, sy = dx * back, dy * back
            ax = t * (abs(r0 - sx * r2) + abs(d0 - sx * d2))
            ay = t * (abs(r1 - sy * r2) + abs(d1 - sy * d2))
            whole = max(_line(px, wide, ax), _line(py, wide, ay))
            between = max(_line(px + np.float32(0.5), thin, ax), _line(py + np.float32(0.5), thin, ay))
            full[x], half[x] = whole, between * (one - whole)
        for k in range(shaded):
            u0, u1, u2 = np.float32(maps[k, 0, 0]), np.float32(maps[k, 0, 1]), np.float32(maps[k, 0, 2])
            v0, v1, v2 = np.float32(maps[k, 1, 0]), np.float32(maps[k, 1, 1]), np.float32(maps[k, 1, 2])
            depth, last = np.float32(depths[k]), np.float32(shades.shape[1] - 1)
            for x in range(w):
                u, v = u0 * gx[x] + u1 * gy[x] + u2, v0 * gx[x] + v1 * gy[x] + v2
                if u >= 0.0 and v >= 0.0 and u < last and v < last:
                    i, j = np.uint32(v), np.uint32(u)
                    b, a = v - np.float32(i), u - np.float32(j)
                    top = shades[k, i, j] + (shades[k, i, j + 1] - shades[k, i, j]) * a
                    low = shades[k, i + 1, j] + (shades[k, i + 1, j + 1] - shades[k, i + 1, j]) * a
                    lit[x] *= one - depth * (top + (low - top) * b)
        for c in range(3):
            plain, line, other = np.float32(colors[0, c]), np.float32(colors[1, c]), np.float32(colors[2, c])
            dark, behind = np.float32(1.0 - colors[3, c]), np.float32(backdrop[y, c])
            for x in range(w):
                floor = plain + full[x] * (line - plain) + half[x] * (other - plain)
                out[y, x, c] = (one - dark * (one - lit[x])) * (near[x] * (floor - behind) + behind)


@_kernel
def _extent(packed, row):
    """Return the first and the last sample of a row that are not empty."""
    w = packed.shape[1]
    first = 0
    while first < w and packed[row, first] == 0:
        first += 1
    last = w - 1
    while last > first and packed[row, last] == 0:
        last -= 1
    return first, last


@_kernel
def lay_over(bodies, packed, light, behind, out):
    """Lay a picture of bodies over what is behind them.

    Args:
        bodies: their picture (2h, 2w, 4), upside down: each pixel has four samples, whose fourth number says if there is a body.
        packed: the same as whole numbers (2h, 2w): 0 where there is nothing.
        light: how much light reaches them (h, w), 0 to 1.
        behind: what is behind them (h, w, 3), 0 to 1.
        out: the picture (h, w, 3).

    Samples of neighbours count, too, a third as much as a pixel's own: edges are smooth, and nothing crawls when it moves.
    """
    h, w = out.shape[0], out.shape[1]
    for y in range(h):
        base = 2 * (h - 1 - y)
        begin, end = 2 * w, -1
        for row in range(max(base - 1, 0), min(base + 3, 2 * h)):
            first, last = _extent(packed, row)
            if first < 2 * w:
                begin, end = min(begin, first), max(end, last)
        for x in range(w):
            left, cover, red, green, blue = 2 * x, 0.0, 0.0, 0.0, 0.0
            if begin - 2 <= left <= end + 1:
                for i in range(base - 1, base + 3):
                    row, tall = min(max(i, 0), 2 * h - 1), 3.0 if base <= i <= base + 1 else 1.0
                    for j in range(left - 1, left + 3):
                        column = min(max(j, 0), 2 * w - 1)
                        if packed[row, column]:
                            part = tall * (3.0 if left <= j <= left + 1 else 1.0) / 64.0
                            red += part * bodies[row, column, 0]
                            green += part * bodies[row, column, 1]
                            blue += part * bodies[row, column, 2]
                            cover += part * bodies[row, column, 3]
            rest, lit = 255.0 - cover, light[y, x]
            out[y, x, 0] = min(lit * red + rest * behind[y, x, 0] + 0.5, 255.0)
            out[y, x, 1] = min(lit * green + rest * behind[y, x, 1] + 0.5, 255.0)
            out[y, x, 2] = min(lit * blue + rest * behind[y, x, 2] + 0.5, 255.0)
