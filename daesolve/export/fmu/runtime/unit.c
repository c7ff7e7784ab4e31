/* One unit of FMI 3.0, in one translation unit: only its functions are visible outside. */

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__) || defined(__clang__)
#define CASADI_SYMBOL_EXPORT static __attribute__((unused))
#else
#define CASADI_SYMBOL_EXPORT static
#endif

#if defined(__GNUC__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#include "equations.c"
#if defined(__GNUC__)
#pragma GCC diagnostic pop
#endif

#include "unit.h"
#include "tables.h"
#include "coefficients.h"
#include "steps.c"
#include "functions.c"
#include "guards.c"
#include "events.c"
#include "decisions.c"
#include "contacts.c"
#include "start.c"
#include "interface.c"
#include "exchange.c"
#include "derivatives.c"
#include "saved.c"
