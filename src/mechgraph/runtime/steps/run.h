/* A run, and what is asked of the model. */
#include <complex.h>
#include <math.h>
#include <string.h>
#include <time.h>

#ifndef EXPORT /* an FMU keeps it to itself */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#endif

/* x = (y, t, constants), w is workspace; what is not zero stops the run. */
typedef int (*Function)(const double *x, double *w, double *out);

/* The three stages of an implicit step of length h, relative to y, in Z, and the error in units of the tolerance. */
typedef double (*Stages)(double h);

/* What is asked at the moments start + tick / rate: its values are those constants from then on. */
typedef struct {
    Function call;
    double start, rate;
    long tick, count;
    const long *place;
} Sampler;

/* Why steps do not go on; KINK: they do, with other slopes. */
enum { END, TOO_SMALL, GO_ON, KINK, CONTACTS, EVENT, ENDLESS, STOPPED, NOT_A_NUMBER, STIFF, NOT_STIFF };
enum { RK8, RADAU, RK45 };
enum { NOT_SHORT, RK4, RK5 };
enum { CRAWLING = 20000 }; /* steps in a row that hardly go on, after which there is no going on */
enum { DEPTH = 40, SEARCH = 1000 }; /* of the search for crossings: halvings, looks at a step */
enum { PASSING = 24 }; /* halvings after which two pieces are next to each other, or what they are of repeats itself */
enum { CROSSINGS = 256, ATTEMPTS = 256, NOTES = 1024 }; /* in one step: changes of sign, steps to moments that are remembered; events */
enum { PATIENCE = 15 }; /* steps held back by stability after which a run is stiff */
enum { FLOOR_STEPS = 50 };  /* steps for which it is taken as known what is noise */
enum { FAILED = 2 }; /* attempts at a step that were not good enough, as they are where nothing jumps */

/* A surface changes its sign just before a moment, rising (+1) or falling (-1). */
typedef struct {
    long surface, way;
    double before, moment;
} Crossing;

typedef struct {
    /* what is integrated; `signal` writes constants that belong to x before slopes (1) and surfaces (2) are taken */
    Function flow, project, surface, signal;
    Stages stages; /* what makes implicit steps in place of `radau_step`, or none */
    long n, moving, surfaces, margins, kinks, pieces, signalled; /* `moving`: so many of y the slopes depend on; surfaces are
                                                            margins, kinks, events, and numbers of pieces: see events.h */
    double rtol, atol, longest, max_step_unobserved, origin; /* the latter but one: the longest step where errors tell nothing; `origin`: when t = 0 is for the
                                                  model, so that steps are as fine whenever a run begins */
    long method, watching, load; /* `watching`: tell of stiffness; `load`: operations of an evaluation */
    /* the state, its slopes, the step to try next (0: to be found) and the one that was tried */
    double t, h, step, next, whole, until; /* `until`: where the step ends, `whole`: its length */
    double *y, *ydot, *fresh, *projected;
    /* places for numbers */
    double *x, *result, *work, *K, *F, *stage, *J, *LU, *Z, *W, *P, *G, *probe;
    double complex *CLU, *right;
    long *pivots, *cpivots;
    /* surfaces: which side they are on, how large they get, and where they were found to cross in the last step */
    long *side, *after, *which, crossings; /* `after`: the sides at the end of the step */
    double *size, *noise_floor, *low, *from, *to; /* `noise_floor`: how well they are known; `low`: what is smaller is on no side */
    /* events: which way (0: either) a change of sign matters, and whether it ends the step; what is met in a step, and what of
       that is noted, in rows: which event, and when */
    long *direction, *ending, *ways, *order, *sides, *asked, met, tried, way, noted;
    Crossing *crossing;
    double *noise, *attempts, *guess, *at_cut, *events, lost_at; /* `noise`: what attempts and steps differ by */
    double *mark, marked_at;
    long is_marked, standing; /* how many such steps ended in (all but) one moment */
    long floor_found, crowded, noisy; /* `crowded`: searches that ended ever sooner; `noisy`: until which step none has to end */
    double searched, searchable, latest; /* the part of the last step that was searched; the length that can be (0: any), and
                                            that could be when a search did not end */
    /* output */
    long count, done;
    const double *times;
    double *out;
    /* some states along the way, evenly spread over the steps: (t, y) in rows */
    long rows, traced, stride, since;
    double *trace;
    /* counts and memory */
    long steps, evaluations, stopped, rejections, dense, stiff, calm, iterations, factored, current;
    double before, step_before, guessed, factored_step, rate, spectral, rough, rough_at;
    double price, paid, since_time; /* of the explicit method, for a unit of time; of the implicit one, since then */
    long patience, since_steps, crawling, is_explicit; /* `crawling`: steps that hardly go on */
    long rounding_steps; /* steps for which what was seen of rounding is remembered: */
    double level, wanted; /* how large it is, and the step that would else be right */
    /* samplers; and what they have held, in rows: the moment, and the last `held` constants */
    Sampler *sampler;
    double *log;
    long samplers, held, width, widest, logged, log_rows; /* `width`: of x; `widest`: result of a sampler */
    long try_short, short_step, wait[3], waiting[3]; /* by which method a step was short; how many to wait for the next try */
} Run;

/* Everything that a run points to but functions, the model's workspace and output lies in one piece of memory, of so many
   bytes (NULL: they are only counted). Sizes, tolerances and the method are there already. A run is copied with its memory,
   and created again on the copy, which changes pointers alone. */
EXPORT long run_create(Run *r, void *memory) {
    size_t used = 0, n = r->n, surfaces = r->surfaces, most = r->widest > 0 ? r->widest : 0;
    size_t square = r->method == RADAU || r->watching ? n * n : 0, searched = (5 + 4 * DEPTH) * 2 * surfaces;
#define ROOM(name, count) r->name = memory ? (void *)((char *)memory + used) : NULL, used += (count) * sizeof *r->name
    ROOM(y, n), ROOM(ydot, n), ROOM(fresh, n), ROOM(projected, n), ROOM(stage, n), ROOM(K, 16 * n), ROOM(F, 7 * n);
    ROOM(Z, 3 * n), ROOM(W, 3 * n), ROOM(P, 3 * n), ROOM(right, n), ROOM(J, square), ROOM(LU, square), ROOM(CLU, square);
    ROOM(x, r->width), ROOM(result, most > n + surfaces ? most : n + surfaces), ROOM(G, searched), ROOM(probe, surfaces);
    ROOM(size, surfaces), ROOM(noise_floor, surfaces), ROOM(low, surfaces), ROOM(from, CROSSINGS), ROOM(to, CROSSINGS);
    ROOM(noise, surfaces), ROOM(attempts, surfaces ? ATTEMPTS * (surfaces + 1) : 0), ROOM(guess, CROSSINGS);
    ROOM(at_cut, surfaces), ROOM(events, 2 * NOTES), ROOM(mark, n), ROOM(crossing, CROSSINGS);
    ROOM(trace, r->rows * (n + 1)), ROOM(log, r->samplers ? r->log_rows * (r->held + 1) : 0);
    ROOM(direction, surfaces), ROOM(ending, surfaces), ROOM(ways, CROSSINGS), ROOM(order, CROSSINGS);
    ROOM(sides, surfaces), ROOM(asked, surfaces), ROOM(side, surfaces), ROOM(after, surfaces), ROOM(which, CROSSINGS), ROOM(pivots, n), ROOM(cpivots, n);
#undef ROOM
    if (!r->stride) r->stride = 1, r->patience = PATIENCE;
    return (long)used;
}

static void place(Run *r, double t, const double *y, int purpose) {
    memcpy(r->x, y, r->n * sizeof(double));
    r->x[r->n] = r->origin + t;
    if (r->signal && (r->signalled & purpose) && !r->stopped) r->stopped = r->signal(r->x, r->work, r->result);
}

static void slopes(Run *r, double t, const double *y, double *ydot) {
    place(r, t, y, 1);
    r->evaluations++;
    if (!r->stopped) r->stopped = r->flow(r->x, r->work, r->result);
    memcpy(ydot, r->result, r->n * sizeof(double));
}

static void project_state(Run *r, double t, double *y) {
    if (!r->project) return;
    place(r, t, y, 0);
    if (!r->stopped) r->stopped = r->project(r->x, r->work, r->result);
    memcpy(y, r->result, r->n * sizeof(double));
}

static void surfaces(Run *r, double t, const double *y, double *g) {
    place(r, t, y, 2);
    if (!r->stopped) r->stopped = r->surface(r->x, r->work, r->result);
    memcpy(g, r->result, r->surfaces * sizeof(double));
}

/* How far two states are apart, in proportion. */
static double apart(long n, const double *a, const double *b) {
    double most = 0;
    for (long i = 0; i < n; i++) {
        double part = fabs(a[i] - b[i]) / (1 + fabs(a[i]));
        if (!(part <= most)) most = isnan(part) ? INFINITY : part;
    }
    return most;
}

static double scale(const Run *r, double y) { return r->atol + r->rtol * fabs(y); }

/* Root of the mean square of a in units of the tolerance at y. */
static double norm(const Run *r, const double *a, const double *y) {
    double sum = 0;
    for (long i = 0; i < r->n; i++) {
        double e = a[i] / scale(r, y[i]);
        sum += e * e;
    }
    return sqrt(sum / r->n);
}
