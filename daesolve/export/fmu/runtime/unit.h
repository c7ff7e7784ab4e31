/* An instance of the unit, and the interfaces of its parts.
 *
 * A saved state is `Saved`, numbers only: it is copied as it is, and two instances with the same
 * bytes in it continue identically to the last bit. All else of an instance is working memory.
 */
#ifndef DAESOLVE_UNIT_H
#define DAESOLVE_UNIT_H

#include "fmi3.h"
#include "model.h"

#define COUNT(n) ((n) > 0 ? (n) : 1)
#define STAGES 16 /* of the method, including those of its dense output */
#define MESSAGE 512
#define REMEMBERED 5 /* instants at which a contact closed: enough to show where they accumulate */

typedef enum {
  INSTANTIATED, INITIALIZING, EVENT_MODE, CONTINUOUS, STEPPING, TERMINATED, FAILED
} Mode;

typedef struct {
  double time, start, stop;
  double tolerance; /* of a step, relative, and of each state as a part of its nominal value */
  double length;    /* of the next step, s; zero if none was taken yet */
  double longest;   /* of the steps so far, s */
  double entered;   /* when guards were last measured to fire or to begin, s */
  double last;      /* when resets happened last, s */
  double x[COUNT(MODEL_STATES)];
  double p[COUNT(MODEL_VALUES)];
  double largest[COUNT(MODEL_EVENTS)];  /* of the guards of an event */
  double zero[COUNT(MODEL_GUARDS)];     /* what counts as zero of each guard */
  double rounding[COUNT(MODEL_GUARDS)]; /* what its terms are rounded by */
  double fastest[COUNT(MODEL_GUARDS)];  /* its largest rate */
  double early[COUNT(MODEL_GUARDS)];    /* how far before zero a guard fired */
  double reached[COUNT(MODEL_GUARDS)];  /* how far guards go that are located only at zero */
  double passed[COUNT(MODEL_GUARDS)];   /* until when a guard that fired may still be at zero, s */
  double shift[COUNT(MODEL_GUARDS)];    /* of the indicator after its own event */
  int32_t armed[COUNT(MODEL_GUARDS)];
  int32_t side[COUNT(MODEL_GUARDS)];    /* on which a guard is that counts either way; 0 at zero */
  int32_t begun_past[COUNT(MODEL_GUARDS)]; /* which were past zero by rounding at the start */
  int32_t touched[COUNT(MODEL_VALUES)]; /* which values were set from outside */
  int32_t moved[COUNT(MODEL_STATES)];   /* and which states */
  double met[COUNT(MODEL_TOGETHER)][REMEMBERED]; /* when contacts closed last, s; the latest last */
  int32_t apart;                        /* whether a guard that passes was away from zero before */
  int32_t located;                      /* the guard at which a step has ended, or -1 */
  int32_t mode, at_once, jumped, stopped, changed, stop_defined;
} Saved;

#if MODEL_TOGETHER
#define TOUCHES MODEL_TOGETHER /* contacts */
#define PUSHES (2 * TOUCHES)   /* their gaps, then their slips */
#define MODES (1 << PUSHES)

/* Gaps; rates of gaps and slips, with the sizes of their terms; coefficients of restitution and friction;
 * how rates answer reactions, and what they are without these: as `model_contacts` writes them. */
typedef struct {
  double places[TOUCHES];
  double gaps[TOUCHES], gap_sizes[TOUCHES], slips[TOUCHES], slip_sizes[TOUCHES];
  double back[TOUCHES], friction[TOUCHES], holding[TOUCHES], sideways[TOUCHES];
  double matrix[PUSHES][PUSHES], free[PUSHES], size[PUSHES];
  double thrown[PUSHES][COUNT(MODEL_SPEEDS)];
} Contacts;

/* Reactions that agree with states, and how far conditions are from their borders. */
typedef struct {
  int state[TOUCHES], family; /* whether others give the same motion */
  double reactions[PUSHES], rates[PUSHES], slack[TOUCHES], inside, largest;
} Answer;

/* How many motions are possible; if it is one, the answer that shows it best, and which answers may
 * follow: `listed`. Before that these are the numbers of their motions. */
typedef struct {
  int dependent, count, best, answers, listed[MODES];
  Answer all[MODES + 1];
} Decision;
#endif

typedef struct {
  Saved now;
  int exchanges;     /* whether it is for Model Exchange */
  int shows_events;  /* whether the tool handles events of Co-Simulation in event mode */
  int returns_early; /* and whether a step may end at an event */
  int logging;
  fmi3InstanceEnvironment environment;
  fmi3LogMessageCallback log;
  char *name;
  double work[COUNT(MODEL_WORK)];
  long long int integers[COUNT(MODEL_INTEGERS)];
  double stages[STAGES][COUNT(MODEL_STATES)];
  double noise[COUNT(MODEL_STATES)]; /* of the rates, from rounding of the states */
  double trial[COUNT(MODEL_STATES)], place[COUNT(MODEL_STATES)], ahead[COUNT(MODEL_STATES)];
  double guards[COUNT(MODEL_GUARDS)], first[COUNT(MODEL_GUARDS)]; /* and their rates */
  double rates[COUNT(MODEL_GUARDS)]; /* a moment later where one at zero has none */
  double others[COUNT(MODEL_GUARDS)], slopes[COUNT(MODEL_GUARDS)];
  double before[COUNT(MODEL_GUARDS)], before_rates[COUNT(MODEL_GUARDS)];
  double turns[STAGES][COUNT(MODEL_GUARDS)]; /* rates of guards at the stages */
  double arguments[2][COUNT(MODEL_ARGUMENTS)], moving[2][COUNT(MODEL_ARGUMENTS)];
  double sizes[COUNT(MODEL_GUARDS)], floors[COUNT(MODEL_GUARDS)];
  int fired[COUNT(MODEL_GUARDS)];
  double column[COUNT(MODEL_GUARDS)];
  double after_x[COUNT(MODEL_STATES)], after_p[COUNT(MODEL_VALUES)];
  double residuals[2][COUNT(MODEL_LINKS)];
  double factors[COUNT(MODEL_ROWS)];
  double shown[COUNT(MODEL_SHOWN)], rate[COUNT(MODEL_STATES)];
  double along_t, along_x[COUNT(MODEL_STATES)], along_p[COUNT(MODEL_VALUES)];
  double of_rate[COUNT(MODEL_STATES)], of_shown[COUNT(MODEL_SHOWN)];
  double of_guards[COUNT(MODEL_GUARDS)];
  double links[COUNT(MODEL_STARTS)], jacobian[COUNT(MODEL_STARTS * MODEL_STATES)];
  double gram[COUNT(MODEL_STARTS * MODEL_STARTS)], solution[COUNT(MODEL_STARTS)];
  int shown_known, rate_known;
#if MODEL_TOGETHER
  Decision decision;
#endif
} Unit;

/* What a program that includes the unit does at each event; `fired` says which guards passed. */
#ifndef AFTER_RESETS
#define BEFORE_RESETS(unit)
#define AFTER_RESETS(unit)
#endif

/* Write a sentence to the logger, and return the status. */
static fmi3Status say(Unit *unit, fmi3Status status, const char *format, ...);

/* The functions of the model at a state; they return 0 if a value is not a number. */
static int rate_at(Unit *unit, double t, const double *x, double *rate);
static int guards_at(Unit *unit, double t, const double *x, double *guards, double *rates);
static int has_pole(Unit *unit, int guard, double t, const double *x);
static int terms_at(Unit *unit, double *terms);
static int arguments_at(Unit *unit, double t, const double *x, double *values, double *rates);

/* Guards (guards.c) and events (events.c). */
static fmi3Status begin_guards(Unit *unit);
static fmi3Status settle(Unit *unit, int located);
static void list_event(Unit *unit, int guard);
static int measure(Unit *unit);
static double past(const Unit *unit, int guard, double value);
static void take_sides(Unit *unit, const int *except);
static void pass_poles(Unit *unit, int everywhere);
static double next_event_time(Unit *unit, int *guard);
static void note_step(Unit *unit);
static int ends_at_zero(const Unit *unit);
static void indicators(Unit *unit, double *values);
static double indicator_slope(const Unit *unit, int guard);

#if MODEL_TOGETHER
/* Contacts that are decided together (contacts.c). */
static fmi3Status decide_together(Unit *unit);
static fmi3Status begin_together(Unit *unit);
#endif

/* Integration (steps.c) and the start (start.c). */
static fmi3Status go_on(Unit *unit, double until, int *met);
static fmi3Status make_consistent(Unit *unit);

#endif
