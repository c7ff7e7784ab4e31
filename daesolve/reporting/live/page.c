/* What a page asks of the unit in it: to begin with some values, and to go on row by row.
 *
 * It speaks to the unit as any importing tool does, by the functions of FMI 3.0.
 */

#include <string.h>

#define BEFORE_RESETS remember
#define AFTER_RESETS add_up
#include "unit.h"
#include "page.h"

/* (t, x before, x after, p) -> what an event adds to each sum; it is generated. */
int page_added(const double **, double **, long long int *, double *, int);

static double page_work[COUNT(PAGE_WORK)], before_resets[COUNT(MODEL_STATES)];
static double sums[COUNT(PAGE_SUMS)], added[COUNT(PAGE_SUMS)];
static long long int page_integers[COUNT(PAGE_INTEGERS)];

static void remember(const Unit *unit) {
  memcpy(before_resets, unit->now.x, sizeof before_resets);
}

static int counted(const Unit *unit, int event);

/* Add up what the drawing counts over events. */
static void add_up(const Unit *unit) {
  if (PAGE_SUMS == 0) return;
  const double *from[] = {&unit->now.time, before_resets, unit->now.x, unit->now.p};
  double *to[] = {added};
  page_added(from, to, page_integers, page_work, 0);
  for (int k = 0; k < PAGE_SUMS; ++k) if (counted(unit, PAGE_COUNTED[k])) sums[k] += added[k];
}

#include "unit.c"

/* Whether one of the guards of an event has fired. */
static int counted(const Unit *unit, int event) {
  for (int k = 0; k < MODEL_GUARDS; ++k) if (unit->fired[k] && MODEL_OWNER[k] == event) return 1;
  return 0;
}

#define EXPORTED(name) __attribute__((export_name(#name), used))
#define WORDS 65536 /* characters of the events between two looks */

/* (t, x, p) -> residuals, and (t, x, p, shown, sums) -> numbers of the drawing. */
int page_drift(const double **, double **, long long int *, double *, int);
int page_drawn(const double **, double **, long long int *, double *, int);
/* p -> p with the values that follow from others. */
int page_derived(const double **, double **, long long int *, double *, int);

#define ROW (1 + 2 * MODEL_STATES + MODEL_SHOWN + PAGE_DRIFT + PAGE_DRAWN)

static fmi3Instance instance;
static char reason[MESSAGE], happened[WORDS];
static size_t said;
static double rows[PAGE_ROWS * ROW], derived[COUNT(MODEL_VALUES)];
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
  memset(sums, 0, sizeof sums);
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

/* -- why no start is possible ------------------------------------------------------------------- */

#define TRIES 300
#define STARTED COUNT(MODEL_STARTS)

static double asked[MODEL_STATES], misses[STARTED], sizes[STARTED], trial_links[STARTED];
static double slopes[STARTED * MODEL_STATES], normal[MODEL_STATES * MODEL_STATES];

static int links_at(Generated *function, const double *x, double *links) {
  Unit *unit = instance;
  const double *from[] = {&unit->now.time, x, unit->now.p};
  double *to[] = {links, slopes};
  return call(unit, function, from, to);
}

static double square(const double *links, int rows) {
  double sum = 0.0;
  for (int i = 0; i < rows; ++i) sum += links[i] / sizes[i] * (links[i] / sizes[i]);
  return sum;
}

/* The smallest residuals of constraints over the states that may move, by Levenberg's method; each
 * counts relative to its terms. Returns the sum of their squares. */
static double least_miss(Generated *function, int rows, int first, int end, const int32_t *fixed) {
  double x[MODEL_STATES], next[MODEL_STATES], step[MODEL_STATES], damping = 1e-3, typical = 0.0;
  memcpy(x, asked, sizeof x);
  if (!links_at(function, x, misses)) return NAN;
  for (int n = first; n < end; ++n) typical = fmax(typical, fabs(x[n]));
  if (typical == 0.0) typical = 1.0;
  for (int i = 0; i < rows; ++i) {
    sizes[i] = 0.0;
    for (int n = first; n < end; ++n) sizes[i] += fabs(slopes[n * rows + i]) * typical;
    if (!(sizes[i] > 0.0) || !isfinite(sizes[i])) sizes[i] = 1.0;
  }
  double error = square(misses, rows);
  for (int tries = 0; tries < TRIES && error > 1e-30 && damping < 1e12; ++tries) {
    int width = 0, free[MODEL_STATES];
    double largest = 0.0;
    if (!links_at(function, x, misses)) return NAN;
    for (int n = first; n < end; ++n) if (!fixed[n]) free[width++] = n;
    for (int a = 0; a < width; ++a) {
      step[a] = 0.0;
      for (int i = 0; i < rows; ++i)
        step[a] -= slopes[free[a] * rows + i] * misses[i] / (sizes[i] * sizes[i]);
      for (int b = 0; b <= a; ++b) {
        double sum = 0.0;
        for (int i = 0; i < rows; ++i)
          sum += slopes[free[a] * rows + i] * slopes[free[b] * rows + i] / (sizes[i] * sizes[i]);
        normal[a * width + b] = sum;
        if (a == b) largest = fmax(largest, sum);
      }
    }
    for (int a = 0; a < width; ++a) normal[a * width + a] += damping * largest + DBL_MIN;
    for (int a = 0; a < width; ++a) {
      for (int b = 0; b <= a; ++b) {
        double sum = normal[a * width + b];
        for (int k = 0; k < b; ++k) sum -= normal[a * width + k] * normal[b * width + k];
        normal[a * width + b] = a == b ? sqrt(fmax(sum, DBL_MIN)) : sum / normal[b * width + b];
      }
      for (int k = 0; k < a; ++k) step[a] -= normal[a * width + k] * step[k];
      step[a] /= normal[a * width + a];
    }
    for (int a = width - 1; a >= 0; --a) {
      for (int k = a + 1; k < width; ++k) step[a] -= normal[k * width + a] * step[k];
      step[a] /= normal[a * width + a];
    }
    memcpy(next, x, sizeof next);
    for (int a = 0; a < width; ++a) next[free[a]] += step[a];
    double other = links_at(function, next, trial_links) ? square(trial_links, rows) : NAN;
    if (other < error) {
      memcpy(x, next, sizeof x);
      memcpy(misses, trial_links, sizeof misses);
      error = other;
      damping *= 0.1;
    } else {
      damping *= 10.0;
    }
  }
  links_at(function, x, misses);
  return error;
}

/* After a refused start, of positions or of velocities: whether the constraints could be met if no
 * state were given (1), or not (0), or whether they are met as it is (-1). */
EXPORTED(missed) int page_missed(int velocities) {
  Generated *function = velocities ? model_velocities : model_positions;
  int rows = velocities ? MODEL_VELOCITIES : MODEL_POSITIONS;
  int first = velocities ? PAGE_POSITIONS : 0, end = velocities ? MODEL_STATES : PAGE_POSITIONS;
  static const int32_t none[MODEL_STATES];
  if (rows == 0) return -1;
  double whole = least_miss(function, rows, first, end, none);
  double found = least_miss(function, rows, first, end, ((const Unit *)instance)->now.moved);
  return found < 1e-20 ? -1 : whole < 1e-20;
}
EXPORTED(misses) const double *page_misses(void) { return misses; }
EXPORTED(sizes) const double *page_sizes(void) { return sizes; }

/* -- a motion ------------------------------------------------------------------------------------ */

EXPORTED(start) int page_start(double start) {
  reached = start;
  if (changed) derive();
  memcpy(asked, ((const Unit *)instance)->now.x, sizeof asked);
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
  const double *from[] = {row, row + 1, ((const Unit *)instance)->now.p, shown, sums};
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
