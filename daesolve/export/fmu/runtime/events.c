/* Guards: which of them are due at an instant, what follows, and the indicators of events.
 *
 * The rules are those of `daesolve.core.events.guard_book`: a guard is due where it is at zero, to
 * rounding, on its way out, and armed. A switch that has fired is armed again once it has been
 * inside; a guard that a reset sends back is armed again at once. One that a start, a reset or a
 * step of an input puts past zero has passed, unless it is on its way back: then it is not due
 * before it was inside. The way of one without a rate is that of a moment later (`modes.leaving`).
 */

#define TOGETHER 1e-12 /* fraction of the largest value met that counts as zero of a guard */
#define AT_ONCE 1e-9   /* fraction of it within which a guard passes together with another */
#define TIMES_AT_ONCE 1e-11 /* the same of a guard of time */
#define PAST 1e-6      /* fraction of it past zero at which a mode contradicts the state */
#define ANSWERED 1e-6  /* least fraction of a guard's rate that is left after a reset answers it */
#define STARTS 1e-9    /* fraction of its terms by which a start may lie beyond a barrier */
#define LINGERS 64.0   /* factor on the time at zero where a guard loses its rate there, as a cube */
#define TOUCHING 1e-12 /* m, a gap that counts as zero */
#define MOST_AT_ONCE 32
#define INSTANT 1e-13
#define EULER 6        /* steps to a moment later: what acts through more integrations is not seen */
#define LONGER 32.0    /* factor from one moment to the next */
#define SOONEST 1e-24  /* the first moment, s */
#define LATEST 1e-3    /* the last moment, s */

static int measure(Unit *unit) {
  Saved *now = &unit->now;
  if (MODEL_GUARDS == 0) return 1;
  if (!guards_at(unit, now->time, now->x, unit->guards, unit->rates)) return 0;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    int event = MODEL_OWNER[k];
    now->largest[event] = fmax(now->largest[event], fabs(unit->guards[k]));
  }
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double rounding = now->early[k];
    if (MODEL_KIND[k] == GUARD_OF_TIME)
      rounding = fmax(rounding, 4.0 * spacing(now->time) * fabs(unit->rates[k]));
    now->zero[k] = fmax(TOGETHER * now->largest[MODEL_OWNER[k]], rounding);
    if (!MODEL_WAY[k]) continue;
    double along = MODEL_WAY[k] * unit->guards[k];
    int inward = MODEL_WAY[k] * unit->rates[k] < 0.0;
    if (along < -now->zero[k] || (inward && along <= now->zero[k])) now->armed[k] = 1;
    /* What comes to zero on its way out, long after it fired, has been inside since then. */
    int again = fabs(along) <= now->zero[k] && MODEL_WAY[k] * unit->rates[k] > 0.0;
    if (again && now->time > now->passed[k]) now->armed[k] = 1;
  }
  return 1;
}

static int side_of(const Unit *unit, int guard) {
  double value = unit->guards[guard];
  if (!(fabs(value) > unit->now.zero[guard])) value = unit->rates[guard];
  return value < 0.0 ? -1 : 1;
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
  if (!terms_at(unit, unit->floors)) memset(unit->floors, 0, sizeof unit->floors);
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    now->side[k] = side_of(unit, k);
    double along = MODEL_WAY[k] * unit->guards[k];
    if (MODEL_KIND[k] != GUARD_IDLE && MODEL_STOPS[k] && !MODEL_RESETS[MODEL_OWNER[k]] &&
        along > now->zero[k]) {
      now->stopped = 1;
      return say(unit, fmi3Warning, "the motion ends at its start: %s",
                 MODEL_EVENT[MODEL_OWNER[k]]);
    }
    if (MODEL_BARS_START[k] && along > fmax(now->zero[k], STARTS * fabs(unit->floors[k])))
      return say(unit, fmi3Error, "the start lies beyond %s", MODEL_EVENT[MODEL_OWNER[k]]);
  }
  return fmi3OK;
}

static int at_border(const Unit *unit, int guard) {
  int place = MODEL_BORDER[guard];
  if (place == BORDER_NEVER || unit->guards[guard] != 0.0 || unit->rates[guard] != 0.0) return 0;
  return place == BORDER_ALWAYS || unit->now.p[place] > 0.0;
}

/* Let guards at zero or past it that have no rate get the rate of a moment later, once it has the
 * same sign at two moments. */
static void look_later(Unit *unit) {
  const Saved *now = &unit->now;
  int asked[COUNT(MODEL_GUARDS)], any = 0;
  double before[COUNT(MODEL_GUARDS)] = {0.0}, step, time;
  for (int k = 0; k < MODEL_GUARDS; ++k)
    any |= asked[k] = MODEL_POSED[k] && MODEL_WAY[k] && MODEL_KIND[k] == GUARD_OF_STATE &&
                      now->armed[k] && unit->rates[k] == 0.0 &&
                      MODEL_WAY[k] * unit->guards[k] >= -now->zero[k];
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
      if (unit->slopes[k] * before[k] > 0.0) {
        unit->rates[k] = unit->slopes[k];
        asked[k] = 0;
      }
      before[k] = unit->slopes[k];
      any |= asked[k];
    }
  }
}

/* Mark the guards that are due at the current state; return how many. */
static int mark_due(Unit *unit, int *fired) {
  Saved *now = &unit->now;
  int count = 0;
  look_later(unit);
  /* Values that contradict the state are corrected first. */
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] == GUARD_IDLE || !MODEL_WHENEVER[k] || !now->armed[k]) continue;
    double size = fmax(now->largest[MODEL_OWNER[k]], now->reached[k]);
    if (MODEL_WAY[k] * unit->guards[k] > fmax(PAST * size, now->zero[k])) count += fired[k] = 1;
  }
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] == GUARD_IDLE || !now->armed[k] || fired[k]) continue;
    if (MODEL_BORDER[k] != BORDER_NEVER && at_border(unit, k)) { count += fired[k] = 1; continue; }
    if (count && MODEL_WHENEVER[k]) continue;
    int way = MODEL_WAY[k] ? MODEL_WAY[k] : -now->side[k];
    double along = way * unit->guards[k];
    int out = way * unit->rates[k] > 0.0;
    int due = out && along >= -now->zero[k];
    if (!MODEL_WAY[k]) due = along > now->zero[k];
    if (MODEL_RETURNS[k] && along > now->zero[k]) due = 1;
    if (MODEL_KIND[k] == GUARD_OF_VALUES) due = MODEL_WHENEVER[k] && along > now->zero[k];
    double size = fmax(now->largest[MODEL_OWNER[k]], now->reached[k]);
    int carried = MODEL_POSED[k] && MODEL_WAY[k] && MODEL_KIND[k] != GUARD_OF_VALUES;
    if (carried && along > fmax(PAST * size, now->zero[k]))
      now->armed[k] = due = way * unit->rates[k] >= 0.0;
    if (due) count += fired[k] = 1;
  }
  return count;
}

/* Whether a step has ended where a guard is at zero on its way out. One that comes there later than
 * the times between which no number lies is left to the next step: a low bounce is longer. */
static int ends_at_zero(const Unit *unit) {
  const Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double along = MODEL_WAY[k] * unit->guards[k], rate = MODEL_WAY[k] * unit->rates[k];
    double near = fmax(now->early[k], 4.0 * spacing(now->time) * rate);
    if (MODEL_KIND[k] == GUARD_OF_STATE && now->armed[k] && rate > 0.0 && along >= -near &&
        along <= now->zero[k])
      return 1;
  }
  return 0;
}

/* Mark the guards that pass together with one that is due: their order would be arbitrary. */
static void mark_nearly(Unit *unit, int *fired) {
  const Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    int timed = MODEL_KIND[k] == GUARD_OF_TIME;
    if (!timed && MODEL_KIND[k] != GUARD_OF_STATE) continue;
    /* What ends the motion wherever it is past is not past yet. */
    int bars = MODEL_STOPS[k] && MODEL_WHENEVER[k];
    if (!now->armed[k] || fired[k] || !MODEL_WAY[k] || bars) continue;
    double along = MODEL_WAY[k] * unit->guards[k];
    double part = timed ? TIMES_AT_ONCE : AT_ONCE;
    double near = fmax(part * now->largest[MODEL_OWNER[k]], now->zero[k]);
    if (MODEL_WAY[k] * unit->rates[k] > 0.0 && along >= -near) fired[k] = 1;
  }
}

static void note_fired(Unit *unit) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    double between = fabs(unit->rates[k]) * fabs(now->time - now->entered);
    now->reached[k] = fmax(now->reached[k], between);
    if (!unit->fired[k]) continue;
    double along = MODEL_WAY[k] * unit->guards[k];
    if (MODEL_WAY[k] && along < -now->zero[k]) now->early[k] = fmax(now->early[k], -2.0 * along);
    double speed = fabs(unit->rates[k]), reach = fmax(-along, 0.0) + 2.0 * now->zero[k];
    reach *= LINGERS;
    now->passed[k] = now->time + (speed > 0.0 ? reach / speed : INFINITY);
    now->armed[k] = MODEL_BARRIER[k] || at_border(unit, k);
  }
  now->entered = now->time;
}

/* Record how a jump left the guards that fired. */
static void note_answered(Unit *unit) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (!unit->fired[k]) continue;
    double turned = unit->rates[k] * unit->before_rates[k];
    double size = ANSWERED * unit->before_rates[k] * unit->before_rates[k];
    int at_zero = MODEL_WAY[k] * unit->guards[k] >= -now->zero[k];
    if (!MODEL_WAY[k]) {
      now->side[k] = side_of(unit, k);
      now->armed[k] = 1;
    } else if (turned < -size) {
      now->armed[k] = 1;
    } else if (turned > size && at_zero && !MODEL_MOVED[k]) {
      now->armed[k] = 0;
    }
  }
}

/* Adopt the state and values after a reset, once they have been checked. */
static fmi3Status accept_jump(Unit *unit, int event) {
  Saved *now = &unit->now;
  const char *name = MODEL_EVENT[event];
  if (!all_finite(unit->after_x, MODEL_STATES) || !all_finite(unit->after_p, MODEL_VALUES))
    return say(unit, fmi3Error, "the reset of %s at t = %.10g s leads to no finite state", name,
               now->time);
  for (int k = 0; k < MODEL_LINKS; ++k) {
    double before = fabs(unit->residuals[0][k]), left = fabs(unit->residuals[1][k]);
    if (MODEL_LINK_OPENS[k] && unit->residuals[1][k] > 0.0) continue;
    if (left > MODEL_LINK_LEFT[k] + 10.0 * before)
      return say(unit, fmi3Error, "the reset of %s at t = %.10g s leaves the goal %s off by %.3g",
                 name, now->time, MODEL_LINK[k], left);
  }
  memcpy(now->x, unit->after_x, sizeof now->x);
  memcpy(now->p, unit->after_p, sizeof now->p);
  unit->rate_known = unit->shown_known = 0;
  now->changed = 1;
  return fmi3OK;
}

static fmi3Status reset_event(Unit *unit, int event) {
  int first = MODEL_FIRST[event], count = MODEL_WIDTH[event];
  for (int turn = 0; turn < (MODEL_SEQUENTIAL[event] ? count : 1); ++turn) {
    int any = 0;
    for (int k = 0; k < count; ++k) {
      int taken = unit->fired[first + k] && (!MODEL_SEQUENTIAL[event] || k == turn);
      unit->column[k] = taken;
      any |= taken;
    }
    if (!any) continue;
    if (!model_reset(unit, MODEL_RESET[event])) return say(unit, fmi3Error, "a reset could not be evaluated");
    fmi3Status status = accept_jump(unit, event);
    if (status != fmi3OK) return status;
  }
  return fmi3OK;
}

/* Impose the constraints of several events at one instant, together. */
static fmi3Status reset_jointly(Unit *unit, const int *asked, int one, int other) {
  unsigned long long mask = 0;
  int width = 0;
  for (int event = 0; event < MODEL_EVENTS; ++event) {
    if (!asked[event] || !MODEL_IMPOSES[event]) continue;
    if (event < 64) mask |= 1ull << event;
    for (int k = 0; k < MODEL_WIDTH[event]; ++k)
      unit->column[width++] = unit->fired[MODEL_FIRST[event] + k];
  }
  for (int k = 0; k < MODEL_JOINTS; ++k) {
    if (MODEL_JOINT_MASK[k] != mask) continue;
    if (!model_reset(unit, MODEL_JOINT_RESET[k]))
      return say(unit, fmi3Error, "a reset could not be evaluated");
    return accept_jump(unit, one);
  }
  return say(unit, fmi3Error,
             "at t = %.10g s %s and %s impose constraints at one instant: their joint effect "
             "is not part of this unit", unit->now.time, MODEL_EVENT[one], MODEL_EVENT[other]);
}

/* Apply the resets of the guards that fired: together, those that impose constraints last; or one
 * after the other if an event says so. */
static fmi3Status reset_all(Unit *unit) {
  int asked[COUNT(MODEL_EVENTS)] = {0}, imposing = 0, sequential = 0, one = 0, other = 0;
  for (int k = 0; k < MODEL_GUARDS; ++k)
    if (unit->fired[k]) asked[MODEL_OWNER[k]] = MODEL_RESETS[MODEL_OWNER[k]];
  for (int event = 0; event < MODEL_EVENTS; ++event) {
    if (!asked[event]) continue;
    sequential |= MODEL_SEQUENTIAL[event];
    if (!MODEL_IMPOSES[event]) continue;
    if (imposing++) other = event;
    else one = event;
  }
  for (int last = 0; last < 2; ++last) {
    if (last && imposing > 1 && !sequential) return reset_jointly(unit, asked, one, other);
    for (int event = 0; event < MODEL_EVENTS; ++event) {
      if (!asked[event] || (sequential ? last : MODEL_IMPOSES[event] != last)) continue;
      fmi3Status status = reset_event(unit, event);
      if (status != fmi3OK) return status;
    }
  }
  return fmi3OK;
}

#if MODEL_CONTACTS
#define STILL 1e-10   /* fraction of its terms below which the rate of a gap counts as zero */
#define ROUNDED 1e-13 /* fraction of its terms below which the rate of a gap is rounding */
#define TIED 1e-9     /* fraction of a load below which the rate of the reaction decides */
#define MOST_IMPACTS 1000

static fmi3Status no_load(Unit *unit) {
  return say(unit, fmi3Error,
             "at t = %.10g s the contact %s depends on other constraints: its reaction is not "
             "determined", unit->now.time, MODEL_CONTACT);
}

/* Whether the contact, if closed, keeps pushing at the current state. */
static int keeps_pushing(Unit *unit, int before, double normal, double size, double zero) {
  Saved *now = &unit->now;
  now->p[MODEL_HOLD] = 1.0;
  if (!guards_at(unit, now->time, now->x, unit->others, unit->slopes)) return -1;
  double reaction = unit->others[MODEL_LOST], rate = unit->slopes[MODEL_LOST];
  double typical = size / normal;
  double tie = fmax(TIED * (typical == 0.0 ? 1.0 : typical), zero);
  int falls = rate == 0.0 ? !before : rate < 0.0;
  return fabs(reaction) <= tie ? !falls : reaction > 0.0;
}

/* Open or close the contact, with the impact that this causes: as `modes.contact_law` for one
 * smooth contact, for which complementarity is a matter of signs. */
static fmi3Status decide_contact(Unit *unit) {
  Saved *now = &unit->now;
  int before = now->p[MODEL_HOLD] == 1.0, impacts = 0, stopped = 0;
  double zero = fmax(now->zero[MODEL_MEETS], TOUCHING), ended = now->zero[MODEL_LOST];
  int met = unit->fired[MODEL_MEETS] || unit->guards[MODEL_MEETS] <= zero;
  if (!before && !met) return fmi3OK;
  /* Met past zero, it must bounce out of there: it would not be met again. */
  if (met) zero = fmax(zero, -2.0 * unit->guards[MODEL_MEETS]);
  double speed, terms, thrown, normal, size;
  now->p[MODEL_HOLD] = 1.0;
  if (!model_contact(unit, &speed, &terms, &thrown, &normal, &size) || !(normal > 0.0))
    return no_load(unit);
  double still = STILL * terms + sqrt(2.0 * size * zero);
  int closed = 0;
  for (;;) {
    int closing = speed < -still, slow = 0;
    closed = speed <= still;
    if (!closing) {
      if (closed) closed = keeps_pushing(unit, before, normal, size, ended);
      if (closed < 0) return no_load(unit);
      /* However slowly it closes, a gap that nothing holds must not continue to close. */
      closing = slow = !before && !closed && speed < -ROUNDED * terms;
    }
    if (!closing) break;
    if (impacts++ == MOST_IMPACTS)
      return say(unit, fmi3Error, "at t = %.10g s the impacts of %s do not end", now->time,
                 MODEL_CONTACT);
    now->p[MODEL_HOLD] = 1.0;
    double factor = slow ? 0.0 : thrown, more, ignored;
    if (!model_impact(unit, factor)) return no_load(unit);
    stopped = factor == 0.0;
    if (!model_contact(unit, &speed, &more, &ignored, &normal, &size)) return no_load(unit);
    terms = fmax(terms, more);
  }
  now->p[MODEL_HOLD] = closed;
  if (closed && (impacts ? !stopped : !before) && !model_impact(unit, 0.0)) return no_load(unit);
  if (impacts || closed != before) {
    if (!model_references(unit)) return no_load(unit);
    now->changed = 1;
    if (!closed) now->armed[MODEL_MEETS] = 0;
  }
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}
#endif

/* Mark the guards of values alone that a reset has taken through zero. */
static void mark_switched(Unit *unit, int *fired) {
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] != GUARD_OF_VALUES) continue;
    double before = unit->before[k], value = unit->guards[k];
    int rises = before < 0.0 && value >= 0.0 && MODEL_WAY[k] >= 0;
    int falls = before > 0.0 && value <= 0.0 && MODEL_WAY[k] <= 0;
    if (rises || falls) fired[k] = 1;
  }
}

static void log_event(Unit *unit) {
  if (!unit->logging) return;
  for (int k = 0; k < MODEL_GUARDS; ++k)
    if (unit->fired[k])
      say(unit, fmi3OK, "%s at t = %.17g s", MODEL_EVENT[MODEL_OWNER[k]], unit->now.time);
}

static void shift_indicators(Unit *unit) {
  Saved *now = &unit->now;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] != GUARD_OF_STATE) continue;
    int way = MODEL_WAY[k] ? MODEL_WAY[k] : -now->side[k];
    double along = way * unit->guards[k];
    int near = now->armed[k] && along >= -now->zero[k];
    /* Just enough to keep it above zero: a guard that returns is met no deeper than before. */
    double least = 16.0 * EPSILON * now->largest[MODEL_OWNER[k]];
    now->shift[k] = near ? fmax(along, 0.0) + fmax(least, DBL_MIN) : 0.0;
  }
}

/* Whether what fires follows the last reset at once: no time has passed, or no guard has since
 * gone farther from zero than what counts as zero. */
static int at_one_instant(const Unit *unit) {
  const Saved *now = &unit->now;
  double since = now->time - now->last;
  if (since <= INSTANT * fmax(fabs(now->time), fabs(now->time - now->start))) return 1;
  if (now->apart) return 0;
  for (int k = 0; k < MODEL_GUARDS; ++k)
    if (unit->fired[k] && fabs(unit->rates[k]) * since > 4.0 * now->zero[k]) return 0;
  return 1;
}

/* Process everything that is due at the current state, until nothing is. */
static fmi3Status settle(Unit *unit, int located) {
  Saved *now = &unit->now;
  if (MODEL_GUARDS == 0) return fmi3OK;
  int forced[COUNT(MODEL_GUARDS)] = {0};
  if (located >= 0) forced[located] = 1;
  for (;;) {
    if (!measure(unit))
      return say(unit, fmi3Error, "at t = %.10g s a guard is not a number", now->time);
    memcpy(unit->fired, forced, sizeof unit->fired);
    memset(forced, 0, sizeof forced);
    mark_due(unit, unit->fired);
    int any = 0, stops = 0;
    for (int k = 0; k < MODEL_GUARDS; ++k) any |= unit->fired[k];
    if (!any) break;
    mark_nearly(unit, unit->fired);
    for (int k = 0; k < MODEL_GUARDS; ++k) stops |= unit->fired[k] && MODEL_STOPS[k];
    now->at_once = at_one_instant(unit) ? now->at_once + 1 : 1;
    now->last = now->time;
    now->apart = 0;
    if (now->at_once > MOST_AT_ONCE) {
      int k = 0;
      while (!unit->fired[k]) ++k;
      return say(unit, fmi3Error, "at t = %.10g s the resets of %s do not end", now->time,
                 MODEL_EVENT[MODEL_OWNER[k]]);
    }
    log_event(unit);
    memcpy(unit->before, unit->guards, sizeof unit->before);
    memcpy(unit->before_rates, unit->rates, sizeof unit->before_rates);
    BEFORE_RESETS(unit);
    note_fired(unit);
    fmi3Status status = reset_all(unit);
    if (status != fmi3OK) return status;
#if MODEL_CONTACTS
    status = decide_contact(unit);
    if (status != fmi3OK) return status;
#endif
#if MODEL_TOGETHER
    status = decide_together(unit);
    if (status != fmi3OK) return status;
#endif
    if (!rate_at(unit, now->time, now->x, unit->stages[0]) || !measure(unit))
      return say(unit, fmi3Error,
                 "the reset at t = %.10g s leaves a state from which no motion continues",
                 now->time);
    AFTER_RESETS(unit);
    note_answered(unit);
    mark_switched(unit, forced);
    if (stops) {
      now->stopped = 1;
      for (int k = 0; k < MODEL_GUARDS; ++k)
        if (unit->fired[k] && MODEL_STOPS[k]) {
          say(unit, fmi3Warning, "the motion ends at t = %.10g s: %s", now->time,
              MODEL_EVENT[MODEL_OWNER[k]]);
          break;
        }
      break;
    }
  }
  shift_indicators(unit);
  return fmi3OK;
}

/* When the next guard of time alone passes, s; never if there is none. */
static double next_event_time(Unit *unit, int *guard) {
  const Saved *now = &unit->now;
  double next = INFINITY;
  *guard = -1;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (MODEL_KIND[k] != GUARD_OF_TIME || !now->armed[k] || unit->rates[k] == 0.0) continue;
    int way = MODEL_WAY[k] ? MODEL_WAY[k] : -now->side[k];
    if (!(way * unit->rates[k] > 0.0)) continue;
    double due = now->time - unit->guards[k] / unit->rates[k];
    if (due < next) { next = fmax(due, now->time); *guard = k; }
  }
  return next;
}

/* Record where an accepted step has led. */
static void note_step(Unit *unit) {
  Saved *now = &unit->now;
  if (MODEL_GUARDS == 0 || !measure(unit)) return;
  for (int k = 0; k < MODEL_GUARDS; ++k) {
    if (now->shift[k] == 0.0) continue;
    int way = MODEL_WAY[k] ? MODEL_WAY[k] : -now->side[k];
    if (-way * unit->guards[k] > 4.0 * now->shift[k]) now->shift[k] = 0.0;
  }
}

/* The indicators: above zero inside, and not above if the guard is past zero. One that is not
 * armed stays above: nothing happens when it passes. */
static void indicators(Unit *unit, double *values) {
  const Saved *now = &unit->now;
  for (int place = 0; place < MODEL_INDICATORS; ++place) {
    int k = MODEL_INDICATOR[place];
    int way = MODEL_WAY[k] ? MODEL_WAY[k] : -now->side[k];
    double along = way * unit->others[k];
    double least = fmax(now->zero[k], DBL_MIN);
    values[place] = now->armed[k] ? now->shift[k] - along : fabs(along) + least;
  }
}

/* The derivative of an indicator by its guard, whose value is in `others`. */
static double indicator_slope(const Unit *unit, int guard) {
  const Saved *now = &unit->now;
  int way = MODEL_WAY[guard] ? MODEL_WAY[guard] : -now->side[guard];
  if (now->armed[guard]) return -way;
  return unit->others[guard] < 0.0 ? -1.0 : 1.0;
}
