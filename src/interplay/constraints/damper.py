"""The velocity damper of vaillant2017 (22), (31), and a braking law that reaches beyond its zone."""

from __future__ import annotations

import numba
import numpy as np


@numba.njit(cache=True)
def damper_gain(kept, distance, rate, influence, security, xi0, offset, dt):
    """Return ξ of a velocity damper: 0 outside the zone; on activation large enough not to brake at once; then kept.

    ``rate`` is the speed of approach. ξΔt < d_i − d_s keeps the discrete damper from overshooting.
    """
    if distance > influence:
        return 0.0
    if kept > 0.0:
        return kept
    reach = influence - security
    xi = xi0
    if rate > 0.0 and distance > security:
        xi = max(xi0, rate * reach / (distance - security))
    return min(xi + offset, 0.9 * reach / dt)


@numba.njit(cache=True)
def braking_speed(room, deceleration, dt):
    """Return the speed from which one step and then a constant deceleration end within ``room``: v Δt + v²/2a = room."""
    if room <= 0.0:
        return 0.0
    step = deceleration * dt
    return np.sqrt(step * step + 2.0 * deceleration * room) - step


@numba.njit(cache=True)
def approach_limit(distance, xi, influence, security, deceleration, dt):
    """Return the largest allowed speed of approach; negative: it must move away. ξ = 0 means outside the damper's zone."""
    room = distance - security
    limit = np.inf if room <= 0.0 else braking_speed(room, deceleration, dt)
    if xi > 0.0:
        limit = min(limit, xi * room / (influence - security))
    return limit
