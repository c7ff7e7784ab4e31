/* Which contacts open, stick and slide: all states of all of them are tried.
 *
 * As `contact.decisions` for contacts in the plane. Rows are gaps first, then slips; a smooth contact
 * has no slip, and its friction is zero.
 */

#if MODEL_TOGETHER
#define CONDITION 1e-10     /* accepted violation of a condition, relative to its terms */
#define SAME_MOTION 1e-8    /* rates that differ by less, relative to their terms */
#define REPEATS 1e-9        /* fraction of a row that others leave, below which it repeats them */
#define HALVES 60           /* of a range in which the best of a family is sought */
#define NO_SOLUTION -1
#define SEVERAL_WAYS -2

enum { OPENS, STICKS, FORWARD, BACKWARD };

static int contacts_now(Unit *unit, Contacts *contacts) {
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p};
  double *to[] = {(double *)contacts};
  return call(unit, model_contacts, from, to) &&
         all_finite((double *)contacts, (int)(sizeof *contacts / sizeof(double)));
}

static int rubs(int contact) { return MODEL_SLIDES[contact] >= 0; }

static int is_closed(const Unit *unit, int contact) {
  return unit->now.p[MODEL_HOLDS[contact]] == 1.0;
}

static int is_stuck(const Unit *unit, int contact) {
  return is_closed(unit, contact) && rubs(contact) &&
         fabs(unit->now.p[MODEL_SLIDES[contact]]) < 1.0;
}

static fmi3Status undecided(Unit *unit, const char *why) {
  return say(unit, fmi3Error, "at t = %.10g s the contacts %s %s", unit->now.time,
             MODEL_TOGETHER_NAMES, why);
}

static void swap(double *one, double *other) {
  double first = *one;
  *one = *other;
  *other = first;
}

#define DEPEND "depend on each other or on other constraints: their reactions are not determined"

/* Solve a small system. Return 0, or 1 if its solutions are a family: one of them, and the way along
 * which the others lie; or NO_SOLUTION, or SEVERAL_WAYS. */
static int solve_family(double matrix[PUSHES][PUSHES], double *right, double *way) {
  int columns[PUSHES], rank = PUSHES;
  double lengths[PUSHES], found[PUSHES], most = 0.0;
  for (int i = 0; i < PUSHES; ++i) {
    columns[i] = i;
    lengths[i] = DBL_MIN;
    for (int j = 0; j < PUSHES; ++j) lengths[i] = fmax(lengths[i], fabs(matrix[i][j]));
    most = fmax(most, fabs(right[i]) / lengths[i]);
  }
  for (int k = 0; k < rank; ++k) {
    int row = k, column = k;
    double largest = 0.0;
    for (int i = k; i < PUSHES; ++i)
      for (int j = k; j < PUSHES; ++j)
        if (fabs(matrix[i][j]) / lengths[i] > largest) {
          largest = fabs(matrix[i][j]) / lengths[i];
          row = i;
          column = j;
        }
    if (!(largest > REPEATS)) { rank = k; break; }
    for (int j = 0; j < PUSHES; ++j) swap(&matrix[k][j], &matrix[row][j]);
    for (int i = 0; i < PUSHES; ++i) swap(&matrix[i][k], &matrix[i][column]);
    swap(&right[k], &right[row]);
    swap(&lengths[k], &lengths[row]);
    int other = columns[k];
    columns[k] = columns[column];
    columns[column] = other;
    for (int i = k + 1; i < PUSHES; ++i) {
      double part = matrix[i][k] / matrix[k][k];
      for (int j = k; j < PUSHES; ++j) matrix[i][j] -= part * matrix[k][j];
      right[i] -= part * right[k];
    }
  }
  for (int i = rank; i < PUSHES; ++i)
    if (fabs(right[i]) / lengths[i] > REPEATS * most) return NO_SOLUTION;
  if (PUSHES - rank > 1) return SEVERAL_WAYS;
  memset(way, 0, PUSHES * sizeof *way);
  for (int pass = 0; pass <= PUSHES - rank; ++pass) {
    for (int i = PUSHES - 1; i >= 0; --i) {
      double sum = pass || i >= rank ? 0.0 : right[i];
      for (int j = i + 1; j < PUSHES; ++j) sum -= i < rank ? matrix[i][j] * found[j] : 0.0;
      found[i] = i < rank ? sum / matrix[i][i] : pass;
    }
    if (pass)
      for (int i = 0; i < PUSHES; ++i) way[columns[i]] = found[i];
    else
      for (int i = 0; i < PUSHES; ++i) right[columns[i]] = found[i];
  }
  return PUSHES - rank;
}

static double way_of(int state) { return state == FORWARD ? 1.0 : state == BACKWARD ? -1.0 : 0.0; }

/* Whether a contact may be in a state: one that slides goes on or opens, a smooth one has no slip. */
static int may_be(int contact, int state, int touches, double sliding) {
  if (!touches || state == OPENS) return state == OPENS;
  if (!rubs(contact)) return state == STICKS;
  return sliding == 0.0 || way_of(state) == sliding;
}

/* How far reactions are inside the conditions of an answer's states: the least of all slacks. */
static double judge(const Contacts *contacts, double scaled[PUSHES][PUSHES],
                    const double *free, const double *sliding, const int *touches,
                    Answer *answer) {
  const double *found = answer->reactions;
  double least = 1.0;
  answer->largest = 0.0;
  for (int i = 0; i < PUSHES; ++i) {
    answer->largest = fmax(answer->largest, fabs(found[i]));
    answer->rates[i] = free[i];
    for (int j = 0; j < PUSHES; ++j) answer->rates[i] += scaled[i][j] * found[j];
  }
  for (int k = 0; k < TOUCHES; ++k) {
    double normal = found[k], limit = contacts->holding[k] * normal;
    int state = answer->state[k];
    double slack = !touches[k] ? 1.0 : state == OPENS ? answer->rates[k] : normal;
    if (state == STICKS && rubs(k)) slack = fmin(slack, limit - fabs(found[TOUCHES + k]));
    if (way_of(state) != 0.0 && sliding[k] == 0.0)
      slack = fmin(slack, way_of(state) * answer->rates[TOUCHES + k]);
    answer->slack[k] = slack;
    least = fmin(least, slack);
  }
  answer->inside = least / (1.0 + answer->largest);
  return least;
}

/* Of a family of reactions, which all give the same motion, take those farthest inside. */
static void take_best(const Contacts *contacts, double scaled[PUSHES][PUSHES],
                      const double *free, const double *sliding, const int *touches,
                      const double *way, Answer *answer) {
  double base[PUSHES], high = 0.0, low;
  memcpy(base, answer->reactions, sizeof base);
  for (int i = 0; i < PUSHES; ++i) high = fmax(high, fabs(base[i]));
  high = 4.0 * (1.0 + high);
  low = -high;
  for (int turn = 0; turn < HALVES; ++turn) {
    double place[] = {low + (high - low) / 3.0, high - (high - low) / 3.0}, least[2];
    for (int side = 0; side < 2; ++side) {
      for (int i = 0; i < PUSHES; ++i) answer->reactions[i] = base[i] + place[side] * way[i];
      least[side] = judge(contacts, scaled, free, sliding, touches, answer);
    }
    if (least[0] < least[1]) low = place[0]; else high = place[1];
  }
}

/* Try one mode; return whether its conditions hold. Reactions that have no one motion are noted. */
static int try_mode(const Contacts *contacts, const double *unit_of, const double *free,
                    const double *sliding, const int *touches, Answer *answer, int *dependent) {
  double matrix[PUSHES][PUSHES], scaled[PUSHES][PUSHES], way[PUSHES];
  double *found = answer->reactions;
  for (int i = 0; i < PUSHES; ++i) {
    int contact = i % TOUCHES, state = answer->state[contact];
    int held = i < TOUCHES ? state != OPENS : state == STICKS && rubs(contact);
    for (int j = 0; j < PUSHES; ++j) {
      scaled[i][j] = contacts->matrix[i][j] * unit_of[i % TOUCHES] * unit_of[j % TOUCHES];
      matrix[i][j] = held ? scaled[i][j] : i == j;
    }
    if (i >= TOUCHES && !held)
      matrix[i][contact] += contacts->friction[contact] * way_of(state);
    found[i] = held ? -free[i] : 0.0;
  }
  int family = solve_family(matrix, found, way);
  if (family == NO_SOLUTION) return 0;
  double moves = 0.0;
  for (int i = 0; family == 1 && i < PUSHES; ++i) {
    double rate = 0.0;
    for (int j = 0; j < PUSHES; ++j) rate += scaled[i][j] * way[j];
    moves = fmax(moves, fabs(rate));
  }
  if (family == SEVERAL_WAYS) {
    *dependent = 1;
    return 0;
  }
  answer->family = family;
  if (family) take_best(contacts, scaled, free, sliding, touches, way, answer);
  judge(contacts, scaled, free, sliding, touches, answer);
  int possible = answer->inside >= -CONDITION;
  *dependent |= possible && moves > SAME_MOTION;
  return possible && moves <= SAME_MOTION;
}

static int same_motion(const Contacts *contacts, const double *unit_of, const double *free,
                       const Answer *one, const Answer *other) {
  double most = 0.0, apart = 0.0;
  for (int i = 0; i < PUSHES; ++i) {
    double terms = fabs(free[i]);
    for (int j = 0; j < PUSHES; ++j)
      terms += fabs(contacts->matrix[i][j]) * unit_of[i % TOUCHES] * unit_of[j % TOUCHES] *
               fmax(fabs(one->reactions[j]), fabs(other->reactions[j]));
    most = fmax(most, terms);
    apart = fmax(apart, fabs(one->rates[i] - other->rates[i]));
  }
  return apart <= SAME_MOTION * (1.0 + most);
}

/* Whether an answer shows its motion better than another: farther from its borders; on them, with
 * more contacts that stick, then with more that are closed. */
static int is_better(const Answer *one, const Answer *other) {
  int inside = one->inside > CONDITION, there = other->inside > CONDITION;
  if (inside != there) return inside;
  int sticks = 0, closed = 0;
  for (int k = 0; k < TOUCHES; ++k) {
    sticks += (one->state[k] == STICKS) - (other->state[k] == STICKS);
    closed += (one->state[k] != OPENS) - (other->state[k] != OPENS);
  }
  if (sticks || closed) return sticks ? sticks > 0 : closed > 0;
  return one->inside > other->inside;
}

/* Whether the first answer holds where the second begins to slide, by larger static friction. */
static int holds_what_slides(const Contacts *contacts, const double *sliding, const Answer *one,
                             const Answer *other, int *limit) {
  int differ = 0;
  *limit = 0;
  for (int k = 0; k < TOUCHES; ++k) {
    if (one->state[k] == other->state[k]) continue;
    int greater = contacts->holding[k] > contacts->friction[k] && sliding[k] == 0.0;
    if (!greater || one->state[k] != STICKS || way_of(other->state[k]) == 0.0) return 0;
    differ = 1;
    double most = contacts->holding[k] * one->reactions[k];
    *limit |= fabs(one->reactions[TOUCHES + k]) >= (1.0 - CONDITION) * most;
  }
  return differ;
}

/* Try all modes of the contacts that touch; reactions and rates are returned in true units. The
 * answers that may follow begin at `best`, which shows the motion; others of it have its number. */
static void decide_all(const Contacts *contacts, const int *touches, const double *given,
                       const double *sliding, Decision *decision) {
  double unit_of[TOUCHES], free[PUSHES], size = 0.0;
  int heads[MODES], motions = 0;
  for (int k = 0; k < TOUCHES; ++k)
    unit_of[k] = touches[k] ? 1.0 / sqrt(contacts->matrix[k][k]) : 0.0;
  for (int i = 0; i < PUSHES; ++i) {
    free[i] = given[i] * unit_of[i % TOUCHES];
    size = fmax(size, fabs(free[i]));
  }
  if (size == 0.0) size = 1.0;
  for (int i = 0; i < PUSHES; ++i) free[i] /= size;
  decision->answers = decision->dependent = 0;
  for (int mode = 0; mode < MODES; ++mode) {
    Answer *answer = &decision->all[decision->answers];
    int possible = 1;
    for (int k = 0; k < TOUCHES; ++k) {
      answer->state[k] = (mode >> (2 * k)) & 3;
      possible &= may_be(k, answer->state[k], touches[k], sliding[k]);
    }
    if (!possible ||
        !try_mode(contacts, unit_of, free, sliding, touches, answer, &decision->dependent))
      continue;
    ++decision->answers;
  }
  /* Those of one solution come first: a family with the same motion is their border at most. */
  for (int turn = 0; turn < 2; ++turn)
    for (int k = 0; k < decision->answers; ++k) {
      Answer *answer = &decision->all[k];
      if (answer->family != turn) continue;
      int motion = 0;
      while (motion < motions &&
             !same_motion(contacts, unit_of, free, answer, &decision->all[heads[motion]]))
        ++motion;
      if (motion == motions) heads[motions++] = k;
      decision->listed[k] = motion;
    }
  for (int k = 0; k < decision->answers; ++k) {
    int *head = &heads[decision->listed[k]];
    if (is_better(&decision->all[k], &decision->all[*head])) *head = k;
  }
  decision->count = 0;
  decision->best = -1;
  for (int m = 0; m < motions; ++m) {
    int held = 0, limit;
    for (int other = 0; other < motions; ++other)
      held |= holds_what_slides(contacts, sliding, &decision->all[heads[other]],
                                &decision->all[heads[m]], &limit);
    if (!held) { ++decision->count; decision->best = heads[m]; }
  }
  if (decision->count != 1) return;
  /* A contact inside its state keeps it: other answers of the motion agree with it there. */
  const Answer *best = &decision->all[decision->best];
  int own = decision->listed[decision->best];
  for (int k = 0; k < decision->answers; ++k) {
    const Answer *one = &decision->all[k];
    int limit, listed = decision->listed[k] == own;
    for (int c = 0; listed && c < TOUCHES; ++c)
      if (best->slack[c] > CONDITION * (1.0 + best->largest) && one->state[c] != best->state[c])
        listed = one->inside > CONDITION;
    if (!listed && heads[decision->listed[k]] == k)
      listed = holds_what_slides(contacts, sliding, best, one, &limit) && limit;
    decision->listed[k] = listed;
  }
  for (int k = 0; k < decision->answers; ++k)
    for (int i = 0; i < PUSHES; ++i) {
      int contact = i % TOUCHES;
      double unit = unit_of[contact];
      decision->all[k].reactions[i] *= unit * size;
      decision->all[k].rates[i] *= unit > 0.0 ? size / unit : 0.0;
    }
}

static fmi3Status only_one(Unit *unit, const Decision *decision) {
  if (decision->dependent) return undecided(unit, DEPEND);
  if (decision->count == 0)
    return undecided(unit, "jam: no reactions agree with any of their states");
  if (decision->count > 1) return undecided(unit, "can continue in several ways");
  return fmi3OK;
}
#endif
