/* The functions of FMI 3.0. */

#ifdef FMI3_FUNCTION_PREFIX
#define JOINED(a, b) a##b
#define PREFIXED(a, b) JOINED(a, b)
#define NAME(name) PREFIXED(FMI3_FUNCTION_PREFIX, name)
#else
#define NAME(name) name
#endif
#if defined(_WIN32)
#define API __declspec(dllexport)
#elif defined(__GNUC__)
#define API __attribute__((visibility("default")))
#else
#define API
#endif
#define UNUSED(x) ((void)(x))

#define FIRST_STATE 1u
#define FIRST_RATE (FIRST_STATE + MODEL_STATES)
#define FIRST_VALUE (FIRST_RATE + MODEL_STATES)
#define FIRST_SHOWN (FIRST_VALUE + MODEL_VALUES)
#define FIRST_INDICATOR (FIRST_SHOWN + MODEL_SHOWN)
#define END (FIRST_INDICATOR + MODEL_INDICATORS)
#define IN(modes) (1u << (modes))

static const char *const MODE_NAMES[] = {
  "before initialization", "initialization mode", "event mode", "continuous-time mode",
  "step mode", "after termination", "after an error"
};

static fmi3Status say(Unit *unit, fmi3Status status, const char *format, ...) {
  char text[MESSAGE];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (unit && unit->log && (status != fmi3OK || unit->logging))
    unit->log(unit->environment, status, status == fmi3OK ? "logEvents" : "logStatusError", text);
  return status;
}

/* Check that a call is allowed in the current mode. */
static fmi3Status allowed(Unit *unit, const char *what, unsigned modes) {
  if (!unit) return fmi3Error;
  if (modes & IN(unit->now.mode)) return fmi3OK;
  return say(unit, fmi3Error, "%s is no call for now: the unit is in %s", what,
             MODE_NAMES[unit->now.mode]);
}

static fmi3Status failed(Unit *unit, fmi3Status status) {
  if (status >= fmi3Error) unit->now.mode = FAILED;
  return status;
}

static void set_defaults(Unit *unit) {
  memset(&unit->now, 0, sizeof unit->now);
  memcpy(unit->now.x, MODEL_START, sizeof unit->now.x);
  memcpy(unit->now.p, MODEL_DEFAULTS, sizeof unit->now.p);
  unit->now.time = unit->now.start = MODEL_START_TIME;
  unit->now.tolerance = MODEL_TOLERANCE;
  unit->now.mode = INSTANTIATED;
  unit->now.located = -1;
  for (int k = 0; k < COUNT(MODEL_TOGETHER); ++k)
    for (int j = 0; j < REMEMBERED; ++j) unit->now.met[k][j] = -INFINITY;
  unit->rate_known = unit->shown_known = 0;
}

static fmi3Instance made(fmi3String name, fmi3String token, fmi3Boolean logging,
                         fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                         int exchanges) {
  Unit *unit = calloc(1, sizeof *unit);
  if (!unit) return NULL;
  unit->log = log;
  unit->environment = environment;
  unit->logging = logging;
  unit->exchanges = exchanges;
  if (!name || !*name || !token || strcmp(token, MODEL_TOKEN) != 0) {
    say(unit, fmi3Error, !name || !*name ? "an instance needs a name"
                                         : "the instantiation token belongs to another unit");
    free(unit);
    return NULL;
  }
  set_defaults(unit);
  return unit;
}

API const char *NAME(fmi3GetVersion)(void) { return "3.0"; }

API fmi3Status NAME(fmi3SetDebugLogging)(fmi3Instance instance, fmi3Boolean on, size_t count,
                                         const fmi3String categories[]) {
  Unit *unit = instance;
  if (!unit) return fmi3Error;
  for (size_t k = 0; k < count; ++k)
    if (!categories || !categories[k] ||
        (strcmp(categories[k], "logEvents") && strcmp(categories[k], "logStatusError")))
      return say(unit, fmi3Error, "this category of messages does not exist");
  unit->logging = on;
  return fmi3OK;
}

API fmi3Instance NAME(fmi3InstantiateModelExchange)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log) {
  UNUSED(resources); UNUSED(visible);
  return made(name, token, logging, environment, log, 1);
}

API fmi3Instance NAME(fmi3InstantiateCoSimulation)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3Boolean event_mode, fmi3Boolean early_return,
    const fmi3ValueReference required[], size_t count, fmi3InstanceEnvironment environment,
    fmi3LogMessageCallback log, fmi3IntermediateUpdateCallback update) {
  UNUSED(resources); UNUSED(visible); UNUSED(required); UNUSED(update);
  if (count) {
    if (log) log(environment, fmi3Error, "logStatusError", "the unit has no intermediate variables");
    return NULL;
  }
  Unit *unit = made(name, token, logging, environment, log, 0);
  if (!unit) return NULL;
  unit->shows_events = event_mode;
  unit->returns_early = early_return;
  return unit;
}

API fmi3Instance NAME(fmi3InstantiateScheduledExecution)(
    fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
    fmi3Boolean logging, fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
    fmi3ClockUpdateCallback clock, fmi3LockPreemptionCallback lock,
    fmi3UnlockPreemptionCallback unlock) {
  UNUSED(name); UNUSED(token); UNUSED(resources); UNUSED(visible); UNUSED(logging); UNUSED(clock);
  UNUSED(lock); UNUSED(unlock);
  if (log) log(environment, fmi3Error, "logStatusError", "the unit has no scheduled execution");
  return NULL;
}

API void NAME(fmi3FreeInstance)(fmi3Instance instance) { free(instance); }

/* -- from one mode to the next ------------------------------------------------------------------ */

API fmi3Status NAME(fmi3EnterInitializationMode)(fmi3Instance instance, fmi3Boolean has_tolerance,
                                                 fmi3Float64 tolerance, fmi3Float64 start,
                                                 fmi3Boolean has_stop, fmi3Float64 stop) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3EnterInitializationMode", IN(INSTANTIATED));
  if (status != fmi3OK) return status;
  if (!isfinite(start) || (has_stop && !(stop >= start)))
    return say(unit, fmi3Error, "the start time or the stop time is not valid");
  if (has_tolerance && !(tolerance > 0.0 && tolerance < 1.0))
    return say(unit, fmi3Error, "the tolerance is %.3g, but must lie between 0 and 1", tolerance);
  unit->now.time = unit->now.start = start;
  unit->now.stop_defined = has_stop;
  unit->now.stop = has_stop ? stop : 0.0;
  if (has_tolerance) unit->now.tolerance = fmax(tolerance, MODEL_LEAST_TOLERANCE);
  unit->now.mode = INITIALIZING;
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

API fmi3Status NAME(fmi3ExitInitializationMode)(fmi3Instance instance) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3ExitInitializationMode", IN(INITIALIZING));
  if (status != fmi3OK) return status;
  status = make_consistent(unit);
  if (status != fmi3OK) return failed(unit, status);
  if (!rate_now(unit))
    return failed(unit, say(unit, fmi3Error, "the rates at the start are not numbers"));
  status = begin_guards(unit);
  if (status >= fmi3Error) return failed(unit, status);
  int event_mode = unit->exchanges || unit->shows_events;
  if (!event_mode && !unit->now.stopped) status = settle(unit, -1);
  unit->now.mode = event_mode ? EVENT_MODE : STEPPING;
  return failed(unit, status);
}

API fmi3Status NAME(fmi3EnterEventMode)(fmi3Instance instance) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3EnterEventMode", IN(CONTINUOUS) | IN(STEPPING));
  if (status == fmi3OK && !unit->exchanges && !unit->shows_events)
    status = say(unit, fmi3Error, "the unit handles its events itself: it was instantiated "
                                  "without event mode");
  if (status == fmi3OK) unit->now.mode = EVENT_MODE;
  return status;
}

API fmi3Status NAME(fmi3Terminate)(fmi3Instance instance) {
  Unit *unit = instance;
  fmi3Status status =
      allowed(unit, "fmi3Terminate", IN(EVENT_MODE) | IN(CONTINUOUS) | IN(STEPPING));
  if (status == fmi3OK) unit->now.mode = TERMINATED;
  return status;
}

API fmi3Status NAME(fmi3Reset)(fmi3Instance instance) {
  if (!instance) return fmi3Error;
  set_defaults(instance);
  return fmi3OK;
}

API fmi3Status NAME(fmi3EnterConfigurationMode)(fmi3Instance instance) {
  return say(instance, fmi3Error, "the unit has no structural parameters");
}

API fmi3Status NAME(fmi3ExitConfigurationMode)(fmi3Instance instance) {
  return say(instance, fmi3Error, "the unit has no structural parameters");
}

API fmi3Status NAME(fmi3EnterContinuousTimeMode)(fmi3Instance instance) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3EnterContinuousTimeMode", IN(EVENT_MODE));
  if (status == fmi3OK && !unit->exchanges)
    status = say(unit, fmi3Error, "a unit for co-simulation has no continuous-time mode");
  if (status == fmi3OK) unit->now.mode = CONTINUOUS;
  return status;
}

API fmi3Status NAME(fmi3EnterStepMode)(fmi3Instance instance) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3EnterStepMode", IN(EVENT_MODE));
  if (status == fmi3OK && unit->exchanges)
    status = say(unit, fmi3Error, "a unit for model exchange has no step mode");
  if (status == fmi3OK) unit->now.mode = STEPPING;
  return status;
}

API fmi3Status NAME(fmi3EvaluateDiscreteStates)(fmi3Instance instance) {
  return allowed(instance, "fmi3EvaluateDiscreteStates", IN(INITIALIZING) | IN(EVENT_MODE));
}

API fmi3Status NAME(fmi3UpdateDiscreteStates)(fmi3Instance instance, fmi3Boolean *again,
                                              fmi3Boolean *terminate, fmi3Boolean *nominals,
                                              fmi3Boolean *values, fmi3Boolean *has_next,
                                              fmi3Float64 *next) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3UpdateDiscreteStates", IN(EVENT_MODE));
  if (status != fmi3OK) return status;
  Saved *now = &unit->now;
  now->changed = 0;
  if (!now->stopped) status = settle(unit, now->located);
  now->located = -1;
  now->jumped = 0;
  if (status >= fmi3Error) return failed(unit, status);
  int guard;
  double due = MODEL_GUARDS > 0 ? next_event_time(unit, &guard) : INFINITY;
  if (due <= now->time && !now->stopped) {
    status = settle(unit, guard);
    if (status >= fmi3Error) return failed(unit, status);
    due = next_event_time(unit, &guard);
  }
  if (again) *again = fmi3False;
  if (terminate) *terminate = now->stopped != 0;
  if (nominals) *nominals = fmi3False;
  if (values) *values = now->changed != 0;
  if (has_next) *has_next = isfinite(due);
  if (next) *next = isfinite(due) ? due : 0.0;
  return status;
}

/* -- numbers ------------------------------------------------------------------------------------ */

#define SETTABLE (IN(INSTANTIATED) | IN(INITIALIZING) | IN(EVENT_MODE) | IN(CONTINUOUS) | IN(STEPPING))

static fmi3Status get_one(Unit *unit, fmi3ValueReference reference, double *value) {
  const Saved *now = &unit->now;
  if (reference == 0) { *value = now->time; return fmi3OK; }
  if (reference < FIRST_RATE) { *value = now->x[reference - FIRST_STATE]; return fmi3OK; }
  if (reference < FIRST_VALUE) {
    if (!rate_now(unit)) return say(unit, fmi3Discard, "the rates are not numbers here");
    *value = unit->rate[reference - FIRST_RATE];
    return fmi3OK;
  }
  if (reference < FIRST_SHOWN) {
    if (MODEL_VALUE_KIND[reference - FIRST_VALUE] != VALUE_HIDDEN) {
      *value = now->p[reference - FIRST_VALUE];
      return fmi3OK;
    }
  } else if (reference < FIRST_INDICATOR) {
    if (!shown_now(unit)) return say(unit, fmi3Discard, "an output is not a number here");
    *value = unit->shown[reference - FIRST_SHOWN];
    return fmi3OK;
  } else if (reference < END) {
    double all[COUNT(MODEL_INDICATORS)];
    if (!guards_at(unit, now->time, now->x, unit->others, unit->slopes))
      return say(unit, fmi3Discard, "an event indicator is not a number here");
    indicators(unit, all);
    *value = all[reference - FIRST_INDICATOR];
    return fmi3OK;
  }
  return say(unit, fmi3Error, "there is no variable with the value reference %u", reference);
}

API fmi3Status NAME(fmi3GetFloat64)(fmi3Instance instance, const fmi3ValueReference references[],
                                    size_t count, fmi3Float64 values[], size_t size) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3GetFloat64", ~0u);
  if (status != fmi3OK) return status;
  if (size != count || (count && (!references || !values)))
    return say(unit, fmi3Error, "fmi3GetFloat64 needs as many values as references");
  for (size_t k = 0; k < count; ++k) {
    status = get_one(unit, references[k], &values[k]);
    if (status != fmi3OK) return status;
  }
  return fmi3OK;
}

static fmi3Status set_value(Unit *unit, int place, double value) {
  Saved *now = &unit->now;
  int kind = MODEL_VALUE_KIND[place], early = now->mode <= INITIALIZING;
  const char *name = MODEL_VALUE[place];
  if (kind == VALUE_HIDDEN) return say(unit, fmi3Error, "this variable does not exist");
  if (value < MODEL_LOW[place] || value > MODEL_HIGH[place] ||
      (MODEL_OPEN_LOW[place] && value <= MODEL_LOW[place]))
    return say(unit, fmi3Error, "%s is %.10g, beyond its range", name, value);
  if (kind == VALUE_SETTLED && value != MODEL_DEFAULTS[place])
    return say(unit, fmi3Error,
               "the start of this case follows from %s by a rule that is not in the unit: export "
               "it again with --set %s=%.10g", name, name, value);
  /* Some tools set again what has not changed, whenever they evaluate the unit. */
  if (now->p[place] == value) return fmi3OK;
  if (!early && kind != VALUE_INPUT && kind != VALUE_TUNABLE)
    return say(unit, fmi3Error, "%s is fixed once the unit is initialized", name);
  if (!early && kind == VALUE_TUNABLE && now->mode == CONTINUOUS)
    return say(unit, fmi3Error, "%s may be tuned at events alone", name);
  now->p[place] = value;
  now->touched[place] = kind != VALUE_INPUT || early;
  now->jumped = now->jumped || now->mode == STEPPING;
  unit->rate_known = unit->shown_known = 0;
  if (!early && kind == VALUE_TUNABLE && !model_references(unit))
    return say(unit, fmi3Error, "an invariant has no value with this %s", name);
  return fmi3OK;
}

API fmi3Status NAME(fmi3SetFloat64)(fmi3Instance instance, const fmi3ValueReference references[],
                                    size_t count, const fmi3Float64 values[], size_t size) {
  Unit *unit = instance;
  fmi3Status status = allowed(unit, "fmi3SetFloat64", SETTABLE);
  if (status != fmi3OK) return status;
  if (size != count || (count && (!references || !values)))
    return say(unit, fmi3Error, "fmi3SetFloat64 needs as many values as references");
  for (size_t k = 0; k < count; ++k) {
    fmi3ValueReference reference = references[k];
    if (!isfinite(values[k]))
      return say(unit, fmi3Error, "the value for the value reference %u is not a finite number",
                 reference);
    if (reference >= FIRST_VALUE && reference < FIRST_SHOWN) {
      status = set_value(unit, (int)(reference - FIRST_VALUE), values[k]);
    } else if (reference >= FIRST_STATE && reference < FIRST_RATE) {
      int early = unit->now.mode <= INITIALIZING;
      if (!early && !(unit->exchanges && unit->now.mode == CONTINUOUS))
        return say(unit, fmi3Error, "states are set in initialization mode, or in the "
                                    "continuous-time mode of model exchange");
      if (unit->now.x[reference - FIRST_STATE] != values[k]) {
        unit->now.x[reference - FIRST_STATE] = values[k];
        if (early) unit->now.moved[reference - FIRST_STATE] = 1;
        unit->rate_known = unit->shown_known = 0;
      }
    } else {
      status = say(unit, fmi3Error, "the variable with the value reference %u cannot be set",
                   reference);
    }
    if (status != fmi3OK) return status;
  }
  return fmi3OK;
}

/* All variables are of the type Float64. */
#define OTHER_TYPE(type, ctype)                                                                  \
  API fmi3Status NAME(fmi3Get##type)(fmi3Instance instance, const fmi3ValueReference r[],        \
                                     size_t count, ctype values[], size_t size) {                \
    UNUSED(r); UNUSED(values); UNUSED(size);                                                     \
    return count ? say(instance, fmi3Error, "the unit has no variables of type " #type) : fmi3OK; \
  }                                                                                              \
  API fmi3Status NAME(fmi3Set##type)(fmi3Instance instance, const fmi3ValueReference r[],        \
                                     size_t count, const ctype values[], size_t size) {          \
    UNUSED(r); UNUSED(values); UNUSED(size);                                                     \
    return count ? say(instance, fmi3Error, "the unit has no variables of type " #type) : fmi3OK; \
  }
OTHER_TYPE(Float32, fmi3Float32)
OTHER_TYPE(Int8, fmi3Int8)
OTHER_TYPE(UInt8, fmi3UInt8)
OTHER_TYPE(Int16, fmi3Int16)
OTHER_TYPE(UInt16, fmi3UInt16)
OTHER_TYPE(Int32, fmi3Int32)
OTHER_TYPE(UInt32, fmi3UInt32)
OTHER_TYPE(Int64, fmi3Int64)
OTHER_TYPE(UInt64, fmi3UInt64)
OTHER_TYPE(Boolean, fmi3Boolean)
OTHER_TYPE(String, fmi3String)

API fmi3Status NAME(fmi3GetBinary)(fmi3Instance instance, const fmi3ValueReference r[],
                                   size_t count, size_t sizes[], fmi3Binary values[],
                                   size_t size) {
  UNUSED(r); UNUSED(sizes); UNUSED(values); UNUSED(size);
  return count ? say(instance, fmi3Error, "the unit has no binary variables") : fmi3OK;
}

API fmi3Status NAME(fmi3SetBinary)(fmi3Instance instance, const fmi3ValueReference r[],
                                   size_t count, const size_t sizes[], const fmi3Binary values[],
                                   size_t size) {
  UNUSED(r); UNUSED(sizes); UNUSED(values); UNUSED(size);
  return count ? say(instance, fmi3Error, "the unit has no binary variables") : fmi3OK;
}

/* -- co-simulation ------------------------------------------------------------------------------ */

API fmi3Status NAME(fmi3DoStep)(fmi3Instance instance, fmi3Float64 from, fmi3Float64 length,
                                fmi3Boolean no_return, fmi3Boolean *event_needed,
                                fmi3Boolean *terminate, fmi3Boolean *early_return,
                                fmi3Float64 *last_time) {
  Unit *unit = instance;
  UNUSED(no_return);
  int met = 0;
  fmi3Status status = allowed(unit, "fmi3DoStep", IN(STEPPING));
  if (status != fmi3OK) return status;
  Saved *now = &unit->now;
  double until = from + length;
  if (!isfinite(until) || !(length > 0.0))
    return say(unit, fmi3Error, "a step of %.10g s from t = %.10g s is not possible", length, from);
  if (fabs(from - now->time) > 1e-9 * fmax(length, fabs(now->time)))
    return say(unit, fmi3Error, "the step should begin at t = %.10g s, but the unit is at %.10g s",
               from, now->time);
  if (now->stop_defined && until > now->stop + 1e-9 * fmax(length, fabs(now->stop)))
    return say(unit, fmi3Error, "the step ends at t = %.10g s, beyond the stop time", until);
  if (now->jumped || now->located >= 0) status = settle(unit, now->located);
  now->jumped = 0;
  now->located = -1;
  if (status == fmi3OK) status = go_on(unit, until, &met);
  if (event_needed) *event_needed = met && unit->shows_events;
  if (terminate) *terminate = now->stopped != 0;
  if (early_return) *early_return = status == fmi3OK && now->time < until && !now->stopped;
  if (last_time) *last_time = now->time;
  return failed(unit, status);
}

API fmi3Status NAME(fmi3GetOutputDerivatives)(fmi3Instance instance, const fmi3ValueReference r[],
                                              size_t count, const fmi3Int32 orders[],
                                              fmi3Float64 values[], size_t size) {
  UNUSED(r); UNUSED(count); UNUSED(orders); UNUSED(values); UNUSED(size);
  return say(instance, fmi3Error, "the unit has no time derivatives of outputs");
}

/* -- dependencies ------------------------------------------------------------------------------ */

API fmi3Status NAME(fmi3GetNumberOfVariableDependencies)(fmi3Instance instance,
                                                         fmi3ValueReference r, size_t *count) {
  UNUSED(r); UNUSED(count);
  return say(instance, fmi3Error, "the dependencies of variables do not change");
}

API fmi3Status NAME(fmi3GetVariableDependencies)(
    fmi3Instance instance, fmi3ValueReference dependent, size_t elements[],
    fmi3ValueReference independents[], size_t others[], fmi3DependencyKind kinds[],
    size_t count) {
  UNUSED(dependent); UNUSED(elements); UNUSED(independents); UNUSED(others); UNUSED(kinds);
  UNUSED(count);
  return say(instance, fmi3Error, "the dependencies of variables do not change");
}

/* -- clocks: there are none --------------------------------------------------------------------- */

#define NO_CLOCK(name, ...)                                            \
  API fmi3Status NAME(name)(fmi3Instance instance, __VA_ARGS__) {      \
    UNUSED(r); UNUSED(count); UNUSED(a); UNUSED(b);                    \
    return say(instance, fmi3Error, "the unit has no clocks");         \
  }
API fmi3Status NAME(fmi3GetClock)(fmi3Instance instance, const fmi3ValueReference r[],
                                  size_t count, fmi3Clock values[]) {
  UNUSED(r); UNUSED(values);
  return count ? say(instance, fmi3Error, "the unit has no clocks") : fmi3OK;
}
API fmi3Status NAME(fmi3SetClock)(fmi3Instance instance, const fmi3ValueReference r[],
                                  size_t count, const fmi3Clock values[]) {
  UNUSED(r); UNUSED(values);
  return count ? say(instance, fmi3Error, "the unit has no clocks") : fmi3OK;
}
NO_CLOCK(fmi3GetIntervalDecimal, const fmi3ValueReference r[], size_t count, fmi3Float64 a[],
         fmi3IntervalQualifier b[])
NO_CLOCK(fmi3GetShiftFraction, const fmi3ValueReference r[], size_t count, fmi3UInt64 a[],
         fmi3UInt64 b[])
NO_CLOCK(fmi3SetIntervalFraction, const fmi3ValueReference r[], size_t count,
         const fmi3UInt64 a[], const fmi3UInt64 b[])
NO_CLOCK(fmi3SetShiftFraction, const fmi3ValueReference r[], size_t count, const fmi3UInt64 a[],
         const fmi3UInt64 b[])
API fmi3Status NAME(fmi3GetIntervalFraction)(fmi3Instance instance, const fmi3ValueReference r[],
                                             size_t count, fmi3UInt64 a[], fmi3UInt64 b[],
                                             fmi3IntervalQualifier c[]) {
  UNUSED(r); UNUSED(count); UNUSED(a); UNUSED(b); UNUSED(c);
  return say(instance, fmi3Error, "the unit has no clocks");
}
API fmi3Status NAME(fmi3GetShiftDecimal)(fmi3Instance instance, const fmi3ValueReference r[],
                                         size_t count, fmi3Float64 a[]) {
  UNUSED(r); UNUSED(count); UNUSED(a);
  return say(instance, fmi3Error, "the unit has no clocks");
}
API fmi3Status NAME(fmi3SetIntervalDecimal)(fmi3Instance instance, const fmi3ValueReference r[],
                                            size_t count, const fmi3Float64 a[]) {
  UNUSED(r); UNUSED(count); UNUSED(a);
  return say(instance, fmi3Error, "the unit has no clocks");
}
API fmi3Status NAME(fmi3SetShiftDecimal)(fmi3Instance instance, const fmi3ValueReference r[],
                                         size_t count, const fmi3Float64 a[]) {
  UNUSED(r); UNUSED(count); UNUSED(a);
  return say(instance, fmi3Error, "the unit has no clocks");
}
API fmi3Status NAME(fmi3ActivateModelPartition)(fmi3Instance instance, fmi3ValueReference clock,
                                                fmi3Float64 time) {
  UNUSED(clock); UNUSED(time);
  return say(instance, fmi3Error, "the unit has no model partitions");
}
