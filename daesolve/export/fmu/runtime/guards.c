/* Guards: which of them are due at an instant, and the indicators of events.
 *
 * The rules are those of `daesolve.core.events.guard_book`: a guard is due where it is at zero, to
 * rounding, on its way out, and armed. A switch that has fired is armed again once it has been
 * inside; a guard that a reset sends back is armed again at once. One that a start, a reset or a
 * step of an input puts past zero has passed, unless it is on its way back: then it is not due
 * before it was inside. The way of one without a rate is that of a moment later (`events.leaving`).
 * What counts either way, and what is only recorded, passes by the motion alone.
 */

#define TOGETHER 1e-12 /* fraction of the largest value met that counts as zero of a guard */
#define ROUNDING (16.0 * EPSILON) /* of a guard, as a fraction of its terms */
#define AT_ONCE 1e-9   /* fraction of it within which a guard passes together with another */
#define SPACINGS 16.0  /* to how many spacings of numbers the time is known at which it passes */
#define PARALLEL 1e-6  /* sine of the angle between slopes up to which they are parallel */
#define LEAST 1e-3     /* fraction of the largest state that each counts as at least */
#define PAST 1e-6      /* fraction of it past zero at which a mode contradicts the state */
#define ANSWERED 1e-6  /* least fraction of a guard's rate that is left after a reset answers it */
#define EARLY 2.0      /* how much farther than where it fired early counts as zero of a guard */
#define FLAT 1e-2      /* part of the time since the last event for which it may stay at zero */
#define STARTS 1e-9    /* fraction of its terms by which a start may lie beyond a barrier */
#define LINGERS 64.0   /* factor on the time at zero where a guard loses its rate there, as a cube */
#define AT_END 1e-14   /* part of the time, or of a step, by which the end may miss a zero */
#define EULER 6        /* steps to a moment later: what acts through more integrations is not seen */
#define LONGER 32.0    /* factor from one moment to the next */
#define SOONEST 1e-24  /* the first moment, s */
#define LATEST 1e-3    /* the last moment, s */

static int sign_of(double value) { return (value > 0.0) - (value < 0.0); }

/* The way in which a guard counts from where it is: 1 rising, -1 falling, 0 if it is at zero. */
static int way_from(const Saved *now, int guard) {
  return MODEL_WAY[guard] ? MODEL_WAY[guard] : -now->side[guard];
}

/* How far a guard is past zero, in the direction that counts from its last side. */
static double past(const Unit *unit, int guard, double value) {
  return way_from(&unit->now, guard) * value;
}

/* Let guards at zero or past it that have no rate get the rate of a moment later, once it has the
 * same sign at two moments. A barrier at zero without a rate is one at which the motion rests. */
static void look_later(Unit *unit, const double *zero_rates) {
  const Saved *now = &unit->now;
  int asked[COUNT(MODEL_GUARDS)], any = 0;
  double before[COUNT(MODEL_GUARDS)] = {0.0}, step, time;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double value = unit->guards[k], along = MODEL_WAY[k] * value;
    int at_zero = fabs(value) <= now->zero[k];
    int near = along > 0.0 || (!MODEL_BARRIERS[k] && along >= -now->zero[k]);
    int judged = MODEL_WAY[k] ? MODEL_POSED[k] && now->armed[k] && near : at_zero;
    judged |= MODEL_BORDER[k] != BORDER_NEVER && value == 0.0;
    any |= asked[k] = judged && MODEL_KIND[k] == GUARD_OF_STATE && unit->rates[k] == 0.0;
  }
  double moment = fmax(SOONEST, 64.0 * spacing(now->time));
  for (; any && moment <= LATEST; moment *= LONGER) {
    memcpy(unit->place, now->x, sizeof now->x);
    step = moment / EULER;
    time = now->time;
    for (int turn = 0; turn < EULER; ++turn, time += step) {
      if (!rate_at(unit, time, unit->place, unit->ahead)) return;
      for (int n = 0; n < MODEL_STATES; ++n) unit->place[n] += step * unit->ahead[n];
    }
    if (!guards_at(unit, time, unit->place, unit->others, unit->slopes)) return;
    any = 0;
    for (int k = 0; k < MODEL_GUARDS; ++k) {
      if (!asked[k]) continue;
      if (unit->slopes[k] * before[k] > 0.0 && fabs(unit->slopes[k]) > zero_rates[k]) {
        unit->rates[k] = unit->slopes[k];
        asked[k] = 0;
      }
      before[k] = unit->slopes[k];
      any |= asked[k];
    }
  }
}

/* What counts as zero of guards, by what was met so far. */
static void judge_zero(Unit *unit) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double rounding = fmax(now->early[k], now->rounding[k]);
    if (MODEL_KIND[k] == GUARD_OF_TIME)
      rounding = fmax(rounding, 4.0 * spacing(now->time) * fabs(unit->first[k]));
    now->zero[k] = fmax(TOGETHER * now->largest[MODEL_OWNER[k]], rounding);
  }
}

/* Remember how large guards are on the motion, and how fast. */
static void remember_sizes(Unit *unit) {
  Saved *now = &unit->now;
  int grows = 0;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double *largest = &now->largest[MODEL_OWNER[k]], size = fabs(unit->guards[k]);
    now->fastest[k] = fmax(now->fastest[k], fabs(unit->first[k]));
    if (size > *largest) { *largest = size; grows = 1; }
  }
  if (!grows || !terms_at(unit, unit->floors)) return;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double rounding = ROUNDING * fabs(unit->floors[k]);
    if (!MODEL_SHARP[k] && isfinite(rounding)) now->rounding[k] = fmax(now->rounding[k], rounding);
  }
}

/* Evaluate the guards at the current state, and arm those that are inside. */
static int measure(Unit *unit) {
  Saved *now = &unit->now;
  double zero_rates[COUNT(MODEL_GUARDS)];
  if (MODEL_GUARDS == 0) return 1;
  if (!guards_at(unit, now->time, now->x, unit->guards, unit->first)) return 0;
  remember_sizes(unit);
  judge_zero(unit);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    zero_rates[k] = MODEL_SWITCHING[k] ? 0.0 : TOGETHER * now->fastest[k];
    unit->rates[k] = fabs(unit->first[k]) <= zero_rates[k] ? 0.0 : unit->first[k];
  }
  look_later(unit, zero_rates);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (!MODEL_WAY[k]) {
      if (now->side[k] == 0 && fabs(unit->guards[k]) > now->zero[k])
        now->side[k] = sign_of(unit->guards[k]);
      continue;
    }
    double along = MODEL_WAY[k] * unit->guards[k], out = MODEL_WAY[k] * unit->rates[k];
    if (along < -now->zero[k] || (out < 0.0 && along <= now->zero[k])) now->armed[k] = 1;
    /* What comes to zero on its way out, long after it fired, has been inside since then. */
    if (fabs(along) <= now->zero[k] && out > 0.0 && now->time > now->passed[k]) now->armed[k] = 1;
  }
  return 1;
}

/* Where no motion took them past zero, guards that count either way, or are only
 * recorded, have not passed: set on which side they are; at zero it is that to which they go. */
static void take_sides(Unit *unit, const int *except) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (except && except[k]) continue;
    double value = unit->guards[k];
    if (MODEL_WAY[k]) {
      if (MODEL_RECORDED[k] && MODEL_WAY[k] * value > now->zero[k]) now->armed[k] = 0;
      continue;
    }
    if (fabs(value) > now->zero[k]) now->side[k] = sign_of(value);
    else if (value == 0.0) now->side[k] = sign_of(unit->rates[k]);
  }
}

/* Let guards count as passed that have changed their sign at a pole: those past zero, everywhere
 * where steps have found no passage, or else near the pole. */
static void pass_poles(Unit *unit, int everywhere) {
  Saved *now = &unit->now;
  for (int k = 0; MODEL_ANY_POLES && k < MODEL_GUARDS; ++k) {
    if (!MODEL_POLES[k] || !(past(unit, k, unit->guards[k]) > 0.0)) continue;
    if (!everywhere && !has_pole(unit, k, now->time, now->x)) continue;
    if (MODEL_WAY[k]) now->armed[k] = 0;
    else now->side[k] = -now->side[k];
  }
}

/* Until when a guard may still be at zero that goes on so far, s. */
static double leaves_at(const Unit *unit, int guard, double way) {
  double speed = fabs(unit->rates[guard]);
  return unit->now.time + (speed > 0.0 ? LINGERS * way / speed : INFINITY);
}

static fmi3Status begin_guards(Unit *unit) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    now->armed[k] = 1;
    now->passed[k] = -INFINITY;
  }
  if (!measure(unit))
    return say(unit, fmi3Error, "at the start, t = %.10g s, a guard is not a number", now->time);
  now->entered = now->time;
  now->last = -INFINITY;
  double size = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n) size = fmax(size, fabs(now->x[n]));
  if (!terms_at(unit, unit->floors)) memset(unit->floors, 0, sizeof unit->floors);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double along = MODEL_WAY[k] * unit->guards[k];
    now->side[k] = sign_of(fabs(unit->guards[k]) > now->zero[k] ? unit->guards[k] : unit->rates[k]);
    int ends = MODEL_STOPS[k] && !MODEL_RESETS[MODEL_OWNER[k]];
    if (ends && along > 0.0) {
      now->stopped = 1;
      return say(unit, fmi3Warning, "the motion ends at its start: %s",
                 MODEL_EVENT[MODEL_OWNER[k]]);
    }
    if (MODEL_BARS_START[k] && along > fmax(now->zero[k], STARTS * fabs(unit->floors[k])))
      return say(unit, fmi3Error, "the start lies beyond %s", MODEL_EVENT[MODEL_OWNER[k]]);
    /* Where nothing is switched, or only recorded, what starts at zero does not pass there. */
    if (MODEL_WAY[k] && along >= 0.0 && (MODEL_RECORDED[k] || !MODEL_SWITCHED)) {
      now->armed[k] = 0;
      now->passed[k] = leaves_at(unit, k, 2.0 * now->zero[k]);
    }
    now->begun_past[k] = MODEL_BARS_START[k] && MODEL_STAYS[k] &&
                         along > fmax(now->zero[k], ROUNDING * size);
  }
  return fmi3OK;
}

static int at_border(const Unit *unit, int guard) {
  int place = MODEL_BORDER[guard];
  if (place == BORDER_NEVER || unit->guards[guard] != 0.0 || unit->rates[guard] != 0.0) return 0;
  return place == BORDER_ALWAYS || unit->now.p[place] > 0.0;
}

/* Whether a guard is farther past zero than rounding takes it. */
static int is_far(const Unit *unit, int guard, double along) {
  const Saved *now = &unit->now;
  double size = fmax(now->largest[MODEL_OWNER[guard]], now->reached[guard]);
  return along > fmax(PAST * size, now->zero[guard]);
}

/* Whether a guard at zero or past it is due there by the state alone. */
static int leaves(Unit *unit, int guard) {
  Saved *now = &unit->now;
  double along = MODEL_WAY[guard] * unit->guards[guard], zero = now->zero[guard];
  double out = MODEL_WAY[guard] * unit->rates[guard];
  int due = out > 0.0 ? along >= -zero : MODEL_RETURNS[guard] && along > zero;
  int carried = MODEL_POSED[guard] && MODEL_KIND[guard] != GUARD_OF_VALUES;
  if (carried && is_far(unit, guard, along)) now->armed[guard] = due = out >= 0.0;
  return due;
}

/* Mark the guards that are due at the current state; return how many. */
static int mark_due(Unit *unit, int *fired) {
  Saved *now = &unit->now;
  int count = 0;
  /* Values that contradict the state are corrected first. */
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    int may = MODEL_WAY[k] && !MODEL_RECORDED[k] && MODEL_WHENEVER[k] && now->armed[k];
    if (may && is_far(unit, k, MODEL_WAY[k] * unit->guards[k])) count += fired[k] = 1;
  }
  int contradicted = count > 0;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (fired[k] || !MODEL_WAY[k] || MODEL_RECORDED[k]) continue;
    int due = now->begun_past[k];
    if (now->armed[k])
      due |= (MODEL_BORDER[k] != BORDER_NEVER && at_border(unit, k)) ||
             (!contradicted && leaves(unit, k));
    if (due) count += fired[k] = 1;
  }
  return count;
}

/* Mark the guards that the motion has taken to zero or past it here, though no step was located at
 * them; `others` says whether others are due. Return how many. */
static int mark_passed(Unit *unit, int *fired, int others) {
  const Saved *now = &unit->now;
  int count = 0;
  double tick = spacing(now->time);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (fired[k] || (MODEL_WAY[k] && !MODEL_RECORDED[k]) || !now->armed[k]) continue;
    double along = past(unit, k, unit->guards[k]), out = past(unit, k, unit->rates[k]);
    if (MODEL_KIND[k] == GUARD_OF_VALUES || now->time <= now->passed[k]) continue;
    double near = fmax(now->zero[k], 2.0 * tick * fabs(out));
    int there = others && out > 0.0 && fabs(along) <= near;
    if (there || along > now->zero[k] || (along >= 0.0 && out > 0.0)) count += fired[k] = 1;
  }
  return count;
}

/* The guard at which the motion has come to zero on its way out where a step ends; -1 if there is
 * none. One that comes there later than the times between which no number lies is left to the next
 * step: a low bounce is longer. Where the motion ends, what would pass within the rounding of the
 * time has passed. */
static int ends_at_zero(const Unit *unit) {
  const Saved *now = &unit->now;
  double late = 4.0 * spacing(now->time);
  int last = now->stop_defined && now->time >= now->stop;
  if (last) late = fmax(late, AT_END * fmax(fabs(now->time), now->longest));
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double along = past(unit, k, unit->guards[k]), rate = past(unit, k, unit->rates[k]);
    double near = fmax(now->early[k], late * rate);
    int watched = MODEL_KIND[k] == GUARD_OF_STATE || (last && MODEL_KIND[k] == GUARD_OF_TIME);
    if (watched && now->armed[k] && rate > 0.0 && along >= -near && along <= now->zero[k]) return k;
  }
  return -1;
}

/* The slopes of guards by the states, in units of their sizes; 0 if one is not a number. */
static int slopes_of(Unit *unit, double slopes[COUNT(MODEL_GUARDS)][COUNT(MODEL_STATES)]) {
  const Saved *now = &unit->now;
  double largest = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n) largest = fmax(largest, fabs(now->x[n]));
  unit->along_t = 0.0;
  memset(unit->along_x, 0, sizeof unit->along_x);
  memset(unit->along_p, 0, sizeof unit->along_p);
  for (int n = 0; n < MODEL_STATES; ++n) {
    unit->along_x[n] = fmax(fabs(now->x[n]), LEAST * largest);
    if (!tangent_now(unit)) return 0;
    for (int k = 0; k < MODEL_GUARDS; ++k) slopes[k][n] = unit->of_guards[k];
    unit->along_x[n] = 0.0;
  }
  return 1;
}

static double product(const double *one, const double *other) {
  double sum = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n) sum += one[n] * other[n];
  return sum;
}

/* Whether a guard is known to pass after one that is due: it is of time alone, or parallel to it and
 * behind it, as the other end of a window. */
static int is_later(const Unit *unit, int one, int other,
                    double slopes[COUNT(MODEL_GUARDS)][COUNT(MODEL_STATES)]) {
  double lengths[] = {sqrt(product(slopes[one], slopes[one])),
                      sqrt(product(slopes[other], slopes[other]))};
  if (!(lengths[0] > 0.0 && lengths[1] > 0.0)) return 1;
  double along = product(slopes[one], slopes[other]) / (lengths[0] * lengths[1]), apart = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n)
    apart += pow(slopes[one][n] / lengths[0] - along * slopes[other][n] / lengths[1], 2);
  if (sqrt(apart) > PARALLEL) return 0;
  double shared = along * unit->guards[other] * lengths[0] / lengths[1];
  return MODEL_WAY[one] * (unit->guards[one] - shared) < -unit->now.zero[one];
}

/* Mark the guards that pass together with those that are due: their order would be arbitrary. */
static void mark_nearly(Unit *unit, int *fired) {
  const Saved *now = &unit->now;
  int near[COUNT(MODEL_GUARDS)], any = 0;
  double tick = SPACINGS * spacing(now->time);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    /* What ends the motion wherever it is past is not past yet. */
    int bars = MODEL_STOPS[k] && MODEL_WHENEVER[k];
    double out = MODEL_WAY[k] * unit->rates[k];
    double reach = fmax(AT_ONCE * now->largest[MODEL_OWNER[k]], tick * fabs(out));
    near[k] = now->armed[k] && !fired[k] && MODEL_WAY[k] && !bars && !MODEL_RECORDED[k] &&
              out > 0.0 && MODEL_WAY[k] * unit->guards[k] >= -reach;
    any |= near[k];
  }
  double slopes[COUNT(MODEL_GUARDS)][COUNT(MODEL_STATES)];
  if (!any || !slopes_of(unit, slopes)) return;
  for (int k = 0; k < MODEL_GUARDS; ++k)
    for (int j = 0; near[k] && j < MODEL_GUARDS; ++j)
      if (fired[j] && is_later(unit, k, j, slopes)) near[k] = 0;
  for (int k = 0; k < MODEL_GUARDS; ++k) fired[k] |= near[k];
}

static void note_fired(Unit *unit) {
  Saved *now = &unit->now;
  double span = fabs(now->time - now->entered);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    now->reached[k] = fmax(now->reached[k], fabs(unit->rates[k]) * span);
    if (!unit->fired[k]) continue;
    double along = past(unit, k, unit->guards[k]);
    now->begun_past[k] = 0;
    if (MODEL_WAY[k] && along < -now->zero[k]) now->early[k] = fmax(now->early[k], -EARLY * along);
    now->passed[k] = leaves_at(unit, k, fmax(-along, 0.0) + 2.0 * now->zero[k]);
    if (span > 0.0) now->passed[k] = fmin(now->passed[k], now->time + FLAT * span);
    if (is_far(unit, k, fabs(unit->guards[k]))) now->passed[k] = now->time;
    if (MODEL_WAY[k]) now->armed[k] = MODEL_BARRIERS[k] || at_border(unit, k);
  }
  now->entered = now->time;
}

/* Record how a jump left the guards; what passed by rates before it is in `before_rates`. */
static void note_answered(Unit *unit) {
  Saved *now = &unit->now;
  int counts[COUNT(MODEL_EVENTS)] = {0};
  for (int k = 0; k < MODEL_GUARDS; ++k) counts[MODEL_OWNER[k]] += unit->fired[k];
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    int event = MODEL_OWNER[k];
    double along = MODEL_WAY[k] * unit->guards[k];
    if (!unit->fired[k] || !MODEL_WAY[k]) continue;
    double turned = unit->first[k] * unit->before_rates[k];
    double size = ANSWERED * unit->before_rates[k] * unit->before_rates[k];
    int together = counts[event] == 1 || !MODEL_SEQUENTIAL[event];
    if (turned < -size) now->armed[k] = 1;
    else if (together && turned > size && along >= -now->zero[k] && !MODEL_MOVED[k])
      now->armed[k] = 0;
  }
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_WAY[k] || !unit->fired[k]) continue;
    int side = sign_of(fabs(unit->guards[k]) > now->zero[k] ? unit->guards[k] : unit->rates[k]);
    now->side[k] = side ? side : -now->side[k];
  }
  take_sides(unit, unit->fired);
}

/* Mark the guards that a reset has taken through zero: those of values alone, and those with a
 * piecewise expression that has jumped. */
static void mark_switched(Unit *unit, int *fired) {
  Saved *now = &unit->now;
  int jumps = 1;
  for (int k = 0; k < MODEL_GUARDS; ++k) jumps &= !unit->fired[k] || MODEL_SWITCHING[k];
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double before = unit->before[k], value = unit->guards[k];
    int rises = before < 0.0 && value >= 0.0 && MODEL_WAY[k] >= 0;
    int falls = before > 0.0 && value <= 0.0 && MODEL_WAY[k] <= 0;
    int jumped = jumps && MODEL_JUMPING[k] && fmin(fabs(before), fabs(value)) > now->zero[k];
    if ((!rises && !falls) || !(jumped || MODEL_KIND[k] == GUARD_OF_VALUES)) continue;
    fired[k] = 1;
    if (jumped && MODEL_WAY[k]) now->armed[k] = 0; /* it passes, whatever its way */
  }
}

static void shift_indicators(Unit *unit) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] != GUARD_OF_STATE) continue;
    double along = past(unit, k, unit->guards[k]);
    int near = now->armed[k] && along >= -now->zero[k];
    /* Just enough to keep it above zero: a guard that returns is met no deeper than before. */
    double least = 16.0 * EPSILON * now->largest[MODEL_OWNER[k]];
    now->shift[k] = near ? fmax(along, 0.0) + fmax(least, DBL_MIN) : 0.0;
  }
}

/* When the next guard of time alone passes, s; never if there is none. */
static double next_event_time(Unit *unit, int *guard) {
  const Saved *now = &unit->now;
  double next = INFINITY;
  *guard = -1;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] != GUARD_OF_TIME || !now->armed[k] || unit->first[k] == 0.0) continue;
    if (!(past(unit, k, unit->first[k]) > 0.0)) continue;
    double due = now->time - unit->guards[k] / unit->first[k];
    if (due < next) { next = fmax(due, now->time); *guard = k; }
  }
  return next;
}

/* Record where an accepted step has led. */
static void note_step(Unit *unit) {
  Saved *now = &unit->now;
  if (MODEL_GUARDS == 0 || !measure(unit)) return;
  for (int k = 0; k < MODEL_GUARDS; ++k)
    if (now->shift[k] != 0.0 && -past(unit, k, unit->guards[k]) > 4.0 * now->shift[k])
      now->shift[k] = 0.0;
}

/* The indicators: above zero inside, and not above if the guard is past zero. One that is not
 * armed, or at zero, stays above: nothing happens when it passes. */
static void indicators(Unit *unit, double *values) {
  const Saved *now = &unit->now;
  for (int place = 0; place < MODEL_INDICATORS; ++place) {
    int k = MODEL_INDICATOR[place];
    double along = past(unit, k, unit->others[k]), least = fmax(now->zero[k], DBL_MIN);
    int counts = now->armed[k] && way_from(now, k);
    values[place] = counts ? now->shift[k] - along : fabs(unit->others[k]) + least;
  }
}

/* The derivative of an indicator by its guard, whose value is in `others`. */
static double indicator_slope(const Unit *unit, int guard) {
  const Saved *now = &unit->now;
  int way = way_from(now, guard);
  if (now->armed[guard] && way) return -way;
  return unit->others[guard] < 0.0 ? -1.0 : 1.0;
}
