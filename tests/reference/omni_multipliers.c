/* Vehicle with three omni-wheels of five massive rollers, in quadruple precision.

   Nothing is reduced by hand: 21 velocities (x', y', theta', chi_i', phi_ij') and 6 reactions obey

     d/dt dT/dq' - dT/dq = J^T lambda,   J q' = 0,
     T = (M (x'^2 + y'^2) + I_S theta'^2 + J sum chi_i'^2
          + B sum (phi_ij'^2 + 2 theta' sin chi_ij phi_ij')) / 2,   chi_ij = chi_i + 2 pi j / n,
     n_i:    v.n_i - rho_i phi_i' = 0 for the roller in contact,   rho_i = l cos chi_i - r,
     tau_i:  v.tau_i + R theta' + l chi_i' = 0,   n_i = (cos, sin)(theta + alpha_i).

   Every unknown is a power series of time about the start of the step. The power k of the
   equations and k + 1 of the constraints are linear in the power k + 1 of the velocities and k of
   the reactions, with one matrix [M -J^T; J 0] for all k, taken at the start of the step. The
   impact at a switch is a solution with the same matrix for the new rollers in contact.
   Borders (and extremes of theta') are roots of the series, looked for between PARTS points of
   each step; a wheel that turns back within a part is looked at too.

     omni_multipliers CASE DIGITS UNTIL      CASE: spin, straight, twist; prints JSON  */

#include <stdio.h>
#include <stdlib.h>

#include "omni_series.h"

enum { PARTS = 8, FIRST = 5, SAMPLES = 6 };

static const Real TIE = 1e-20Q;   /* rad */
static const Real NOISE = 1e-20Q; /* rad/s: a maximum exceeds the last one by more */
static const int SAMPLE_TIMES[SAMPLES] = {1, 10, 50, 60, 300, 1000};

typedef struct {
    State state;
    long steps, switches, wheel_switches;
    Real first[FIRST], first_energy[FIRST], top, top_time; /* top: the largest theta' */
    Real shortest;     /* time between switches */
    Real nearest;      /* to a border a wheel turned */
    Real largest_gain; /* of energy at an impact, relative */
    Real drift;        /* of energy between impacts, relative */
} Motion;

static Real energy(const State *s)
{
    Position at = position_of(s);
    const Real *v = s->velocity;
    Real a[SIZE][SIZE] = {{0}}, twice = 0;
    masses(&at, a);
    for (int k = 0; k < VELOCITIES; k++)
        for (int n = 0; n < VELOCITIES; n++) twice += v[k] * a[k][n] * v[n];
    return twice / 2;
}

static int leaving(const State *s, int i, Real within)
{
    int side = s->chi[i] < 0 ? -1 : 1;
    return side * s->chi[i] >= BORDER - within && side * s->velocity[CHI_DOT + i] > 0 ? side : 0;
}

/* New rollers come into contact; the impulses of their constraints change all velocities. */
static int change_rollers(State *s)
{
    int side[N], count = 0;
    for (int i = 0; i < N; i++) count += (side[i] = leaving(s, i, TIE)) != 0;
    if (!count) return 0;
    for (int i = 0; i < N; i++) {
        s->contact[i] = (s->contact[i] - side[i] + ROLLERS) % ROLLERS;
        s->chi[i] -= side[i] * 2 * BORDER;
    }
    Position at = position_of(s);
    Real a[SIZE][SIZE] = {{0}}, right[SIZE] = {0}, out[SIZE];
    Factors factors;
    masses(&at, a);
    for (int k = 0; k < VELOCITIES; k++)
        for (int n = 0; n < VELOCITIES; n++) right[k] += a[k][n] * s->velocity[n];
    factorise(&at, s->contact, &factors);
    solve(&factors, right, out);
    memcpy(s->velocity, out, sizeof s->velocity);
    return count;
}

/* The time within the step at which the first wheel reaches its border; h if none does. */
static Real first_border(const Expansion *e, Real h, Motion *m)
{
    Real found = h;
    for (int i = 0; i < N; i++) {
        const Real *chi = e->chi[i], *rate = e->velocity[CHI_DOT + i];
        for (int part = 0; part < PARTS; part++) {
            Real low = h * part / PARTS, high = h * (part + 1) / PARTS;
            if (low >= found) break;
            if (value(rate, low) * value(rate, high) < 0) { /* look where it is farthest out */
                Real turning = root(rate, 0, low, high);
                Real left = BORDER - fabsq(value(chi, turning));
                if (value(chi, turning) * value(rate, low) > 0) {
                    m->nearest = fminq(m->nearest, fabsq(left));
                    if (left < 0) high = turning;
                }
            }
            Real angle = value(chi, high);
            int side = angle < 0 ? -1 : 1;
            if (side * angle < BORDER || side * value(chi, low) >= BORDER) continue;
            found = fminq(found, root(chi, side * BORDER, low, high));
            break;
        }
    }
    return found;
}

static void watch(Motion *m, const Expansion *e, Real begin, Real h)
{
    const Real *omega = e->velocity[OMEGA];
    Series rate;
    for (int k = 0; k < order; k++) rate[k] = (k + 1) * omega[k + 1];
    rate[order] = 0;
    for (int part = 0; part <= PARTS; part++) {
        Real low = h * part / PARTS, t = low;
        if (part < PARTS) {
            Real high = h * (part + 1) / PARTS;
            if (value(rate, low) > 0 && value(rate, high) < 0) t = root(rate, 0, low, high);
        }
        if (value(omega, t) > m->top + NOISE) {
            m->top = value(omega, t);
            m->top_time = begin + t;
        }
    }
}

static const char *text(Real number)
{
    static char slots[8][64];
    static int slot;
    slot = (slot + 1) % 8;
    quadmath_snprintf(slots[slot], sizeof slots[slot], "%.30Qe", number);
    return slots[slot];
}

static void tell(const State *s, const Motion *m, const char *separator)
{
    Real sine, cosine;
    const Real *v = s->velocity;
    sincosq(s->place[2], &sine, &cosine);
    printf("%s{\"time\": %s, \"events\": %ld, \"energy\": %s, \"state\": {", separator,
        text(s->time), m->switches, text(energy(s)));
    printf("\"x\": %s, \"y\": %s, \"theta\": %s", text(s->place[0]), text(s->place[1]),
        text(s->place[2]));
    for (int i = 0; i < N; i++) printf(", \"chi_%d\": %s", i + 1, text(s->chi[i]));
    printf(", \"nu_1\": %s, \"nu_2\": %s, \"nu_3\": %s", text((v[VX] * cosine + v[VY] * sine) / R),
        text((v[VY] * cosine - v[VX] * sine) / R), text(LAMBDA * v[OMEGA]));
    for (int i = 0; i < N; i++)
        for (int j = 0; j < ROLLERS; j++)
            printf(", \"phi_dot_%d_%d\": %s", i + 1, j + 1, text(v[PHI_DOT + ROLLERS * i + j]));
    printf("}, \"contacts\": [");
    for (int i = 0; i < N; i++) printf("%s%d", i ? ", " : "", s->contact[i] + 1);
    printf("]}");
}

static void advance(Motion *m, Real until)
{
    static Expansion e;
    int sample = 0;
    Real previous = -1, level = energy(&m->state);
    printf("\"samples\": [");
    while (m->state.time < until) {
        Real h = fminq(expand(&m->state, &e), until - m->state.time);
        Real reached = first_border(&e, h, m);
        for (; sample < SAMPLES && SAMPLE_TIMES[sample] <= m->state.time + reached; sample++) {
            State now = state_at(&m->state, &e, SAMPLE_TIMES[sample] - m->state.time);
            tell(&now, m, sample ? ",\n " : "\n ");
        }
        watch(m, &e, m->state.time, reached);
        m->state = state_at(&m->state, &e, reached);
        m->steps++;
        m->drift = fmaxq(m->drift, fabsq(energy(&m->state) / level - 1));
        int wheels = change_rollers(&m->state);
        if (wheels) {
            Real after = energy(&m->state);
            if (m->switches < FIRST) {
                m->first[m->switches] = m->state.time;
                m->first_energy[m->switches] = after;
            }
            if (previous >= 0) m->shortest = fminq(m->shortest, m->state.time - previous);
            previous = m->state.time;
            m->largest_gain = fmaxq(m->largest_gain, after / level - 1);
            level = after;
            m->switches++;
            m->wheel_switches += wheels;
        }
    }
    printf("]");
}

static void list(const char *name, const Real *values, long length)
{
    printf(",\n\"%s\": [", name);
    for (int k = 0; k < FIRST && k < length; k++) printf("%s%s", k ? ", " : "", text(values[k]));
    printf("]");
}

int main(int count, char **words)
{
    if (count != 4) {
        fprintf(stderr, "usage: omni_multipliers spin|straight|twist DIGITS UNTIL\n");
        return 2;
    }
    int digits = atoi(words[2]);
    STEP_ERROR = powq(10, -digits);
    order = (int)(1.15 * digits) + 3;
    if (order > ORDER) order = ORDER;
    build();
    Motion m = {.top = -1, .shortest = 1e9Q, .nearest = 1, .largest_gain = -1};
    m.state.velocity[VX] = strcmp(words[1], "spin") ? R : 0;
    m.state.velocity[OMEGA] = strcmp(words[1], "straight") ? 1 / LAMBDA : 0;
    for (int i = 0; i < N; i++) { /* chi = 0: what no slip asks for */
        const Real *v = m.state.velocity;
        m.state.velocity[CHI_DOT + i] = (sin_alpha[i] * v[VX] - R * v[OMEGA]) / l;
        m.state.velocity[PHI_DOT + ROLLERS * i] = cos_alpha[i] * v[VX] / (l - r);
    }
    printf("{");
    advance(&m, strtoflt128(words[3], NULL));
    printf(",\n\"event_count\": %ld, \"wheel_switches\": %ld", m.switches, m.wheel_switches);
    printf(",\n\"steps\": %ld, \"order\": %d", m.steps, order);
    printf(",\n\"max_nu_3\": %s", text(LAMBDA * m.top));
    printf(",\n\"max_nu_3_time\": %s", text(m.top_time));
    printf(",\n\"energy_drift\": %s", text(m.drift));
    printf(",\n\"largest_relative_gain\": %s", text(m.largest_gain));
    printf(",\n\"shortest_time_between_events\": %s", text(m.shortest));
    printf(",\n\"nearest_turning\": %s", text(m.nearest));
    list("first_event_times", m.first, m.switches);
    list("first_energies", m.first_energy, m.switches);
    printf("}\n");
    return 0;
}
