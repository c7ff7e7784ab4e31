/* The functions of the model, called with the memory of an instance; they are generated. */

typedef int Generated(const double **, double **, long long int *, double *, int);

static int call(Unit *unit, Generated *function, const double **from, double **to) {
  return function(from, to, unit->integers, unit->work, 0) == 0;
}

static int rate_at(Unit *unit, double t, const double *x, double *rate) {
  const double *from[] = {&t, x, unit->now.p};
  double *to[] = {rate};
  return call(unit, model_rate, from, to) && all_finite(rate, MODEL_STATES);
}

static int guards_at(Unit *unit, double t, const double *x, double *guards, double *rates) {
  const double *from[] = {&t, x, unit->now.p};
  double *to[] = {guards, rates};
  return call(unit, model_guards, from, to) && all_finite(guards, MODEL_GUARDS) &&
         all_finite(rates, MODEL_GUARDS);
}

/* Whether a guard that changes its sign at a state has a pole there. */
static int has_pole(Unit *unit, int guard, double t, const double *x) {
  const double *from[] = {&t, x, unit->now.p};
  double *to[] = {unit->column};
  return MODEL_POLES[guard] && call(unit, model_poles, from, to) && unit->column[guard] < 0.0;
}

/* The size of the terms whose sum each guard is. */
static int terms_at(Unit *unit, double *terms) {
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p};
  double *to[] = {terms};
  return call(unit, model_terms, from, to);
}

/* The arguments of terms that a step may not see, and their rates. */
static int arguments_at(Unit *unit, double t, const double *x, double *values, double *rates) {
  const double *from[] = {&t, x, unit->now.p};
  double *to[] = {values, rates};
  return call(unit, model_arguments, from, to);
}

static int shown_now(Unit *unit) {
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p};
  double *to[] = {unit->shown};
  if (!unit->shown_known) unit->shown_known = call(unit, model_shown, from, to);
  return unit->shown_known && all_finite(unit->shown, MODEL_SHOWN);
}

static int rate_now(Unit *unit) {
  if (!unit->rate_known) unit->rate_known = rate_at(unit, unit->now.time, unit->now.x, unit->rate);
  return unit->rate_known;
}

static int model_reset(Unit *unit, Generated *function) {
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p, unit->column};
  double *to[] = {unit->after_x, unit->after_p, unit->residuals[0], unit->residuals[1]};
  return function && call(unit, function, from, to);
}

/* Set what is held or measured to its current value. */
static int model_references(Unit *unit) {
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p};
  double *to[] = {unit->after_p};
  if (!call(unit, model_refer, from, to) || !all_finite(unit->after_p, MODEL_VALUES)) return 0;
  memcpy(unit->now.p, unit->after_p, sizeof unit->now.p);
  unit->rate_known = unit->shown_known = 0;
  return 1;
}

/* The derivatives of rates, outputs and guards along time, states and values. */
static int tangent_now(Unit *unit) {
  const double *from[] = {&unit->now.time, unit->now.x,   unit->now.p,
                          &unit->along_t,  unit->along_x, unit->along_p};
  double *to[] = {unit->of_rate, unit->of_shown, unit->of_guards};
  return call(unit, model_tangent, from, to) && all_finite(unit->of_rate, MODEL_STATES) &&
         all_finite(unit->of_shown, MODEL_SHOWN) && all_finite(unit->of_guards, MODEL_GUARDS);
}

/* The gradient of a weighted sum of rates, outputs and guards, added to what is there. */
static int adjoint_now(Unit *unit) {
  const double *from[] = {&unit->now.time, unit->now.x,   unit->now.p,    &unit->along_t,
                          unit->along_x,   unit->along_p, unit->of_rate, unit->of_shown,
                          unit->of_guards};
  double *to[] = {&unit->along_t, unit->along_x, unit->along_p};
  return call(unit, model_adjoint, from, to) && isfinite(unit->along_t) &&
         all_finite(unit->along_x, MODEL_STATES) && all_finite(unit->along_p, MODEL_VALUES);
}

#if MODEL_CONTACTS
static int model_contact(Unit *unit, double *speed, double *terms, double *thrown, double *normal,
                         double *size) {
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p};
  double found[5], *to[] = {found};
  if (!call(unit, model_touch, from, to) || !all_finite(found, 5)) return 0;
  *speed = found[0]; *terms = found[1]; *thrown = found[2]; *normal = found[3]; *size = found[4];
  return 1;
}

/* Impose the constraints that hold in p; the contact keeps a fraction of its speed. */
static int model_impact(Unit *unit, double thrown) {
  memset(unit->factors, 0, sizeof unit->factors);
  unit->factors[MODEL_CONTACT_ROW] = thrown;
  const double *from[] = {&unit->now.time, unit->now.x, unit->now.p, unit->factors};
  double *to[] = {unit->after_x};
  if (!call(unit, model_collide, from, to) || !all_finite(unit->after_x, MODEL_STATES)) return 0;
  memcpy(unit->now.x, unit->after_x, sizeof unit->now.x);
  unit->rate_known = unit->shown_known = 0;
  return 1;
}
#endif
