/* Dormand and Prince's method of order 8(5,3) with dense output of order 7, and event location.
 *
 * Hairer, Norsett and Wanner, Solving ODEs I, II.5 and II.6. A step ends at the latest where it
 * should, or at the next event of time. The rates of guards are integrated with the states, and a
 * step is short enough if both are accurate: then the dense output of a guard, a polynomial, has the
 * zeros of the guard. All of these are isolated by bounds on its Bernstein coefficients. Where it
 * comes to zero or nearly, steps of the method itself from the same start decide, and locate the
 * passage by Newton's method: the instant is exact to rounding, and the state there as exact as that
 * of any step.
 */

#define SAFETY 0.9
#define SHORTEN 0.2
#define LENGTHEN 10.0
#define RESOLVED 1e-7 /* error of a guard in a step, relative to its size and its way in it */
#define SHALLOW 1e-4  /* fraction of these within which a guard may be on either side of zero */
#define ROUNDINGS 64.0 /* roundings of its terms below which nothing is known of a guard */
#define UNCLEAR 16.0   /* factor on the noise of rates below which nothing is known of an error */
#define NOISIEST 1e-9 /* relative error of a step beyond which noise means that rates are singular */
#define BRIEFEST 1e-10 /* fraction of the longest step below which guards do not shorten one */
#define TICKS 16.0     /* spacings of the time at a zero from which what is inside has left it */
#define UNTIMED 1e3    /* and spacings of the time, which the stages of a step are rounded to */
#define PIECES 8      /* Bernstein coefficients of the dense output of a guard */
#define HALVINGS 48
#define REFINED 100
#define FAILS -2      /* if rates are not numbers */
#define NOWHERE 2.0   /* a fraction of the step beyond its end */

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

/* The state at the end of a step of length h from `now`, without an error estimate; with the rates
 * of guards at all stages if they are watched. */
static int stages_of(Unit *unit, double h, double *end, int watched) {
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
    if (watched && !guards_at(unit, t, end, unit->others, unit->turns[stage])) return 0;
  }
  return 1;
}

/* How far rates change if states are rounded otherwise: no step is more exact than that. */
static void look_at_noise(Unit *unit) {
  const Saved *now = &unit->now;
  for (int turn = 0; turn < 2; ++turn) {
    for (int n = 0; n < MODEL_STATES; ++n)
      unit->place[n] = now->x[n] * (1.0 + ((n >> turn) % 2 ? -EPSILON : EPSILON));
    if (!rate_at(unit, now->time, unit->place, unit->ahead)) return;
    for (int n = 0; n < MODEL_STATES; ++n)
      unit->noise[n] = fmax(unit->noise[n], fabs(unit->ahead[n] - unit->stages[0][n]));
  }
}

static double error_of(Unit *unit, double h, const double *end) {
  const Saved *now = &unit->now;
  double third = 0.0, fifth = 0.0;
  for (int n = 0; n < MODEL_STATES; ++n) {
    double size = fmax(fabs(now->x[n]), fabs(end[n]));
    double noise = fmin(UNCLEAR * h * unit->noise[n], NOISIEST * (MODEL_NOMINAL[n] + size));
    double scale = fmax(now->tolerance * (MODEL_NOMINAL[n] + size), noise);
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

/* How well a step resolves the guards, below 1 if it does: by the error of the method, and by what
 * the integrals of the rates miss at the end, where `others` has the guards. */
static double guard_error_of(Unit *unit, double h) {
  double worst = 0.0;
  for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
    if (MODEL_KIND[guard] != GUARD_OF_STATE) continue;
    double low = 0.0, high = 0.0, whole = 0.0, fastest = 0.0;
    for (int k = 0; k < 13; ++k) {
      double rate = unit->turns[k][guard];
      low += rate * THIRD[k];
      high += rate * FIFTH[k];
      whole += k < 12 ? rate * WEIGHTS[k] : 0.0;
      fastest = fmax(fastest, fabs(rate));
    }
    double one = unit->guards[guard], other = unit->others[guard];
    unit->sizes[guard] = fmax(fabs(one), fabs(other)) + h * fastest;
    double scale = RESOLVED * unit->sizes[guard] + unit->floors[guard];
    if (!(scale > 0.0)) continue;
    worst = fmax(worst, fabs(one + h * whole - other) / scale);
    low /= scale;
    high /= scale;
    if (high != 0.0) worst = fmax(worst, h * high * high / sqrt(high * high + 0.01 * low * low));
  }
  return worst;
}

/* The fraction of a step to `trial` in which no term comes and goes unseen, such as an exponential
 * or a sine: its argument moves little there, or stays where the term is constant. A step that is
 * short enough has 1. */
static double seen_part_of(Unit *unit, double h) {
  double part = 1.0;
  if (MODEL_ARGUMENTS == 0) return part;
  double end = unit->now.time + h, *values = unit->arguments[1], *rates = unit->moving[1];
  if (!arguments_at(unit, end, unit->trial, values, rates)) return part;
  for (int k = 0; k < MODEL_ARGUMENTS; ++k) {
    double first = unit->arguments[0][k], last = values[k];
    double one = h * unit->moving[0][k], other = h * rates[k];
    double way = fmax(fabs(last - first), fmax(fabs(one), fabs(other)));
    double low = fmin(fmin(first, last), fmin(first + one, last - other));
    double high = fmax(fmax(first, last), fmax(first + one, last - other));
    if (low > MODEL_ARGUMENT_HIGH[k] || high < MODEL_ARGUMENT_LOW[k]) continue;
    if (way > MODEL_ARGUMENT_WIDTH[k]) part = fmin(part, MODEL_ARGUMENT_WIDTH[k] / way);
  }
  return part;
}

/* The same sizes where guards were not watched, from the ends alone. */
static void size_guards(Unit *unit, double h) {
  for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
    double fastest = fmax(fabs(unit->first[guard]), fabs(unit->before_rates[guard]));
    double size = fmax(fabs(unit->guards[guard]), fabs(unit->before[guard]));
    unit->sizes[guard] = size + h * fastest;
  }
}

/* The rates of guards at the further stages of the dense output of the step to `trial`. */
static int dense_stages(Unit *unit, double h) {
  const Saved *now = &unit->now;
  for (int stage = 13; stage < STAGES; ++stage) {
    const double *row = DENSE_INCREMENTS[stage - 13];
    double t = now->time + DENSE_PARTS[stage - 13] * h;
    for (int n = 0; n < MODEL_STATES; ++n) {
      double change = 0.0;
      for (int k = 0; k < stage; ++k) change += unit->stages[k][n] * row[k];
      unit->place[n] = now->x[n] + h * change;
    }
    if (!rate_at(unit, t, unit->place, unit->stages[stage])) return 0;
    if (!guards_at(unit, t, unit->place, unit->others, unit->turns[stage])) return 0;
  }
  return 1;
}

/* The Bernstein coefficients of how far a guard is past zero in a step from `guards` to `before`:
 * of its dense output, or of the cubic through its ends if its rates between are not known. */
static void course_of(const Unit *unit, int guard, double h, int dense, double *course) {
  double a = past(unit, guard, unit->guards[guard]), b = past(unit, guard, unit->before[guard]);
  double da = past(unit, guard, unit->first[guard]), f[7] = {0.0};
  double db = past(unit, guard, unit->before_rates[guard]);
  f[0] = b - a;
  f[1] = h * da - f[0];
  f[2] = 2.0 * f[0] - h * (db + da);
  for (int j = 0; dense && j < 4; ++j) {
    double sum = 0.0;
    for (int k = 0; k < STAGES; ++k) sum += DENSE[j][k] * unit->turns[k][guard];
    f[3 + j] = h * past(unit, guard, sum);
  }
  memset(course, 0, PIECES * sizeof *course);
  for (int j = 6; j >= 0; --j) {
    int degree = 7 - j;
    for (int i = 0; i < degree; ++i) course[i] += f[j];
    /* Multiplied by the fraction of the step that is gone, or by that which is left. */
    if (j % 2 == 0) {
      for (int i = degree; i > 0; --i) course[i] = course[i - 1] * i / degree;
      course[0] = 0.0;
    } else {
      for (int i = 0; i < degree; ++i) course[i] *= (double)(degree - i) / degree;
      course[degree] = 0.0;
    }
  }
  for (int i = 0; i < PIECES; ++i) course[i] += a;
}

/* The first fraction of a step, `from` or later, at which a course is above a level, or below it if
 * `side` is -1; NOWHERE if it never is. The coefficients are those between low and high. */
static double first_beyond(const double *course, double level, double side, double from, double low,
                           double high, int halvings) {
  int possible = 0;
  for (int i = 0; i < PIECES; ++i) possible |= side * (course[i] - level) > 0.0;
  if (!possible || high <= from) return NOWHERE;
  if (low >= from && side * (course[0] - level) > 0.0) return low;
  if (halvings == 0) return side * (course[PIECES - 1] - level) > 0.0 ? high : NOWHERE;
  double left[PIECES], right[PIECES], middle = 0.5 * (low + high);
  memcpy(right, course, sizeof right);
  for (int i = 0; i < PIECES; ++i) {
    left[i] = right[0];
    for (int k = 0; k < PIECES - 1 - i; ++k) right[k] = 0.5 * (right[k] + right[k + 1]);
  }
  double found = first_beyond(left, level, side, from, low, middle, halvings - 1);
  if (found < NOWHERE) return found;
  return first_beyond(right, level, side, from, middle, high, halvings - 1);
}

static double beyond(const double *course, double level, double side, double from) {
  return first_beyond(course, level, side, from, 0.0, 1.0, HALVINGS);
}

/* How far a guard is past zero after a step of length s from `now`, with its slope; `ahead` gets
 * the state there. */
static double past_after(Unit *unit, int guard, double s, double *slope) {
  *slope = 0.0;
  if (!stages_of(unit, s, unit->ahead, 0) ||
      !guards_at(unit, unit->now.time + s, unit->ahead, unit->others, unit->slopes))
    return NAN;
  *slope = past(unit, guard, unit->slopes[guard]);
  return past(unit, guard, unit->others[guard]);
}

/* A time before another at which a guard that was just sent back is inside; negative if its
 * excursion is below rounding: it stays where it is. */
static double inside_before(Unit *unit, int guard, double high) {
  double slope;
  for (double s = 0.5 * high; s > spacing(unit->now.time); s *= 0.5)
    if (past_after(unit, guard, s, &slope) < 0.0) return s;
  return -1.0;
}

/* The time at which a guard that rises at low and falls at high is largest. */
static double top_between(Unit *unit, int guard, double low, double high, double *top) {
  double slope;
  for (int k = 0; k < HALVINGS && high - low > spacing(unit->now.time); ++k) {
    double s = 0.5 * (low + high);
    *top = past_after(unit, guard, s, &slope);
    if (*top > unit->now.zero[guard]) return s;
    if (slope > 0.0) low = s; else high = s;
  }
  *top = past_after(unit, guard, low, &slope);
  return low;
}

/* The time at which a guard that is inside at low and past zero at high changes its sign. */
static double change_between(Unit *unit, int guard, double low, double high, double s) {
  double way = INFINITY;
  for (int k = 0; k < REFINED; ++k) {
    double slope, value = past_after(unit, guard, s, &slope);
    if (value > 0.0) high = s; else low = s;
    double next = slope > 0.0 ? s - value / slope : low, near = spacing(unit->now.time + s);
    if (value == 0.0) return s;
    if (fabs(next - s) <= near || high - low <= near) {
      /* What counts either way has another side after it, where it is steep or jumps as well. */
      if (MODEL_WAY[guard] || value >= -unit->now.zero[guard]) return s;
      if (high - low <= near) return high;
      next = s + 2.0 * near;
    }
    int slow = fabs(next - s) > 0.5 * way; /* a zero without a slope */
    way = fabs(next - s);
    if (slow || !(next > low) || !(next < high)) next = 0.5 * (low + high);
    if (next == low || next == high) return s;
    s = next;
  }
  return s;
}

/* The time of its passage between them; INFINITY if it has a pole there instead. */
static double passage_between(Unit *unit, int guard, double low, double high, double s) {
  double slope, at = change_between(unit, guard, low, high, s);
  if (!MODEL_POLES[guard] || isnan(past_after(unit, guard, at, &slope))) return at;
  return has_pole(unit, guard, unit->now.time + at, unit->ahead) ? INFINITY : at;
}

/* When a guard first passes zero within a step of length h after it was inside; INFINITY if it does
 * not, and negative if it passes at once: it was sent back but stays at zero. */
static double passing_time(Unit *unit, int guard, double h, int dense) {
  const Saved *now = &unit->now;
  double course[PIECES], slope, top, zero = now->zero[guard];
  double a = past(unit, guard, unit->guards[guard]), b = past(unit, guard, unit->before[guard]);
  double shallow = SHALLOW * unit->sizes[guard] + fmax(unit->floors[guard], zero);
  int falls = past(unit, guard, unit->before_rates[guard]) < 0.0;
  /* The step before has ended at zero: what counts either way passes now. */
  int leaves = fabs(a) <= zero && past(unit, guard, unit->rates[guard]) > 0.0;
  if (!MODEL_WAY[guard] && leaves) return -1.0;
  course_of(unit, guard, h, dense, course);
  /* What rises from zero must have been inside before, and more than its course is off. */
  double noise = fmax(10.0 * RESOLVED * unit->sizes[guard] + unit->floors[guard], zero);
  double rounding = fmax(now->early[guard], TICKS * spacing(now->time) * fabs(unit->first[guard]));
  int inside = now->armed[guard] && a < -fmin(rounding, zero);
  double from = inside ? 0.0 : beyond(course, -noise, -1.0, 0.0);
  if (now->armed[guard] && !inside && fabs(a) <= zero) {
    double above = beyond(course, noise, 1.0, 0.0);
    if (above > 1.0 && b > zero) above = 1.0;
    if (above < from && above <= 1.0) {
      double low = inside_before(unit, guard, above * h);
      if (low < 0.0) return -1.0;
      return passage_between(unit, guard, low, above * h, 0.5 * (low + above * h));
    }
  }
  while (from < 1.0) {
    /* From `first` to `last` it is near zero or past it, at `clear` past it without a doubt. */
    double first = beyond(course, -shallow, 1.0, from);
    if (first > 1.0) break;
    double last = fmin(beyond(course, -shallow, -1.0, first), 1.0);
    double clear = beyond(course, shallow, 1.0, first), low = first * h, high = -1.0;
    if (clear <= last) high = clear * h;
    else if (last == 1.0 && b > 0.0) high = h;
    else if ((last < 1.0 || falls) && past_after(unit, guard, low, &slope) < 0.0 && slope > 0.0) {
      high = top_between(unit, guard, low, last * h, &top);
      if (!(top > zero)) high = -1.0;
    }
    /* In a step too brief to resolve a jump the end alone is sure to lie beyond it. */
    if (high >= 0.0 && !dense && b > 0.0) high = h;
    if (high >= 0.0) {
      double at = h * beyond(course, 0.0, 1.0, first);
      if (!(at > low && at < high)) at = 0.5 * (low + high);
      at = passage_between(unit, guard, low, high, at);
      if (at < INFINITY || isnan(at)) return at;
      last = fmax(last, beyond(course, 0.0, -1.0, high / h));
    }
    from = last;
  }
  return INFINITY;
}

/* Find the guard that passes zero first within a step, and when; -1 if none does. */
static int first_passing(Unit *unit, double h, int watched, double *when) {
  int found = -1, dense = 0, possible[COUNT(MODEL_GUARDS)];
  *when = INFINITY;
  for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
    double a = past(unit, guard, unit->guards[guard]), b = past(unit, guard, unit->before[guard]);
    double size = unit->sizes[guard];
    /* What is farther from zero than twice its way does not come there. */
    double way = size - fmax(fabs(a), fabs(b)), least = -SHALLOW * size - unit->floors[guard];
    int never = fmax(a, b) + 2.0 * way < least;
    never |= !unit->now.armed[guard] && fmin(a, b) - 2.0 * way > 0.0;
    possible[guard] = MODEL_KIND[guard] == GUARD_OF_STATE && !never;
    if (!watched || !possible[guard] || dense) continue;
    if (!dense_stages(unit, h)) return FAILS;
    dense = 1;
  }
  for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
    if (!possible[guard]) continue;
    double time = passing_time(unit, guard, h, dense);
    if (isnan(time)) return FAILS;
    if (time < *when) { *when = time; found = guard; }
  }
  return found;
}

/* Go to where a guard passes zero, by a step from the current state, and note whether it was away
 * from zero before. */
static int go_to(Unit *unit, int guard, double when) {
  Saved *now = &unit->now;
  if (when > 0.0) {
    double slope, before = past_after(unit, guard, 0.5 * when, &slope);
    now->apart = fmax(fabs(unit->guards[guard]), fabs(before)) > 4.0 * now->zero[guard];
    if (!stages_of(unit, when, unit->ahead, 0)) return 0;
    memcpy(now->x, unit->ahead, sizeof now->x);
    now->time += when;
  }
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

/* Keep the rates of guards at the start of a step, and how far rounding of their terms goes. */
static void look_at_guards(Unit *unit) {
  memcpy(unit->turns[0], unit->first, sizeof unit->first);
  int known = terms_at(unit, unit->floors);
  for (int guard = 0; guard < MODEL_GUARDS; ++guard) {
    double floor = ROUNDINGS * EPSILON * fabs(unit->floors[guard]);
    unit->floors[guard] = known && isfinite(floor) ? floor : 0.0;
  }
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
  double briefest = BRIEFEST * fmax(now->longest, fmin(length, limit - now->time));
  briefest = fmax(briefest, UNTIMED * spacing(now->time));
  int rejected = 0, clipped = 0, watched = 0, known = 0;
  memset(unit->noise, 0, sizeof unit->noise);
  if (MODEL_INDICATORS) look_at_guards(unit);
  if (MODEL_ARGUMENTS)
    arguments_at(unit, now->time, now->x, unit->arguments[0], unit->moving[0]);
  for (;;) {
    double left = limit - now->time, h = length;
    clipped = h >= left * (1.0 - 1e-9);
    if (clipped) h = left;
    watched = MODEL_INDICATORS && h > briefest;
    error = INFINITY;
    int finite = stages_of(unit, h, unit->trial, watched);
    if (finite) error = error_of(unit, h, unit->trial);
    if (finite && !(error < 1.0) && !known++) {
      look_at_noise(unit);
      error = error_of(unit, h, unit->trial);
    }
    if (watched && error < 1.0) error = fmax(error, guard_error_of(unit, h));
    double part = error < 1.0 && h > briefest ? seen_part_of(unit, h) : 1.0;
    if (part < 1.0) {
      length = h * fmax(0.5 * part, SHORTEN);
      rejected = 1;
      continue;
    }
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
  now->longest = fmax(now->longest, length);
  double end = clipped ? limit : now->time + length;
  if (MODEL_GUARDS > 0) {
    if (!guards_at(unit, end, unit->trial, unit->before, unit->before_rates))
      return say(unit, fmi3Error, "at t = %.10g s a guard is not a number", end);
    if (!watched) size_guards(unit, length);
    double when;
    int guard = first_passing(unit, length, watched, &when);
    if (guard == FAILS || (guard >= 0 && !go_to(unit, guard, when)))
      return say(unit, fmi3Error, "before t = %.10g s the rates are not numbers", end);
    if (guard >= 0) {
      *located = guard;
      return fmi3OK;
    }
  }
  now->time = end;
  memcpy(now->x, unit->trial, sizeof now->x);
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

/* Go to a time, or to the first event if a step may end there; `met` says whether one is there. In
 * event mode the event is left to the tool. */
static fmi3Status go_on(Unit *unit, double until, int *met) {
  Saved *now = &unit->now;
  *met = 0;
  while (now->time < until && !now->stopped) {
    if (!measure(unit))
      return say(unit, fmi3Error, "at t = %.10g s a guard is not a number", now->time);
    int timed, located = -1;
    double due = next_event_time(unit, &timed), limit = due < until ? due : until;
    if (limit > now->time) {
      fmi3Status status = step(unit, limit, &located);
      if (status != fmi3OK) return status;
    }
    int noted = located < 0 && now->time < due;
    if (noted) note_step(unit);
    /* No time lies between here and the zero of a guard that is due, however near to it this is. */
    if (located < 0 && now->time >= due) located = timed;
    if (located < 0) located = ends_at_zero(unit);
    if (located < 0) {
      if (noted) pass_poles(unit, 1);
      continue;
    }
    *met = unit->returns_early || now->time >= until;
    if (*met && unit->shows_events) {
      now->located = located;
      return fmi3OK;
    }
    fmi3Status status = settle(unit, located);
    if (status != fmi3OK || *met) return status;
  }
  return fmi3OK;
}
