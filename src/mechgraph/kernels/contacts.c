/* What happens at an event of rigid contacts: impacts, and the modes of the points after them.

   The same as the modules of studies/contact, function by function and under the same names, so that the two can be read beside each
   other: settle.py (positions, impacts, modes), moment.py, impacts.py, complementarity.py, what modes.py sees of a state,
   and the way back to the constraints of positions in projection.py. The equations and why they are so are told there.

   The model is handed over as functions of x = (q, u, …, t, parameters, …), in which each point's switches have their
   places. Nothing is allocated: all numbers lie in two places of `contacts_room` and `contacts_whole` numbers. */
#include <math.h>
#include <string.h>

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

typedef struct {
    /* gaps: gaps, rates; seen: normal forces, sizes of tangential ones and of those of the pair together, tangential
       forces along both tangents; rings: radii, moments, rises; terms: M, f, A, b, G, psi, row by row; law: restitution,
       tangential, friction, static, regularization, resting; places: phi; shifted: q after a step u; energy: T, V */
    Asked gaps, seen, rings, terms, law, places, shifted, energy;
    long coordinates, speeds, rows, held, velocities, points; /* of A; of phi; of psi */
    double gravity, weight;
    const Point *point;
    Modes modes;
    long standing, count; /* events in one moment; impacts */
    double given;         /* the work of moving bases */
    double *x, *work;
    long stopped, is_full;
    double *room;
    long *whole, room_size, whole_size, room_used, whole_used;
} Contacts;

enum { SETTLED, DRIVEN, WITHOUT_END, UNKNOWN, NO_ROOM };
enum { AROUND = 8, IMPACTS = 10000, ALIGNED = 4, PIVOTS = 50, NEWTON_STEPS = 30, PROJECTIONS = 8, SWEEPS = 60, LARGE_ROOM = 8000000 };
static const double TOUCH = 1e-12, NEAR = 1e-10, FLAT = 1e-10, STILL = 1e-12, BAND = 1e-5, TINY = 1e-11, JAMMING = 1e-6;
static const double EXACT = 1e-12, ZERO = 1e-9, SLIDES = 1e-11, SURE = 1e-10, PROJECTED = 1e-13, RANK_TOLERANCE = 1e-9;
static const double TURN = 6.283185307179586;
static const int SIDES[3] = {8, 24, 72};
static const double FIRM[2] = {0, 1e-4};

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

/* --- small matrices, row by row ----------------------------------------------------------------------------------- */

static double dotted(long n, const double *a, const double *b) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* out = A x, with so many rows and columns */
static void applied(long rows, long columns, const double *A, const double *x, double *out) {
    for (long i = 0; i < rows; i++) out[i] = dotted(columns, A + i * columns, x);
}

/* out = A B^T, of rows of `n` numbers */
static void times_transposed(long rows, long columns, long n, const double *A, const double *B, double *out) {
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < columns; k++) out[i * columns + k] = dotted(n, A + i * n, B + k * n);
}

static double largest(long n, const double *a) {
    double most = 0;
    for (long i = 0; i < n; i++) most = fmax(most, fabs(a[i]));
    return most;
}

/* Rotate two rows: a = cos a - sin b, b = sin a + cos b. */
static void rotate(long n, double *a, double *b, double cosine, double sine) {
    for (long i = 0; i < n; i++) {
        double x = a[i], y = b[i];
        a[i] = cosine * x - sine * y, b[i] = sine * x + cosine * y;
    }
}

/* A symmetric matrix as V^T diag V, by Jacobi's iteration; its diagonal is left in A. */
static void diagonalize(long n, double *A, double *V) {
    memset(V, 0, (size_t)(n * n) * sizeof(double));
    for (long i = 0; i < n; i++) V[i * n + i] = 1;
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        double off = 0, all = 0;
        for (long i = 0; i < n * n; i++) all += A[i] * A[i], off += i % (n + 1) ? A[i] * A[i] : 0;
        if (off <= 1e-34 * all) return;
        for (long i = 0; i < n; i++)
            for (long k = i + 1; k < n; k++) {
                double a = A[i * n + i], b = A[k * n + k], between = A[i * n + k];
                if (fabs(between) <= 1e-18 * (fabs(a) + fabs(b)) || between == 0) continue;
                double theta = (b - a) / (2 * between), tangent = 1 / (fabs(theta) + sqrt(theta * theta + 1));
                if (theta < 0) tangent = -tangent;
                double cosine = 1 / sqrt(tangent * tangent + 1), sine = tangent * cosine;
                rotate(n, A + i * n, A + k * n, cosine, sine);
                for (long j = 0; j < n; j++) rotate(1, A + j * n + i, A + j * n + k, cosine, sine);
                rotate(n, V + i * n, V + k * n, cosine, sine);
            }
    }
}

/* The pseudo-inverse of a symmetric matrix, without eigenvalues below a part of the largest. */
static void inverted(Contacts *c, long n, const double *A, double part, double *out) {
    Mark mark = marked(c);
    double *diagonal = numbers(c, n * n), *V = numbers(c, n * n), most = 0;
    memcpy(diagonal, A, (size_t)(n * n) * sizeof(double));
    diagonalize(n, diagonal, V);
    for (long i = 0; i < n; i++) most = fmax(most, fabs(diagonal[i * n + i]));
    memset(out, 0, (size_t)(n * n) * sizeof(double));
    for (long k = 0; k < n; k++) {
        double value = diagonal[k * n + k];
        if (!(fabs(value) > part * most)) continue;
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) out[i * n + j] += V[k * n + i] * V[k * n + j] / value;
    }
    back_to(c, mark);
}

/* Rows of A (count of them) made orthogonal by rotations (one-sided Jacobi), which are done to V, too. */
static void orthogonalize(long count, long n, double *A, double *V) {
    double all = dotted(count * n, A, A);
    memset(V, 0, (size_t)(count * count) * sizeof(double));
    for (long i = 0; i < count; i++) V[i * count + i] = 1;
    for (int sweep = 0, rotated = 1; sweep < SWEEPS && rotated; sweep++) {
        rotated = 0;
        for (long i = 0; i < count; i++)
            for (long k = i + 1; k < count; k++) {
                double *one = A + i * n, *other = A + k * n;
                double a = dotted(n, one, one), b = dotted(n, other, other), between = dotted(n, one, other);
                if (fabs(between) <= 1e-15 * sqrt(a * b) || fmin(a, b) <= 1e-36 * all) continue;
                double theta = (b - a) / (2 * between), tangent = 1 / (fabs(theta) + sqrt(theta * theta + 1));
                if (theta < 0) tangent = -tangent;
                double cosine = 1 / sqrt(tangent * tangent + 1), sine = tangent * cosine;
                rotate(n, one, other, cosine, sine);
                rotate(count, V + i * count, V + k * count, cosine, sine);
                rotated = 1;
            }
    }
}

/* x of least norm with A x = b as nearly as possible, A with rows and columns, without singular values below a part of the
   largest. The columns are made orthogonal: with A^T = V^T U, x = V^T diag(1/s^2) U b. */
static void least_squares(Contacts *c, long rows, long columns, const double *A, const double *b, double part, double *x) {
    Mark mark = marked(c);
    double *U = numbers(c, rows * columns), *V = numbers(c, columns * columns), most = 0;
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < columns; k++) U[k * rows + i] = A[i * columns + k];
    orthogonalize(columns, rows, U, V);
    for (long k = 0; k < columns; k++) most = fmax(most, dotted(rows, U + k * rows, U + k * rows));
    memset(x, 0, (size_t)columns * sizeof(double));
    for (long k = 0; k < columns; k++) {
        double squared = dotted(rows, U + k * rows, U + k * rows);
        if (!(squared > part * part * most)) continue;
        double size = dotted(rows, U + k * rows, b) / squared;
        for (long i = 0; i < columns; i++) x[i] += size * V[k * columns + i];
    }
    back_to(c, mark);
}

/* The rows of a general pseudo-inverse of a square matrix from `first` on, `count` of them. */
static void some_inverted(Contacts *c, long n, const double *A, double part, long count, double *out) {
    Mark mark = marked(c);
    double *U = numbers(c, n * n), *V = numbers(c, n * n), most = 0;
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++) U[k * n + i] = A[i * n + k];
    orthogonalize(n, n, U, V);
    for (long k = 0; k < n; k++) most = fmax(most, dotted(n, U + k * n, U + k * n));
    memset(out, 0, (size_t)(count * n) * sizeof(double));
    for (long k = 0; k < n; k++) {
        double squared = dotted(n, U + k * n, U + k * n);
        if (!(squared > part * part * most)) continue;
        for (long i = 0; i < count; i++)
            for (long j = 0; j < n; j++) out[i * n + j] += V[k * n + i] * U[k * n + j] / squared;
    }
    back_to(c, mark);
}

/* --- complementarity.py ------------------------------------------------------------------------------------------- */

/* A place of contact among some rows: the first along a normal and how many, the first along a tangent and how many. */
typedef struct {
    long normal, normals, tangent, tangents, slips; /* `slips`: whether it does, along `slip` */
    double friction, holding, slip[2], load;
} Site;

/* Whether friction has to find its direction. */
static int finds(const Site *s) { return s->tangents && s->holding > 0 && !s->slips; }

/* The row of the least ratio to a column (of the greatest, if the column is negative), all by -1 if there is no column;
   of equal ones the preferred, or the first in lexicographic order. */
static long first_row(long n, const double *table, long *rows, long count, long column, long preferred) {
    long width = 2 * n + 2;
    for (long k = -1; k < n; k++) {
        double best = 0;
        for (long i = 0; i < count; i++) {
            const double *row = table + rows[i] * width;
            double ratio = row[k < 0 ? width - 1 : k] / (column < 0 ? -1 : row[column]);
            if (i == 0 || (column < 0 ? ratio > best : ratio < best)) best = ratio;
        }
        long left = 0;
        for (long i = 0; i < count; i++) {
            const double *row = table + rows[i] * width;
            double ratio = row[k < 0 ? width - 1 : k] / (column < 0 ? -1 : row[column]);
            if (fabs(ratio - best) <= ZERO * fmax(1, fabs(best))) rows[left++] = rows[i];
        }
        count = left;
        for (long i = 0; k < 0 && i < count; i++)
            if (rows[i] == preferred) return preferred;
        if (count == 1) break;
    }
    return rows[0];
}

static void pivot(long n, double *table, long row, long column) {
    long width = 2 * n + 2;
    double *own = table + row * width, by = own[column];
    for (long k = 0; k < width; k++) own[k] /= by;
    for (long i = 0; i < n; i++) {
        double *other = table + i * width, factor = other[column];
        if (i == row || factor == 0) continue;
        for (long k = 0; k < width; k++) other[k] -= factor * own[k];
    }
}

/* z with w = M z + q, 0 <= w and z, w z = 0, from the table (1, -M, -1, q); 0 where its path ends in a ray. */
static int lemke(Contacts *c, long n, double *table, double *z) {
    long width = 2 * n + 2, *basis = wholes(c, n), *rows = wholes(c, n), count = 0, entering = 2 * n;
    memset(z, 0, (size_t)n * sizeof(double));
    for (long i = 0; i < n; i++) basis[i] = rows[i] = i, count += table[i * width + width - 1] < 0;
    if (!count) return 1;
    long row = first_row(n, table, rows, n, -1, -1);
    for (long step = 0; step < PIVOTS * n; step++) {
        long leaving = basis[row], preferred = -1;
        basis[row] = entering;
        pivot(n, table, row, entering);
        if (leaving == 2 * n) {
            for (long i = 0; i < n; i++)
                if (basis[i] >= n) z[basis[i] - n] = fmax(table[i * width + width - 1], 0);
            return 1;
        }
        entering = leaving < n ? leaving + n : leaving - n, count = 0;
        for (long i = 0; i < n; i++) {
            if (table[i * width + entering] > ZERO) rows[count++] = i;
            if (basis[i] == 2 * n) preferred = i;
        }
        if (!count) return 0;
        row = first_row(n, table, rows, count, entering, preferred);
    }
    return 0;
}

/* The corners of a polygon, or both ends of a line; one is against the free slip. */
static long corners(const double *against, long tangents, int sides, double *out) {
    if (tangents == 1) {
        out[0] = 1, out[1] = 0, out[2] = -1, out[3] = 0;
        return 2;
    }
    double first = against[0] != 0 || against[1] != 0 ? atan2(-against[1], -against[0]) : 0;
    for (int k = 0; k < sides; k++)
        out[2 * k] = cos(first + TURN * k / sides), out[2 * k + 1] = sin(first + TURN * k / sides);
    return sides;
}

/* Forces by Lemke's method; 0 if there are none, or no room for so many corners. */
static int by_polygons(Contacts *c, long n, const double *W, const double *right, long count, const Site *sites, int sides,
                       double *x) {
    long met = 0, cones = 0;
    for (const Site *s = sites; s < sites + count; s++) {
        met += s->normals + (finds(s) ? s->tangents == 1 ? 2 : sides : 0);
        cones += finds(s);
    }
    long all = met + cones, width = 2 * all + 2, needed = all * (width + 1) + 2 * met * n + 2 * n + 2 * sides;
    if (c->room_used + needed > c->room_size || c->whole_used + 2 * all > c->whole_size) return 0;
    double *table = numbers(c, all * width), *z = numbers(c, all), *E = numbers(c, met * n), *S = numbers(c, met * n);
    double *given = numbers(c, n), *pushed = numbers(c, n), *corner = numbers(c, 2 * sides);
    long at = 0, cone = met;
    for (const Site *s = sites; s < sites + count; s++) {
        long first = at;
        for (long i = 0; i < s->normals; i++, at++) {
            S[at * n + s->normal + i] = E[at * n + s->normal + i] = 1;
            for (long k = 0; s->slips && k < s->tangents; k++) E[at * n + s->tangent + k] = -s->friction * s->slip[k];
        }
        for (long k = 0; s->slips && k < s->tangents; k++) given[s->tangent + k] = -s->friction * s->load * s->slip[k];
        if (!finds(s)) continue;
        for (long i = first; i < at; i++) table[cone * width + all + i] = -s->holding; /* -K */
        long found = corners(right + s->tangent, s->tangents, sides, corner);
        for (long i = 0; i < found; i++, at++) {
            for (long k = 0; k < s->tangents; k++)
                S[at * n + s->tangent + k] = E[at * n + s->tangent + k] = corner[2 * i + k];
            table[cone * width + all + at] = 1, table[at * width + all + cone] = -1; /* -K, and the slack */
        }
        table[cone * width + width - 1] = s->holding * s->load;
        cone++;
    }
    for (long j = 0; j < met; j++) { /* S W E, column by column */
        applied(n, n, W, E + j * n, pushed);
        for (long i = 0; i < met; i++) table[i * width + all + j] = -dotted(n, S + i * n, pushed);
    }
    applied(n, n, W, given, pushed);
    for (long i = 0; i < n; i++) pushed[i] += right[i];
    for (long i = 0; i < met; i++) table[i * width + width - 1] = dotted(n, S + i * n, pushed);
    for (long i = 0; i < all; i++) table[i * width + i] = 1, table[i * width + width - 2] = -1;
    if (!lemke(c, all, table, z)) return 0;
    memcpy(x, given, (size_t)n * sizeof(double));
    for (long j = 0; j < met; j++)
        for (long i = 0; i < n; i++) x[i] += z[j] * E[j * n + i];
    return 1;
}

/* What is left of the conditions, and its derivative; `a` are the accelerations, `limits` is a place for one row. */
static void residual(long n, const double *W, const double *right, long count, const Site *sites, const double *x, double *a,
                     double *limits, double *left, double *slope) {
    applied(n, n, W, x, a);
    for (long i = 0; i < n; i++) a[i] += right[i], left[i] = x[i];
    memset(slope, 0, (size_t)(n * n) * sizeof(double));
    for (long i = 0; i < n; i++) slope[i * n + i] = 1;
    for (const Site *s = sites; s < sites + count; s++) {
        double load = s->load, along[2] = {0, 0}, length = 0, friction = s->slips ? s->friction : s->holding;
        memset(limits, 0, (size_t)n * sizeof(double));
        for (long row = s->normal; row < s->normal + s->normals; row++) {
            if (!(x[row] - a[row] > 0)) continue;
            left[row] = a[row], load += x[row], limits[row] = friction;
            memcpy(slope + row * n, W + row * n, (size_t)n * sizeof(double));
        }
        if (!s->tangents) continue;
        double limit = friction * fmax(load, 0);
        if (!(load > 0)) memset(limits, 0, (size_t)n * sizeof(double));
        for (long k = 0; k < s->tangents; k++) along[k] = x[s->tangent + k] - a[s->tangent + k];
        length = fmax(sqrt(along[0] * along[0] + along[1] * along[1]), 1e-100);
        for (long k = 0; k < s->tangents; k++) {
            long t = s->tangent + k;
            double *own = slope + t * n;
            if (s->slips) {
                left[t] = x[t] + limit * s->slip[k];
                for (long i = 0; i < n; i++) own[i] += s->slip[k] * limits[i];
            } else if (length <= limit) {
                left[t] = a[t];
                memcpy(own, W + t * n, (size_t)n * sizeof(double));
            } else {
                left[t] = x[t] - limit * along[k] / length;
                for (long i = 0; i < n; i++) own[i] -= along[k] / length * limits[i];
                for (long j = 0; j < s->tangents; j++) {
                    double across = ((j == k) - along[k] * along[j] / (length * length)) / length;
                    const double *row = W + (s->tangent + j) * n;
                    own[s->tangent + j] -= limit * across;
                    for (long i = 0; i < n; i++) own[i] += limit * across * row[i];
                }
            }
        }
    }
}

/* Newton's method from x; x becomes the best that it came to, of which so much is left. */
static double with_true_cones(Contacts *c, long n, const double *W, const double *right, long count, const Site *sites,
                              double *x) {
    Mark mark = marked(c);
    double *best = numbers(c, n), *left = numbers(c, n), *slope = numbers(c, n * n), *step = numbers(c, n), least = INFINITY;
    double *a = numbers(c, n), *limits = numbers(c, n);
    memcpy(best, x, (size_t)n * sizeof(double));
    for (int k = 0; k < NEWTON_STEPS; k++) {
        residual(n, W, right, count, sites, x, a, limits, left, slope);
        double size = largest(n, left);
        if (size < least) memcpy(best, x, (size_t)n * sizeof(double)), least = size;
        else if (least < EXACT) break;
        if (size == 0) break;
        least_squares(c, n, n, slope, left, 1e-12, step);
        for (long i = 0; i < n; i++) x[i] -= step[i];
    }
    memcpy(x, best, (size_t)n * sizeof(double));
    back_to(c, mark);
    return least;
}

/* By Newton's method from each of several starts, until it converges; else by the polygons of most sides that have a
   solution; 0 if none have. */
static int solve_once(Contacts *c, long n, const double *W, const double *right, long count, const Site *sites, double *x) {
    Mark mark = marked(c);
    double *start = numbers(c, n), *rough = numbers(c, n), *firm = numbers(c, n * n);
    int is_known = 0;
    for (long i = 0; i < n; i++) start[i] = -right[i];
    least_squares(c, n, n, W, start, 1e-12, x);
    double left = with_true_cones(c, n, W, right, count, sites, x);
    for (int k = 0; k < 6 && !(left < EXACT); k++) {
        Mark inner = marked(c);
        memcpy(firm, W, (size_t)(n * n) * sizeof(double));
        for (long i = 0; i < n; i++) firm[i * n + i] += FIRM[k % 2];
        int found = by_polygons(c, n, firm, right, count, sites, SIDES[k / 2], start);
        back_to(c, inner);
        if (!found) continue;
        memcpy(x, start, (size_t)n * sizeof(double));
        left = with_true_cones(c, n, W, right, count, sites, x);
        if (FIRM[k % 2] == 0) memcpy(rough, start, (size_t)n * sizeof(double)), is_known = 1;
    }
    if (!(left < EXACT)) memcpy(x, rough, (size_t)n * sizeof(double));
    back_to(c, mark);
    return left < EXACT || is_known;
}

/* The forces x at all rows, 0 if there are none: sites stick or slide, those that slide with what would hold them are given
   sliding friction, until none is left. */
static int solve(Contacts *c, long n, const double *W, const double *right, long count, const Site *given, double *x) {
    Mark mark = marked(c);
    double *scaled = numbers(c, n * n), *units = numbers(c, n), *a = numbers(c, n), scale_of = 1e-300;
    Site *sites = (Site *)(void *)numbers(c, count * (long)((sizeof(Site) + sizeof(double) - 1) / sizeof(double)));
    for (long i = 0; i < n; i++) scale_of = fmax(scale_of, W[i * n + i]);
    double size = fmax(largest(n, right), 1e-300);
    for (long s = 0; s < count; s++) sites[s] = given[s], size = fmax(size, scale_of * given[s].load * given[s].holding);
    for (long s = 0; s < count; s++) sites[s].load *= scale_of / size;
    for (long i = 0; i < n * n; i++) scaled[i] = W[i] / scale_of;
    for (long i = 0; i < n; i++) units[i] = right[i] / size;
    int found = 1, weaker = 1;
    while (found && weaker) {
        found = solve_once(c, n, scaled, units, count, sites, x), weaker = 0;
        applied(n, n, scaled, x, a);
        for (Site *s = sites; s < sites + count && found; s++) {
            double speed = 0;
            for (long k = 0; k < s->tangents; k++) speed = hypot(speed, a[s->tangent + k] + units[s->tangent + k]);
            if (finds(s) && speed > SLIDES && s->holding != s->friction) s->holding = s->friction, weaker = 1;
        }
    }
    for (long i = 0; i < n; i++) x[i] *= size / scale_of;
    back_to(c, mark);
    return found;
}

/* --- impacts.py --------------------------------------------------------------------------------------------------- */

/* The energy that impulses give. */
static double gain(long n, const double *W, const double *v, const double *x) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += x[i] * (v[i] + dotted(n, W + i * n, x) / 2);
    return sum;
}

/* The impulses nearest to x, on the way from plain ones, that gain nothing. */
static void between(long n, const double *W, const double *v, const double *plain, double *x) {
    double squared = 0, linear = 0;
    for (long i = 0; i < n; i++) x[i] -= plain[i];
    for (long i = 0; i < n; i++) {
        squared += x[i] * dotted(n, W + i * n, x) / 2;
        linear += x[i] * (v[i] + dotted(n, W + i * n, plain));
    }
    double root = sqrt(fmax(0, linear * linear - 4 * squared * gain(n, W, v, plain)));
    double part = squared > 0 ? (root - linear) / (2 * squared) : 0;
    for (long i = 0; i < n; i++) x[i] = plain[i] + part * x[i];
}

/* The restitution of the normals, or the largest with which none of them approaches. */
static double restituted(long n, const double *W, const double *v, const double *turned, const double *plain, long count,
                         const Site *sites) {
    double most = 1, asked = 0, fast = largest(n, v);
    for (const Site *s = sites; s < sites + count; s++)
        for (long row = s->normal; row < s->normal + s->normals; row++) {
            double change = dotted(n, W + row * n, plain);
            if (v[row] < 0) asked = fmax(asked, turned[row] / v[row]);
            if (change < -1e-12 * fast) most = fmin(most, fmax(v[row] + change, 0) / -change);
        }
    return fmin(asked, most);
}

/* Impulses x at the rows of some sites; 0 if there are none. */
static int impulses(Contacts *c, long n, const double *W, const double *v, const double *turned, long count,
                    const Site *sites, double *x) {
    if (largest(n, turned) == 0) return solve(c, n, W, v, count, sites, x);
    Mark mark = marked(c);
    double *both = numbers(c, n), *plain = numbers(c, n);
    for (long i = 0; i < n; i++) both[i] = v[i] + turned[i];
    int turns = solve(c, n, W, both, count, sites, x), found = 1;
    if (!turns || gain(n, W, v, x) > 0) {
        found = solve(c, n, W, v, count, sites, plain);
        if (found && turns) between(n, W, v, plain, x);
        else if (found) {
            double part = restituted(n, W, v, turned, plain, count, sites);
            for (long i = 0; i < n; i++) x[i] = plain[i] * (1 + part);
        }
    }
    back_to(c, mark);
    return found;
}

/* --- modes.py: what can be seen ----------------------------------------------------------------------------------- */

static int is_always(const Point *p) { return p->gap < 0; }
static int is_ring(const Point *p) { return p->level[0] >= 0; }
static long slips_of(const Point *p) { return (p->slip[0] >= 0) + (p->slip[1] >= 0); }

static void put(Contacts *c, long at, double value) {
    if (at >= 0) c->x[at] = value;
}

/* Switches as they are, or as if all points were closed and stuck, and one flat. */
static void write_switches(Contacts *c, int closed, long lying) {
    for (long k = 0; k < c->points; k++) {
        const Point *p = c->point + k;
        put(c, p->touching, closed ? 1 : (double)c->modes.touching[k]);
        put(c, p->sticking, closed ? 1 : (double)c->modes.sticking[k]);
        put(c, p->flat, closed && k == lying ? 1 : (double)c->modes.flat[k]);
        for (int i = 0; i < 2; i++) put(c, p->heading[i], c->modes.heading[2 * k + i]);
    }
}

/* A function of the model at the present state, with the present modes. */
static void ask(Contacts *c, Asked function, double *out) {
    write_switches(c, 0, -1);
    if (!c->stopped) c->stopped = function(c->x, c->work, out);
}

/* Numbers of the laws: a row for each of NUMBERS. */
typedef struct {
    double *restitution, *tangential, *friction, *holding, *regularization, *resting;
} Law;

static Law law_of(Contacts *c) {
    long n = c->points;
    double *all = numbers(c, 6 * n), fall = sqrt(2 * c->gravity * TOUCH);
    ask(c, c->law, all);
    Law law = {all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, all + 5 * n};
    for (long k = 0; k < n; k++) law.resting[k] = ldexp(fmax(law.resting[k], fall), c->standing > 5 ? (int)c->standing - 5 : 0);
    return law;
}

static int is_rebounding(const Law *law, long k) { return law->restitution[k] > 0 || law->tangential[k] > 0; }

typedef struct {
    double *normal, *stuck, *together, *along[2]; /* of each point; forces along both tangents */
    double *spare, *reserve, *little;            /* see `weighed` */
} Seen;

static double little(const Contacts *c, const Law *law, long k, double normal) {
    return is_always(c->point + k) ? SURE * law->holding[k] * normal : 1e-9 * c->weight;
}

/* Forces at all points; normal ones less what has to be left of them (`spare`), the reserve of friction, and what is
   rounding. */
static Seen weighed(Contacts *c, const Law *law) {
    long n = c->points;
    double *all = numbers(c, 8 * n);
    ask(c, c->seen, all);
    Seen s = {all, all + n, all + 2 * n, {all + 3 * n, all + 4 * n}, all + 5 * n, all + 6 * n, all + 7 * n};
    for (long k = 0; k < n; k++) {
        double most = 0;
        for (long j = 0; j < n; j++)
            if (c->point[j].pair == c->point[k].pair) most = fmax(most, s.normal[j]);
        s.spare[k] = s.normal[k] - (is_always(c->point + k) ? 0 : BAND * most);
        s.little[k] = little(c, law, k, s.normal[k]);
    }
    for (long k = 0; k < n; k++) {
        double weights = 0, spare = 0, most = 0;
        for (long j = 0; j < n; j++) {
            if (c->point[j].pair != c->point[k].pair || !c->modes.sticking[j]) continue;
            double weight = s.stuck[j] + little(c, law, j, s.spare[j]);
            weights += weight, spare += weight * (law->holding[j] * s.spare[j] - s.stuck[j]);
            most += law->holding[j] * s.spare[j];
        }
        s.reserve[k] = fmin(spare / (weights + 1e-300), most - s.together[k]);
    }
    return s;
}

static void open_point(Contacts *c, long k) { c->modes.touching[k] = c->modes.sticking[k] = c->modes.flat[k] = 0; }

static void tip(Contacts *c, long k, const double *arm) {
    c->modes.flat[k] = 0, c->modes.tipping[k] = 1;
    memcpy(c->modes.arm + 2 * k, arm, 2 * sizeof(double));
}

/* Radii, moments and rises of rings; NULL if there are none. */
static double *ring_seen(Contacts *c) {
    long rings = 0;
    for (long k = 0; k < c->points; k++) rings += is_ring(c->point + k);
    if (!rings) return NULL;
    double *all = numbers(c, 3 * c->points);
    ask(c, c->rings, all);
    return all;
}

/* Whether no closed point would pull, slide or tip. */
static int fits(Contacts *c, const Law *law) {
    Mark mark = marked(c);
    Seen s = weighed(c, law);
    double *ring = ring_seen(c);
    int good = 1;
    for (long k = 0; k < c->points; k++) {
        double least = -s.little[k] / 2;
        if (c->modes.touching[k] && !(s.spare[k] >= least)) good = 0;
        if (c->modes.sticking[k] && !(s.reserve[k] >= least)) good = 0;
        if (c->modes.flat[k] && ring && !(s.spare[k] - ring[c->points + k] / ring[k] >= least)) good = 0;
    }
    back_to(c, mark);
    return good;
}

/* M, f, A, b, G, psi at a state, row by row. */
typedef struct {
    const double *M, *f, *A, *b, *G, *psi;
} Terms;

static Terms terms_of(Contacts *c, int closed, long lying) {
    long n = c->speeds, m = c->rows;
    double *all = numbers(c, n * n + n + 2 * m * n + m + c->velocities);
    write_switches(c, closed, lying);
    if (!c->stopped) c->stopped = c->terms(c->x, c->work, all);
    const double *f = all + n * n, *A = f + n, *b = A + m * n, *G = b + m;
    return (Terms){all, f, A, b, G, G + m * n};
}

/* (a, b) -> a M b */
static double product(long n, const double *M, const double *a, const double *b) {
    double sum = 0;
    for (long i = 0; i < n; i++) sum += a[i] * dotted(n, M + i * n, b);
    return sum;
}

/* Change speeds; and the work of moving bases in it is what T gains, less what the points do. */
static void pushed(Contacts *c, const double *M, double *change, double work) {
    double *u = c->x + c->coordinates;
    c->given += product(c->speeds, M, u, change) + product(c->speeds, M, change, change) / 2 - work;
    for (long i = 0; i < c->speeds; i++) u[i] += change[i];
}

/* The nearest speeds that keep closed points closed and sticking ones stuck. */
static void hold(Contacts *c) {
    Mark mark = marked(c);
    long n = c->speeds, m = 0, *active = wholes(c, c->velocities);
    Terms a = terms_of(c, 0, -1);
    for (long i = 0; i < c->velocities; i++)
        if (largest(n, a.A + i * n) > 0) active[m++] = i;
    long all = n + m;
    double *K = numbers(c, all * all), *inverse = numbers(c, all * all), *right = numbers(c, all), *found = numbers(c, all);
    for (long i = 0; i < n; i++) memcpy(K + i * all, a.M + i * n, (size_t)n * sizeof(double));
    for (long k = 0; k < m; k++) {
        right[n + k] = a.psi[active[k]];
        for (long i = 0; i < n; i++) K[i * all + n + k] = K[(n + k) * all + i] = a.A[active[k] * n + i];
    }
    if (largest(all, right) > 0) {
        inverted(c, all, K, 1e-13, inverse);
        applied(all, all, inverse, right, found);
        for (long i = 0; i < n; i++) found[i] = -found[i];
        pushed(c, a.M, found, dotted(m, found + n, right + n) / 2);
    }
    back_to(c, mark);
}

/* --- projection.py: the way back to the constraints of positions -------------------------------------------------- */

/* q displaced by a step along the speeds, on its manifold. */
static void shift(Contacts *c, const double *step) {
    Mark mark = marked(c);
    double *u = c->x + c->coordinates, *before = numbers(c, c->speeds), *q = numbers(c, c->coordinates);
    memcpy(before, u, (size_t)c->speeds * sizeof(double));
    memcpy(u, step, (size_t)c->speeds * sizeof(double));
    ask(c, c->shifted, q);
    memcpy(u, before, (size_t)c->speeds * sizeof(double));
    memcpy(c->x, q, (size_t)c->coordinates * sizeof(double));
    back_to(c, mark);
}

/* The least x, in the metric whose inverse is given, with B x = wanted. */
static void least(Contacts *c, const double *inverse, long count, const double *B, double rcond, const double *wanted, double *x) {
    Mark mark = marked(c);
    long n = c->speeds;
    double *columns = numbers(c, count * n), *Y = numbers(c, count * count), *Z = numbers(c, count * count), *force = numbers(c, count);
    times_transposed(count, n, n, B, inverse, columns);
    times_transposed(count, count, n, B, columns, Y);
    inverted(c, count, Y, rcond, Z);
    applied(count, count, Z, wanted, force);
    memset(x, 0, (size_t)n * sizeof(double));
    for (long k = 0; k < count; k++)
        for (long i = 0; i < n; i++) x[i] += force[k] * columns[k * n + i];
    back_to(c, mark);
}

/* The step x with A x = -phi that has the least kinetic energy. With R the independent combinations of the rows of A, made
   orthonormal, and K = M + R^T R: x = K^-1 R^T (R K^-1 R^T)^-1 r; what has no inertia, and nothing to hold it, stays put. */
static void least_step(Contacts *c, const double *phi, double *step) {
    Mark mark = marked(c);
    long n = c->speeds, m = c->held, kept = 0;
    Terms a = terms_of(c, 0, -1);
    double *R = numbers(c, m * n), *V = numbers(c, m * m), *row_scale = numbers(c, m), *r = numbers(c, m), *K = numbers(c, n * n);
    double *inverse = numbers(c, n * n), size = fmax(largest(n * n, a.M), 1e-300), usual = 0, most = 0;
    for (long i = 0; i < m * n; i++) usual += a.A[i] * a.A[i] / (double)m;
    for (long i = 0; i < m; i++) {
        row_scale[i] = 1 / sqrt(dotted(n, a.A + i * n, a.A + i * n) + 1e-10 * usual + 1e-300);
        for (long k = 0; k < n; k++) R[i * n + k] = row_scale[i] * a.A[i * n + k];
    }
    orthogonalize(m, n, R, V);
    for (long i = 0; i < m; i++) most = fmax(most, sqrt(dotted(n, R + i * n, R + i * n)));
    for (long i = 0; i < m; i++) {
        double length = sqrt(dotted(n, R + i * n, R + i * n)), sum = 0;
        if (!(length > RANK_TOLERANCE * most)) continue;
        for (long k = 0; k < m; k++) sum += V[i * m + k] * row_scale[k] * phi[k];
        for (long k = 0; k < n; k++) R[kept * n + k] = R[i * n + k] / length;
        r[kept++] = -sum / length;
    }
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++) {
            K[i * n + k] = a.M[i * n + k] / size;
            for (long j = 0; j < kept; j++) K[i * n + k] += R[j * n + i] * R[j * n + k];
        }
    inverted(c, n, K, 1e-13, inverse);
    least(c, inverse, kept, R, 1e-13, r, step);
    back_to(c, mark);
}

/* The nearest positions that satisfy all constraints. */
static void project(Contacts *c) {
    Mark mark = marked(c);
    double *phi = numbers(c, c->held), *step = numbers(c, c->speeds);
    shift(c, step); /* by nothing: to the manifold */
    for (int k = 0; k < PROJECTIONS && c->held && !c->stopped; k++) {
        ask(c, c->places, phi);
        if (largest(c->held, phi) < PROJECTED) break;
        least_step(c, phi, step);
        shift(c, step);
    }
    back_to(c, mark);
}

/* --- moment.py ---------------------------------------------------------------------------------------------------- */

/* Some points, with rows of their own: of point chosen[i] from first[i] on, its normals, then its tangents. */
typedef struct {
    long count, rows, is_armed, *chosen, *first, *normals, *tangents;
    double *arms, *loads; /* of flat rings AROUND arms each, `radii` long; normal forces that are known */
    double *radii;        /* 0: not flat */
    double *D, *velocity, *change, *Y, *W, *c; /* `change` has a row for each row */
    Terms terms;
} Moment;

/* Arms from the middle of a flat ring to points of it, the first of them towards a direction. */
static void around(double radius, const double *towards, double *arms) {
    double first = towards[0] != 0 || towards[1] != 0 ? atan2(towards[1], towards[0]) : 0;
    for (int k = 0; k < AROUND; k++)
        arms[2 * k] = radius * cos(first + TURN * k / AROUND), arms[2 * k + 1] = radius * sin(first + TURN * k / AROUND);
}

static void add_row(const Contacts *c, Moment *m, double *bias, long to, long row, double by) {
    long n = c->speeds;
    if (by == 0) return;
    for (long i = 0; i < n; i++) m->D[to * n + i] += by * m->terms.A[row * n + i];
    if (row < c->velocities) m->velocity[to] += by * m->terms.psi[row];
    bias[to] += by * m->terms.b[row];
}

/* The first rows of the inverse of M a - G^T l = f, A a = -b, of least norm, for some rows of A. If G = A, that is the one of
   the symmetric matrix (M, A^T; A, 0). */
static void bordered(Contacts *c, const Terms *a, const double *G, long count, const long *other, double *out) {
    Mark mark = marked(c);
    long n = c->speeds, all = n + count;
    double *K = numbers(c, all * all), side = G == a->A ? 1 : -1;
    for (long i = 0; i < n; i++) memcpy(K + i * all, a->M + i * n, (size_t)n * sizeof(double));
    for (long k = 0; k < count; k++)
        for (long i = 0; i < n; i++)
            K[(n + k) * all + i] = a->A[other[k] * n + i], K[i * all + n + k] = side * G[other[k] * n + i];
    if (side > 0) {
        double *inverse = numbers(c, all * all);
        inverted(c, all, K, 1e-13, inverse);
        memcpy(out, inverse, (size_t)(n * all) * sizeof(double));
    } else some_inverted(c, all, K, 1e-13, n, out);
    back_to(c, mark);
}

/* All rows, with flat rings standing on the ends of their arms. */
static void place_rows(Contacts *c, Moment *m) {
    Mark mark = marked(c);
    const Terms *a = &m->terms;
    long n = c->speeds, *is_own = wholes(c, c->rows), *other = wholes(c, c->rows), count = 0, row = 0;
    double *bias = numbers(c, m->rows), differs = 0;
    for (const Point *p = c->point; p < c->point + c->points; p++)
        for (int i = 0; i < 2; i++) {
            if (p->gap >= 0) is_own[p->gap] = 1;
            if (p->slip[i] >= 0) is_own[p->slip[i]] = 1;
            if (p->level[i] >= 0) is_own[p->level[i]] = 1;
        }
    for (long i = 0; i < c->rows; i++)
        if (!is_own[i]) other[count++] = i;
    memset(m->D, 0, (size_t)(m->rows * n) * sizeof(double));
    memset(m->velocity, 0, (size_t)m->rows * sizeof(double));
    for (long i = 0; i < m->count; i++) {
        const Point *p = c->point + m->chosen[i];
        for (long k = 0; k < m->normals[i]; k++, row++) {
            const double *arm = m->arms + 2 * (AROUND * i + k);
            add_row(c, m, bias, row, p->gap, 1);
            for (int j = 0; j < 2 && m->radii[i] > 0; j++) add_row(c, m, bias, row, p->level[j], arm[j]);
        }
        for (long k = 0; k < m->tangents[i]; k++, row++) add_row(c, m, bias, row, p->slip[k], 1);
    }
    long all = n + count;
    double *inverse = numbers(c, n * all), *column = numbers(c, all), *found = numbers(c, n), *held = numbers(c, n * n);
    bordered(c, a, a->A, count, other, inverse);
    for (long i = 0; i < n; i++) memcpy(held + i * n, inverse + i * all, (size_t)n * sizeof(double));
    times_transposed(m->rows, n, n, m->D, held, m->change);
    times_transposed(m->rows, m->rows, n, m->D, m->change, m->Y);
    for (long k = 0; k < count; k++)
        for (long i = 0; i < n; i++) differs = fmax(differs, fabs(a->G[other[k] * n + i] - a->A[other[k] * n + i]));
    if (differs > 0) bordered(c, a, a->G, count, other, inverse);
    for (long i = 0; i < n; i++) memcpy(held + i * n, inverse + i * all, (size_t)n * sizeof(double));
    for (long k = 0; k < m->rows; k++) { /* W, column by column */
        applied(n, n, held, m->D + k * n, found);
        for (long i = 0; i < m->rows; i++) m->W[i * m->rows + k] = dotted(n, m->D + i * n, found);
    }
    memcpy(column, a->f, (size_t)n * sizeof(double));
    for (long k = 0; k < count; k++) column[n + k] = -a->b[other[k]];
    applied(n, all, inverse, column, found);
    for (long i = 0; i < m->rows; i++) m->c[i] = dotted(n, m->D + i * n, found) + bias[i];
    back_to(c, mark);
}

/* The points that are chosen, at the present state. */
static Moment moment_of(Contacts *c, const long *chosen) {
    Moment m = {0};
    long n = c->speeds, points = c->points, known = 0;
    double *ring = ring_seen(c), *seen = NULL;
    for (long k = 0; k < points; k++) known |= chosen[k] && is_always(c->point + k);
    if (known) ask(c, c->seen, seen = numbers(c, 5 * points));
    m.chosen = wholes(c, 4 * points), m.first = m.chosen + points, m.normals = m.first + points;
    m.tangents = m.normals + points;
    m.arms = numbers(c, 2 * AROUND * points), m.loads = numbers(c, points), m.radii = numbers(c, points);
    m.terms = terms_of(c, 1, -1);
    for (long k = 0; k < points; k++) {
        if (!chosen[k]) continue;
        const Point *p = c->point + k;
        long i = m.count++;
        m.chosen[i] = k, m.first[i] = m.rows, m.normals[i] = is_always(p) ? 0 : 1, m.tangents[i] = slips_of(p);
        if (is_always(p) && seen) m.loads[i] = seen[k];
        if (c->modes.flat[k] && ring && is_ring(p)) {
            double towards[2] = {-m.terms.psi[p->level[0]], -m.terms.psi[p->level[1]]};
            m.radii[i] = ring[k], m.normals[i] = AROUND, m.is_armed = 1;
            around(ring[k], towards, m.arms + 2 * AROUND * i);
        }
        m.rows += m.normals[i] + m.tangents[i];
    }
    m.D = numbers(c, m.rows * n), m.change = numbers(c, m.rows * n);
    m.velocity = numbers(c, m.rows), m.c = numbers(c, m.rows);
    m.Y = numbers(c, m.rows * m.rows), m.W = numbers(c, m.rows * m.rows);
    place_rows(c, &m);
    return m;
}

/* Turn the points of flat rings, one of them towards the pressure that forces x make. */
static void align(Contacts *c, Moment *m, const double *x) {
    double most = largest(m->rows, x);
    for (long i = 0; i < m->count; i++) {
        if (!(m->radii[i] > 0)) continue;
        double *arms = m->arms + 2 * AROUND * i, pressure[2] = {0, 0}, first[2] = {arms[0], arms[1]};
        for (int k = 0; k < AROUND; k++)
            for (int j = 0; j < 2; j++) pressure[j] += x[m->first[i] + k] * arms[2 * k + j];
        int far = hypot(pressure[0], pressure[1]) > 1e-9 * m->radii[i] * most;
        around(m->radii[i], far ? pressure : first, arms);
    }
    if (m->is_armed) place_rows(c, m);
}

/* --- settle.py: positions ----------------------------------------------------------------------------------------- */

/* Gaps, then their rates. */
static double *approach(Contacts *c) {
    double *gaps = numbers(c, 2 * c->points);
    ask(c, c->gaps, gaps);
    return gaps;
}

/* Which points are closed or about to be; rings among them that lie flat. */
static void find_near(Contacts *c, long *near) {
    Mark mark = marked(c);
    memset(c->modes.flat, 0, (size_t)c->points * sizeof(long));
    double *gap = approach(c), *ring = ring_seen(c);
    for (long k = 0; k < c->points; k++) near[k] = c->modes.touching[k] || gap[k] < NEAR;
    for (long k = 0; k < c->points && ring; k++)
        c->modes.flat[k] = near[k] && is_ring(c->point + k) && ring[2 * c->points + k] < 2 * FLAT;
    back_to(c, mark);
}

static double potential(Contacts *c) {
    double energies[2];
    ask(c, c->energy, energies);
    return energies[1];
}

/* Positions without gap at points that are closed, or meet and do not rebound, and how much potential energy that takes. */
static double place_points(Contacts *c, const Law *law, const long *near) {
    Mark mark = marked(c);
    double *gap = approach(c), *rate = gap + c->points, *before = numbers(c, c->coordinates), lift = potential(c);
    for (long k = 0; k < c->points; k++) {
        int meets = rate[k] < 0 && !(is_rebounding(law, k) && rate[k] < -law->resting[k]);
        if (near[k] && (meets || gap[k] < -2 * TOUCH)) c->modes.touching[k] = 1;
        c->modes.sticking[k] = 0;
    }
    memcpy(before, c->x, (size_t)c->coordinates * sizeof(double));
    project(c);
    int moved = memcmp(before, c->x, (size_t)c->coordinates * sizeof(double)) != 0;
    back_to(c, mark);
    return moved ? potential(c) - lift : 0;
}

/* Positions in which no open point that hardly moves is still where it met its surface. */
static void lift_points(Contacts *c, const Law *law) {
    Mark mark = marked(c);
    double *gap = approach(c), *rate = gap + c->points;
    long *low = wholes(c, c->points), any = 0;
    for (long k = 0; k < c->points; k++) {
        low[k] = !c->modes.touching[k] && gap[k] <= -TOUCH && rate[k] < law->resting[k], any |= low[k];
        if (low[k]) c->modes.touching[k] = 1;
    }
    if (any) project(c);
    for (long k = 0; k < c->points; k++)
        if (low[k]) c->modes.touching[k] = 0;
    back_to(c, mark);
}

/* The part of a speed that pays for a lift, (k - k^2/2) m v^2, where m v^2 is `twice` its energy; all of it at most. */
static double paying(double lift, double twice) {
    if (lift <= 0) return 0;
    return twice > 0 ? 1 - sqrt(fmax(0, 1 - 2 * lift / twice)) : 1;
}

/* The least change of u, in the metric of M, that changes A u by what is wanted; some rows of A. */
static void least_change(Contacts *c, const Terms *a, long count, const long *rows, const double *wanted, double *change) {
    Mark mark = marked(c);
    long n = c->speeds;
    double *inverse = numbers(c, n * n), *B = numbers(c, count * n);
    inverted(c, n, a->M, 1e-13, inverse);
    for (long k = 0; k < count; k++) memcpy(B + k * n, a->A + rows[k] * n, (size_t)n * sizeof(double));
    least(c, inverse, count, B, 1e-12, wanted, change);
    back_to(c, mark);
}

/* States in which rings that begin to tip stand on the point over which they do. */
static void tip_rings(Contacts *c, int by_speed) {
    for (long k = 0; k < c->points; k++) {
        if (!c->modes.tipping[k]) continue;
        Mark mark = marked(c);
        long n = c->speeds, rows[5], count = 0;
        const Point *p = c->point + k;
        const double *arm = c->modes.arm + 2 * k, squared = dotted(2, arm, arm);
        double wanted[5] = {2.5 * FLAT, -2.5 * FLAT * arm[0] / squared, -2.5 * FLAT * arm[1] / squared, 0, 0}, rising[3];
        double *step = numbers(c, n), *change = numbers(c, n), *before = numbers(c, c->coordinates), lift = potential(c);
        Terms a = terms_of(c, 1, k);
        rows[count++] = p->gap, rows[count++] = p->level[0], rows[count++] = p->level[1];
        for (int i = 0; i < 2; i++)
            if (p->slip[i] >= 0) rows[count++] = p->slip[i];
        for (int i = 0; i < 3; i++) rising[i] = a.psi[rows[i]];
        least_change(c, &a, count, rows, wanted, step);
        least_change(c, &a, 3, rows, rising, change);
        memcpy(before, c->x, (size_t)c->coordinates * sizeof(double));
        shift(c, step);
        lift = potential(c) - lift;
        double spent = paying(lift, product(n, a.M, change, change));
        if (spent == 1 && by_speed) {
            c->modes.flat[k] = 1;
            memcpy(c->x, before, (size_t)c->coordinates * sizeof(double));
        } else
            for (long i = 0; i < n; i++) c->x[c->coordinates + i] -= spent * change[i];
        back_to(c, mark);
    }
    memset(c->modes.tipping, 0, (size_t)c->points * sizeof(long));
}

/* --- impacts ------------------------------------------------------------------------------------------------------ */

/* Rows of some points of a moment (by their places in it), and their sites among these rows; those that slip, unless
   `slips` is NULL, along two numbers of it; the part of the friction to break away that may hold them. */
static long sites_of(const Contacts *c, const Law *law, const Moment *m, long count, const long *which, const long *slips,
                     const double *slip, double part, long *rows, Site *sites) {
    long all = 0;
    for (long s = 0; s < count; s++) {
        long i = which[s], k = m->chosen[i];
        double holding = (is_always(c->point + k) ? 1 : part) * law->holding[k];
        Site made = {all, m->normals[i], all + m->normals[i], m->tangents[i], slips && slips[k], 0, holding, {0, 0}, m->loads[i]};
        made.friction = made.slips ? law->friction[k] : fmin(law->friction[k], holding);
        for (int j = 0; j < 2 && made.slips; j++) made.slip[j] = slip[2 * k + j];
        for (long j = 0; j < m->normals[i] + m->tangents[i]; j++) rows[all++] = m->first[i] + j;
        sites[s] = made;
    }
    return all;
}

/* Impulses x at the points of a moment, one pair after the other; v are the velocities there now, and `work` is that of
   the impulses. */
typedef struct {
    double *v, *x, work;
    long *rows;
    Site *sites;
} Hits;

static Site *places_for_sites(Contacts *c, long count) {
    return (Site *)(void *)numbers(c, count * (long)((sizeof(Site) + sizeof(double) - 1) / sizeof(double)));
}

static Hits hits_of(Contacts *c, const Moment *m) {
    Hits h = {numbers(c, m->rows), numbers(c, m->rows), 0, wholes(c, m->rows), places_for_sites(c, m->count)};
    memcpy(h.v, m->velocity, (size_t)m->rows * sizeof(double));
    return h;
}

/* A matrix and a vector at some rows. */
static void picked(long all, const double *A, const double *v, long count, const long *rows, double *out, double *part) {
    for (long i = 0; i < count; i++) {
        part[i] = v[rows[i]];
        for (long k = 0; k < count; k++) out[i * count + k] = A[rows[i] * all + rows[k]];
    }
}

/* Impulses at some rows. */
static void strike(Contacts *c, const Moment *m, Hits *h, long count, const double *x) {
    Mark mark = marked(c);
    double *change = numbers(c, m->rows);
    for (long i = 0; i < m->rows; i++)
        for (long k = 0; k < count; k++) change[i] += m->Y[i * m->rows + h->rows[k]] * x[k];
    for (long k = 0; k < count; k++) {
        long row = h->rows[k];
        h->work += x[k] * (h->v[row] + change[row] / 2), h->x[row] += x[k];
    }
    for (long i = 0; i < m->rows; i++) h->v[i] += change[i];
    back_to(c, mark);
}

/* Take the energy that closing the gaps has cost from the approach. */
static void pay(Contacts *c, const Moment *m, Hits *h, double lift) {
    Mark mark = marked(c);
    long count = 0;
    for (long i = 0; i < m->count; i++)
        for (long row = m->first[i]; row < m->first[i] + m->normals[i]; row++)
            if (h->v[row] < 0) h->rows[count++] = row;
    double *Y = numbers(c, count * count), *inverse = numbers(c, count * count), *v = numbers(c, count), *x = numbers(c, count);
    picked(m->rows, m->Y, h->v, count, h->rows, Y, v);
    inverted(c, count, Y, 1e-12, inverse);
    applied(count, count, inverse, v, x);
    double part = paying(lift, dotted(count, x, v));
    for (long i = 0; i < count; i++) x[i] *= -part;
    strike(c, m, h, count, x);
    back_to(c, mark);
}

/* The rate of the gap of a point. */
static double speed_of(const Moment *m, const Hits *h, long i) {
    double least = INFINITY;
    for (long k = 0; k < m->normals[i]; k++) least = fmin(least, h->v[m->first[i] + k]);
    return least;
}

static int driven(Contacts *c, const Moment *m, long count, const long *which) {
    for (long i = 0; i < count; i++) c->modes.guilty[m->chosen[which ? which[i] : i]] = 1;
    return DRIVEN;
}

/* All points of one pair, or all that there are, at once. */
static int hit(Contacts *c, const Law *law, const Moment *m, Hits *h, long count, const long *which, int rebounding) {
    Mark mark = marked(c);
    long rows = sites_of(c, law, m, count, which, NULL, NULL, 1, h->rows, h->sites);
    double *Y = numbers(c, rows * rows), *v = numbers(c, rows), *x = numbers(c, rows), *turned = numbers(c, rows);
    picked(m->rows, m->Y, h->v, rows, h->rows, Y, v);
    for (long s = 0; s < count && rebounding; s++) {
        const Site *site = h->sites + s;
        long k = m->chosen[which[s]];
        for (long i = 0; i < site->normals; i++) turned[site->normal + i] = law->restitution[k] * fmin(v[site->normal + i], 0);
        for (long i = 0; i < site->tangents && speed_of(m, h, which[s]) < -STILL; i++)
            turned[site->tangent + i] = law->tangential[k] * v[site->tangent + i];
    }
    int found = impulses(c, rows, Y, v, turned, count, h->sites, x);
    if (found) strike(c, m, h, rows, x);
    c->count += rebounding && found;
    back_to(c, mark);
    return found ? SETTLED : driven(c, m, count, which);
}

/* Pairs that rebound, the fastest approach first; then all that still approaches. */
static int hit_all(Contacts *c, const Law *law, const Moment *m, Hits *h) {
    long *which = wholes(c, m->count), impact = 0;
    int failed = SETTLED;
    for (; impact < IMPACTS && !failed; impact++) {
        long fastest = -1, count = 0;
        double least = 0;
        for (long i = 0; i < m->count; i++) {
            double speed = speed_of(m, h, i);
            long k = m->chosen[i];
            if (is_rebounding(law, k) && speed < -law->resting[k] && (fastest < 0 || speed < least)) fastest = i, least = speed;
        }
        if (fastest < 0) break;
        for (long i = 0; i < m->count; i++)
            if (c->point[m->chosen[i]].pair == c->point[m->chosen[fastest]].pair) which[count++] = i;
        failed = hit(c, law, m, h, count, which, 1);
    }
    if (failed || impact == IMPACTS) return failed ? failed : WITHOUT_END;
    double least = 0;
    int fast = 0;
    for (long i = 0; i < m->count; i++) {
        double speed = speed_of(m, h, i);
        which[i] = i, least = fmin(least, speed), fast |= speed < -law->resting[m->chosen[i]];
    }
    if (!(least < -STILL)) return SETTLED;
    c->count += fast;
    return hit(c, law, m, h, m->count, which, 0);
}

/* Change speeds by the impulses of a moment. */
static void push_by(Contacts *c, const Moment *m, const Hits *h) {
    Mark mark = marked(c);
    double *change = numbers(c, c->speeds);
    for (long k = 0; k < m->rows; k++)
        for (long i = 0; i < c->speeds; i++) change[i] += h->x[k] * m->change[k * c->speeds + i];
    pushed(c, m->terms.M, change, h->work);
    back_to(c, mark);
}

/* Speeds after all impacts. */
static int all_impacts(Contacts *c, const Law *law, const long *near, double lift) {
    int failed = SETTLED;
    for (int first = 1; first >= 0 && !failed; first--) { /* a ring may rebound in another direction than it came */
        Mark mark = marked(c);
        Moment m = moment_of(c, near);
        Hits h = hits_of(c, &m);
        if (first) pay(c, &m, &h, lift);
        failed = hit_all(c, law, &m, &h);
        if (!failed) push_by(c, &m, &h);
        back_to(c, mark);
        if (!m.is_armed) break;
    }
    return failed;
}

/* --- modes -------------------------------------------------------------------------------------------------------- */

static double length_of(const double *a, long count) { return count > 1 ? hypot(a[0], a[1]) : count ? fabs(a[0]) : 0; }

/* The least and the largest of the normals of a point, and which is the least. */
static long least_of(const double *v, long count, double *least, double *most) {
    long which = 0;
    *least = *most = v[0];
    for (long i = 1; i < count; i++) {
        if (v[i] < *least) *least = v[i], which = i;
        *most = fmax(*most, v[i]);
    }
    return which;
}

static void head(Contacts *c, long k, const double *slip, long count) {
    double length = length_of(slip, count);
    for (long i = 0; i < count; i++) c->modes.heading[2 * k + i] = slip[i] / length;
}

/* Points that do not part are closed, and those of them that do not slip are stuck, for now; directions of the slip of the
   others, and how many there are. */
static long candidates(Contacts *c, const Law *law, const Moment *m, long *slips, double *slip) {
    long found = 0;
    for (long k = 0; k < c->points; k++) c->modes.touching[k] = is_always(c->point + k), c->modes.sticking[k] = 0;
    memset(c->modes.heading, 0, (size_t)(2 * c->points) * sizeof(double));
    for (long i = 0; i < m->count; i++) {
        long k = m->chosen[i], tangents = m->tangents[i];
        const double *rates = m->velocity + m->first[i], *own = rates + m->normals[i];
        if (m->normals[i]) {
            double least, most;
            long which = least_of(rates, m->normals[i], &least, &most);
            c->modes.touching[k] = least <= law->resting[k];
            if (c->modes.touching[k] && c->modes.flat[k] && most > law->resting[k])
                tip(c, k, m->arms + 2 * (AROUND * i + which));
        }
        int slow = !tangents || length_of(own, tangents) <= 2 * law->regularization[k];
        c->modes.sticking[k] = c->modes.touching[k] && slow && law->holding[k] > 0;
        if (slow) continue;
        head(c, k, own, tangents);
        slips[k] = 1, found++;
        memcpy(slip + 2 * k, c->modes.heading + 2 * k, 2 * sizeof(double));
    }
    for (long k = 0; k < c->points; k++) c->modes.flat[k] = c->modes.flat[k] && c->modes.touching[k];
    return found;
}

/* Of all rows, by the one complementarity problem; flat rings are turned until their pressure is at one of their points, or
   within; 0 if there is no solution. */
static int accelerations(Contacts *c, const Law *law, Moment *m, const long *slips, const double *slip, double *a) {
    Mark mark = marked(c);
    long *rows = wholes(c, m->rows), *which = wholes(c, m->count);
    double *x = numbers(c, m->rows);
    Site *sites = places_for_sites(c, m->count);
    int found = 1;
    for (long i = 0; i < m->rows; i++) a[i] = -m->c[i];
    for (long i = 0; i < m->count; i++) which[i] = i;
    least_squares(c, m->rows, m->rows, m->W, a, 1e-12, x);
    for (int k = 0; k < (m->is_armed ? ALIGNED : 1) && found; k++) {
        align(c, m, x);
        sites_of(c, law, m, m->count, which, slips, slip, 1 - BAND, rows, sites);
        found = solve(c, m->rows, m->W, m->c, m->count, sites, x);
    }
    applied(m->rows, m->rows, m->W, x, a);
    for (long i = 0; i < m->rows; i++) a[i] += m->c[i];
    back_to(c, mark);
    return found;
}

/* Modes by the accelerations of all candidates. */
static void classify(Contacts *c, const Moment *m, const double *a) {
    double small = TINY * largest(m->rows, m->c);
    for (long i = 0; i < m->count; i++) {
        long k = m->chosen[i];
        const double *rises = a + m->first[i], *slip = rises + m->normals[i];
        if (m->normals[i]) {
            double least, most;
            long which = least_of(rises, m->normals[i], &least, &most);
            if (least > small) open_point(c, k);
            else if (c->modes.flat[k] && most > small) tip(c, k, m->arms + 2 * (AROUND * i + which));
        }
        if (c->modes.sticking[k] && length_of(slip, m->tangents[i]) > small) {
            c->modes.sticking[k] = 0;
            head(c, k, slip, m->tangents[i]);
        }
    }
}

/* Open points that would pull, and let slide what friction does not hold. */
static void release(Contacts *c, const Law *law) {
    for (long round = 0; round < 2 * c->points; round++) {
        Mark mark = marked(c);
        Seen s = weighed(c, law);
        long worst = -1, strained = -1, pulls = 0;
        double least = INFINITY;
        for (long k = 0; k < c->points; k++) {
            if (!c->modes.touching[k]) continue;
            pulls |= s.spare[k] < -s.little[k] / 2;
            if (worst < 0 || s.spare[k] < s.spare[worst]) worst = k;
        }
        for (long k = 0; k < c->points && !pulls; k++) {
            double own = law->holding[k] * s.normal[k] - s.stuck[k];
            if (c->modes.sticking[k] && s.reserve[k] < -s.little[k] / 2 && (strained < 0 || own < least)) strained = k, least = own;
        }
        back_to(c, mark);
        if (pulls) open_point(c, worst);
        else if (strained >= 0) {
            double force[2] = {s.along[0][strained], s.along[1][strained]}, size = fmax(hypot(force[0], force[1]), 1e-300);
            c->modes.sticking[strained] = 0;
            for (int i = 0; i < 2; i++) c->modes.heading[2 * strained + i] = -force[i] / size;
        } else return;
    }
}

/* Say so where friction turns the response of a sliding point round. */
static void tell_of_paradoxes(Contacts *c, const Law *law, const Moment *m, const long *slips, const double *slip) {
    for (long i = 0; i < m->count; i++) {
        long k = m->chosen[i], normal = m->first[i];
        if (!slips[k] || !m->normals[i]) continue;
        const double *row = m->W + normal * m->rows;
        double along = dotted(m->tangents[i], row + normal + m->normals[i], slip + 2 * k);
        if (row[normal] < law->friction[k] * along) c->modes.odd[k] = 1;
    }
}

/* Speeds after an impact without collision, which stops a slip that no forces allow. */
static int jam(Contacts *c, const Law *law, const Moment *m) {
    Mark mark = marked(c);
    Hits h = hits_of(c, m);
    long *which = wholes(c, m->count);
    double *ahead = numbers(c, m->rows), *x = numbers(c, m->rows);
    for (long i = 0; i < m->count; i++) which[i] = i;
    long rows = sites_of(c, law, m, m->count, which, NULL, NULL, 1, h.rows, h.sites);
    for (long i = 0; i < m->rows; i++) ahead[i] = m->velocity[i] + JAMMING * m->c[i];
    int found = solve(c, rows, m->Y, ahead, m->count, h.sites, x); /* all rows, in their order */
    if (found) strike(c, m, &h, rows, x), push_by(c, m, &h);
    back_to(c, mark);
    return found ? SETTLED : driven(c, m, m->count, NULL);
}

/* Modes of the points that stay together, and the nearest state that keeps closed points closed and sticking ones stuck. */
static int choose_modes(Contacts *c, const Law *law, const long *near, int again) {
    Mark mark = marked(c);
    long *slips = wholes(c, c->points);
    double *slip = numbers(c, 2 * c->points);
    Moment m = moment_of(c, near);
    long sliding = candidates(c, law, &m, slips, slip);
    tip_rings(c, 1);
    hold(c);
    if (!sliding && fits(c, law)) {
        back_to(c, mark);
        return SETTLED;
    }
    m = moment_of(c, c->modes.touching);
    tell_of_paradoxes(c, law, &m, slips, slip);
    int failed = SETTLED;
    if (!fits(c, law)) {
        double *a = numbers(c, m.rows);
        if (accelerations(c, law, &m, slips, slip, a)) {
            classify(c, &m, a);
            tip_rings(c, 0);
            release(c, law);
        } else if (!sliding || !again) failed = driven(c, &m, m.count, NULL);
        else {
            failed = jam(c, law, &m);
            if (!failed) failed = choose_modes(c, law, near, 0);
        }
    }
    back_to(c, mark);
    return failed;
}

/* --- settle ------------------------------------------------------------------------------------------------------- */

/* The state in x after all impacts, closed points without gap, with new modes, also in x; `given` is the work that moving
   bases did on the way, `count` counts impacts. What is not SETTLED is a failure. */
EXPORT int contacts_settle(Contacts *c) {
    c->room_used = c->whole_used = 0, c->given = 0, c->stopped = c->is_full = 0;
    memset(c->modes.odd, 0, (size_t)c->points * sizeof(long));
    memset(c->modes.guilty, 0, (size_t)c->points * sizeof(long));
    memset(c->modes.tipping, 0, (size_t)c->points * sizeof(long));
    long *near = wholes(c, c->points), *hitting = wholes(c, c->points);
    Law law = law_of(c);
    find_near(c, near);
    double lift = place_points(c, &law, near);
    for (long k = 0; k < c->points; k++) hitting[k] = near[k] && !is_always(c->point + k);
    int failed = all_impacts(c, &law, hitting, lift);
    if (!failed) failed = choose_modes(c, &law, near, 1);
    if (!failed) lift_points(c, &law);
    write_switches(c, 0, -1);
    return c->is_full ? NO_ROOM : c->stopped ? UNKNOWN : failed;
}

/* How many rows points can have together. */
static long rows_of(long points, const Point *point) {
    long rows = 0;
    for (long k = 0; k < points; k++) rows += (is_always(point + k) ? 0 : is_ring(point + k) ? AROUND : 1) + slips_of(point + k);
    return rows;
}

static long room_for(long coordinates, long speeds, long rows, long points, const Point *point, long sides) {
    long most = rows_of(points, point), n = speeds, all = n + rows, corners_of_all = most + points * (sides + 1);
    long terms = n * n + n + 2 * rows * n + rows + rows, site = (long)(sizeof(Site) / sizeof(double)) + 1;
    long of_moment = terms + 2 * most * n + 2 * most * most + 6 * most + (2 * AROUND + 20 + site) * points;
    long solving = 6 * most * most + 20 * most + 3 * site * points, bordering = 5 * all * all + 4 * n * all + 2 * most + all;
    long by_corners = corners_of_all * (2 * corners_of_all + 3) + 2 * corners_of_all * most + 2 * most + 2 * sides;
    return 3 * of_moment + 2 * terms + solving + bordering + by_corners + 4 * n * all + 10 * (coordinates + n + rows) + 60 * points + 1000;
}

/* How many numbers there has to be room for; polygons for which LARGE_ROOM is not enough are not tried. */
EXPORT long contacts_room(long coordinates, long speeds, long rows, long points, const Point *point) {
    long all = room_for(coordinates, speeds, rows, points, point, SIDES[2]);
    if (all <= LARGE_ROOM) return all;
    all = room_for(coordinates, speeds, rows, points, point, 0);
    return all > LARGE_ROOM ? all : LARGE_ROOM;
}

EXPORT long contacts_whole(long rows, long points, const Point *point) {
    long most = rows_of(points, point);
    return 40 * points + 8 * most + 4 * rows + 2 * (most + points * (SIDES[2] + 1)) + 100;
}
