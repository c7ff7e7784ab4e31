/* Drives a unit without Python: both interfaces, saved states, wrong calls. It includes the sources
 * of the unit, so that checks of the compiler see them; it prints the states at the end. */
#include "unit.c"

static int messages = 0;

static void count(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                  fmi3String message) {
  (void)environment; (void)category;
  messages += status >= fmi3Warning && message && *message;
}

static int failures = 0;
#define EXPECT(condition)                                                       \
  do {                                                                          \
    if (!(condition)) { ++failures; fprintf(stderr, "line %d: %s\n", __LINE__, #condition); } \
  } while (0)

static fmi3Instance stepping(double until) {
  fmi3Instance unit = fmi3InstantiateCoSimulation("one", MODEL_TOKEN, NULL, false, false, false,
                                                  false, NULL, 0, NULL, count, NULL);
  EXPECT(unit != NULL);
  EXPECT(fmi3EnterInitializationMode(unit, true, 1e-12, MODEL_START_TIME, true, until) == fmi3OK);
  EXPECT(fmi3ExitInitializationMode(unit) == fmi3OK);
  return unit;
}

static void step_to(fmi3Instance unit, double from, double until, int steps) {
  bool needed, ends, early;
  double last, t = from;
  for (int k = 0; k < steps; ++k) {
    double end = k + 1 < steps ? from + (until - from) * (k + 1) / steps : until;
    EXPECT(fmi3DoStep(unit, t, end - t, true, &needed, &ends, &early, &last) == fmi3OK);
    t = last;
  }
}

static void save_and_restore(double until) {
  fmi3Instance one = stepping(until), other = stepping(until);
  double states[2][COUNT(MODEL_STATES)];
  fmi3FMUState state = NULL, again = NULL;
  size_t size = 0;
  step_to(one, MODEL_START_TIME, until / 2, 10);
  EXPECT(fmi3GetFMUState(one, &state) == fmi3OK);
  EXPECT(fmi3SerializedFMUStateSize(one, state, &size) == fmi3OK);
  fmi3Byte *bytes = malloc(size);
  EXPECT(fmi3SerializeFMUState(one, state, bytes, size) == fmi3OK);
  EXPECT(fmi3DeserializeFMUState(other, bytes, size, &again) == fmi3OK);
  EXPECT(fmi3SetFMUState(other, again) == fmi3OK);
  bytes[0] ^= 1;
  fmi3FMUState none = NULL;
  EXPECT(fmi3DeserializeFMUState(other, bytes, size, &none) == fmi3Error);
  EXPECT(fmi3DeserializeFMUState(other, bytes, size - 1, &none) == fmi3Error);
  free(bytes);
  fmi3Instance both[] = {one, other};
  for (int k = 0; k < 2; ++k) {
    step_to(both[k], until / 2, until, 10);
    EXPECT(fmi3GetContinuousStates(both[k], states[k], MODEL_STATES) == fmi3OK);
  }
  EXPECT(memcmp(states[0], states[1], MODEL_STATES * sizeof(double)) == 0);
  EXPECT(fmi3FreeFMUState(one, &state) == fmi3OK);
  EXPECT(fmi3FreeFMUState(other, &again) == fmi3OK);
  for (int n = 0; n < MODEL_STATES; ++n) printf("%.17g\n", states[0][n]);
  fmi3FreeInstance(one);
  fmi3FreeInstance(other);
}

static void exchange(void) {
  fmi3Instance unit =
      fmi3InstantiateModelExchange("two", MODEL_TOKEN, NULL, false, true, NULL, count);
  bool again, ends, nominals, values, next, enters;
  double when, x[COUNT(MODEL_STATES)], rate[COUNT(MODEL_STATES)], z[COUNT(MODEL_INDICATORS)];
  EXPECT(fmi3GetContinuousStates(unit, x, MODEL_STATES) == fmi3OK);
  EXPECT(fmi3SetTime(unit, 0.0) == fmi3Error);
  EXPECT(fmi3EnterInitializationMode(unit, false, 0.0, MODEL_START_TIME, false, 0.0) == fmi3OK);
  EXPECT(fmi3ExitInitializationMode(unit) == fmi3OK);
  EXPECT(fmi3UpdateDiscreteStates(unit, &again, &ends, &nominals, &values, &next, &when) == fmi3OK);
  EXPECT(fmi3EnterContinuousTimeMode(unit) == fmi3OK);
  EXPECT(fmi3GetContinuousStateDerivatives(unit, rate, MODEL_STATES) == fmi3OK);
  EXPECT(fmi3GetEventIndicators(unit, z, MODEL_INDICATORS) == fmi3OK);
  EXPECT(fmi3CompletedIntegratorStep(unit, true, &enters, &ends) == fmi3OK);
  EXPECT(fmi3GetContinuousStates(unit, x, MODEL_STATES) == fmi3OK);
  x[0] = NAN;
  EXPECT(fmi3SetContinuousStates(unit, x, MODEL_STATES) == fmi3Error);
  EXPECT(fmi3SetContinuousStates(unit, x, MODEL_STATES + 1) == fmi3Error);
  EXPECT(fmi3SetTime(unit, INFINITY) == fmi3Error);
  EXPECT(fmi3DoStep(unit, 0.0, 0.1, true, &enters, &ends, &again, &when) == fmi3Error);
  fmi3ValueReference references[] = {1, END, 4000000000u};
  double numbers[3] = {NAN, 0.0, 0.0}, seed[3] = {1.0, 1.0, 1.0};
  EXPECT(fmi3SetFloat64(unit, references, 1, numbers, 1) == fmi3Error);
  EXPECT(fmi3GetFloat64(unit, references, 3, numbers, 3) == fmi3Error);
  EXPECT(fmi3GetFloat64(unit, NULL, 2, numbers, 2) == fmi3Error);
  EXPECT(fmi3GetInt32(unit, references, 1, NULL, 1) == fmi3Error);
  references[1] = FIRST_RATE;
  EXPECT(fmi3GetDirectionalDerivative(unit, references + 1, 1, references, 1, seed, 1, numbers,
                                      1) == fmi3OK);
  EXPECT(fmi3GetDirectionalDerivative(unit, references, 1, references + 2, 1, seed, 1, numbers,
                                      1) == fmi3Error);
  EXPECT(fmi3GetAdjointDerivative(unit, references + 1, 1, references, 1, seed, 1, numbers, 1) ==
         fmi3OK);
  EXPECT(fmi3GetAdjointDerivative(unit, references + 2, 1, references, 1, seed, 1, numbers, 1) ==
         fmi3Error);
  EXPECT(fmi3Terminate(unit) == fmi3OK);
  EXPECT(fmi3Terminate(unit) == fmi3Error);
  EXPECT(fmi3Reset(unit) == fmi3OK);
  EXPECT(fmi3EnterInitializationMode(unit, false, 0.0, NAN, false, 0.0) == fmi3Error);
  fmi3FreeInstance(unit);
}

int main(int argc, char **argv) {
  double until = argc > 1 ? atof(argv[1]) : 1.0;
  EXPECT(fmi3InstantiateCoSimulation("no", "other", NULL, false, false, false, false, NULL, 0, NULL,
                                     count, NULL) == NULL);
  EXPECT(fmi3InstantiateModelExchange(NULL, MODEL_TOKEN, NULL, false, false, NULL, NULL) == NULL);
  EXPECT(fmi3Reset(NULL) == fmi3Error && fmi3Terminate(NULL) == fmi3Error);
  fmi3FreeInstance(NULL);
  save_and_restore(until);
  exchange();
  EXPECT(messages > 0);
  return failures != 0;
}
