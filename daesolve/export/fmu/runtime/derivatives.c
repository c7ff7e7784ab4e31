/* Directional and adjoint derivatives of rates, outputs and event indicators.
 *
 * Knowns are time, states and the entries of p; an entry of p is also an unknown, which depends on
 * itself alone.
 */

#define DIFFERENTIABLE                                                                             \
  (IN(INITIALIZING) | IN(EVENT_MODE) | IN(CONTINUOUS) | IN(STEPPING) | IN(TERMINATED))

static int is_value(fmi3ValueReference r) {
  return r >= FIRST_VALUE && r < FIRST_SHOWN &&
         MODEL_VALUE_KIND[r - FIRST_VALUE] != VALUE_HIDDEN;
}

/* Where the derivative by a known is; none if nothing can be differentiated by it. */
static double *place_of_known(Unit *unit, fmi3ValueReference r) {
  if (r == 0) return &unit->along_t;
  if (r >= FIRST_STATE && r < FIRST_RATE) return &unit->along_x[r - FIRST_STATE];
  return is_value(r) ? &unit->along_p[r - FIRST_VALUE] : NULL;
}

/* Where the derivative of an unknown is, and the factor on it; none if it has no derivative. */
static double *place_of_unknown(Unit *unit, fmi3ValueReference r, double *factor) {
  *factor = 1.0;
  if (r >= FIRST_RATE && r < FIRST_VALUE) return &unit->of_rate[r - FIRST_RATE];
  if (r >= FIRST_SHOWN && r < FIRST_INDICATOR) return &unit->of_shown[r - FIRST_SHOWN];
  if (r >= FIRST_INDICATOR && r < END) {
    int guard = MODEL_INDICATOR[r - FIRST_INDICATOR];
    *factor = indicator_slope(unit, guard);
    return &unit->of_guards[guard];
  }
  return r == 0 ? NULL : place_of_known(unit, r);
}

static fmi3Status forget_derivatives(Unit *unit, const char *what, int fits) {
  fmi3Status status = allowed(unit, what, DIFFERENTIABLE);
  if (status != fmi3OK) return status;
  if (!fits) return say(unit, fmi3Error, "%s needs as many numbers as references", what);
  unit->along_t = 0.0;
  memset(unit->along_x, 0, sizeof unit->along_x);
  memset(unit->along_p, 0, sizeof unit->along_p);
  memset(unit->of_rate, 0, sizeof unit->of_rate);
  memset(unit->of_shown, 0, sizeof unit->of_shown);
  memset(unit->of_guards, 0, sizeof unit->of_guards);
  if (!guards_at(unit, unit->now.time, unit->now.x, unit->others, unit->slopes))
    return say(unit, fmi3Discard, "a guard is not a number here");
  return fmi3OK;
}

static fmi3Status no_known(Unit *unit, fmi3ValueReference r) {
  return say(unit, fmi3Error, "nothing can be differentiated by the value reference %u", r);
}

static fmi3Status no_unknown(Unit *unit, fmi3ValueReference r) {
  return say(unit, fmi3Error, "the value reference %u cannot be differentiated", r);
}

API fmi3Status NAME(fmi3GetDirectionalDerivative)(
    fmi3Instance instance, const fmi3ValueReference unknowns[], size_t unknown_count,
    const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[],
    size_t seed_count, fmi3Float64 sensitivity[], size_t sensitivity_count) {
  Unit *unit = instance;
  int fits = seed_count == known_count && sensitivity_count == unknown_count && seed &&
             sensitivity && knowns && unknowns;
  fmi3Status status = forget_derivatives(unit, "fmi3GetDirectionalDerivative", fits);
  if (status != fmi3OK) return status;
  for (size_t k = 0; k < known_count; ++k) {
    double *place = place_of_known(unit, knowns[k]);
    if (!place) return no_known(unit, knowns[k]);
    *place += seed[k];
  }
  if (!tangent_now(unit)) return say(unit, fmi3Discard, "a derivative is not a number here");
  for (size_t k = 0; k < unknown_count; ++k) {
    double factor, *place = place_of_unknown(unit, unknowns[k], &factor);
    if (!place) return no_unknown(unit, unknowns[k]);
    sensitivity[k] = factor * *place;
  }
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetAdjointDerivative)(
    fmi3Instance instance, const fmi3ValueReference unknowns[], size_t unknown_count,
    const fmi3ValueReference knowns[], size_t known_count, const fmi3Float64 seed[],
    size_t seed_count, fmi3Float64 sensitivity[], size_t sensitivity_count) {
  Unit *unit = instance;
  int fits = seed_count == unknown_count && sensitivity_count == known_count && seed &&
             sensitivity && knowns && unknowns;
  fmi3Status status = forget_derivatives(unit, "fmi3GetAdjointDerivative", fits);
  if (status != fmi3OK) return status;
  for (size_t k = 0; k < unknown_count; ++k) {
    double factor, *place = place_of_unknown(unit, unknowns[k], &factor);
    if (!place) return no_unknown(unit, unknowns[k]);
    *place += factor * seed[k];
  }
  if (!adjoint_now(unit)) return say(unit, fmi3Discard, "a derivative is not a number here");
  for (size_t k = 0; k < known_count; ++k) {
    const double *place = place_of_known(unit, knowns[k]);
    if (!place) return no_known(unit, knowns[k]);
    sensitivity[k] = *place;
  }
  return fmi3OK;
}
