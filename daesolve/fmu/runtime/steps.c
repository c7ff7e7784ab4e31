/* Dormand and Prince's method of order 8(5,3) with dense output of order 7, and event location.
 *
 * Hairer, Norsett and Wanner, Solving ODEs I, II.5 and II.6. A step ends at the latest where it
 * should, or at the next event of time. A guard that passes zero within a step is found on the
 * dense output, and then by steps of the method itself from the same start, by Newton's method: the
 * instant is exact to rounding, and the state there as exact as that of any step.
 */

#define SAFETY 0.9
#define SHORTEN 0.2
#define LENGTHEN 10.0
#define INTERIOR 0.1 /* fraction of its end values within which a guard is examined inside */
#define REFINED 40
#define FAILS -2 /* if rates are not numbers */

static const double EPSILON = 2.220446049250313e-16;

static double spacing(double t) {
  double size = fabs(t);
  return nextafter(size, INFINITY) - size;
}

static int all_finite(const double *values, int count) {
  double sum = 0.0;
  for (int k = 0; k < count; ++k) sum += values[k] * 0.0;
  return sum == 0.0;
}

/* The state at the end of a step of length h from `now`, without an error estimate. */
static int stages_of(Unit *unit, double h, double *end) {
  const Saved *now = &unit->now;
  for (int stage = 1; stage <= 12; ++stage) {
    const double *row = stage < 12 ? INCREMENTS[stage] : WEIGHTS;
    for (int n = 0; n < MODEL_STATES; ++n) {
      double change = 0.0;
      for (int k = 0; k < stage; ++k) change += unit->stages[k][n] * row[k];
      end[n] = now->x[n] + h * change;
    }
    double t = now->time + (stage < 12 ? PARTS[stage] * h : h);
    if (!rate_at(unit, t, end, unit->stages[stage])) return 0;
  }
  return 1;
}

static double error_of(Unit *unit, double h, const double *end) {
  const Saved *now = &unit->now;
  double third = 0.0, fifth = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n) {
    double size = fmax(fabs(now->x[n]), fabs(end[n]));
    double scale = now->tolerance * (MODEL_NOMINAL[n] + size);
    double low = 0.0, high = 0.0;
    for (int k = 0; k < 13; ++k) {
      low += unit->stages[k][n] * THIRD[k];
      high += unit->stages[k][n] * FIFTH[k];
    }
    third += (low / scale) * (low / scale);
    fifth += (high / scale) * (high / scale);
  }
  if (third == 0.0 && fifth == 0.0) return 0.0;
  return fabs(h) * fifth / sqrt((fifth + 0.01 * third) * MODEL_STATES);
}

/* The further stages of the dense output of the step to `trial`. */
static int dense_stages(Unit *unit, double h) {
  const Saved *now = &unit->now;
  for (int stage = 13; stage < STAGES; ++stage) {
    const double *row = DENSE_INCREMENTS[stage - 13];
    for (int n = 0; n < MODEL_STATES; ++n) {
      double change = 0.0;
      for (int k = 0; k < stage; ++k) change += unit->stages[k][n] * row[k];
      unit->place[n] = now->x[n] + h * change;
    }
    if (!rate_at(unit, now->time + DENSE_PARTS[stage - 13] * h, unit->place, unit->stages[stage]))
      return 0;
  }
  return 1;
}

static void dense_at(Unit *unit, double h, double part, double *x) {
  const Saved *now = &unit->now;
  for (int n = 0; n < MODEL_STATES; ++n) {
    double change = unit->trial[n] - now->x[n];
    double f[7];
    f[0] = change;
    f[1] = h * unit->stages[0][n] - change;
    f[2] = 2.0 * change - h * (unit->stages[12][n] + unit->stages[0][n]);
    for (int j = 0; j < 4; ++j) {
      double sum = 0.0;
      for (int k = 0; k < STAGES; ++k) sum += DENSE[j][k] * unit->stages[k][n];
      f[3 + j] = h * sum;
    }
    double value = 0.0;
    for (int j = 6; j >= 0; --j) value = (value + f[j]) * (j % 2 == 0 ? part : 1.0 - part);
    x[n] = now->x[n] + value;
  }
}

/* How far a guard is past zero, in the direction that counts from its last side. */
static double past(const Unit *unit, int guard, double value) {
  int way = MODEL_WAY[guard];
  return way ? way * value : -unit->now.side[guard] * value;
}

static double past_at(Unit *unit, int guard, double h, double part) {
  dense_at(unit, h, part, unit->place);
  if (!guards_at(unit, unit->now.time + part * h, unit->place, unit->others, unit->slopes))
    return NAN;
  return past(unit, guard, unit->others[guard]);
}

/* The fraction of a step at which a guard is past zero or nearest to it, by its cubic and then by
 * the dense output; its value there is `most`. */
static double nearest_part(Unit *unit, int guard, double h, double low, double high, double *most) {
  for (int k = 0; k < 24; ++k) {
    double one = low + (high - low) / 3.0, other = high - (high - low) / 3.0;
    double at_one = past_at(unit, guard, h, one), at_other = past_at(unit, guard, h, other);
    if (at_one > 0.0) { *most = at_one; return one; }
    if (at_other > 0.0) { *most = at_other; return other; }
    if (at_one < at_other) low = one; else high = other;
  }
  double part = 0.5 * (low + high);
  *most = past_at(unit, guard, h, part);
  return part;
}

/* The fraction of a step at which a guard passes, by the dense output: inside at low, past at
 * high. */
static double passing_part(Unit *unit, int guard, double h, double low, double high) {
  double at_low = past_at(unit, guard, h, low), at_high = past_at(unit, guard, h, high);
  if (at_low > 0.0) return low;
  for (int k = 0; k < 60 && high - low > 1e-13; ++k) {
    double part = 0.5 * (low + high);
    if (k % 3 != 2 && at_high > at_low) part = low - at_low * (high - low) / (at_high - at_low);
    double edge = 0.01 * (high - low);
    if (!(part > low + edge * 1e-6) || !(part < high - edge * 1e-6)) part = 0.5 * (low + high);
    double value = past_at(unit, guard, h, part);
    if (value > 0.0) { high = part; at_high = value; } else { low = part; at_low = value; }
    if (value == 0.0) return part;
  }
  return 0.5 * (low + high);
}

/* The fraction of a step at which a guard that was just sent back is well inside; negative if its
 * excursion is below rounding: it stays where it is. */
static double inside_part(Unit *unit, int guard, double h, double a, double da, double b,
                          double db) {
  double bend = 3.0 * (b - a) - 2.0 * da - db;
  double part = da < 0.0 && bend > 0.0 ? fmin(-0.5 * da / bend, 0.5) : 0.5;
  for (int k = 0; k < 60 && part * h > spacing(unit->now.time); ++k, part *= 0.5)
    if (past_at(unit, guard, h, part) < 0.0) return part;
  return -1.0;
}

/* Check whether a guard that was inside passes zero within the step, and where the first does. */
static int first_passing(Unit *unit, double h, double *part) {
  const Saved *now = &unit->now;
  int found = -1, dense = 0;
  *part = 2.0;
  for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
    if (MODEL_KIND[guard] != GUARD_OF_STATE || !now->armed[guard]) continue;
    double a = past(unit, guard, unit->guards[guard]), b = past(unit, guard, unit->before[guard]);
    double da = past(unit, guard, unit->rates[guard]) * h;
    double db = past(unit, guard, unit->before_rates[guard]) * h;
    /* a, da are at the start of the step, b, db at its end. */
    double low = 0.0, high = 1.0;
    if (b <= 0.0) {
      if (!(da > 0.0 && db < 0.0)) continue;
      double reach = fmax(fabs(a), fabs(b));
      double top = -INFINITY, at = 0.5;
      for (int k = 1; k < 16; ++k) {
        double s = k / 16.0, r = 1.0 - s;
        double value = r * r * ((1 + 2 * s) * a + s * da) + s * s * ((1 + 2 * r) * b - r * db);
        if (value > top) { top = value; at = s; }
      }
      if (top < -INTERIOR * reach) continue;
      if (!dense && !dense_stages(unit, h)) return FAILS;
      dense = 1;
      double most;
      high = nearest_part(unit, guard, h, fmax(at - 0.2, 0.0), fmin(at + 0.2, 1.0), &most);
      if (!(most > 0.0)) continue;
    }
    if (!dense && !dense_stages(unit, h)) return FAILS;
    dense = 1;
    if (b > 0.0 && a >= -now->zero[guard]) {
      low = inside_part(unit, guard, h, a, da, b, db);
      if (low < 0.0) { *part = 0.0; return guard; }
    }
    double where = passing_part(unit, guard, h, low, high);
    if (where < *part) { *part = where; found = guard; }
  }
  return found;
}

/* Go to where a guard passes zero, by steps from the current state; `stages[0]` is known. */
static int locate(Unit *unit, int guard, double h, double part) {
  Saved *now = &unit->now;
  double low = 0.0, high = h, s = part * h;
  for (int k = 0; k < REFINED; ++k) {
    double t = now->time + s;
    if (!stages_of(unit, s, unit->ahead)) return 0;
    if (!guards_at(unit, t, unit->ahead, unit->others, unit->slopes)) return 0;
    double value = past(unit, guard, unit->others[guard]);
    double slope = past(unit, guard, unit->slopes[guard]);
    if (value > 0.0) high = s; else low = s;
    double next = slope > 0.0 ? s - value / slope : 0.5 * (low + high);
    double near = spacing(t);
    if (value == 0.0 || fabs(next - s) <= near) break;
    if (!(next > low) || !(next < high)) next = 0.5 * (low + high);
    if (high - low <= near || next == s) break;
    s = next;
  }
  now->time += s;
  memcpy(now->x, unit->ahead, sizeof now->x);
  unit->rate_known = unit->shown_known = 0;
  return 1;
}

static double first_length(Unit *unit, double until) {
  const Saved *now = &unit->now;
  double size = 0.0, speed = 0.0, turning = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n) {
    double scale = now->tolerance * (MODEL_NOMINAL[n] + fabs(now->x[n]));
    size += pow(now->x[n] / scale, 2);
    speed += pow(unit->stages[0][n] / scale, 2);
  }
  size = sqrt(size / MODEL_STATES);
  speed = sqrt(speed / MODEL_STATES);
  double length = size < 1e-5 || speed < 1e-5 ? 1e-6 : 0.01 * size / speed;
  length = fmin(length, until - now->time);
  for (int n = 0; n < MODEL_STATES; ++n)
    unit->place[n] = now->x[n] + length * unit->stages[0][n];
  if (!rate_at(unit, now->time + length, unit->place, unit->stages[1])) return length;
  for (int n = 0; n < MODEL_STATES; ++n) {
    double scale = now->tolerance * (MODEL_NOMINAL[n] + fabs(now->x[n]));
    turning += pow((unit->stages[1][n] - unit->stages[0][n]) / scale, 2);
  }
  turning = sqrt(turning / MODEL_STATES) / length;
  double bend = fmax(speed, turning);
  double other = bend <= 1e-15 ? fmax(1e-6, length * 1e-3) : pow(0.01 / bend, 1.0 / 8.0);
  return fmin(100.0 * length, other);
}

/* Take one step that ends at `limit` at the latest; `located` is the guard at which it ended. */
static fmi3Status step(Unit *unit, double limit, int *located) {
  Saved *now = &unit->now;
  *located = -1;
  if (!rate_at(unit, now->time, now->x, unit->stages[0]))
    return say(unit, fmi3Error, "at t = %.10g s the rates of the states are not numbers",
               now->time);
  if (!(now->length > 0.0)) now->length = first_length(unit, limit);
  double least = 10.0 * spacing(now->time), length = now->length, error = 0.0;
  int rejected = 0, clipped = 0;
  for (;;) {
    double left = limit - now->time, h = length;
    clipped = h >= left * (1.0 - 1e-9);
    if (clipped) h = left;
    error = INFINITY;
    if (stages_of(unit, h, unit->trial)) error = error_of(unit, h, unit->trial);
    if (error < 1.0) { length = h; break; }
    double factor = SAFETY * pow(error, -1.0 / 8.0);
    length = h * (factor > SHORTEN ? factor : SHORTEN);
    rejected = 1;
    if (length < least)
      return say(unit, fmi3Error,
                 "at t = %.10g s no step is short enough for the tolerance %.3g: the motion is "
                 "singular there, or the tolerance is too small", now->time, now->tolerance);
  }
  double factor = error == 0.0 ? LENGTHEN : fmin(LENGTHEN, SAFETY * pow(error, -1.0 / 8.0));
  double next = length * (rejected ? fmin(1.0, factor) : factor);
  /* A step that was cut short to end here says little about how long the next may be. */
  now->length = clipped && !rejected ? fmax(next, now->length) : next;
  double end = clipped ? limit : now->time + length;
  if (MODEL_GUARDS > 0) {
    if (!guards_at(unit, end, unit->trial, unit->before, unit->before_rates))
      return say(unit, fmi3Error, "at t = %.10g s a guard is not a number", end);
    double part;
    int guard = first_passing(unit, length, &part);
    if (guard == FAILS)
      return say(unit, fmi3Error, "before t = %.10g s the rates are not numbers", end);
    if (guard >= 0) {
      if (part > 0.0 && !locate(unit, guard, length, part))
        return say(unit, fmi3Error, "before t = %.10g s the rates are not numbers", end);
      *located = guard;
      return fmi3OK;
    }
  }
  now->time = end;
  memcpy(now->x, unit->trial, sizeof now->x);
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

static fmi3Status go_on(Unit *unit, double until) {
  Saved *now = &unit->now;
  while (now->time < until && !now->stopped) {
    if (!measure(unit))
      return say(unit, fmi3Error, "at t = %.10g s a guard is not a number", now->time);
    double due = next_event_time(unit), limit = due < until ? due : until;
    int located = -1;
    if (limit > now->time) {
      fmi3Status status = step(unit, limit, &located);
      if (status != fmi3OK) return status;
    }
    if (located >= 0 || now->time >= due) {
      fmi3Status status = settle(unit, located);
      if (status != fmi3OK) return status;
    } else {
      note_step(unit);
    }
  }
  return fmi3OK;
}
