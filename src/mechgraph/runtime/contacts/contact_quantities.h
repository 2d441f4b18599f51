/* Gaps, forces and reserves of all points at a state, and the numbers of their laws. */

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

/* A function of the model at the present x. */
static void evaluate(Contacts *c, Asked function, double *out) {
    if (c->signal && !c->stopped) c->stopped = c->signal(c->x, c->work, NULL);
    if (!c->stopped) c->stopped = function(c->x, c->work, out);
}

/* The same at the present state, with the present modes. */
static void ask(Contacts *c, Asked function, double *out) {
    write_switches(c, 0, -1);
    evaluate(c, function, out);
}

/* Numbers of the laws: a row for each of NUMBERS. */
typedef struct {
    double *restitution, *tangential, *friction, *holding, *regularization, *resting, *span;
} Law;

static Law law_of(Contacts *c) {
    long n = c->points;
    double *all = numbers(c, 7 * n);
    ask(c, c->law, all);
    Law law = {all, all + n, all + 2 * n, all + 3 * n, all + 4 * n, all + 5 * n, all + 6 * n};
    for (long k = 0; k < n; k++) law.resting[k] = ldexp(law.resting[k], c->standing > 5 ? (int)c->standing - 5 : 0);
    return law;
}

static void measure(Contacts *c) {
    double *all = numbers(c, c->held + c->speeds + c->rows);
    ask(c, c->sizes, all);
    c->size = (Sizes){all, all + c->held, all + c->held + c->speeds};
}

/* Part of the pressure that has to be left at a point that stays, and of the friction to break away: how several points share
   a force is known no better. */
static double spared(double force) { return KNOWN * force; }

static int is_rebounding(const Law *law, long k) { return law->restitution[k] > 0 || law->tangential[k] > 0; }

typedef struct {
    double *normal, *stuck, *together, *along[2]; /* of each point; forces along both tangents */
    double *little, *spare, *reserve;            /* see `weighed` */
} Quantities;

/* Forces at all points, and which are rounding; normal ones less what has to be left of them (`spare`), and the reserve
   of friction. */
static Quantities weighed(Contacts *c, const Law *law) {
    long n = c->points;
    double *all = numbers(c, 8 * n);
    ask(c, c->quantities, all);
    Quantities s = {all, all + n, all + 2 * n, {all + 3 * n, all + 4 * n}, all + 5 * n, all + 6 * n, all + 7 * n};
    for (long k = 0; k < n; k++) {
        double most = 0;
        for (long j = 0; j < n; j++)
            if (c->point[j].pair == c->point[k].pair) most = fmax(most, s.normal[j]);
        s.spare[k] = s.normal[k] - (is_always(c->point + k) ? 0 : spared(most));
    }
    for (long k = 0; k < n; k++) {
        double weights = 0, spare = 0, most = 0;
        for (long j = 0; j < n; j++) {
            if (c->point[j].pair != c->point[k].pair || !c->modes.sticking[j]) continue;
            double weight = s.stuck[j] + s.little[j];
            weights += weight, spare += weight * (law->holding[j] * s.spare[j] - s.stuck[j]);
            most += law->holding[j] * s.spare[j];
        }
        s.reserve[k] = fmin(spare / (weights + TINY), most - s.together[k]);
    }
    return s;
}

static void open_point(Contacts *c, long k) { c->modes.touching[k] = c->modes.sticking[k] = c->modes.flat[k] = 0; }

static void tip(Contacts *c, long k, const double *arm) {
    c->modes.flat[k] = 0, c->modes.tipping[k] = 1;
    memcpy(c->modes.arm + 2 * k, arm, 2 * sizeof(double));
}

/* Radii, moments and rises of rings; NULL if there are none. */
static double *ring_quantities(Contacts *c) {
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
    Quantities s = weighed(c, law);
    double *ring = ring_quantities(c);
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
    evaluate(c, c->terms, all);
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

/* Units of (M, A^T; A, 0), with some rows of A, in which all of it is about one. */
static void bordered_units(const Contacts *c, const double *M, long count, const long *rows, double *units) {
    long n = c->speeds;
    double most = 0;
    for (long i = 0; i < n; i++) most = fmax(most, M[i * (n + 1)] * c->size.speeds[i] * c->size.speeds[i]);
    double root = most > 0 ? sqrt(most) : 1;
    for (long i = 0; i < n; i++) units[i] = c->size.speeds[i] / root;
    for (long k = 0; k < count; k++) units[n + k] = root / c->size.rows[rows[k]];
}

/* The nearest speeds that keep closed points closed and sticking ones stuck. */
static void hold(Contacts *c) {
    Mark mark = marked(c);
    long n = c->speeds, m = 0, *active = wholes(c, c->velocities);
    Terms a = terms_of(c, 0, -1);
    for (long i = 0; i < c->velocities; i++)
        if (largest(n, a.A + i * n) > 0) active[m++] = i;
    long all = n + m;
    double *K = numbers(c, all * all), *inverse = numbers(c, all * all), *right = numbers(c, all), *found = numbers(c, all), *units = numbers(c, all);
    for (long i = 0; i < n; i++) memcpy(K + i * all, a.M + i * n, (size_t)n * sizeof(double));
    for (long k = 0; k < m; k++) {
        right[n + k] = a.psi[active[k]];
        for (long i = 0; i < n; i++) K[i * all + n + k] = K[(n + k) * all + i] = a.A[active[k] * n + i];
    }
    if (largest(all, right) > 0) {
        bordered_units(c, a.M, m, active, units);
        inverted(c, all, K, units, inverse);
        applied(all, all, inverse, right, found);
        for (long i = 0; i < n; i++) found[i] = -found[i];
        pushed(c, a.M, found, dotted(m, found + n, right + n) / 2);
    }
    back_to(c, mark);
}
