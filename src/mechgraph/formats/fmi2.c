/* An FMU for model exchange and co-simulation, FMI 2.0. The few types of the standard that are needed are declared here. */
#define _POSIX_C_SOURCE 199309L
#include "model.h"
#undef EXPORT
#define EXPORT static inline
#include "steps.c"
#if NC
#include "contacts.c"
#endif
#include "fmu.h"

#ifdef FMI2_FUNCTION_PREFIX
#define FMI(name) PASTED(FMI2_FUNCTION_PREFIX, fmi2##name)
#else
#define FMI(name) fmi2##name
#endif

typedef unsigned Reference;
typedef void (*Logger)(void *environment, const char *name, int status, const char *category, const char *message, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
    void *environment;
} Callbacks;
typedef struct {
    int new_states_needed, terminate, nominals_changed, states_changed, has_next;
    double next;
} EventInfo;

/* The status of a result; the log says why it is not good. */
static int told(Model *m, int status) {
    if (status != OK && m->logger) ((Logger)m->logger)(m->environment, MODEL_NAME, status, "logStatusError", "%s", m->trouble);
    return status;
}
static int refused(Model *m, size_t count, const char *why) {
    m->trouble = why;
    return told(m, count ? ERROR : OK);
}

FMI_EXPORT const char *FMI(GetTypesPlatform)(void) { return "default"; }
FMI_EXPORT const char *FMI(GetVersion)(void) { return "2.0"; }
CALL FMI(SetDebugLogging)(Model *m, int on, size_t count, const char *const *categories) {
    (void)m, (void)on, (void)count, (void)categories;
    return OK;
}

FMI_EXPORT Model *FMI(Instantiate)(const char *name, int kind, const char *token, const char *resources,
                                   const Callbacks *callbacks, int visible, int logging) {
    (void)name, (void)kind, (void)resources, (void)visible, (void)logging;
    if (!token || strcmp(token, TOKEN)) return NULL;
    Model *m = new_model();
    if (m && callbacks) m->logger = (void (*)(void))callbacks->logger, m->environment = callbacks->environment;
    return m;
}
FMI_EXPORT void FMI(FreeInstance)(Model *m) { free_model(m); }
CALL FMI(SetupExperiment)(Model *m, int has_tolerance, double tolerance, double start, int has_stop, double stop) {
    (void)has_stop, (void)stop;
    experiment(m, has_tolerance, tolerance, start);
    return OK;
}
CALL FMI(EnterInitializationMode)(Model *m) { (void)m; return OK; }
CALL FMI(ExitInitializationMode)(Model *m) { return told(m, end_initialization(m)); }
CALL FMI(Terminate)(Model *m) { (void)m; return OK; }
CALL FMI(Reset)(Model *m) { restart(m); return OK; }

CALL FMI(GetReal)(Model *m, const Reference *vr, size_t n, double *values) { return told(m, get_values(m, vr, n, values)); }
CALL FMI(SetReal)(Model *m, const Reference *vr, size_t n, const double *values) {
    return told(m, set_values(m, vr, n, values));
}
#define NONE(name, type)                                                                                              \
    CALL FMI(Get##name)(Model *m, const Reference *vr, size_t n, type *values) {                                      \
        (void)vr, (void)values;                                                                                       \
        return refused(m, n, "all variables are Real");                                                               \
    }                                                                                                                 \
    CALL FMI(Set##name)(Model *m, const Reference *vr, size_t n, const type *values) {                                \
        (void)vr, (void)values;                                                                                       \
        return refused(m, n, "all variables are Real");                                                               \
    }
NONE(Integer, int)
NONE(Boolean, int)
NONE(String, char *)

CALL FMI(GetFMUstate)(Model *m, Model **state) { return told(m, remembered(m, state)); }
CALL FMI(SetFMUstate)(Model *m, const Model *state) { restore(m, state); return OK; }
CALL FMI(FreeFMUstate)(Model *m, Model **state) {
    (void)m;
    free(*state);
    *state = NULL;
    return OK;
}
CALL FMI(SerializedFMUstateSize)(Model *m, Model *state, size_t *size) {
    (void)state, (void)size;
    return refused(m, 1, "states are not serialized");
}
CALL FMI(SerializeFMUstate)(Model *m, Model *state, char *bytes, size_t size) {
    (void)state, (void)bytes, (void)size;
    return refused(m, 1, "states are not serialized");
}
CALL FMI(DeSerializeFMUstate)(Model *m, const char *bytes, size_t size, Model **state) {
    (void)state, (void)bytes, (void)size;
    return refused(m, 1, "states are not serialized");
}
CALL FMI(GetDirectionalDerivative)(Model *m, const Reference *unknowns, size_t count, const Reference *knowns, size_t given,
                                   const double *seed, double *sensitivity) {
    return told(m, directional(m, unknowns, count, knowns, given, seed, sensitivity));
}

/* --- model exchange ----------------------------------------------------------------------------------------------- */

CALL FMI(EnterEventMode)(Model *m) { (void)m; return OK; }
CALL FMI(NewDiscreteStates)(Model *m, EventInfo *info) {
    memset(info, 0, sizeof *info);
    return told(m, update(m, &info->states_changed));
}
CALL FMI(EnterContinuousTimeMode)(Model *m) { (void)m; return OK; }
CALL FMI(CompletedIntegratorStep)(Model *m, int no_return, int *enter_event_mode, int *terminate) {
    (void)no_return;
    *enter_event_mode = needs_event(m), *terminate = 0;
    return OK;
}
CALL FMI(SetTime)(Model *m, double t) { m->x[NY] = t, m->has_changed = 1; return OK; }
CALL FMI(SetContinuousStates)(Model *m, const double *states, size_t n) { return told(m, set_states(m, states, n)); }
CALL FMI(GetDerivatives)(Model *m, double *values, size_t n) {
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

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

CALL FMI(DoStep)(Model *m, double t, double length, int no_return) {
    (void)no_return;
    return told(m, is_elsewhere(m, t) ? ERROR : advance(m, t + length));
}
CALL FMI(CancelStep)(Model *m) { return refused(m, 1, "steps are finished when they return"); }
CALL FMI(SetRealInputDerivatives)(Model *m, const Reference *vr, size_t n, const int *orders, const double *values) {
    (void)vr, (void)orders, (void)values;
    return refused(m, n, "inputs are held over a step");
}
CALL FMI(GetRealOutputDerivatives)(Model *m, const Reference *vr, size_t n, const int *orders, double *values) {
    (void)vr, (void)orders, (void)values;
    return refused(m, n, "derivatives of outputs are not given");
}
CALL FMI(GetStatus)(Model *m, int kind, int *value) { (void)m, (void)kind; *value = OK; return DISCARD; }
CALL FMI(GetRealStatus)(Model *m, int kind, double *value) { (void)kind; *value = m->x[NY]; return OK; }
CALL FMI(GetIntegerStatus)(Model *m, int kind, int *value) { (void)m, (void)kind; *value = 0; return DISCARD; }
CALL FMI(GetBooleanStatus)(Model *m, int kind, int *value) { (void)m, (void)kind; *value = 0; return OK; }
CALL FMI(GetStringStatus)(Model *m, int kind, const char **value) { (void)m, (void)kind; *value = ""; return DISCARD; }
