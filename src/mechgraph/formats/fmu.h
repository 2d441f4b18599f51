/* What an FMU does, whatever the version of its interface.

   model.h defines, with y = (q, u) and x = (y, t, p, w): the sizes NY (states), NP (parameters), NW (inputs), NO (outputs),
   NZ (event indicators, the last PIECES of them numbers of pieces), NL (limits, the first POSITIVE of them strict), LOAD (operations of flow), WORK; KEEPING, whether there are constraints to keep; START, TOLERANCE, FIXED (of each parameter,
   whether it is fixed after initialization) and the functions

       flow_run(x, work, ydot)          slopes, taken at the state after the way back to the constraints
       keep_run(x, work, y)             the way back: one step of Newton's method
       output_run(x, work, outputs)
       surface_run(x, work, z)          zero where forces change from one piece to another
       limit_run(x, work, values)       what must be positive, then what must not be negative
       direction_run((x, dx), work, (derivatives, outputs, z))   their derivatives along dx

   With rigid contacts also their number NC, NM margins (the first of z: they fall through zero where contacts change), the
   table POINTS, lists ROUGH and RINGS of points that have a second and a third margin, sizes NQ, NU, NA, NHELD, NVELOCITIES,
   WEIGHT, LARGEST_TOLERANCE, and the functions contact_..._run that contacts.c asks for. Modes of contacts are among
   the parameters.

   Derivatives for others' integrators are flow + RATE (keep - y): the constraints attract, so that nothing drifts away. */
#include <stdio.h>
#include <stdlib.h>

#define NX (NY + 1 + NP + NW)
#define AT_LEAST_ONE(n) ((n) > 0 ? (n) : 1)
#define LARGER(a, b) ((a) > (b) ? (a) : (b))

/* value references: time, then in this order */
enum { TIME = 0, STATES = 1, DERIVATIVES = STATES + NY, PARAMETERS = DERIVATIVES + NY, INPUTS = PARAMETERS + NP,
       OUTPUTS = INPUTS + NW, INDICATORS = OUTPUTS + NO, VARIABLES = INDICATORS + NZ };
enum { OK, WARNING, DISCARD, ERROR }; /* what functions return: good, good, perhaps better elsewhere, wrong */
enum { ROWS = 2, RETURNS = 60, SMALL = 300 };

#ifdef _WIN32
#define FMI_EXPORT __declspec(dllexport)
#else
#define FMI_EXPORT __attribute__((visibility("default")))
#endif
#define CALL FMI_EXPORT int
#define PASTE(a, b) a##b
#define PASTED(a, b) PASTE(a, b)

static const double RATE = 10.0;       /* of the way back to the constraints, 1/s */
static const double SLACK = 10.0;      /* times the tolerance: a state so far from its constraints is brought back */
static const double ENOUGH = 1e-12, LET_PASS = 1e-9; /* changes of Newton's method at its end, and that are let pass */

typedef struct {
    double x[NX];                                  /* all values now */
    double ydot[AT_LEAST_ONE(NY)], kept[AT_LEAST_ONE(NY)], out[AT_LEAST_ONE(NO)], z[AT_LEAST_ONE(NZ)];
    double limits[AT_LEAST_ONE(NL)], pair[2 * NX], turned[AT_LEAST_ONE(NY + NO + NZ)], work[WORK];
    double tolerance;
    int is_running, has_changed;                   /* beyond initialization; what the integrator does not know of yet */
    /* for who started it */
    void *environment, (*logger)(void);
    const char *trouble;
    /* of the integrator */
    Run run;
#if NC
    /* contacts: the sides of their margins (0: on none yet), their modes, events in one moment; and room, which is no part of
       the state */
    long margin_side[NM], modes[6 * NC], contact_events;
    double heads[4 * NC], slack[NC], contact_time; /* slack: by how much gaps are shown larger than they are */
    Contacts contacts;
    double *room;
    long *whole;
#endif
    double memory[]; /* of the run */
} Model;

static int flow(const double *x, double *work, double *ydot) { flow_run(x, work, ydot); return 0; }
static int way_back(const double *x, double *work, double *y) { keep_run(x, work, y); return 0; }
static int surface(const double *x, double *work, double *z) { surface_run(x, work, z); return 0; }

#if NC
#define HANDED(name) \
    static int contact_##name(const double *x, double *work, double *out) { contact_##name##_run(x, work, out); return 0; }
HANDED(gaps)
HANDED(quantities)
HANDED(rings)
HANDED(sizes)
HANDED(terms)
HANDED(law)
HANDED(places)
HANDED(shifted)
HANDED(energy)
static const Point points[NC] = POINTS;
static const long rough[] = ROUGH, rings[] = RINGS; /* -1 ends them */
#endif

static int all_finite(const double *values, long count) {
    for (long i = 0; i < count; i++)
        if (!isfinite(values[i])) return 0;
    return 1;
}

/* --- instances ---------------------------------------------------------------------------------------------------- */

static Run new_run(void) {
    Run r = {.n = NY, .moving = NY, .surfaces = NZ, .pieces = PIECES, .width = NX, .rows = ROWS, .load = LOAD};
    r.longest = r.max_step_unobserved = INFINITY, r.watching = NY <= SMALL;
#if NC
    r.margins = NM;
#endif
    r.kinks = NZ - r.margins - PIECES;
    return r;
}

/* How large a model is, with all that its run points to. */
static size_t model_size(void) {
    Run r = new_run();
    return sizeof(Model) + run_create(&r, NULL);
}

/* Everything that the integrator points to lies in the model. */
static void connect(Model *m) {
    Run *r = &m->run;
    r->flow = flow, r->project = KEEPING ? way_back : NULL, r->surface = surface;
    r->work = m->work;
    run_create(r, m->memory);
#if NC
    Contacts *c = &m->contacts;
    long *of = m->modes;
    c->x = m->x, c->work = m->work, c->room = m->room, c->whole = m->whole, c->point = points;
    c->modes = (Modes){of, of + NC, of + 2 * NC, of + 3 * NC, of + 4 * NC, of + 5 * NC, m->heads, m->heads + 2 * NC};
    c->gaps = contact_gaps, c->quantities = contact_quantities, c->rings = contact_rings, c->terms = contact_terms;
    c->law = contact_law, c->sizes = contact_sizes, c->places = contact_places, c->shifted = contact_shifted, c->energy = contact_energy;
    c->coordinates = NQ, c->speeds = NU, c->rows = NA, c->held = NHELD, c->velocities = NVELOCITIES, c->points = NC;
    c->room_size = contacts_room(NQ, NU, NA, NC, points), c->whole_size = contacts_whole(NA, NC, points);
#endif
}

/* The values at the start, and an integrator that knows of nothing. */
static void restart(Model *m) {
    static const double start[] = START;
    memcpy(m->x, start, sizeof m->x);
    m->run = new_run();
    memset(m->memory, 0, run_create(&m->run, NULL));
    m->tolerance = TOLERANCE, m->is_running = 0, m->has_changed = 1;
#if NC
    memset(m->margin_side, 0, sizeof m->margin_side);
    memset(m->modes, 0, sizeof m->modes);
    memset(m->heads, 0, sizeof m->heads);
    memset(m->slack, 0, sizeof m->slack);
    for (long k = 0; k < NC; k++) m->modes[k] = is_always(points + k); /* touching */
    m->contact_events = 0, m->contact_time = -INFINITY;
#endif
    connect(m);
    for (long s = 0; s < NZ - PIECES; s++) m->run.direction[s] = -(s < m->run.margins), m->run.ending[s] = 1;
}

static void free_model(Model *m) {
#if NC
    if (m) free(m->room), free(m->whole);
#endif
    free(m);
}

static Model *new_model(void) {
    Model *m = calloc(1, model_size());
#if NC
    if (m) {
        m->room = malloc((size_t)contacts_room(NQ, NU, NA, NC, points) * sizeof(double));
        m->whole = malloc((size_t)contacts_whole(NA, NC, points) * sizeof(long));
        if (!m->room || !m->whole) free_model(m), m = NULL;
    }
#endif
    if (m) restart(m);
    return m;
}

/* A copy, for a return to it. */
static int remembered(Model *m, Model **copy) {
    if (!*copy) *copy = malloc(model_size());
    if (*copy) memcpy(*copy, m, model_size());
    else m->trouble = "there is no memory for a copy";
    return *copy ? OK : ERROR;
}

/* The return to a copy; the one who started the model stays the same. */
static void restore(Model *m, const Model *from) {
    void *environment = m->environment, (*logger)(void) = m->logger;
#if NC
    double *room = m->room;
    long *whole = m->whole;
    memcpy(m, from, model_size());
    m->room = room, m->whole = whole;
#else
    memcpy(m, from, model_size());
#endif
    m->environment = environment, m->logger = logger;
    connect(m);
}

/* --- values ------------------------------------------------------------------------------------------------------- */

/* How far the state is from its constraints, in proportion to its size; the way back is in `kept`. */
static double distance(Model *m) {
    double largest = 0;
    keep_run(m->x, m->work, m->kept);
    for (long i = 0; i < NY; i++) {
        double part = fabs(m->kept[i] - m->x[i]) / (1 + fabs(m->x[i]));
        if (!(part <= largest)) largest = part;
    }
    return largest;
}

/* Steps of Newton's method back to the constraints. */
static int bring_back(Model *m) {
    double left = 0;
    for (int k = 0; KEEPING && k < RETURNS; k++) {
        left = distance(m);
        if (!isfinite(left)) break;
        memcpy(m->x, m->kept, NY * sizeof(double));
        if (left <= ENOUGH) break;
    }
    m->has_changed = 1;
    if (left <= LET_PASS) return OK;
    m->trouble = "no state near this one meets the constraints";
    return ERROR;
}

static int derivatives(Model *m) {
    flow_run(m->x, m->work, m->ydot);
    if (KEEPING) distance(m);
    for (long i = 0; KEEPING && i < NY; i++) m->ydot[i] += RATE * (m->kept[i] - m->x[i]);
    if (all_finite(m->ydot, NY)) return OK;
    m->trouble = "the accelerations are not finite here";
    return DISCARD;
}

/* The event indicators, in z. */
static void indicate(Model *m) {
    surface_run(m->x, m->work, m->z);
#if NC
    for (long k = 0; k < NC; k++) m->z[k] += m->slack[k];
#endif
}

/* Where the value of a variable lies; NULL for one that is not there. What has to be computed is computed when it is first
   asked for (`known` begins with 0). */
static const double *located(Model *m, unsigned reference, int *known, int *status) {
    if (reference == TIME) return m->x + NY;
    if (reference < DERIVATIVES) return m->x + (reference - STATES);
    if (reference < PARAMETERS) {
        if (!(*known & 1)) *status = derivatives(m), *known |= 1;
        return m->ydot + (reference - DERIVATIVES);
    }
    if (reference < OUTPUTS) return m->x + NY + 1 + (reference - PARAMETERS);
    if (reference < INDICATORS) {
        if (!(*known & 2)) output_run(m->x, m->work, m->out), *known |= 2;
        return m->out + (reference - OUTPUTS);
    }
    if (reference >= VARIABLES) return NULL;
    if (!(*known & 4)) indicate(m), *known |= 4;
    return m->z + (reference - INDICATORS);
}

static int get_values(Model *m, const unsigned *references, size_t count, double *values) {
    int known = 0, status = OK;
    for (size_t k = 0; k < count; k++) {
        const double *value = located(m, references[k], &known, &status);
        if (!value) {
            m->trouble = "there is no variable with this value reference";
            return ERROR;
        }
        values[k] = *value;
    }
    return status;
}

/* Whole columns of values: states, derivatives, event indicators. */
static int handed(Model *m, const double *from, size_t count, double *values, size_t asked, int status) {
    if (asked != count) {
        m->trouble = "the number of states or event indicators is another one";
        return ERROR;
    }
    memcpy(values, from, count * sizeof(double));
    return status;
}

static int is_among(unsigned reference, unsigned first, unsigned count) {
    return reference >= first && reference - first < count;
}

static int set_value(Model *m, unsigned reference, double value) {
    static const char fixed[] = FIXED;
    int is_state = is_among(reference, STATES, NY), is_constant = is_among(reference, PARAMETERS, NP + NW);
    if (!is_state && !is_constant) m->trouble = "only states, parameters and inputs can be set";
    else if (is_among(reference, PARAMETERS, NP) && fixed[reference - PARAMETERS] == 2)
        m->trouble = "modes of contacts are found, not set";
    else if (is_among(reference, PARAMETERS, NP) && m->is_running && fixed[reference - PARAMETERS])
        m->trouble = "a fixed parameter can be set before the end of initialization only";
    else if (!isfinite(value)) m->trouble = "a value that is set must be finite";
    else {
        double *to = is_state ? m->x + (reference - STATES) : m->x + NY + 1 + (reference - PARAMETERS);
        m->has_changed |= *to != value;
        *to = value;
        return OK;
    }
    return ERROR;
}

/* Whether all that elements say of parameters holds: limits are positive (the first ones) or not negative. */
static int check_limits(Model *m) {
    limit_run(m->x, m->work, m->limits);
    for (long k = 0; k < NL; k++)
        if (!(m->limits[k] > 0 || (k >= POSITIVE && m->limits[k] == 0))) {
            m->trouble = "a mass, stiffness or the like is negative, or zero where it must not be, with these parameters";
            return ERROR;
        }
    return OK;
}

static int set_values(Model *m, const unsigned *references, size_t count, const double *values) {
    for (size_t k = 0; k < count; k++)
        if (set_value(m, references[k], values[k])) return ERROR;
    return m->is_running ? check_limits(m) : OK;
}

static int set_states(Model *m, const double *states, size_t count) {
    m->has_changed = 1;
    return handed(m, states, NY, m->x, count, OK);
}

/* Derivatives of some variables along changes of others. */
static int directional(Model *m, const unsigned *unknowns, size_t count, const unsigned *knowns, size_t given,
                       const double *seed, double *sensitivity) {
    memcpy(m->pair, m->x, sizeof m->x);
    memset(m->pair + NX, 0, sizeof m->x);
    for (size_t k = 0; k < given; k++) {
        unsigned reference = knowns[k];
        if (is_among(reference, DERIVATIVES, NY) || reference >= OUTPUTS) {
            m->trouble = "derivatives are taken along time, states, parameters and inputs";
            return ERROR;
        }
        long where = reference == TIME ? NY : reference < DERIVATIVES ? (long)reference - STATES
                                                                      : NY + 1 + (long)reference - PARAMETERS;
        m->pair[NX + where] += seed[k];
    }
    direction_run(m->pair, m->work, m->turned);
    for (size_t k = 0; k < count; k++) {
        unsigned reference = unknowns[k];
        if (is_among(reference, STATES, NY)) sensitivity[k] = m->pair[NX + reference - STATES];
        else if (is_among(reference, DERIVATIVES, NY)) sensitivity[k] = m->turned[reference - DERIVATIVES];
        else if (is_among(reference, OUTPUTS, NO + NZ)) sensitivity[k] = m->turned[NY + reference - OUTPUTS];
        else {
            m->trouble = "derivatives are those of state derivatives, outputs and event indicators";
            return ERROR;
        }
    }
    return OK;
}

/* --- contacts ----------------------------------------------------------------------------------------------------- */

#if NC
/* Whether a margin has fallen through zero since the contacts were resolved; what was on no side yet may be on one now. */
static int has_met(Model *m) {
    int met = 0;
    indicate(m);
    for (long k = 0; k < NM; k++) {
        if (k < NC && m->z[k] > 2 * m->slack[k]) m->slack[k] = 0; /* it has left */
        if (m->margin_side[k] && m->z[k] <= 0) met = 1;
        else if (m->z[k] > 0) m->margin_side[k] = 1;
    }
    return met;
}

/* Where points are is known to the tolerance of integrators of others only: one that has just opened, and hardly moves, may
   be so deep before it is closed again. */
static void slacken(Model *m) {
    double gaps[2 * NC], law[7 * NC], known = SLACK * m->tolerance;
    contact_gaps_run(m->x, m->work, gaps);
    contact_law_run(m->x, m->work, law);
    for (long k = 0; k < NC; k++) {
        int lingers = !m->contacts.modes.touching[k] && fabs(gaps[k]) < known && fabs(gaps[NC + k]) < fmax(law[5 * NC + k], m->tolerance);
        m->slack[k] = lingers ? known : 0;
    }
}

/* Impacts at this state, and the modes of the contacts after them. */
static int resolve_contacts(Model *m) {
    static const char *const failures[] = {"", "surfaces are driven into each other", "impacts do not come to an end",
                                           "the motion is not a number at an impact", "there is no memory for an impact"};
    double t = m->x[NY];
    m->contact_events = t - m->contact_time < 1e-13 * fmax(1, fabs(t)) ? m->contact_events + 1 : 0, m->contact_time = t;
    if (m->contact_events > 30) {
        m->trouble = "contacts open and close without end";
        return ERROR;
    }
    m->contacts.standing = m->contact_events;
    int why = contacts_resolve(&m->contacts), status = OK;
    if (why || !all_finite(m->x, NY)) {
        m->trouble = failures[why ? why : UNKNOWN];
        return ERROR;
    }
    for (long k = 0; k < NM; k++) m->margin_side[k] = k < NC;
    for (long k = 0; rough[k] >= 0; k++) m->margin_side[NC + k] = m->contacts.modes.sticking[rough[k]];
    for (long k = 0; rings[k] >= 0; k++) m->margin_side[NM - (long)(sizeof rings / sizeof *rings) + 1 + k] = m->contacts.modes.flat[rings[k]];
    for (long k = 0; k < NC; k++)
        if (m->contacts.modes.odd[k]) {
            m->trouble = "a point slides with so much friction that no motion is possible, or several (Painleve's paradox)";
            status = WARNING;
        }
    slacken(m);
    m->has_changed = 1;
    return status;
}

/* The first time; a start in which surfaces overlap is refused. */
static int resolve_first(Model *m) {
    double gaps[2 * NC], law[7 * NC];
    contact_gaps_run(m->x, m->work, gaps);
    contact_law_run(m->x, m->work, law);
    for (long k = 0; k < NC; k++)
        if (gaps[k] < -KNOWN * law[6 * NC + k]) {
            m->trouble = "surfaces overlap at the start, or joints are beyond their limits";
            return ERROR;
        }
    return resolve_contacts(m);
}
#else
static int has_met(Model *m) { (void)m; return 0; }
static int resolve_contacts(Model *m) { (void)m; return OK; }
static int resolve_first(Model *m) { (void)m; return OK; }
#endif

/* --- the life of a model ------------------------------------------------------------------------------------------ */

static void experiment(Model *m, int has_tolerance, double tolerance, double start) {
    if (has_tolerance && tolerance > 0) m->tolerance = fmax(tolerance, 1e-14);
    m->x[NY] = start, m->has_changed = 1;
}

static int end_initialization(Model *m) {
    if (check_limits(m) || bring_back(m)) return ERROR;
    int status = resolve_first(m);
    if (status > WARNING || derivatives(m)) return ERROR;
    m->is_running = 1;
    return status;
}

/* Whether a state has drifted so far that it should be brought back. */
static int has_drifted(Model *m) { return KEEPING && distance(m) > SLACK * m->tolerance; }

/* At an event: contacts are resolved, and a state that has drifted is brought back; whether it has changed. */
static int update(Model *m, int *changed) {
    int status = OK, met = has_met(m);
    if (met) status = resolve_contacts(m);
    *changed = met || has_drifted(m);
    if (status <= WARNING && has_drifted(m) && bring_back(m)) status = ERROR;
    return status;
}

/* Whether there is something to be done at the end of a step. */
static int needs_event(Model *m) {
    int met = has_met(m);
    return met || has_drifted(m);
}

/* --- co-simulation ------------------------------------------------------------------------------------------------ */

/* Steps from the state and time that the model has now. */
static void go_on(Model *m) {
    Run *r = &m->run;
    r->rtol = m->tolerance, r->atol = m->tolerance / 100, r->stopped = 0;
#if NC
    r->rtol = fmin(r->rtol, LARGEST_TOLERANCE);
    memcpy(r->side, m->margin_side, sizeof m->margin_side);
#endif
    memcpy(r->x, m->x, sizeof m->x);
    memcpy(r->y, m->x, NY * sizeof(double));
    r->t = m->x[NY];
    steps_begin(r);
    m->has_changed = 0;
}

/* The same where somebody else has changed the model: it may be on other sides of its surfaces. */
static int begin(Model *m) {
    int changed, status = update(m, &changed);
    if (status > WARNING) return status;
    memset(m->run.side, 0, NZ * sizeof(long));
    go_on(m);
    return status;
}

/* The state of the integrator. */
static void look_up(Model *m) {
    memcpy(m->x, m->run.y, NY * sizeof(double));
    m->x[NY] = m->run.t;
}

/* A margin of contacts has fallen. */
static int resolve_here(Model *m) {
    look_up(m);
    int status = resolve_contacts(m);
    if (status <= WARNING) go_on(m);
    return status;
}

/* On to the time `end`; if that fails, the model is where it came to. */
static int advance(Model *m, double end) {
    Run *r = &m->run;
    int failed = 0, status = OK;
    if (NY == 0) {
        m->x[NY] = end;
        return OK;
    }
    if (m->has_changed && (status = begin(m)) > WARNING) return ERROR;
    while (!failed && r->t < end) {
        int why = steps_integrate(r, end, 1e9);
        if (why == CONTACTS) {
            int met = resolve_here(m);
            failed = met > WARNING, status = LARGER(met, status);
        } else if (why == STIFF || why == NOT_STIFF) r->method = why == STIFF ? RADAU : RK8, steps_begin(r);
        else if (why != END && why != GO_ON) failed = 1, m->trouble = why == ENDLESS        ? "forces jump back and forth without end"
                                                                             : why == NOT_A_NUMBER ? "the motion is not a number"
                                                                                                   : "the step became too small";
    }
    if (!m->has_changed) look_up(m);
    return failed ? DISCARD : status;
}

/* Whether the time at which another one wants to go on is not that of the model. */
static int is_elsewhere(Model *m, double t) {
    if (fabs(t - m->x[NY]) <= 1e-9 * fmax(1, fabs(t))) return 0;
    m->trouble = "the step does not begin where the last one ended";
    return 1;
}
