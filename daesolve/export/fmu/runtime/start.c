/* A consistent start: after parameters or states were set, the other states follow.
 *
 * First the positions meet the constraints, by Newton's method with the smallest changes, measured
 * in nominal values; then the velocities meet theirs. What was set is kept.
 */

#define MOST_CORRECTIONS 50
#define MOST_SIDES 8
#define MET 1e-14 /* fraction of its terms below which a residual counts as zero */

/* The smallest weighted change with jacobian * change = -links; dependent rows are skipped. */
static void least_change(Unit *unit, int rows, double *change) {
  const Saved *now = &unit->now;
  double *gram = unit->gram, *found = unit->solution;
  for (int i = 0; i < rows; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = 0.0;
      for (int n = 0; n < MODEL_STATES; ++n) {
        if (now->moved[n]) continue;
        double a = unit->jacobian[n * rows + i], b = unit->jacobian[n * rows + j];
        sum += a * b * MODEL_NOMINAL[n] * MODEL_NOMINAL[n];
      }
      gram[i * rows + j] = sum;
    }
    found[i] = -unit->links[i];
  }
  for (int i = 0; i < rows; ++i) {
    double whole = gram[i * rows + i];
    for (int j = 0; j <= i; ++j) {
      double sum = gram[i * rows + j];
      for (int k = 0; k < j; ++k) sum -= gram[i * rows + k] * gram[j * rows + k];
      double pivot = j < i ? gram[j * rows + j] : 0.0;
      if (j < i) gram[i * rows + j] = pivot > 0.0 ? sum / pivot : 0.0;
      else gram[i * rows + i] = sum > 1e-12 * whole ? sqrt(sum) : 0.0;
    }
    double pivot = gram[i * rows + i];
    for (int k = 0; k < i; ++k) found[i] -= gram[i * rows + k] * found[k];
    found[i] = pivot > 0.0 ? found[i] / pivot : 0.0;
  }
  for (int i = rows - 1; i >= 0; --i) {
    double pivot = gram[i * rows + i];
    for (int k = i + 1; k < rows; ++k) found[i] -= gram[k * rows + i] * found[k];
    found[i] = pivot > 0.0 ? found[i] / pivot : 0.0;
  }
  for (int n = 0; n < MODEL_STATES; ++n) {
    change[n] = 0.0;
    if (now->moved[n]) continue;
    for (int i = 0; i < rows; ++i) change[n] += unit->jacobian[n * rows + i] * found[i];
    change[n] *= MODEL_NOMINAL[n] * MODEL_NOMINAL[n];
  }
}

static fmi3Status meet(Unit *unit, Generated *function, int rows, const char *const *names) {
  Saved *now = &unit->now;
  int worst = -1;
  double before = INFINITY;
  for (int round = 0; rows > 0 && round < MOST_CORRECTIONS; ++round) {
    const double *from[] = {&now->time, now->x, now->p};
    double *to[] = {unit->links, unit->jacobian};
    if (!call(unit, function, from, to) || !all_finite(unit->links, rows)) break;
    double size = 0.0;
    worst = -1;
    for (int i = 0; i < rows; ++i) {
      double terms = DBL_MIN;
      for (int n = 0; n < MODEL_STATES; ++n)
        terms += fabs(unit->jacobian[n * rows + i]) * fmax(fabs(now->x[n]), MODEL_NOMINAL[n]);
      double left = fabs(unit->links[i]) / terms;
      if (left > size) { size = left; worst = i; }
    }
    if (size <= MET || (size <= 1e-12 && size >= 0.5 * before)) return fmi3OK;
    before = size;
    least_change(unit, rows, unit->place);
    for (int n = 0; n < MODEL_STATES; ++n) now->x[n] += unit->place[n];
  }
  if (rows == 0) return fmi3OK;
  return say(unit, fmi3Error, "no start with the given values satisfies %s",
             worst < 0 ? "the constraints" : names[worst]);
}

static fmi3Status make_consistent(Unit *unit) {
  Saved *now = &unit->now;
  int any = now->time != MODEL_START_TIME;
  for (int n = 0; n < MODEL_STATES; ++n) any |= now->moved[n];
  for (int k = 0; k < MODEL_VALUES; ++k) any |= now->touched[k];
  if (!any) return fmi3OK;
  int ruled = 0;
  for (int k = 0; k < MODEL_VALUES; ++k) ruled |= now->touched[k] && MODEL_RULES[k];
  if (ruled) {
    const double *given[] = {now->x, now->p};
    double *guess[] = {unit->after_x};
    if (!call(unit, model_rule, given, guess) || !all_finite(unit->after_x, MODEL_STATES))
      return say(unit, fmi3Error, "these parameters lead to no start");
    for (int n = 0; n < MODEL_STATES; ++n)
      if (!now->moved[n]) now->x[n] = unit->after_x[n];
  }
  /* Tables and sampled laws restart here; those of coordinates follow where these are moved. */
  for (int turn = 0; turn < MOST_SIDES; ++turn) {
    const double *from[] = {&now->time, now->x, now->p};
    double *to[] = {unit->after_p};
    if (!call(unit, model_begin, from, to) || !all_finite(unit->after_p, MODEL_VALUES))
      return say(unit, fmi3Error, "a table or a sampled law has no value at the start");
    if (turn > 0 && memcmp(now->p, unit->after_p, sizeof now->p) == 0) break;
    memcpy(now->p, unit->after_p, sizeof now->p);
    fmi3Status status = meet(unit, model_positions, MODEL_POSITIONS, MODEL_POSITION_NAMES);
    if (status == fmi3OK)
      status = meet(unit, model_velocities, MODEL_VELOCITIES, MODEL_VELOCITY_NAMES);
    if (status != fmi3OK) return status;
  }
  /* What is held or measured follows. */
  if (!model_references(unit))
    return say(unit, fmi3Error, "an invariant has no value at the start");
  unit->rate_known = unit->shown_known = 0;
#if MODEL_TOGETHER
  return begin_together(unit);
#else
  return fmi3OK;
#endif
}
