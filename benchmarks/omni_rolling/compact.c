/* Vehicle with three omni-wheels of five massive rollers, written by hand for speed.

   State: x, y, theta, v_1, v_2, omega (body axes), chi_1, chi_2, chi_3. A roller has the momentum
   p = B (phi' + omega sin chi): constant while it is free, B b.u while it is in contact. With
   u = (v_1, v_2, omega), wheel i at the angle alpha_i (c = cos, s = sin), rho = l cos chi - r:

     chi_i' = a_i.u,   a_i = (s_i, -c_i, -R) / l,   b_i = (c_i / rho_i, s_i / rho_i, sin chi_i)
     G(chi) = G_0 + sum (J a_i a_i^T + B b_i b_i^T),   G_0 = diag(M, M, I_S - B N n / 2)
     G u' = M omega (v_2, -v_1, 0) + sum [-B b_i (b_i'.u) + a_i omega S_i - e_3 chi_i' S_i]
     S_i = sum over the rollers of p cos chi
     switch:  G u+ = G_0 u- + sum (J a_i chi_i'- + b_i p_i),   p_i kept by the roller that enters

   The method is Dormand and Prince's of order 8(5,3). A switch happens when |chi| passes pi / n
   outward, which is tested on the state; Newton's method on the length of the last step finds its
   instant, and every trial is a true step. Wheels that reach their border together (TIE) switch
   together.

     compact CASE TOLERANCE UNTIL REPEATS        CASE: spin, straight, twist; prints JSON  */

#define _GNU_SOURCE
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dop853.h"

enum { N = 3, ROLLERS = 5, SIZE = 6 + N, FIRST = 5 };
enum { X, Y, THETA, V_1, V_2, OMEGA, CHI };

static const double TIE = 1e-12;       /* rad */
static const double ON_BORDER = 1e-15; /* rad: Newton's method ends */
static const double R = 0.15, r = 0.05, M_PLATFORM = 1.0, M_HUB = 0.15, M_ROLLER = 0.05,
                    WIDTH = 0.01;

typedef struct {
    double l, M, I_S, J, B, lambda, border, free_inertia; /* free_inertia: I_S - B N n / 2 */
    double cosine[N], sine[N];
} Vehicle;

typedef struct {
    double time, step, state[SIZE], rate[SIZE];
    double momentum[N][ROLLERS];
    double whole_cosine[N], whole_sine[N]; /* sums over the free rollers of p cos, p sin kappa */
    int contact[N];
    long evaluations, steps, switches, wheel_switches;
    double first[FIRST];
    double top, top_time; /* the largest omega */
} Motion;

static Vehicle V;

static void build(void)
{
    V.l = r / cos(M_PI / (ROLLERS - 1));
    double thickness = (V.l - r) / 2, length = 2 * V.l * sin(M_PI / ROLLERS);
    V.B = M_ROLLER * thickness * thickness / 2;
    double A = V.B / 2 + M_ROLLER * length * length / 12;
    V.M = M_PLATFORM + N * (M_HUB + ROLLERS * M_ROLLER);
    V.I_S = M_PLATFORM * R * R / 2
        + N * (M_HUB * R * R + M_HUB * (3 * r * r + WIDTH * WIDTH) / 12)
        + N * ROLLERS * ((A + V.B) / 2 + M_ROLLER * R * R + M_ROLLER * r * r / 2);
    V.J = M_HUB * r * r / 2 + ROLLERS * (A + M_ROLLER * r * r);
    V.lambda = V.I_S / (V.M * V.l * V.l);
    V.border = M_PI / ROLLERS;
    V.free_inertia = V.I_S - V.B * N * ROLLERS / 2.0;
    for (int i = 0; i < N; i++) {
        V.cosine[i] = cos(2 * M_PI * i / N);
        V.sine[i] = sin(2 * M_PI * i / N);
    }
}

static inline void solve(double g[6], double f[3]) /* g: xx, xy, xz, yy, yz, zz; f -> solution */
{
    double k = 1 / g[0], p = g[1] * k, q = g[2] * k;
    double yy = g[3] - p * g[1], yz = g[4] - p * g[2], zz = g[5] - q * g[2];
    double second = f[1] - p * f[0], third = f[2] - q * f[0], m = yz / yy;
    f[2] = (third - m * second) / (zz - m * yz);
    f[1] = (second - yz * f[2]) / yy;
    f[0] = (f[0] - g[1] * f[1] - g[2] * f[2]) * k;
}

static inline void add(double g[6], double weight, double x, double y, double z)
{
    g[0] += weight * x * x;
    g[1] += weight * x * y;
    g[2] += weight * x * z;
    g[3] += weight * y * y;
    g[4] += weight * y * z;
    g[5] += weight * z * z;
}

static void rates(Motion *m, const double *restrict y, double *restrict out)
{
    double v_1 = y[V_1], v_2 = y[V_2], om = y[OMEGA], sine, cosine;
    double g[6] = {V.M, 0, 0, V.M, 0, V.free_inertia};
    double f[3] = {V.M * om * v_2, -V.M * om * v_1, 0};
    for (int i = 0; i < N; i++) {
        double c = V.cosine[i], s = V.sine[i];
        sincos(y[CHI + i], &sine, &cosine);
        double inverse = 1 / (V.l * cosine - r), w = v_1 * c + v_2 * s;
        double a_1 = s / V.l, a_2 = -c / V.l, a_3 = -R / V.l;
        double chi_dot = a_1 * v_1 + a_2 * v_2 + a_3 * om;
        double b_1 = c * inverse, b_2 = s * inverse;
        double own = V.B * (w * inverse + om * sine);
        double whole = (m->whole_cosine[i] + own) * cosine - m->whole_sine[i] * sine;
        double turn = -V.B * chi_dot * (w * V.l * sine * inverse * inverse + om * cosine);
        double drag = om * whole;
        add(g, V.J, a_1, a_2, a_3);
        add(g, V.B, b_1, b_2, sine);
        f[0] += turn * b_1 + drag * a_1;
        f[1] += turn * b_2 + drag * a_2;
        f[2] += turn * sine + drag * a_3 - chi_dot * whole;
        out[CHI + i] = chi_dot;
    }
    solve(g, f);
    sincos(y[THETA], &sine, &cosine);
    out[X] = v_1 * cosine - v_2 * sine;
    out[Y] = v_1 * sine + v_2 * cosine;
    out[THETA] = om;
    for (int k = 0; k < 3; k++) out[V_1 + k] = f[k];
    m->evaluations++;
}

static double energy(const Motion *m)
{
    const double *y = m->state;
    double twice = V.M * (y[V_1] * y[V_1] + y[V_2] * y[V_2]) + V.free_inertia * y[OMEGA] * y[OMEGA];
    for (int i = 0; i < N; i++) {
        double chi = y[CHI + i], w = y[V_1] * V.cosine[i] + y[V_2] * V.sine[i];
        double own = V.B * (w / (V.l * cos(chi) - r) + y[OMEGA] * sin(chi));
        twice += V.J * m->rate[CHI + i] * m->rate[CHI + i];
        for (int j = 0; j < ROLLERS; j++) {
            double p = j == m->contact[i] ? own : m->momentum[i][j];
            twice += p * p / V.B;
        }
    }
    return twice / 2;
}

/* One step of length h from the state of m: the end, and the error against the tolerance. */
static double step(Motion *m, double h, double tolerance, double *restrict end)
{
    double k[STAGES][SIZE];
    memcpy(k[0], m->rate, sizeof k[0]);
    for (int s = 1; s < STAGES; s++) {
        double y[SIZE], sum[SIZE] = {0};
        for (int j = 0; j < s; j++)
            for (int n = 0; n < SIZE; n++) sum[n] += STAGE[s][j] * k[j][n];
        for (int n = 0; n < SIZE; n++) y[n] = m->state[n] + h * sum[n];
        rates(m, y, k[s]);
    }
    double fifth = 0, third = 0;
    for (int n = 0; n < SIZE; n++) {
        double sum = 0, e_5 = 0, e_3 = 0;
        for (int s = 0; s < STAGES; s++) {
            sum += WEIGHT[s] * k[s][n];
            e_5 += ERROR_5[s] * k[s][n];
            e_3 += ERROR_3[s] * k[s][n];
        }
        end[n] = m->state[n] + h * sum;
        double scale = tolerance * (1 + fmax(fabs(m->state[n]), fabs(end[n])));
        fifth += (e_5 / scale) * (e_5 / scale);
        third += (e_3 / scale) * (e_3 / scale);
    }
    if (fifth == 0) return 0;
    return h * fifth / sqrt((fifth + 0.01 * third) * SIZE);
}

/* +1 or -1 where the wheel is at its border (to `within`) and goes on outward, else 0. */
static int leaving(const double *state, const double *rate, int i, double within)
{
    int side = state[CHI + i] < 0 ? -1 : 1;
    return side * state[CHI + i] >= V.border - within && side * rate[CHI + i] > 0 ? side : 0;
}

static void watch(Motion *m)
{
    if (m->state[OMEGA] > m->top) {
        m->top = m->state[OMEGA];
        m->top_time = m->time;
    }
}

/* Between two ends where omega rises and then falls, its cubic has a maximum within the step. */
static void watch_within(Motion *m, double h, const double *end, const double *end_rate)
{
    double before = m->rate[OMEGA], after = end_rate[OMEGA];
    if (before <= 0 || after >= 0) return;
    double rise = (end[OMEGA] - m->state[OMEGA]) / h;
    double a = before + after - 2 * rise, b = 3 * rise - 2 * before - after;
    double z = before / (sqrt(b * b - 3 * a * before) - b);
    double value = m->state[OMEGA] + h * z * (before + z * (b + z * a));
    if (value > m->top) {
        m->top = value;
        m->top_time = m->time + z * h;
    }
}

static void collect(Motion *m, int i)
{
    m->whole_cosine[i] = m->whole_sine[i] = 0;
    for (int j = 0; j < ROLLERS; j++) {
        if (j == m->contact[i]) continue;
        double kappa = 2 * M_PI * (j - m->contact[i]) / ROLLERS;
        m->whole_cosine[i] += m->momentum[i][j] * cos(kappa);
        m->whole_sine[i] += m->momentum[i][j] * sin(kappa);
    }
}

static void change_rollers(Motion *m, const int side[N])
{
    double *y = m->state, g[6] = {V.M, 0, 0, V.M, 0, V.free_inertia};
    double f[3] = {V.M * y[V_1], V.M * y[V_2], V.free_inertia * y[OMEGA]};
    for (int i = 0; i < N; i++) {
        double c = V.cosine[i], s = V.sine[i], chi_dot = m->rate[CHI + i];
        double w = y[V_1] * c + y[V_2] * s, chi = y[CHI + i];
        double p = V.B * (w / (V.l * cos(chi) - r) + y[OMEGA] * sin(chi));
        if (side[i]) {
            m->momentum[i][m->contact[i]] = p;
            m->contact[i] = (m->contact[i] - side[i] + ROLLERS) % ROLLERS;
            y[CHI + i] = chi -= side[i] * 2 * V.border;
            p = m->momentum[i][m->contact[i]];
            collect(m, i);
            m->wheel_switches++;
        }
        double inverse = 1 / (V.l * cos(chi) - r), b[3] = {c * inverse, s * inverse, sin(chi)};
        double a[3] = {s / V.l, -c / V.l, -R / V.l};
        add(g, V.J, a[0], a[1], a[2]);
        add(g, V.B, b[0], b[1], b[2]);
        for (int k = 0; k < 3; k++) f[k] += V.J * a[k] * chi_dot + b[k] * p;
    }
    solve(g, f);
    memcpy(y + V_1, f, sizeof f);
    rates(m, y, m->rate);
    if (m->switches < FIRST) m->first[m->switches] = m->time;
    m->switches++;
    watch(m);
}

/* The length of the step at whose end the first wheel reaches its border. */
static double located(Motion *m, double h, double tolerance, double *end, double *end_rate)
{
    int wheel = -1;
    for (int round = 0; round < 20; round++) {
        double earliest = h;
        for (int i = 0; i < N; i++) {
            int side = leaving(end, end_rate, i, -ON_BORDER);
            if (!side) continue;
            double back = (side * end[CHI + i] - V.border) / (side * end_rate[CHI + i]);
            if (h - back < earliest) {
                earliest = h - back;
                wheel = i;
            }
        }
        double off = fabs(end[CHI + wheel]) - V.border;
        if (fabs(off) <= ON_BORDER) return h;
        h -= off / fabs(end_rate[CHI + wheel]);
        step(m, h, tolerance, end);
        rates(m, end, end_rate);
    }
    return h; /* as near as rounding allows */
}

static void advance(Motion *m, double until, double tolerance)
{
    double end[SIZE], end_rate[SIZE];
    while (m->time < until) {
        double h = fmin(m->step, until - m->time);
        double error = step(m, h, tolerance, end);
        double factor = error > 0 ? 0.9 * pow(error, -0.125) : 10;
        factor = factor > 0.2 ? fmin(factor, 10) : 0.2; /* also where it is not a number */
        if (!(error <= 1)) {
            m->step = h * factor;
            continue;
        }
        if (h == m->step) m->step *= factor;
        rates(m, end, end_rate);
        int passed = 0;
        for (int i = 0; i < N; i++) passed |= leaving(end, end_rate, i, 0);
        if (passed) h = located(m, h, tolerance, end, end_rate);
        watch_within(m, h, end, end_rate);
        m->time = !passed && h == until - m->time ? until : m->time + h;
        memcpy(m->state, end, sizeof end);
        memcpy(m->rate, end_rate, sizeof end_rate);
        m->steps++;
        watch(m);
        for (int again = 0; passed && again < 2 * N; again++) { /* an impact may turn wheels back */
            int side[N];
            passed = 0;
            for (int i = 0; i < N; i++) passed |= side[i] = leaving(m->state, m->rate, i, TIE);
            if (passed) change_rollers(m, side);
        }
        if (passed) {
            fprintf(stderr, "wheels go to and fro at t = %.17g s\n", m->time);
            exit(1);
        }
    }
}

static Motion started(const char *name)
{
    Motion m = {.step = 1e-3, .top = -INFINITY};
    double forward = strcmp(name, "spin") ? 1 : 0, turning = strcmp(name, "straight") ? 1 : 0;
    m.state[V_1] = R * forward;
    m.state[OMEGA] = turning / V.lambda;
    for (int i = 0; i < N; i++) {
        for (int j = 1; j < ROLLERS; j++) /* phi' = 0 */
            m.momentum[i][j] = V.B * m.state[OMEGA] * sin(2 * M_PI * j / ROLLERS);
        collect(&m, i);
    }
    rates(&m, m.state, m.rate);
    watch(&m);
    return m;
}

static void print_result(const Motion *m, double seconds)
{
    const double *y = m->state;
    printf("{\"seconds\": %.6g, \"evaluations\": %ld, \"steps\": %ld", seconds, m->evaluations,
        m->steps);
    printf(", \"switches\": %ld, \"wheel_switches\": %ld", m->switches, m->wheel_switches);
    printf(", \"energy\": %.17g, \"max_nu_3\": %.17g, \"max_nu_3_time\": %.17g", energy(m),
        V.lambda * m->top, m->top_time);
    printf(", \"state\": {\"x\": %.17g, \"y\": %.17g, \"theta\": %.17g", y[X], y[Y], y[THETA]);
    printf(", \"nu_1\": %.17g, \"nu_2\": %.17g, \"nu_3\": %.17g", y[V_1] / R, y[V_2] / R,
        V.lambda * y[OMEGA]);
    for (int i = 0; i < N; i++) printf(", \"chi_%d\": %.17g", i + 1, y[CHI + i]);
    printf("}, \"first_events\": [");
    for (int k = 0; k < FIRST && k < m->switches; k++)
        printf("%s%.17g", k ? ", " : "", m->first[k]);
    printf("]}\n");
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

int main(int count, char **words)
{
    const char *known[] = {"spin", "straight", "twist"};
    int found = 0;
    for (int k = 0; k < 3 && count == 5; k++) found |= !strcmp(words[1], known[k]);
    if (!found) {
        fprintf(stderr, "usage: compact spin|straight|twist TOLERANCE UNTIL REPEATS\n");
        return 2;
    }
    double tolerance = atof(words[2]), until = atof(words[3]), best = INFINITY;
    Motion m;
    build();
    for (int k = atoi(words[4]); k > 0; k--) {
        double begin = now();
        m = started(words[1]);
        advance(&m, until, tolerance);
        best = fmin(best, now() - begin);
    }
    print_result(&m, best);
    return 0;
}
