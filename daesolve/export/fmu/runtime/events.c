/* What follows where guards are due: resets, a contact that opens or closes, the end of the motion. */

#define TOUCHING 1e-12 /* m, a gap that counts as zero */
#define MOST_AT_ONCE 32
#define INSTANT 1e-13

/* List an event by one of its guards, as the list of a run does. */
static void list_event(Unit *unit, int guard) {
  int event = MODEL_OWNER[guard];
  if (unit->logging && !MODEL_HIDDEN[event])
    say(unit, fmi3OK, "%s at t = %.17g s", MODEL_EVENT[event], unit->now.time);
}

/* List the events whose guards have fired. Those of contacts are listed where these change. */
static void list_fired(Unit *unit) {
  for (int event = 0; event < MODEL_EVENTS; ++event)
    for (int k = MODEL_FIRST[event]; k < MODEL_FIRST[event] + MODEL_WIDTH[event]; ++k)
      if (unit->fired[k] && !MODEL_OF_CONTACT[event]) {
        list_event(unit, k);
        break;
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
    if (impacts || closed) list_event(unit, MODEL_MEETS);
    else list_event(unit, MODEL_LOST);
    if (!closed) now->armed[MODEL_MEETS] = 0;
  }
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}
#endif

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
  for (int turn = 0;; ++turn) {
    if (!measure(unit))
      return say(unit, fmi3Error, "at t = %.10g s a guard is not a number", now->time);
    memcpy(unit->fired, forced, sizeof unit->fired);
    memset(forced, 0, sizeof forced);
    if (turn == 0 && now->jumped) take_sides(unit, unit->fired);
    if (turn == 0 && located < 0) pass_poles(unit, 0);
    mark_due(unit, unit->fired);
    int any = 0, stops = 0;
    for (int k = 0; k < MODEL_GUARDS; ++k) any |= unit->fired[k];
    if (turn == 0) any |= mark_passed(unit, unit->fired, any) > 0;
    if (!any) break;
    if (turn == 0) mark_nearly(unit, unit->fired);
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
    list_fired(unit);
    memcpy(unit->before, unit->guards, sizeof unit->before);
    memcpy(unit->before_rates, unit->first, sizeof unit->before_rates);
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
