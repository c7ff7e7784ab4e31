/* The vehicle, its equations with multipliers and their power series: see omni_multipliers.c. */

#ifndef OMNI_SERIES_H
#define OMNI_SERIES_H

#include <quadmath.h>
#include <string.h>

typedef __float128 Real;

enum { N = 3, ROLLERS = 5, VELOCITIES = 3 + N + N * ROLLERS, SIZE = VELOCITIES + 2 * N };
enum { VX, VY, OMEGA, CHI_DOT, PHI_DOT = CHI_DOT + N }; /* PHI_DOT + ROLLERS i + j */
enum { ORDER = 48 };

typedef Real Series[ORDER + 2]; /* coefficients of the powers of time */

static Real R, r, l, M, I_S, J, B, LAMBDA, BORDER, STEP_ERROR;
static int order;
static Real cos_alpha[N], sin_alpha[N], cos_kappa[ROLLERS], sin_kappa[ROLLERS];

typedef struct {
    Real time, place[3], chi[N], velocity[VELOCITIES];
    int contact[N];
} State;

static void build(void)
{
    const Real platform = 1, hub = 0.15Q, roller = 0.05Q, width = 0.01Q;
    R = 0.15Q;
    r = 0.05Q;
    l = r / cosq(M_PIq / (ROLLERS - 1));
    Real thickness = (l - r) / 2, length = 2 * l * sinq(M_PIq / ROLLERS);
    B = roller * thickness * thickness / 2;
    Real A = roller * (3 * thickness * thickness + length * length) / 12;
    M = platform + N * (hub + ROLLERS * roller);
    I_S = platform * R * R / 2 + N * (hub * R * R + hub * (3 * r * r + width * width) / 12)
        + N * ROLLERS * ((A + B) / 2 + roller * R * R + roller * r * r / 2);
    J = hub * r * r / 2 + ROLLERS * (A + roller * r * r);
    LAMBDA = I_S / (M * l * l);
    BORDER = M_PIq / ROLLERS;
    for (int i = 0; i < N; i++) sincosq(2 * M_PIq * i / N, &sin_alpha[i], &cos_alpha[i]);
    for (int j = 0; j < ROLLERS; j++)
        sincosq(2 * M_PIq * j / ROLLERS, &sin_kappa[j], &cos_kappa[j]);
}

static int behind(int contact, int j) /* kappa of roller j, in sectors */
{
    return (j - contact + ROLLERS) % ROLLERS;
}

/* What a position determines: directions of the wheels, angles and arms of the rollers. */
typedef struct {
    Real n[N][2], tau[N][2], sine[N][ROLLERS], rho[N];
} Position;

static Position position_of(const State *s)
{
    Position at;
    for (int i = 0; i < N; i++) {
        Real sine, cosine;
        sincosq(s->place[2], &sine, &cosine);
        at.n[i][0] = cosine * cos_alpha[i] - sine * sin_alpha[i];
        at.n[i][1] = sine * cos_alpha[i] + cosine * sin_alpha[i];
        at.tau[i][0] = -at.n[i][1];
        at.tau[i][1] = at.n[i][0];
        sincosq(s->chi[i], &sine, &cosine);
        at.rho[i] = l * cosine - r;
        for (int j = 0; j < ROLLERS; j++) {
            int k = behind(s->contact[i], j);
            at.sine[i][j] = sine * cos_kappa[k] + cosine * sin_kappa[k];
        }
    }
    return at;
}

static void masses(const Position *at, Real a[SIZE][SIZE])
{
    a[VX][VX] = a[VY][VY] = M;
    a[OMEGA][OMEGA] = I_S;
    for (int i = 0; i < N; i++) {
        a[CHI_DOT + i][CHI_DOT + i] = J;
        for (int j = 0; j < ROLLERS; j++) {
            int phi = PHI_DOT + ROLLERS * i + j;
            a[phi][phi] = B;
            a[phi][OMEGA] = a[OMEGA][phi] = B * at->sine[i][j];
        }
    }
}

static void constraints(const Position *at, const int contact[N], Real jacobian[2 * N][VELOCITIES])
{
    for (int i = 0; i < N; i++) {
        Real *along = jacobian[2 * i], *across = jacobian[2 * i + 1];
        along[VX] = at->n[i][0];
        along[VY] = at->n[i][1];
        along[PHI_DOT + ROLLERS * i + contact[i]] = -at->rho[i];
        across[VX] = at->tau[i][0];
        across[VY] = at->tau[i][1];
        across[OMEGA] = R;
        across[CHI_DOT + i] = l;
    }
}

typedef struct {
    Real entry[SIZE][SIZE];
    int row[SIZE];
} Factors; /* of [M -J^T; J 0], rows exchanged */

static void factorise(const Position *at, const int contact[N], Factors *f)
{
    Real jacobian[2 * N][VELOCITIES] = {{0}}, (*a)[SIZE] = f->entry;
    memset(f->entry, 0, sizeof f->entry);
    masses(at, a);
    constraints(at, contact, jacobian);
    for (int c = 0; c < 2 * N; c++)
        for (int k = 0; k < VELOCITIES; k++) {
            a[k][VELOCITIES + c] = -jacobian[c][k];
            a[VELOCITIES + c][k] = jacobian[c][k];
        }
    for (int k = 0; k < SIZE; k++) f->row[k] = k;
    for (int k = 0; k < SIZE; k++) {
        int pivot = k;
        for (int n = k + 1; n < SIZE; n++)
            if (fabsq(a[n][k]) > fabsq(a[pivot][k])) pivot = n;
        Real whole[SIZE];
        memcpy(whole, a[k], sizeof whole);
        memcpy(a[k], a[pivot], sizeof whole);
        memcpy(a[pivot], whole, sizeof whole);
        int number = f->row[k];
        f->row[k] = f->row[pivot];
        f->row[pivot] = number;
        for (int n = k + 1; n < SIZE; n++) {
            if (a[n][k] == 0) continue;
            a[n][k] /= a[k][k];
            for (int m = k + 1; m < SIZE; m++) a[n][m] -= a[n][k] * a[k][m];
        }
    }
}

static void solve(const Factors *f, const Real right[SIZE], Real out[SIZE])
{
    for (int k = 0; k < SIZE; k++) {
        out[k] = right[f->row[k]];
        for (int n = 0; n < k; n++)
            if (f->entry[k][n] != 0) out[k] -= f->entry[k][n] * out[n];
    }
    for (int k = SIZE - 1; k >= 0; k--) {
        for (int n = k + 1; n < SIZE; n++)
            if (f->entry[k][n] != 0) out[k] -= f->entry[k][n] * out[n];
        out[k] /= f->entry[k][k];
    }
}

/* The sum of a[m] b[k - m] for m from `from`. */
static Real product(const Real *a, const Real *b, int from, int k)
{
    Real sum = 0;
    for (int m = from; m <= k; m++) sum += a[m] * b[k - m];
    return sum;
}

typedef struct {
    Series place[3], chi[N], velocity[VELOCITIES], reaction[2 * N];
    Series sin_theta, cos_theta, sin_chi[N], cos_chi[N], rho[N], n[N][2], tau[N][2];
    Series by_cosine[N], by_sine[N]; /* sums over the rollers of phi' cos, sin kappa */
    Series pull[N];                  /* sums over the rollers of phi' cos chi_ij */
} Expansion;

/* Powers k of sine and cosine, given those of the angle and lower powers of themselves. */
static void turn(const Real *angle, Real *sine, Real *cosine, int k)
{
    if (k == 0) {
        sincosq(angle[0], sine, cosine);
        return;
    }
    sine[k] = cosine[k] = 0;
    for (int m = 1; m <= k; m++) {
        sine[k] += m * angle[m] * cosine[k - m] / k;
        cosine[k] -= m * angle[m] * sine[k - m] / k;
    }
}

/* Powers k of what positions determine. */
static void expand_positions(Expansion *e, int k)
{
    turn(e->place[2], e->sin_theta, e->cos_theta, k);
    for (int i = 0; i < N; i++) {
        turn(e->chi[i], e->sin_chi[i], e->cos_chi[i], k);
        e->rho[i][k] = l * e->cos_chi[i][k] - (k == 0 ? r : 0);
        e->n[i][0][k] = e->cos_theta[k] * cos_alpha[i] - e->sin_theta[k] * sin_alpha[i];
        e->n[i][1][k] = e->sin_theta[k] * cos_alpha[i] + e->cos_theta[k] * sin_alpha[i];
        e->tau[i][0][k] = -e->n[i][1][k];
        e->tau[i][1][k] = e->n[i][0][k];
    }
}

/* Powers k of the sums over the rollers, given those of velocities and positions. */
static void expand_sums(Expansion *e, const int contact[N], int k)
{
    for (int i = 0; i < N; i++) {
        e->by_cosine[i][k] = e->by_sine[i][k] = 0;
        for (int j = 0; j < ROLLERS; j++) {
            int b = behind(contact[i], j);
            e->by_cosine[i][k] += cos_kappa[b] * e->velocity[PHI_DOT + ROLLERS * i + j][k];
            e->by_sine[i][k] += sin_kappa[b] * e->velocity[PHI_DOT + ROLLERS * i + j][k];
        }
        e->pull[i][k] = product(e->cos_chi[i], e->by_cosine[i], 0, k)
            - product(e->sin_chi[i], e->by_sine[i], 0, k);
    }
}

/* The right-hand side for the powers k + 1 of velocities (times k + 1) and k of reactions. */
static void known(const Expansion *e, const int contact[N], int k, Real right[SIZE])
{
    const Real *omega = e->velocity[OMEGA];
    memset(right, 0, SIZE * sizeof(Real));
    for (int i = 0; i < N; i++) {
        const Real *along = e->reaction[2 * i], *across = e->reaction[2 * i + 1];
        const Real *rolling = e->velocity[PHI_DOT + ROLLERS * i + contact[i]];
        Real *no_slip = right + VELOCITIES + 2 * i;
        for (int axis = 0; axis < 2; axis++) {
            const Real *n = e->n[i][axis], *tau = e->tau[i][axis], *v = e->velocity[axis];
            right[VX + axis] += product(n, along, 1, k) + product(tau, across, 1, k);
            no_slip[0] -= (k + 1) * product(n, v, 1, k + 1);
            no_slip[1] -= (k + 1) * product(tau, v, 1, k + 1);
        }
        no_slip[0] += (k + 1) * product(e->rho[i], rolling, 1, k + 1);
        right[OMEGA] -= (k + 1) * B
            * (product(e->sin_chi[i], e->by_cosine[i], 1, k + 1)
                + product(e->cos_chi[i], e->by_sine[i], 1, k + 1));
        right[CHI_DOT + i] = B * product(omega, e->pull[i], 0, k);
        Real sine = product(e->sin_chi[i], omega, 1, k + 1);
        Real cosine = product(e->cos_chi[i], omega, 1, k + 1);
        for (int j = 0; j < ROLLERS; j++) {
            int b = behind(contact[i], j);
            Real turned = cos_kappa[b] * sine + sin_kappa[b] * cosine;
            right[PHI_DOT + ROLLERS * i + j] = -(k + 1) * B * turned;
        }
        right[PHI_DOT + ROLLERS * i + contact[i]] -= product(e->rho[i], along, 1, k);
    }
}

/* Expand the motion about a state; return the length of the step. */
static Real expand(const State *s, Expansion *e)
{
    Factors factors;
    Position at = position_of(s);
    factorise(&at, s->contact, &factors);
    for (int n = 0; n < 3; n++) e->place[n][0] = s->place[n];
    for (int i = 0; i < N; i++) e->chi[i][0] = s->chi[i];
    for (int n = 0; n < VELOCITIES; n++) e->velocity[n][0] = s->velocity[n];
    expand_positions(e, 0);
    expand_sums(e, s->contact, 0);
    for (int k = 0; k < order; k++) {
        Real right[SIZE], out[SIZE];
        for (int n = 0; n < 3; n++) e->place[n][k + 1] = e->velocity[n][k] / (k + 1);
        for (int i = 0; i < N; i++) e->chi[i][k + 1] = e->velocity[CHI_DOT + i][k] / (k + 1);
        expand_positions(e, k + 1);
        known(e, s->contact, k, right);
        solve(&factors, right, out);
        for (int n = 0; n < VELOCITIES; n++) e->velocity[n][k + 1] = out[n] / (k + 1);
        for (int c = 0; c < 2 * N; c++) e->reaction[c][k] = out[VELOCITIES + c];
        expand_sums(e, s->contact, k + 1);
    }
    Real h = 1;
    for (int k = order - 1; k <= order; k++) {
        Real size = 1e-60Q;
        for (int n = 0; n < VELOCITIES; n++) size = fmaxq(size, fabsq(e->velocity[n][k]));
        h = fminq(h, powq(STEP_ERROR / size, (Real)1 / k));
    }
    return h;
}

static Real value(const Real *series, Real t)
{
    Real sum = series[order];
    for (int k = order - 1; k >= 0; k--) sum = sum * t + series[k];
    return sum;
}

static Real slope(const Real *series, Real t)
{
    Real sum = order * series[order];
    for (int k = order - 1; k > 0; k--) sum = sum * t + k * series[k];
    return sum;
}

static State state_at(const State *s, const Expansion *e, Real t)
{
    State out = *s;
    out.time = s->time + t;
    for (int n = 0; n < 3; n++) out.place[n] = value(e->place[n], t);
    for (int i = 0; i < N; i++) out.chi[i] = value(e->chi[i], t);
    for (int n = 0; n < VELOCITIES; n++) out.velocity[n] = value(e->velocity[n], t);
    return out;
}

/* Root between two times of a series whose values there have opposite signs. */
static Real root(const Real *series, Real target, Real low, Real high)
{
    int rising = value(series, high) > target;
    Real t = high;
    for (int k = 0; k < 200; k++) {
        Real off = value(series, t) - target, next = t - off / slope(series, t);
        if ((off > 0) == rising) high = t; else low = t;
        if (!(next >= low && next <= high)) next = (low + high) / 2;
        if (fabsq(next - t) <= 1e-33Q * (1 + fabsq(t))) return next;
        t = next;
    }
    return t;
}

#endif
