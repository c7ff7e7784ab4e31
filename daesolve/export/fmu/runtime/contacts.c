/* Contacts that are decided together: how they collide, and the mode in which the motion continues,
 * as `contact.laws.frictional_law` for contacts in the plane.
 */

#if MODEL_TOGETHER
#define RATE_STILL 1e-10    /* a rate below this fraction of its terms is zero */
#define RATE_ROUNDING 1e-14 /* of what impulses change of the rate of a gap */
#define MOST_COLLISIONS 1000
#define GAIN 1e-12          /* gain of energy that is rounding, relative to its terms */
#define PARTING 1e-6        /* s, a time in which the speed of a gap grows by more than rounding */
#define BEGUN (16.0 * EPSILON) /* fraction of the speed of a fall below which a slip is rounding */
#define EARLIEST 1e3        /* times its zero below which friction is at its limit, */
#define LATE 8.0            /* or below what it loses in so many roundings of the time */
#define NEAR_JAM 1e-6
#define SHARE 1e-7         /* part of another row in a row above which it counts */
#define WITHIN 1e-3 /* fraction of the last intervals to which the end of impacts must be known */

/* Rates that are rounding, or known to be zero, become zero. */
static void drop_rounding(Contacts *contacts, const Contacts *sizes, const int *held,
                          const int *stopped) {
  for (int k = 0; k < TOUCHES; ++k) {
    double gap = RATE_STILL * sizes->gap_sizes[k], slip = RATE_STILL * sizes->slip_sizes[k];
    if (held[k] || fabs(contacts->gaps[k]) <= gap) contacts->gaps[k] = 0.0;
    if (stopped[k] || fabs(contacts->slips[k]) <= slip) contacts->slips[k] = 0.0;
  }
}

/* Let impulses act. */
static void push(Unit *unit, const Contacts *contacts, const double *impulses) {
  for (int i = 0; i < PUSHES; ++i)
    for (int n = 0; n < MODEL_SPEEDS; ++n)
      unit->now.x[MODEL_FIRST_SPEED + n] += contacts->thrown[i][n] * impulses[i];
  unit->rate_known = unit->shown_known = 0;
}

/* The impulses of contacts that collide, by Newton's law. */
static fmi3Status impulses_of(Unit *unit, const Contacts *contacts, const int *taking,
                              const double *back, double *impulses) {
  double free[PUSHES], none[TOUCHES] = {0.0}, energy = 0.0, terms = 0.0;
  for (int k = 0; k < TOUCHES; ++k) {
    free[k] = (1.0 + back[k]) * contacts->gaps[k];
    free[TOUCHES + k] = (1.0 + contacts->sideways[k]) * contacts->slips[k];
  }
  decide_all(contacts, taking, free, none, &unit->decision);
  fmi3Status status = only_one(unit, &unit->decision);
  if (status != fmi3OK) return status;
  const Answer *answer = &unit->decision.all[unit->decision.best];
  for (int i = 0; i < PUSHES; ++i) {
    int k = i % TOUCHES;
    impulses[i] = taking[k] && answer->state[k] != OPENS ? answer->reactions[i] : 0.0;
  }
  for (int i = 0; i < PUSHES; ++i) {
    double before = i < TOUCHES ? contacts->gaps[i] : contacts->slips[i - TOUCHES], after = before;
    for (int j = 0; j < PUSHES; ++j) after += contacts->matrix[i][j] * impulses[j];
    energy += 0.5 * impulses[i] * (before + after);
    terms += fabs(impulses[i]) * (fabs(before) + fabs(after));
  }
  if (energy > GAIN * terms) return undecided(unit, "would gain energy by Newton's law of impacts");
  return fmi3OK;
}

/* Let contacts stay that hardly part, or hardly meet; those that stick still do. */
static fmi3Status settle_gaps(Unit *unit, Contacts *contacts, const int *touching,
                              const double *lowest) {
  double matrix[PUSHES][PUSHES], impulses[PUSHES], way[PUSHES];
  int own[PUSHES], any = 0;
  for (int k = 0; k < TOUCHES; ++k) {
    own[k] = touching[k] && fabs(contacts->gaps[k]) <= lowest[k];
    own[TOUCHES + k] = own[k] && contacts->slips[k] == 0.0 && rubs(k);
    any |= own[k] && contacts->gaps[k] != 0.0;
  }
  if (!any) return fmi3OK;
  for (int i = 0; i < PUSHES; ++i) {
    impulses[i] = own[i] && i < TOUCHES ? -contacts->gaps[i] : 0.0;
    for (int j = 0; j < PUSHES; ++j)
      matrix[i][j] = own[i] && own[j] ? contacts->matrix[i][j] : i == j;
  }
  if (solve_family(matrix, impulses, way) < 0) return undecided(unit, DEPEND);
  push(unit, contacts, impulses);
  Contacts after;
  if (!contacts_now(unit, &after)) return undecided(unit, DEPEND);
  for (int k = 0; k < TOUCHES; ++k) {
    if (own[k]) contacts->gaps[k] = 0.0;
    if (contacts->slips[k] != 0.0) contacts->slips[k] = after.slips[k];
  }
  return fmi3OK;
}

/* Let contacts collide until none closes; `hit` says which did, and `stays` which of these stay
 * though they would bounce. */
static fmi3Status collide(Unit *unit, Contacts *contacts, const int *touching, const double *zero,
                          int *hit, int *stays, int *impacts) {
  double blur[TOUCHES] = {0.0}, lowest[TOUCHES], back[TOUCHES], impulses[PUSHES];
  int none[TOUCHES] = {0}, taking[TOUCHES];
  Contacts largest = *contacts;
  for (*impacts = 0; *impacts < MOST_COLLISIONS; ++*impacts) {
    int moves = 0, closes = 0;
    for (int k = 0; k < TOUCHES; ++k) {
      lowest[k] = fmax(sqrt(2.0 * contacts->size[k] * zero[k]), blur[k]);
      moves |= touching[k] && contacts->gaps[k] != 0.0;
      closes |= touching[k] && contacts->gaps[k] < -lowest[k];
    }
    if (!moves || !closes) {
      fmi3Status status = fmi3OK;
      for (int k = 0; k < TOUCHES; ++k) stays[k] |= touching[k] && contacts->gaps[k] != 0.0;
      if (moves) status = settle_gaps(unit, contacts, touching, lowest);
      for (int k = 0; k < TOUCHES; ++k) stays[k] &= contacts->gaps[k] == 0.0;
      return status;
    }
    for (int k = 0; k < TOUCHES; ++k) {
      hit[k] |= touching[k] && contacts->gaps[k] < 0.0;
      /* A gap that opens takes no part: where the impact closes it, another one follows. */
      double rounding = lowest[k];
      for (int j = 0; j < TOUCHES; ++j) {
        double alone = fabs(contacts->gaps[j]) / contacts->matrix[j][j];
        if (j != k && touching[j])
          rounding = fmax(rounding, RATE_STILL * fabs(contacts->matrix[k][j]) * alone);
      }
      taking[k] = touching[k] && contacts->gaps[k] <= rounding;
      int slow = contacts->gaps[k] < 0.0 && -contacts->back[k] * contacts->gaps[k] <= lowest[k];
      back[k] = slow ? 0.0 : contacts->back[k];
      if (taking[k]) stays[k] = slow && contacts->back[k] > 0.0;
    }
    fmi3Status status = impulses_of(unit, contacts, taking, back, impulses);
    if (status != fmi3OK) return status;
    for (int k = 0; k < TOUCHES; ++k) {
      double changes = 0.0;
      for (int j = 0; j < PUSHES; ++j) changes += fabs(contacts->matrix[k][j] * impulses[j]);
      if (taking[k]) blur[k] = fmax(blur[k], RATE_ROUNDING * changes);
    }
    push(unit, contacts, impulses);
    if (!contacts_now(unit, contacts)) return undecided(unit, DEPEND);
    for (int k = 0; k < TOUCHES; ++k) {
      largest.gap_sizes[k] = fmax(largest.gap_sizes[k], contacts->gap_sizes[k]);
      largest.slip_sizes[k] = fmax(largest.slip_sizes[k], contacts->slip_sizes[k]);
    }
    drop_rounding(contacts, &largest, none, none);
  }
  return undecided(unit, "collide without an end");
}

/* The state a moment later in the mode of p, by the classical method of order 4. */
static int later(Unit *unit, double step, double *state) {
  static const double PARTS_OF_4[] = {0.0, 0.5, 0.5, 1.0}, WEIGHTS_OF_4[] = {1.0, 2.0, 2.0, 1.0};
  const Saved *now = &unit->now;
  memcpy(state, now->x, sizeof now->x);
  memset(unit->stages[1], 0, sizeof unit->stages[1]);
  for (int stage = 0; stage < 4; ++stage) {
    double part = PARTS_OF_4[stage] * step;
    for (int n = 0; n < MODEL_STATES; ++n) unit->place[n] = now->x[n] + part * unit->stages[1][n];
    if (!rate_at(unit, now->time + part, unit->place, unit->stages[1])) return 0;
    for (int n = 0; n < MODEL_STATES; ++n)
      state[n] += step / 6.0 * WEIGHTS_OF_4[stage] * unit->stages[1][n];
  }
  return 1;
}

/* Contacts near zero that are slow but ever faster are open. */
static void let_part(Unit *unit, const Contacts *contacts, const int *near, int *met) {
  int parting[TOUCHES], any = 0;
  for (int k = 0; k < TOUCHES; ++k)
    any |= parting[k] = near[k] && contacts->gaps[k] > RATE_STILL * contacts->gap_sizes[k];
  if (!any || !later(unit, PARTING, unit->ahead)) return;
  Contacts after;
  const double moment = unit->now.time + PARTING;
  const double *from[] = {&moment, unit->ahead, unit->now.p};
  double *to[] = {(double *)&after};
  if (!call(unit, model_contacts, from, to)) return;
  for (int k = 0; k < TOUCHES; ++k)
    if (parting[k] && after.gaps[k] > contacts->gaps[k]) met[k] = 0;
}

/* Whether a row follows from others, which are independent; `shares` are its parts of these. */
static int follows(const Contacts *contacts, const int *rows, int count, int row, double *shares) {
  double matrix[PUSHES][PUSHES] = {{0.0}}, way[PUSHES], left = contacts->matrix[row][row];
  memset(shares, 0, PUSHES * sizeof *shares);
  if (count == 0) return 0;
  for (int i = 0; i < PUSHES; ++i) {
    for (int j = 0; j < PUSHES; ++j)
      matrix[i][j] = i < count && j < count ? contacts->matrix[rows[i]][rows[j]] : i == j;
    if (i < count) shares[i] = contacts->matrix[rows[i]][row];
  }
  if (solve_family(matrix, shares, way) != 0) return 0;
  for (int i = 0; i < count; ++i) left -= contacts->matrix[row][rows[i]] * shares[i];
  return left <= REPEATS * contacts->matrix[row][row];
}

/* Set the values of a mode: as many constraints hold as are independent, and one that sticks with
 * another shares its constraint. Return 0 if that does not determine the loads, or if a contact
 * would begin to slide whose slip others hold. */
static int set_mode(Unit *unit, const Contacts *contacts, const int *state, const double *sliding) {
  double *p = unit->now.p, shares[PUSHES];
  int rows[PUSHES], count = 0;
  for (int k = 0; k < MODEL_IDLE; ++k) p[MODEL_IDLE_VALUES[k]] = 0.0;
  for (int k = 0; k < TOUCHES; ++k) {
    p[MODEL_HOLDS[k]] = state[k] != OPENS;
    if (rubs(k)) {
      p[MODEL_SLIDES[k]] = way_of(state[k]);
      p[MODEL_STICKS[k]] = 0.0;
    }
    if (state[k] == OPENS) continue;
    if (follows(contacts, rows, count, k, shares)) return 0;
    rows[count++] = k;
  }
  for (int k = 0; k < TOUCHES; ++k) {
    if (!rubs(k) || state[k] != STICKS) continue;
    if (!follows(contacts, rows, count, TOUCHES + k, shares)) {
      rows[count++] = TOUCHES + k;
      p[MODEL_STICKS[k]] = 1.0;
      continue;
    }
    int bearing = -1, bears = 0;
    for (int i = 0; i < count; ++i)
      if (fabs(shares[i]) > SHARE) { bearing = rows[i]; ++bears; }
    if (bears != 1 || bearing < TOUCHES) return 0;
    p[MODEL_SHARES[(bearing - TOUCHES) * TOUCHES + k]] = 1.0;
  }
  for (int k = 0; k < TOUCHES; ++k) {
    /* What constraints alone drive through zero reverses. */
    int begins = way_of(state[k]) != 0.0 && sliding[k] == 0.0;
    if (!begins || !follows(contacts, rows, count, TOUCHES + k, shares)) continue;
    for (int i = 0; i < count; ++i)
      if (rows[i] >= TOUCHES && fabs(shares[i]) > SHARE) return 0;
  }
  return 1;
}

static int enter_mode(Unit *unit, const Contacts *contacts, const int *state,
                      const double *sliding) {
  return set_mode(unit, contacts, state, sliding) && model_references(unit);
}

/* In which time loads exceed the limit of friction by its own size, in the mode before. */
static double time_to_slip(const Unit *unit) {
  double soonest = INFINITY;
  for (int k = 0; k < TOUCHES; ++k) {
    if (!rubs(k)) continue;
    int first = MODEL_SLIPPING[k];
    double size = 0.5 * (unit->others[first] + unit->others[first + 1]);
    for (int j = first; j < first + 2; ++j) {
      double value = unit->others[j], rate = unit->slopes[j];
      double late = fmax(EARLIEST * unit->now.zero[j], -LATE * spacing(unit->now.time) * rate);
      if (rate < 0.0 && fabs(value) <= late) soonest = fmin(soonest, size / -rate);
    }
  }
  return soonest;
}

static double time_to_jam(Unit *unit) {
  if (MODEL_JAM < 0 || !guards_at(unit, unit->now.time, unit->now.x, unit->others, unit->slopes))
    return INFINITY;
  double ratio = unit->others[MODEL_JAM] + NEAR_JAM, rate = unit->slopes[MODEL_JAM];
  return rate < 0.0 && ratio > 0.0 ? ratio / -rate : INFINITY;
}

/* Enter the first mode that agrees with the motion a small step on. */
static fmi3Status enter_agreeing(Unit *unit, const Contacts *contacts, const int *touches,
                                 const double *sliding, double moment, double slip) {
  static const double SMALL_STEPS[] = {1e-4, 1e-3, 1e-5, 1e-2};
  const Saved *now = &unit->now;
  Decision *decision = &unit->decision;
  int resting = -1;
  for (int turn = 0; turn < 8; ++turn) {
    double scale = turn < 4 && slip < moment ? slip : moment;
    if (turn >= 4 && !(slip < moment)) break;
    for (int k = 0; k < decision->answers; ++k) {
      if (!decision->listed[k]) continue;
      if (!enter_mode(unit, contacts, decision->all[k].state, sliding)) continue;
      double step = SMALL_STEPS[turn % 4] * fmin(scale, time_to_jam(unit));
      if (!later(unit, step, unit->ahead) ||
          !guards_at(unit, now->time + step, unit->ahead, unit->others, unit->slopes))
        continue;
      int agrees = 1, nearly = 1;
      for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
        int judged = MODEL_JUDGED[guard];
        for (int c = 0; c < TOUCHES; ++c) judged &= touches[c] || guard != MODEL_MEETS[c];
        if (!judged) continue;
        agrees &= unit->others[guard] > 0.0;
        nearly &= unit->others[guard] >= -now->zero[guard];
      }
      if (agrees) return fmi3OK;
      if (nearly && resting < 0) resting = k;
    }
  }
  if (resting >= 0 && enter_mode(unit, contacts, decision->all[resting].state, sliding))
    return fmi3OK;
  return undecided(unit, "are at the border of several modes, and none of them agrees with the "
                         "motion right after");
}

/* Enter the mode in which the motion continues. */
static fmi3Status enter_next(Unit *unit, Contacts *contacts, const int *closed) {
  int any = 0, listed = 0;
  double zero = 0.0, pull = 0.0, sliding[TOUCHES] = {0.0};
  for (int k = 0; k < TOUCHES; ++k) {
    zero = fmax(zero, unit->now.zero[MODEL_MEETS[k]]);
    if (!closed[k]) continue;
    any = 1;
    pull = fmax(pull, fmax(contacts->size[k], contacts->size[TOUCHES + k]));
  }
  if (!any) {
    int open[TOUCHES] = {OPENS};
    return enter_mode(unit, contacts, open, sliding) ? fmi3OK : undecided(unit, DEPEND);
  }
  /* If the motion has only just begun, slips are mere rounding. */
  double speed = sqrt(1e12 * zero * pull);
  for (int k = 0; k < TOUCHES; ++k)
    if (closed[k] && fabs(contacts->slips[k]) > BEGUN * speed)
      sliding[k] = contacts->slips[k] > 0.0 ? 1.0 : -1.0;
  decide_all(contacts, closed, contacts->free, sliding, &unit->decision);
  fmi3Status status = only_one(unit, &unit->decision);
  if (status != fmi3OK) return status;
  double slip = time_to_slip(unit);
  int one = -1;
  for (int k = 0; k < unit->decision.answers; ++k) {
    int *own = &unit->decision.listed[k];
    *own = *own && set_mode(unit, contacts, unit->decision.all[k].state, sliding);
    listed += *own;
    if (*own) one = k;
  }
  if (listed > 1)
    return enter_agreeing(unit, contacts, closed, sliding, pull > 0.0 ? speed / pull : 1.0, slip);
  if (one < 0 || !enter_mode(unit, contacts, unit->decision.all[one].state, sliding))
    return undecided(unit, DEPEND);
  return fmi3OK;
}

/* Let no gap that opens close by rounding: it would be met again at once. */
static fmi3Status part(Unit *unit, const int *opening) {
  Contacts contacts;
  for (int turn = 0; turn < MOST_COLLISIONS; ++turn) {
    double pushes[PUSHES] = {0.0};
    int any = 0;
    if (!contacts_now(unit, &contacts)) return undecided(unit, DEPEND);
    for (int k = 0; k < TOUCHES; ++k)
      if (opening[k] && contacts.gaps[k] < 0.0) {
        pushes[k] = -2.0 * contacts.gaps[k] / contacts.matrix[k][k];
        any = 1;
      }
    if (!any) break;
    push(unit, &contacts, pushes);
  }
  return fmi3OK;
}

/* The instant to which the impacts of a contact lead, as `contact.decisions.accumulation`; or none. */
static double accumulation_of(const double *met) {
  double ratios[3], limits[3], first = met[1] - met[0], last = met[REMEMBERED - 1];
  if (!isfinite(met[0])) return -INFINITY;
  for (int k = 0; k < 3; ++k) {
    double interval = met[k + 2] - met[k + 1], before = k ? met[k + 1] - met[k] : first;
    ratios[k] = interval / before;
    if (!(before > 0.0 && interval > 0.0 && ratios[k] < 1.0)) return -INFINITY;
    limits[k] = met[k + 2] + interval * ratios[k] / (1.0 - ratios[k]);
  }
  double one = fabs(limits[1] - limits[0]), other = fabs(limits[2] - limits[1]);
  double slowness = one > 0.0 ? other / one : 0.0, ahead = 2.0 * fmax(one, other);
  double rounding = 4.0 * spacing(last) / pow(1.0 - ratios[2], 2);
  if (slowness < 1.0) ahead = 2.0 * other * fmax(1.0, slowness / (1.0 - slowness));
  else if (fmax(one, other) <= rounding) ahead = 0.0;
  if (fmax(ahead, rounding) > fmax(WITHIN * (last - met[0]), rounding)) return -INFINITY;
  return limits[2];
}

/* Note when impacts that are left out, as lower than what counts as a gap of zero, would end. */
static void expect_end(Unit *unit, const int *hit, const int *stays) {
  Saved *now = &unit->now;
  double end = -INFINITY;
  if (MODEL_PENDING >= 0 && unit->fired[MODEL_IMPACTS_END]) now->p[MODEL_PENDING] = 0.0;
  for (int k = 0; k < TOUCHES; ++k) {
    if (hit[k]) {
      for (int j = 1; j < REMEMBERED; ++j) now->met[k][j - 1] = now->met[k][j];
      now->met[k][REMEMBERED - 1] = now->time;
    }
    if (stays[k]) end = fmax(end, accumulation_of(now->met[k]));
  }
  if (MODEL_PENDING < 0 || !(end > now->time)) return;
  now->p[MODEL_PENDING] = 1.0;
  now->p[MODEL_ENDS] = end;
}

/* List what contacts have done since they were as in `before` and in `values`. */
static void list_contacts(Unit *unit, const int *before, const double *values, const int *hit) {
  for (int k = 0; k < TOUCHES; ++k) {
    int closed = is_closed(unit, k);
    if (hit[k] || (closed && !before[k])) list_event(unit, MODEL_MEETS[k]);
    else if (before[k] && !closed) list_event(unit, MODEL_LOST[k]);
    if (!rubs(k) || !before[k] || !closed) continue;
    int old = (int)values[MODEL_SLIDES[k]], new = (int)unit->now.p[MODEL_SLIDES[k]];
    if (old != new && new == 0) list_event(unit, MODEL_STOPPING[k]);
    else if (old != new && old == 0) list_event(unit, MODEL_SLIPPING[k]);
    else if (old != new) list_event(unit, MODEL_REVERSING[k]);
  }
}

/* Open and close contacts, let them stick and slide, with the impacts that this takes. */
static fmi3Status decide_together(Unit *unit) {
  Saved *now = &unit->now;
  Contacts contacts;
  int before[TOUCHES], near[TOUCHES], met[TOUCHES], closed[TOUCHES], opening[TOUCHES];
  int known[TOUCHES], stopped[TOUCHES], hit[TOUCHES] = {0}, stays[TOUCHES] = {0};
  int impacts, same = 1, ended = MODEL_PENDING >= 0 && unit->fired[MODEL_IMPACTS_END];
  double zero[TOUCHES], values[COUNT(MODEL_VALUES)];
  if (MODEL_JAM >= 0 && unit->fired[MODEL_JAM])
    return undecided(unit, "jam, and a unit does not follow them there");
  memcpy(values, now->p, sizeof values);
  if (!contacts_now(unit, &contacts)) return undecided(unit, DEPEND);
  for (int k = 0; k < TOUCHES; ++k) {
    int guard = MODEL_MEETS[k], closing = unit->fired[guard];
    zero[k] = fmax(now->zero[guard], TOUCHING);
    before[k] = is_closed(unit, k);
    met[k] = closing || unit->guards[guard] <= zero[k];
    near[k] = met[k] && !before[k] && !closing;
    /* Met past zero, it must bounce out of there: it would not be met again. */
    if (met[k]) zero[k] = fmax(zero[k], -2.0 * unit->guards[guard]);
  }
  let_part(unit, &contacts, near, met);
  int touching[TOUCHES], any = 0, released = 0;
  for (int k = 0; k < TOUCHES; ++k) {
    int held = before[k] && !(contacts.places[k] > MODEL_GAP_LEFT[k]);
    released |= before[k] && !held;
    touching[k] = held || met[k];
    any |= touching[k];
    int stuck = held && is_stuck(unit, k) && fabs(contacts.slips[k]) <= MODEL_SLIP_LEFT[k];
    known[k] = held && fabs(contacts.gaps[k]) <= MODEL_GAP_RATE_LEFT[k];
    stopped[k] = stuck || (rubs(k) && unit->fired[MODEL_STOPPING[k]]);
  }
  if (!any && !released) {
    if (ended) expect_end(unit, hit, stays);
    return fmi3OK;
  }
  drop_rounding(&contacts, &contacts, known, stopped);
  fmi3Status status = collide(unit, &contacts, touching, zero, hit, stays, &impacts);
  if (status != fmi3OK) return status;
  for (int k = 0; k < TOUCHES; ++k) {
    closed[k] = touching[k] && contacts.gaps[k] == 0.0;
    int first = MODEL_SLIPPING[k];
    /* What has come to the end of its static friction has only the other left. */
    int begins = rubs(k) && (unit->fired[first] || unit->fired[first + 1]);
    contacts.holding[k] = begins ? contacts.friction[k]
                                 : fmax(contacts.holding[k], contacts.friction[k]);
  }
  if (!guards_at(unit, now->time, now->x, unit->others, unit->slopes))
    return undecided(unit, DEPEND);
  status = enter_next(unit, &contacts, closed);
  if (status != fmi3OK) return status;
  for (int k = 0; k < TOUCHES; ++k) {
    opening[k] = before[k] && !is_closed(unit, k);
    same &= before[k] == is_closed(unit, k);
    if (!rubs(k)) continue;
    same &= values[MODEL_SLIDES[k]] == now->p[MODEL_SLIDES[k]];
    same &= values[MODEL_STICKS[k]] == now->p[MODEL_STICKS[k]];
  }
  for (int k = 0; k < MODEL_IDLE; ++k)
    same &= values[MODEL_IDLE_VALUES[k]] == now->p[MODEL_IDLE_VALUES[k]];
  if (same && !impacts) memcpy(now->p, values, sizeof values);
  status = part(unit, opening);
  if (status != fmi3OK || (same && !impacts && !ended)) return status;
  list_contacts(unit, before, values, hit);
  expect_end(unit, hit, stays);
  for (int k = 0; k < TOUCHES; ++k)
    if (!is_closed(unit, k)) now->armed[MODEL_MEETS[k]] = 0;
  now->changed = 1;
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

/* Choose which closed contacts slide and stick at a start; one that opens does so with its event. */
static fmi3Status begin_together(Unit *unit) {
  Contacts contacts;
  int closed[TOUCHES], none[TOUCHES] = {0}, state[TOUCHES], any = 0;
  double sliding[TOUCHES];
  if (!contacts_now(unit, &contacts)) return undecided(unit, DEPEND);
  for (int k = 0; k < TOUCHES; ++k) closed[k] = is_closed(unit, k);
  drop_rounding(&contacts, &contacts, closed, none);
  for (int k = 0; k < TOUCHES; ++k) {
    any |= closed[k];
    sliding[k] = !closed[k] || contacts.slips[k] == 0.0 ? 0.0 : contacts.slips[k] > 0.0 ? 1.0 : -1.0;
    contacts.holding[k] = fmax(contacts.holding[k], contacts.friction[k]);
  }
  if (!any) return fmi3OK;
  decide_all(&contacts, closed, contacts.free, sliding, &unit->decision);
  fmi3Status status = only_one(unit, &unit->decision);
  if (status != fmi3OK) return status;
  for (int k = 0; k < TOUCHES; ++k) {
    int found = unit->decision.all[unit->decision.best].state[k];
    int slides = sliding[k] > 0.0 ? FORWARD : sliding[k] < 0.0 ? BACKWARD : STICKS;
    state[k] = closed[k] && found == OPENS ? slides : found;
  }
  if (!enter_mode(unit, &contacts, state, sliding)) return undecided(unit, DEPEND);
  return fmi3OK;
}
#endif
