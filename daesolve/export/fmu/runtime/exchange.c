/* Model Exchange: time, states, their derivatives and event indicators, set and got by the tool. */

API fmi3Status NAME(fmi3SetTime)(fmi3Instance instance, fmi3Float64 time) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3SetTime", IN(CONTINUOUS) | IN(EVENT_MODE));
  if (status != fmi3OK) return status;
  if (!isfinite(time)) return say(unit, fmi3Error, "the time is not a finite number");
  unit->now.time = time;
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

API fmi3Status NAME(fmi3SetContinuousStates)(fmi3Instance instance, const fmi3Float64 values[],
                                             size_t count) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3SetContinuousStates", IN(CONTINUOUS));
  if (status != fmi3OK) return status;
  if (count != MODEL_STATES || !values)
    return say(unit, fmi3Error, "the unit has %d continuous states", MODEL_STATES);
  if (!all_finite(values, MODEL_STATES))
    return say(unit, fmi3Error, "a continuous state must be a finite number");
  memcpy(unit->now.x, values, MODEL_STATES * sizeof(double));
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetContinuousStates)(fmi3Instance instance, fmi3Float64 values[],
                                             size_t count) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3GetContinuousStates", ~0u);
  if (status != fmi3OK) return status;
  if (count != MODEL_STATES || !values)
    return say(unit, fmi3Error, "the unit has %d continuous states", MODEL_STATES);
  memcpy(values, unit->now.x, MODEL_STATES * sizeof(double));
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetContinuousStateDerivatives)(fmi3Instance instance,
                                                       fmi3Float64 values[], size_t count) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3GetContinuousStateDerivatives", ~0u);
  if (status != fmi3OK) return status;
  if (count != MODEL_STATES || !values)
    return say(unit, fmi3Error, "the unit has %d continuous states", MODEL_STATES);
  if (!rate_now(unit))
    return say(unit, fmi3Discard, "at t = %.10g s the rates are not numbers", unit->now.time);
  memcpy(values, unit->rate, MODEL_STATES * sizeof(double));
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetNominalsOfContinuousStates)(fmi3Instance instance,
                                                       fmi3Float64 values[], size_t count) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3GetNominalsOfContinuousStates", ~0u);
  if (status != fmi3OK) return status;
  if (count != MODEL_STATES || !values)
    return say(unit, fmi3Error, "the unit has %d continuous states", MODEL_STATES);
  memcpy(values, MODEL_NOMINAL, MODEL_STATES * sizeof(double));
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetEventIndicators)(fmi3Instance instance, fmi3Float64 values[],
                                            size_t count) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3GetEventIndicators", ~0u);
  if (status != fmi3OK) return status;
  if (count != MODEL_INDICATORS || (count && !values))
    return say(unit, fmi3Error, "the unit has %d event indicators", MODEL_INDICATORS);
  if (count && !guards_at(unit, unit->now.time, unit->now.x, unit->others, unit->slopes))
    return say(unit, fmi3Discard, "at t = %.10g s an event indicator is not a number",
               unit->now.time);
  if (count) indicators(unit, values);
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetNumberOfEventIndicators)(fmi3Instance instance, size_t *count) {
  if (!instance || !count) return fmi3Error;
  *count = MODEL_INDICATORS;
  return fmi3OK;
}

API fmi3Status NAME(fmi3GetNumberOfContinuousStates)(fmi3Instance instance, size_t *count) {
  if (!instance || !count) return fmi3Error;
  *count = MODEL_STATES;
  return fmi3OK;
}

API fmi3Status NAME(fmi3CompletedIntegratorStep)(fmi3Instance instance, fmi3Boolean no_return,
                                                 fmi3Boolean *enter_event_mode,
                                                 fmi3Boolean *terminate) {
  Unit *unit = instance;
  UNUSED(no_return);
  fmi3Status status = allowed(unit, "fmi3CompletedIntegratorStep", IN(CONTINUOUS));
  if (status != fmi3OK) return status;
  int fired[COUNT(MODEL_GUARDS)] = {0};
  note_step(unit);
  if (enter_event_mode) *enter_event_mode = MODEL_GUARDS > 0 && mark_due(unit, fired) > 0;
  if (terminate) *terminate = unit->now.stopped != 0;
  return fmi3OK;
}
