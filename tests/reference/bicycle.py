"""The bicycle of Whipple in world axes, by numbers alone: bodies, joints, contacts.

A tree of joints carries the four bodies: the rear wheel's centre moves along x, y, z; the rear
frame turns about it by yaw, lean and pitch, the rear wheel about its axle; the front frame turns
about the steering axis, the front wheel about its axle. Each joint's axis and place give the
columns of the bodies' Jacobians (w = J_w q', v = J_v q'), and the virtual power of inertia, weight
and the forces on both contacts

    sum J_v^T m (v' - g) + J_w^T (I w' + w x I w) = W^T force,    W q'' + W' q' = 0,

where W q' are the velocities of the material points in contact: up, along the wheel, to its right.
Rates of Jacobians are complex-step derivatives along q', exact to rounding. z is down.

The linear equations M q'' + v C1 q' + (g K0 + v^2 K2) q = 0 in lean and steer are those of
Meijaard et al., Proc. R. Soc. A 463 (2007) 1955, (5.3) and appendix A, in closed form.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import solve_ivp

NAMES = ("x", "y", "z", "yaw", "lean", "pitch", "rear_rotation", "steer", "front_rotation")
REACTIONS = ("normal", "longitudinal", "lateral")
GRAVITY, WHEEL_BASE, TRAIL, TILT = 9.81, 1.02, 0.08, np.pi / 10
RADIUS = {"rear": 0.3, "front": 0.35}
MASSES = np.array([2.0, 85.0, 4.0, 3.0])
CENTRES = np.array([[0.0, 0, -0.3], [0.3, 0, -0.9], [0.9, 0, -0.7], [1.02, 0, -0.35]])
INERTIAS = np.array(
    [
        np.diag([0.0603, 0.12, 0.0603]),
        [[9.2, 0, 2.4], [0, 11.0, 0], [2.4, 0, 2.8]],
        [[0.05892, 0, -0.00756], [0, 0.06, 0], [-0.00756, 0, 0.00708]],
        np.diag([0.1405, 0.28, 0.1405]),
    ]
)
STEERING_FOOT = np.array([WHEEL_BASE + TRAIL, 0.0, 0.0])
STEERING_AXIS = np.array([np.sin(TILT), 0.0, np.cos(TILT)])
DOWN = np.array([0.0, 0.0, 1.0])
STEP = 1e-30


def _turn(axis: np.ndarray, angle: complex) -> np.ndarray:
    """Rodrigues' rotation matrix."""
    x, y, z = axis
    skew = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + np.sin(angle) * skew + (1 - np.cos(angle)) * skew @ skew


def _cross(axis: np.ndarray, arm: np.ndarray) -> np.ndarray:
    x, y, z = axis
    a, b, c = arm
    return np.array([y * c - z * b, z * a - x * c, x * b - y * a])


def _geometry(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return J_v (4, 3, 9), J_w (4, 3, 9), world inertias (4, 3, 3) and W (6, 9)."""
    hub = q[:3]
    heading = _turn(DOWN, q[3])
    leaned = heading @ _turn(np.array([1.0, 0, 0]), q[4])
    rear = leaned @ _turn(np.array([0, 1.0, 0]), q[5])
    front = rear @ _turn(STEERING_AXIS, q[7])
    foot = hub + rear @ (STEERING_FOOT - CENTRES[0])
    centres = [hub, hub + rear @ (CENTRES[1] - CENTRES[0])]
    centres += [foot + front @ (CENTRES[k] - STEERING_FOOT) for k in (2, 3)]
    axes = {3: DOWN, 4: heading[:, 0], 5: leaned[:, 1], 6: rear[:, 1], 7: rear @ STEERING_AXIS}
    axes[8] = front[:, 1]
    places = {3: hub, 4: hub, 5: hub, 6: hub, 7: foot, 8: centres[3]}
    carrying = [(3, 4, 5, 6), (3, 4, 5), (3, 4, 5, 7), (3, 4, 5, 7, 8)]
    moving, turning = np.zeros((4, 3, 9), dtype=q.dtype), np.zeros((4, 3, 9), dtype=q.dtype)
    moving[:, :, :3] = np.eye(3)
    for body, joints in enumerate(carrying):
        for joint in joints:
            turning[body, :, joint] = axes[joint]
            moving[body, :, joint] = _cross(axes[joint], centres[body] - places[joint])
    frames = (rear, rear, front, front)
    inertias = np.array([f @ i @ f.T for f, i in zip(frames, INERTIAS, strict=True)])
    contacts = []
    for wheel, body, frame in (("rear", 0, rear), ("front", 3, front)):
        axle = frame[:, 1]
        cosine = np.sqrt(1 - axle[2] ** 2)
        arm = RADIUS[wheel] * (DOWN - axle[2] * axle) / cosine
        along = _cross(axle, DOWN) / cosine
        slip = moving[body] - np.array([_cross(arm, column) for column in turning[body].T]).T
        contacts += [-slip[2], along @ slip, _cross(DOWN, along) @ slip]
    return moving, turning, inertias, np.array(contacts)


def accelerations(q: np.ndarray, q_dot: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return q'' (9,) and the forces on the wheels (6,): rear, front; up, along, to the right."""
    moving, turning, inertias, contacts = _geometry(q)
    rates = [part.imag / STEP for part in _geometry(q + 1j * STEP * q_dot)]
    mass, force = np.zeros((9, 9)), np.zeros(9)
    for body in range(4):
        jv, jw, inertia = moving[body], turning[body], inertias[body]
        spin = jw @ q_dot
        mass += MASSES[body] * jv.T @ jv + jw.T @ inertia @ jw
        force += MASSES[body] * jv.T @ (GRAVITY * DOWN - rates[0][body] @ q_dot)
        force -= jw.T @ (inertia @ (rates[1][body] @ q_dot) + _cross(spin, inertia @ spin))
    matrix = np.block([[mass, -contacts.T], [contacts, np.zeros((6, 6))]])
    found = np.linalg.solve(matrix, np.concatenate([force, -rates[3] @ q_dot]))
    return found[:9], found[9:]


def ride(until: float, speed: float, lean_dot: float) -> tuple[dict[str, float], np.ndarray]:
    """Ride from upright and straight ahead; return the state and the forces at the end."""
    q, q_dot = np.zeros(9), np.zeros(9)
    q[2] = -RADIUS["rear"]
    q_dot[[0, 4]] = speed, lean_dot
    q_dot[[6, 8]] = -speed / RADIUS["rear"], -speed / RADIUS["front"]
    q_dot[1] = RADIUS["rear"] * lean_dot

    def rate(time: float, state: np.ndarray) -> np.ndarray:
        return np.concatenate([state[9:], accelerations(state[:9], state[9:])[0]])

    tight = {"method": "DOP853", "rtol": 1e-12, "atol": 1e-13}
    end = solve_ivp(rate, (0.0, until), np.concatenate([q, q_dot]), **tight).y[:, -1]
    rates = {f"{name}_dot": value for name, value in zip(NAMES, end[9:], strict=True)}
    return dict(zip(NAMES, end, strict=False)) | rates, accelerations(end[:9], end[9:])[1]


def linear_equations() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return M, C1, K0, K2 (each (2, 2), in lean and steer) of the paper's appendix A."""
    (xx_r, yy_r), (xx_f, yy_f) = ([i[0, 0], i[1, 1]] for i in INERTIAS[[0, 3]])
    (m_r, m_b, m_h, m_f), w, c = MASSES, WHEEL_BASE, TRAIL
    r_r, r_f = RADIUS["rear"], RADIUS["front"]
    (x_b, _, z_b), (x_h, _, z_h) = CENTRES[1:3]
    body, bar = INERTIAS[1], INERTIAS[2]
    sine, cosine = np.sin(TILT), np.cos(TILT)
    m_t = MASSES.sum()
    x_t = (x_b * m_b + x_h * m_h + w * m_f) / m_t
    z_t = (-r_r * m_r + z_b * m_b + z_h * m_h - r_f * m_f) / m_t
    xx_t = xx_r + body[0, 0] + bar[0, 0] + xx_f
    xx_t += m_r * r_r**2 + m_b * z_b**2 + m_h * z_h**2 + m_f * r_f**2
    xz_t = body[0, 2] + bar[0, 2] - m_b * x_b * z_b - m_h * x_h * z_h + m_f * w * r_f
    zz_t = xx_r + body[2, 2] + bar[2, 2] + xx_f + m_b * x_b**2 + m_h * x_h**2 + m_f * w**2
    m_a = m_h + m_f
    x_a, z_a = (x_h * m_h + w * m_f) / m_a, (z_h * m_h - r_f * m_f) / m_a
    xx_a = bar[0, 0] + xx_f + m_h * (z_h - z_a) ** 2 + m_f * (r_f + z_a) ** 2
    xz_a = bar[0, 2] - m_h * (x_h - x_a) * (z_h - z_a) + m_f * (w - x_a) * (r_f + z_a)
    zz_a = bar[2, 2] + xx_f + m_h * (x_h - x_a) ** 2 + m_f * (w - x_a) ** 2
    u_a = (x_a - w - c) * cosine - z_a * sine
    ll_a = m_a * u_a**2 + xx_a * sine**2 + 2 * xz_a * sine * cosine + zz_a * cosine**2
    lx_a = -m_a * u_a * z_a + xx_a * sine + xz_a * cosine
    lz_a = m_a * u_a * x_a + xz_a * sine + zz_a * cosine
    mu = c / w * cosine
    s_r, s_f = yy_r / r_r, yy_f / r_f
    s_t, s_a = s_r + s_f, m_a * u_a + mu * m_t * x_t
    m_ps, m_ss = lx_a + mu * xz_t, ll_a + 2 * mu * lz_a + mu**2 * zz_t
    k_ps = (s_t - m_t * z_t) / w * cosine
    k_ss = (s_a + s_f * sine) / w * cosine
    c_ps = mu * s_t + s_f * cosine + xz_t / w * cosine - mu * m_t * z_t
    c_sp = -(mu * s_t + s_f * cosine)
    c_ss = lz_a / w * cosine + mu * (s_a + zz_t / w * cosine)
    return (
        np.array([[xx_t, m_ps], [m_ps, m_ss]]),
        np.array([[0.0, c_ps], [c_sp, c_ss]]),
        np.array([[m_t * z_t, -s_a], [-s_a, -s_a * sine]]),
        np.array([[0.0, k_ps], [0.0, k_ss]]),
    )


def linear_matrix(speed: float) -> np.ndarray:
    """Return the state matrix in lean, steer and their rates."""
    mass, damping, weight, centrifugal = linear_equations()
    stiffness = GRAVITY * weight + speed**2 * centrifugal
    below = -np.linalg.solve(mass, np.hstack([stiffness, speed * damping]))
    return np.vstack([np.eye(2, 4, 2), below])
