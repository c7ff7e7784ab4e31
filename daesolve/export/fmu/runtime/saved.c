/* The whole state of a unit: get, set, serialize, deserialize. */

typedef struct {
  char token[40];
  uint64_t size;
  Saved saved;
} Stored;

API fmi3Status NAME(fmi3GetFMUState)(fmi3Instance instance, fmi3FMUState *state) {
  Unit *unit = instance;
  if (!unit || !state) return fmi3Error;
  Stored *stored = *state ? *state : calloc(1, sizeof *stored);
  if (!stored) return say(unit, fmi3Error, "out of memory for the state");
  strncpy(stored->token, MODEL_TOKEN, sizeof stored->token - 1);
  stored->size = sizeof(Saved);
  stored->saved = unit->now;
  *state = stored;
  return fmi3OK;
}

API fmi3Status NAME(fmi3SetFMUState)(fmi3Instance instance, fmi3FMUState state) {
  Unit *unit = instance;
  if (!unit || !state) return fmi3Error;
  unit->now = ((const Stored *)state)->saved;
  unit->rate_known = unit->shown_known = 0;
  return fmi3OK;
}

API fmi3Status NAME(fmi3FreeFMUState)(fmi3Instance instance, fmi3FMUState *state) {
  if (!instance || !state) return fmi3Error;
  free(*state);
  *state = NULL;
  return fmi3OK;
}

API fmi3Status NAME(fmi3SerializedFMUStateSize)(fmi3Instance instance, fmi3FMUState state,
                                                size_t *size) {
  if (!instance || !state || !size) return fmi3Error;
  *size = sizeof(Stored);
  return fmi3OK;
}

API fmi3Status NAME(fmi3SerializeFMUState)(fmi3Instance instance, fmi3FMUState state,
                                           fmi3Byte bytes[], size_t size) {
  if (!instance || !state || !bytes) return fmi3Error;
  if (size < sizeof(Stored))
    return say(instance, fmi3Error, "the state needs %u bytes", (unsigned)sizeof(Stored));
  memcpy(bytes, state, sizeof(Stored));
  return fmi3OK;
}

API fmi3Status NAME(fmi3DeserializeFMUState)(fmi3Instance instance, const fmi3Byte bytes[],
                                             size_t size, fmi3FMUState *state) {
  Unit *unit = instance;
  if (!unit || !bytes || !state) return fmi3Error;
  Stored *stored = size == sizeof(Stored) ? calloc(1, sizeof *stored) : NULL;
  if (stored) memcpy(stored, bytes, size);
  if (!stored || stored->size != sizeof(Saved) ||
      strncmp(stored->token, MODEL_TOKEN, sizeof stored->token - 1) != 0 ||
      stored->saved.mode < INSTANTIATED || stored->saved.mode > FAILED) {
    free(stored);
    return say(unit, fmi3Error, "these bytes are not a state of this unit");
  }
  if (*state) free(*state);
  *state = stored;
  return fmi3OK;
}
