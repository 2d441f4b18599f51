/* The model, its points and their modes; and places for numbers. */
#include <math.h>
#include <string.h>
#include "../tolerances.h"

#ifndef EXPORT /* an FMU keeps it to itself */
#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#endif

/* x as above, `work` is workspace; what is not zero ends it. */
typedef int (*Asked)(const double *x, double *work, double *out);

/* One point: its rows of A, where in x its switches and its heading are (-1: there are none), and the number of its pair. */
typedef struct {
    long gap, level[2], slip[2], touching, sticking, flat, heading[2], pair;
} Point;

/* Modes of all points; tipping: rings that begin to tip over the end of an arm; odd: points that slide with so much
   friction that no motion is possible, or several; guilty: those that are driven into each other. */
typedef struct {
    long *touching, *sticking, *flat, *tipping, *odd, *guilty;
    double *heading, *arm; /* two for each point */
} Modes;

/* What is usual: phi where all has gone as far as it usually does; speeds of the same kinetic energy; rows of A over these. */
typedef struct {
    const double *places, *speeds, *rows;
} Sizes;

typedef struct {
    /* signal: writes into x what belongs there before any of the others is asked (none: nothing does); gaps: gaps, rates; quantities: normal forces, sizes of tangential ones and of those of the pair together, tangential
       forces along both tangents, forces that are rounding; rings: radii, moments, rises; terms: M, f, A, b, G, psi, row by row; law: restitution,
       tangential, friction, static, regularization, resting, spans; sizes: those of phi, of u and of the rows of A, see `Sizes`;
       places: phi; shifted: q after a step u; energy: T, V */
    Asked signal, gaps, quantities, rings, terms, law, sizes, places, shifted, energy;
    long coordinates, speeds, rows, held, velocities, points; /* of A; of phi; of psi */
    const Point *point;
    Modes modes;
    Sizes size;
    long standing, count; /* events in one instant; impacts */
    double given;         /* the work of moving bases */
    double *x, *work;
    long stopped, is_full;
    double *room;
    long *whole, room_size, whole_size, room_used, whole_used;
} Contacts;

enum { RESOLVED, DRIVEN, WITHOUT_END, UNKNOWN, NO_ROOM };
enum { AROUND = 8, IMPACTS = 10000, ALIGNED = 4, PIVOTS = 50, NEWTON_STEPS = 30, PROJECTIONS = 8, SWEEPS = 60, LARGE_ROOM = 8000000 };
static const double TURN = 6.283185307179586;
static const int SIDES[3] = {8, 24, 72};

/* --- places for numbers ------------------------------------------------------------------------------------------- */

static double *numbers(Contacts *c, long count) {
    double *found = c->room + c->room_used;
    if (c->room_used + count > c->room_size) { /* never, by construction; then nothing else is written over */
        c->is_full = 1;
        return c->room;
    }
    c->room_used += count;
    memset(found, 0, (size_t)count * sizeof(double));
    return found;
}

static long *wholes(Contacts *c, long count) {
    long *found = c->whole + c->whole_used;
    if (c->whole_used + count > c->whole_size) {
        c->is_full = 1;
        return c->whole;
    }
    c->whole_used += count;
    memset(found, 0, (size_t)count * sizeof(long));
    return found;
}

typedef struct {
    long room, whole;
} Mark;
static Mark marked(const Contacts *c) { return (Mark){c->room_used, c->whole_used}; }
static void back_to(Contacts *c, Mark mark) { c->room_used = mark.room, c->whole_used = mark.whole; }
