/* An FMU for model exchange and co-simulation, FMI 3.0. The few types of the standard that are needed are declared here. */
#define _POSIX_C_SOURCE 199309L
#include "model.h"
#undef EXPORT
#define EXPORT static inline
#include "steps.c"
#if NC
#include "contacts.c"
#endif
#include "fmu.h"
#include <stdbool.h>

#ifdef FMI3_FUNCTION_PREFIX
#define FMI(name) PASTED(FMI3_FUNCTION_PREFIX, fmi3##name)
#else
#define FMI(name) fmi3##name
#endif

typedef uint32_t Reference;
typedef void (*Logger)(void *environment, int status, const char *category, const char *message);

/* The status of a result; the log says why it is not good. */
static int told(Model *m, int status) {
    if (status != OK && m->logger) ((Logger)m->logger)(m->environment, status, "logStatusError", m->trouble);
    return status;
}
static int refused(Model *m, size_t count, const char *why) {
    m->trouble = why;
    return told(m, count ? ERROR : OK);
}
static int is_other_size(Model *m, size_t asked, size_t given) {
    if (asked != given) m->trouble = "all variables are scalar: there must be one value for each";
    return asked != given;
}

FMI_EXPORT const char *FMI(GetVersion)(void) { return "3.0"; }
CALL FMI(SetDebugLogging)(Model *m, bool on, size_t count, const char *const *categories) {
    (void)m, (void)on, (void)count, (void)categories;
    return OK;
}

static Model *instance(const char *token, void *environment, Logger logger) {
    if (!token || strcmp(token, TOKEN)) return NULL;
    Model *m = new_model();
    if (m) m->logger = (void (*)(void))logger, m->environment = environment;
    return m;
}
FMI_EXPORT Model *FMI(InstantiateModelExchange)(const char *name, const char *token, const char *resources, bool visible,
                                                bool logging, void *environment, Logger logger) {
    (void)name, (void)resources, (void)visible, (void)logging;
    return instance(token, environment, logger);
}
FMI_EXPORT Model *FMI(InstantiateCoSimulation)(const char *name, const char *token, const char *resources, bool visible,
                                               bool logging, bool event_mode, bool early_return, const Reference *needed,
                                               size_t count, void *environment, Logger logger, void (*update)(void)) {
    (void)name, (void)resources, (void)visible, (void)logging, (void)early_return, (void)needed, (void)count, (void)update;
    return event_mode ? NULL : instance(token, environment, logger);
}
FMI_EXPORT Model *FMI(InstantiateScheduledExecution)(const char *name, const char *token, const char *resources,
                                                     bool visible, bool logging, void *environment, Logger logger,
                                                     void (*update)(void), void (*lock)(void), void (*unlock)(void)) {
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)environment, (void)logger;
    (void)update, (void)lock, (void)unlock;
    return NULL;
}
FMI_EXPORT void FMI(FreeInstance)(Model *m) { free_model(m); }
CALL FMI(EnterInitializationMode)(Model *m, bool has_tolerance, double tolerance, double start, bool has_stop, double stop) {
    (void)has_stop, (void)stop;
    experiment(m, has_tolerance, tolerance, start);
    return OK;
}
CALL FMI(ExitInitializationMode)(Model *m) { return told(m, end_initialization(m)); }
CALL FMI(EnterEventMode)(Model *m) { (void)m; return OK; }
CALL FMI(Terminate)(Model *m) { (void)m; return OK; }
CALL FMI(Reset)(Model *m) { restart(m); return OK; }
CALL FMI(EnterConfigurationMode)(Model *m) { return refused(m, 1, "there are no structural parameters"); }
CALL FMI(ExitConfigurationMode)(Model *m) { return refused(m, 1, "there are no structural parameters"); }

/* --- values ------------------------------------------------------------------------------------------------------- */

CALL FMI(GetFloat64)(Model *m, const Reference *vr, size_t n, double *values, size_t size) {
    return told(m, is_other_size(m, n, size) ? ERROR : get_values(m, vr, n, values));
}
CALL FMI(SetFloat64)(Model *m, const Reference *vr, size_t n, const double *values, size_t size) {
    return told(m, is_other_size(m, n, size) ? ERROR : set_values(m, vr, n, values));
}
#define NONE(name, type)                                                                                              \
    CALL FMI(Get##name)(Model *m, const Reference *vr, size_t n, type *values, size_t size) {                         \
        (void)vr, (void)values, (void)size;                                                                           \
        return refused(m, n, "all variables are Float64");                                                            \
    }                                                                                                                 \
    CALL FMI(Set##name)(Model *m, const Reference *vr, size_t n, const type *values, size_t size) {                   \
        (void)vr, (void)values, (void)size;                                                                           \
        return refused(m, n, "all variables are Float64");                                                            \
    }
NONE(Float32, float)
NONE(Int8, int8_t)
NONE(UInt8, uint8_t)
NONE(Int16, int16_t)
NONE(UInt16, uint16_t)
NONE(Int32, int32_t)
NONE(UInt32, uint32_t)
NONE(Int64, int64_t)
NONE(UInt64, uint64_t)
NONE(Boolean, bool)
NONE(String, char *)
CALL FMI(GetBinary)(Model *m, const Reference *vr, size_t n, size_t *sizes, const uint8_t **values, size_t size) {
    (void)vr, (void)sizes, (void)values, (void)size;
    return refused(m, n, "all variables are Float64");
}
CALL FMI(SetBinary)(Model *m, const Reference *vr, size_t n, const size_t *sizes, const uint8_t *const *values, size_t size) {
    (void)vr, (void)sizes, (void)values, (void)size;
    return refused(m, n, "all variables are Float64");
}

/* Clocks: there are none. */
#define NO_CLOCK(name, type)                                                                                          \
    CALL FMI(name)(Model *m, const Reference *vr, size_t n, type values) {                                            \
        (void)vr, (void)values;                                                                                       \
        return refused(m, n, "there are no clocks");                                                                  \
    }
#define NO_CLOCK2(name, type, second)                                                                                 \
    CALL FMI(name)(Model *m, const Reference *vr, size_t n, type values, second others) {                             \
        (void)vr, (void)values, (void)others;                                                                         \
        return refused(m, n, "there are no clocks");                                                                  \
    }
NO_CLOCK(GetClock, bool *)
NO_CLOCK(SetClock, const bool *)
NO_CLOCK(GetShiftDecimal, double *)
NO_CLOCK(SetShiftDecimal, const double *)
NO_CLOCK(SetIntervalDecimal, const double *)
NO_CLOCK2(GetIntervalDecimal, double *, int *)
NO_CLOCK2(GetShiftFraction, uint64_t *, uint64_t *)
NO_CLOCK2(SetShiftFraction, const uint64_t *, const uint64_t *)
NO_CLOCK2(SetIntervalFraction, const uint64_t *, const uint64_t *)
CALL FMI(GetIntervalFraction)(Model *m, const Reference *vr, size_t n, uint64_t *counters, uint64_t *resolutions, int *kinds) {
    (void)vr, (void)counters, (void)resolutions, (void)kinds;
    return refused(m, n, "there are no clocks");
}
CALL FMI(ActivateModelPartition)(Model *m, Reference clock, double t) {
    (void)clock, (void)t;
    return refused(m, 1, "there are no clocks");
}

CALL FMI(GetNumberOfVariableDependencies)(Model *m, Reference reference, size_t *count) {
    (void)reference, (void)count;
    return refused(m, 1, "dependencies are those of the model description");
}
CALL FMI(GetVariableDependencies)(Model *m, Reference dependent, size_t *elements, Reference *independents, size_t *others,
                                  int *kinds, size_t count) {
    (void)dependent, (void)elements, (void)independents, (void)others, (void)kinds, (void)count;
    return refused(m, 1, "dependencies are those of the model description");
}
CALL FMI(GetFMUState)(Model *m, Model **state) { return told(m, remembered(m, state)); }
CALL FMI(SetFMUState)(Model *m, const Model *state) { restore(m, state); return OK; }
CALL FMI(FreeFMUState)(Model *m, Model **state) {
    (void)m;
    free(*state);
    *state = NULL;
    return OK;
}
CALL FMI(SerializedFMUStateSize)(Model *m, Model *state, size_t *size) {
    (void)state, (void)size;
    return refused(m, 1, "states are not serialized");
}
CALL FMI(SerializeFMUState)(Model *m, Model *state, uint8_t *bytes, size_t size) {
    (void)state, (void)bytes, (void)size;
    return refused(m, 1, "states are not serialized");
}
CALL FMI(DeserializeFMUState)(Model *m, const uint8_t *bytes, size_t size, Model **state) {
    (void)state, (void)bytes, (void)size;
    return refused(m, 1, "states are not serialized");
}
CALL FMI(GetDirectionalDerivative)(Model *m, const Reference *unknowns, size_t count, const Reference *knowns, size_t given,
                                   const double *seed, size_t seeds, double *sensitivity, size_t size) {
    int wrong = is_other_size(m, given, seeds) || is_other_size(m, count, size);
    return told(m, wrong ? ERROR : directional(m, unknowns, count, knowns, given, seed, sensitivity));
}
CALL FMI(GetAdjointDerivative)(Model *m, const Reference *unknowns, size_t count, const Reference *knowns, size_t given,
                               const double *seed, size_t seeds, double *sensitivity, size_t size) {
    (void)unknowns, (void)count, (void)knowns, (void)given, (void)seed, (void)seeds, (void)sensitivity, (void)size;
    return refused(m, 1, "adjoint derivatives are not given");
}

/* --- model exchange ----------------------------------------------------------------------------------------------- */

CALL FMI(EvaluateDiscreteStates)(Model *m) { (void)m; return OK; }
CALL FMI(UpdateDiscreteStates)(Model *m, bool *again, bool *terminate, bool *nominals_changed, bool *states_changed,
                               bool *has_next, double *next) {
    int changed, status = update(m, &changed);
    *again = *terminate = *nominals_changed = *has_next = false, *next = 0;
    *states_changed = changed;
    return told(m, status);
}
CALL FMI(EnterContinuousTimeMode)(Model *m) { (void)m; return OK; }
CALL FMI(CompletedIntegratorStep)(Model *m, bool no_return, bool *enter_event_mode, bool *terminate) {
    (void)no_return;
    *enter_event_mode = needs_event(m), *terminate = false;
    return OK;
}
CALL FMI(SetTime)(Model *m, double t) { m->x[NY] = t, m->has_changed = 1; return OK; }
CALL FMI(SetContinuousStates)(Model *m, const double *states, size_t n) { return told(m, set_states(m, states, n)); }
CALL FMI(GetContinuousStateDerivatives)(Model *m, double *values, size_t n) {
    return told(m, handed(m, m->ydot, NY, values, n, derivatives(m)));
}
CALL FMI(GetEventIndicators)(Model *m, double *values, size_t n) {
    indicate(m);
    return told(m, handed(m, m->z, NZ, values, n, OK));
}
CALL FMI(GetContinuousStates)(Model *m, double *values, size_t n) {
    return told(m, handed(m, m->x, NY, values, n, OK));
}
CALL FMI(GetNominalsOfContinuousStates)(Model *m, double *values, size_t n) {
    (void)m;
    for (size_t k = 0; k < n; k++) values[k] = 1.0;
    return OK;
}
CALL FMI(GetNumberOfEventIndicators)(Model *m, size_t *count) { (void)m; *count = NZ; return OK; }
CALL FMI(GetNumberOfContinuousStates)(Model *m, size_t *count) { (void)m; *count = NY; return OK; }

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

CALL FMI(EnterStepMode)(Model *m) { (void)m; return OK; }
CALL FMI(GetOutputDerivatives)(Model *m, const Reference *vr, size_t n, const int32_t *orders, double *values, size_t size) {
    (void)vr, (void)orders, (void)values, (void)size;
    return refused(m, n, "derivatives of outputs are not given");
}
CALL FMI(DoStep)(Model *m, double t, double length, bool no_return, bool *event, bool *terminate, bool *early, double *last) {
    (void)no_return;
    int result = is_elsewhere(m, t) ? ERROR : advance(m, t + length);
    *event = *terminate = *early = false, *last = m->x[NY];
    return told(m, result);
}
