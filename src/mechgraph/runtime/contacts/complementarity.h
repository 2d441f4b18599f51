/* Contact as one complementarity problem: all points, all modes at once. Find impulses or forces x at the rows of some sites with
   w = W x + q, at each site 0 <= normal x, w >= 0 with one of the two zero, tangential x within Coulomb's cone and against w.
   Cones become polygons first, whose linear complementarity problem Lemke's method solves, then round by Newton's method. */

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
            if (fabs(ratio - best) <= RANK * fmax(1, fabs(best))) rows[left++] = rows[i];
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
            if (table[i * width + entering] > RANK) rows[count++] = i;
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
        length = fmax(sqrt(along[0] * along[0] + along[1] * along[1]), TINY);
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

/* a = W x + c; zero where no more is left than the forces are solved for to, and that may be ten times as much as there was
   where they were. */
static void responses(long n, const double *W, const double *right, const double *x, double *a) {
    for (long i = 0; i < n; i++) {
        double terms = fabs(right[i]);
        a[i] = dotted(n, W + i * n, x) + right[i];
        for (long j = 0; j < n; j++) terms += fabs(W[i * n + j] * x[j]);
        if (fabs(a[i]) <= 10 * MET * terms) a[i] = 0;
    }
}

/* Newton's method from x; x becomes the best that it came to, of which so much is left, relative to c or to the forces. */
static double with_true_cones(Contacts *c, long n, const double *W, const double *right, long count, const Site *sites,
                              double *x) {
    Mark mark = marked(c);
    double *best = numbers(c, n), *left = numbers(c, n), *slope = numbers(c, n * n), *step = numbers(c, n), least = INFINITY;
    double *a = numbers(c, n), *limits = numbers(c, n);
    memcpy(best, x, (size_t)n * sizeof(double));
    for (int k = 0; k < NEWTON_STEPS; k++) {
        residual(n, W, right, count, sites, x, a, limits, left, slope);
        double size = largest(n, left) / fmax(1, largest(n, x));
        if (size < least) memcpy(best, x, (size_t)n * sizeof(double)), least = size;
        else if (least < MET) break;
        if (size == 0) break;
        least_squares(c, n, n, slope, left, step);
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
    least_squares(c, n, n, W, start, x);
    double left = with_true_cones(c, n, W, right, count, sites, x);
    for (int k = 0; k < 6 && !(left < MET); k++) {
        Mark inner = marked(c);
        memcpy(firm, W, (size_t)(n * n) * sizeof(double));
        for (long i = 0; i < n; i++) firm[i * n + i] += k % 2 ? WELL_HELD : 0; /* gives way a little */
        int found = by_polygons(c, n, firm, right, count, sites, SIDES[k / 2], start);
        back_to(c, inner);
        if (!found) continue;
        memcpy(x, start, (size_t)n * sizeof(double));
        left = with_true_cones(c, n, W, right, count, sites, x);
        if (k % 2 == 0) memcpy(rough, start, (size_t)n * sizeof(double)), is_known = 1;
    }
    if (!(left < MET)) memcpy(x, rough, (size_t)n * sizeof(double));
    back_to(c, mark);
    return left < MET || is_known;
}

/* Numbers that bring the responses of all sites near the largest, so that forces on something light, or in other units, are
   solved for as well as others: powers of two, and one within a factor of 1000, see numerics/scales.py. */
static void even_sites(long n, const double *W, double largest_of_all, long count, const Site *sites, double *even) {
    for (const Site *s = sites; s < sites + count; s++) {
        double most = 0;
        for (long k = 0; k < s->normals; k++) most = fmax(most, W[(s->normal + k) * (n + 1)]);
        for (long k = 0; k < s->tangents; k++) most = fmax(most, W[(s->tangent + k) * (n + 1)]);
        double by = most > 0 ? exp2(10 * round(-log2(sqrt(most / largest_of_all)) / 10)) : 1;
        for (long k = 0; k < s->normals; k++) even[s->normal + k] = by;
        for (long k = 0; k < s->tangents; k++) even[s->tangent + k] = by;
    }
}

/* The forces x at all rows, 0 if there are none: sites stick or slide, those that slide with what would hold them are given
   sliding friction, until none is left. */
static int solve(Contacts *c, long n, const double *W, const double *right, long count, const Site *given, double *x) {
    Mark mark = marked(c);
    double *scaled = numbers(c, n * n), *units = numbers(c, n), *a = numbers(c, n), *even = numbers(c, n), scale_of = TINY, size = TINY;
    Site *sites = (Site *)(void *)numbers(c, count * (long)((sizeof(Site) + sizeof(double) - 1) / sizeof(double)));
    for (long i = 0; i < n; i++) scale_of = fmax(scale_of, W[i * n + i]);
    even_sites(n, W, scale_of, count, given, even);
    in_units(n, n, W, even, even, scaled);
    for (long i = 0; i < n * n; i++) scaled[i] /= scale_of;
    for (long i = 0; i < n; i++) units[i] = right[i] * even[i], size = fmax(size, fabs(units[i]));
    for (long s = 0; s < count; s++) {
        sites[s] = given[s];
        if (sites[s].tangents) sites[s].load *= scale_of / even[sites[s].tangent];
        size = fmax(size, sites[s].load * sites[s].holding);
    }
    for (long s = 0; s < count; s++) sites[s].load /= size;
    for (long i = 0; i < n; i++) units[i] /= size;
    int found = 1, weaker = 1;
    while (found && weaker) {
        found = solve_once(c, n, scaled, units, count, sites, x), weaker = 0;
        responses(n, scaled, units, x, a);
        for (Site *s = sites; s < sites + count && found; s++) {
            double speed = 0;
            for (long k = 0; k < s->tangents; k++) speed = hypot(speed, a[s->tangent + k]);
            if (finds(s) && speed > 0 && s->holding != s->friction) s->holding = s->friction, weaker = 1;
        }
    }
    for (long i = 0; i < n; i++) x[i] *= even[i] * size / scale_of;
    back_to(c, mark);
    return found;
}
