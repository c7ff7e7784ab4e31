/* What a page asks of the unit in it: to begin with some values, and to go on row by row.
 *
 * It speaks to the unit as any importing tool does, by the functions of FMI 3.0.
 */

#include "unit.c"
#include "page.h"

#define EXPORTED(name) __attribute__((export_name(#name), used))
#define WORDS 65536 /* characters of the events between two looks */

/* (t, x, p) -> residuals, and (t, x, p, shown) -> numbers of the drawing; they are generated. */
int page_drift(const double **, double **, long long int *, double *, int);
int page_drawn(const double **, double **, long long int *, double *, int);
/* p -> p with the values that follow from others. */
int page_derived(const double **, double **, long long int *, double *, int);

#define ROW (1 + 2 * MODEL_STATES + MODEL_SHOWN + PAGE_DRIFT + PAGE_DRAWN)

static fmi3Instance instance;
static char reason[MESSAGE], happened[WORDS];
static size_t said;
static double rows[PAGE_ROWS * ROW], derived[COUNT(MODEL_VALUES)];
static double page_work[COUNT(PAGE_WORK)];
static long long int page_integers[COUNT(PAGE_INTEGERS)];
static double reached;
static int ended, lost, changed;

static void hear(fmi3InstanceEnvironment environment, fmi3Status status, fmi3String category,
                 fmi3String message) {
  UNUSED(environment); UNUSED(category);
  size_t length = strlen(message);
  if (status != fmi3OK) {
    strncpy(reason, message, sizeof reason - 1);
  } else if (said + length + 2 < sizeof happened) {
    memcpy(happened + said, message, length);
    said += length;
    happened[said++] = '\n';
    happened[said] = 0;
  } else {
    lost = 1;
  }
}

EXPORTED(reason) const char *page_reason(void) { return reason; }
EXPORTED(rows) const double *page_rows(void) { return rows; }
EXPORTED(width) int page_width(void) { return ROW; }
EXPORTED(ended) int page_ended(void) { return ended; }
EXPORTED(lost) int page_lost(void) { return lost; }
EXPORTED(reached) double page_reached(void) { return reached; }

/* The names and times of events since the last look. */
EXPORTED(happened) const char *page_happened(void) { return happened; }
EXPORTED(forget) void page_forget(void) { happened[said = 0] = 0; }

EXPORTED(begin) int page_begin(double tolerance, double start) {
  if (instance) fmi3FreeInstance(instance);
  reason[0] = 0;
  ended = lost = changed = 0;
  page_forget();
  instance = fmi3InstantiateCoSimulation("page", MODEL_TOKEN, NULL, fmi3False, fmi3True, fmi3False,
                                         fmi3False, NULL, 0, NULL, hear, NULL);
  return instance ? (int)fmi3EnterInitializationMode(instance, fmi3True, tolerance, start,
                                                     fmi3False, 0.0)
                  : (int)fmi3Fatal;
}

EXPORTED(put) int page_put(unsigned reference, double value) {
  changed = 1;
  fmi3ValueReference references[] = {reference};
  return (int)fmi3SetFloat64(instance, references, 1, &value, 1);
}

/* Let a state keep its value when the start is made consistent, though nobody set it. */
EXPORTED(keep) void page_keep(unsigned reference) {
  ((Unit *)instance)->now.moved[reference - 1] = 1;
}

static void derive(void) {
  const double *now = ((const Unit *)instance)->now.p, *from[] = {now};
  double *to[] = {derived};
  page_derived(from, to, page_integers, page_work, 0);
  for (unsigned k = 0; k < MODEL_VALUES; ++k)
    if (derived[k] != now[k]) page_put(1 + 2 * MODEL_STATES + k, derived[k]);
}

EXPORTED(start) int page_start(double start) {
  reached = start;
  if (changed) derive();
  fmi3Status status = fmi3ExitInitializationMode(instance);
  ended = status == fmi3Warning; /* the motion ends at its start */
  return (int)status;
}

static fmi3Status get(fmi3ValueReference first, size_t count, double *values) {
  for (size_t k = 0; k < count; ++k) {
    fmi3ValueReference reference = first + (fmi3ValueReference)k;
    if (fmi3GetFloat64(instance, &reference, 1, values + k, 1) != fmi3OK) values[k] = NAN;
  }
  return fmi3OK;
}

/* The time, the states, their rates, what is shown, the residuals, the numbers of the drawing. */
static void look(double *row) {
  double *shown = row + 1 + 2 * MODEL_STATES;
  get(0, 1 + 2 * MODEL_STATES, row);
  get(1 + 2 * MODEL_STATES + MODEL_VALUES, MODEL_SHOWN, shown);
  const double *from[] = {row, row + 1, ((const Unit *)instance)->now.p, shown};
  double *drift[] = {shown + MODEL_SHOWN}, *drawn[] = {shown + MODEL_SHOWN + PAGE_DRIFT};
  page_drift(from, drift, page_integers, page_work, 0);
  page_drawn(from, drawn, page_integers, page_work, 0);
}

/* Go on to times first + k * step, k from `from` to below `to`; return how many rows there are. */
EXPORTED(go) int page_go(double first, double step, double last, int from, int to) {
  int count = 0;
  for (int k = from; k < to && !ended && count < PAGE_ROWS; ++k) {
    double until = fmin(first + k * step, last);
    if (until > reached) {
      fmi3Boolean stops = fmi3False;
      fmi3Status status = fmi3DoStep(instance, reached, until - reached, fmi3False, NULL, &stops,
                                     NULL, &reached);
      if (status >= fmi3Error) { ended = 2; break; }
      if (stops) ended = 1;
    }
    look(rows + ROW * count++);
  }
  return count;
}
