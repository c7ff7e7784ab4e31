/* Steps a unit by the importer of the FMI reference project, and prints its states.
 *
 * Arguments: the shared library, the token, how many states it has, the start, the length and number
 * of the steps, and the tolerance.
 */
#include <stdio.h>
#include <stdlib.h>

#include "FMI3.h"

static void report(FMIInstance *instance, FMIStatus status, const char *category,
                   const char *message) {
  (void)instance;
  fprintf(stderr, "%d %s: %s\n", (int)status, category, message);
}

int main(int argc, char **argv) {
  if (argc != 8) return 2;
  size_t states = (size_t)atoi(argv[3]), steps = (size_t)atoi(argv[6]);
  double start = atof(argv[4]), length = atof(argv[5]), tolerance = atof(argv[7]), last;
  fmi3Boolean event, terminate, early;
  double values[1024];
  fmi3ValueReference references[1024];
  FMIInstance *unit = FMICreateInstance("unit", report, NULL);
  if (states > 1024 || FMILoadPlatformBinary(unit, argv[1]) > FMIWarning) return 3;
  for (size_t k = 0; k < states; ++k) references[k] = (fmi3ValueReference)(k + 1);
  if (FMI3InstantiateCoSimulation(unit, argv[2], NULL, fmi3False, fmi3False, fmi3False, fmi3False,
                                  NULL, 0, NULL) > FMIWarning ||
      FMI3EnterInitializationMode(unit, fmi3True, tolerance, start, fmi3False, 0.0) > FMIWarning ||
      FMI3ExitInitializationMode(unit) > FMIWarning)
    return 4;
  for (size_t step = 0; step <= steps; ++step) {
    if (FMI3GetFloat64(unit, references, states, values, states) > FMIWarning) return 5;
    for (size_t k = 0; k < states; ++k) printf("%.17g%c", values[k], k + 1 < states ? ' ' : '\n');
    if (step == steps) break;
    double time = start + (double)step * length;
    if (FMI3DoStep(unit, time, start + (double)(step + 1) * length - time, fmi3True, &event,
                   &terminate, &early, &last) > FMIWarning)
      return 6;
  }
  FMI3Terminate(unit);
  FMI3FreeInstance(unit);
  return 0;
}
