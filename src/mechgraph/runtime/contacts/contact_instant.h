/* Points of contact at one instant, with rows D of their own: along the normal, and along two tangents unless they are smooth.
   A ring that lies flat has normals at several points around its middle. With all other constraints, impulses x along D
   change u by Y D^T x, and forces x give the accelerations D udot + bias = W x + c of the rows; `velocity` is theirs. */

/* Some points, with rows of their own: of point chosen[i] from first[i] on, its normals, then its tangents. */
typedef struct {
    long count, rows, is_armed, *chosen, *first, *normals, *tangents;
    double *arms, *loads; /* of flat rings AROUND arms each, `radii` long; normal forces that are known */
    double *radii;        /* 0: not flat */
    double *D, *velocity, *size, *change, *Y, *W, *c; /* `size`: of the terms of `velocity`; `change` has a row for each row */
    Terms terms;
} ContactInstant;

/* Arms from the middle of a flat ring to points of it, the first of them towards a direction. */
static void around(double radius, const double *towards, double *arms) {
    double first = towards[0] != 0 || towards[1] != 0 ? atan2(towards[1], towards[0]) : 0;
    for (int k = 0; k < AROUND; k++)
        arms[2 * k] = radius * cos(first + TURN * k / AROUND), arms[2 * k + 1] = radius * sin(first + TURN * k / AROUND);
}

static void add_row(const Contacts *c, ContactInstant *m, double *bias, long to, long row, double by) {
    long n = c->speeds;
    if (by == 0) return;
    for (long i = 0; i < n; i++) m->D[to * n + i] += by * m->terms.A[row * n + i];
    if (row < c->velocities) m->velocity[to] += by * m->terms.psi[row], m->size[to] += fabs(by * m->terms.psi[row]);
    for (long i = 0; i < n; i++) m->size[to] += fabs(by * m->terms.A[row * n + i] * c->x[c->coordinates + i]);
    bias[to] += by * m->terms.b[row];
}

/* The first rows of the inverse of M a - G^T l = f, A a = -b, of least norm, for some rows of A. If G = A, that is the one of
   the symmetric matrix (M, A^T; A, 0). */
static void bordered(Contacts *c, const Terms *a, const double *G, long count, const long *other, double *out) {
    Mark mark = marked(c);
    long n = c->speeds, all = n + count;
    double *K = numbers(c, all * all), *units = numbers(c, all), side = G == a->A ? 1 : -1;
    for (long i = 0; i < n; i++) memcpy(K + i * all, a->M + i * n, (size_t)n * sizeof(double));
    for (long k = 0; k < count; k++)
        for (long i = 0; i < n; i++)
            K[(n + k) * all + i] = a->A[other[k] * n + i], K[i * all + n + k] = side * G[other[k] * n + i];
    bordered_units(c, a->M, count, other, units);
    if (side > 0) {
        double *inverse = numbers(c, all * all);
        inverted(c, all, K, units, inverse);
        memcpy(out, inverse, (size_t)(n * all) * sizeof(double));
    } else some_inverted(c, all, K, units, n, out);
    back_to(c, mark);
}

/* All rows, with flat rings standing on the ends of their arms. */
static void place_rows(Contacts *c, ContactInstant *m) {
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
    memset(m->size, 0, (size_t)m->rows * sizeof(double));
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
static ContactInstant instant_of(Contacts *c, const long *chosen) {
    ContactInstant m = {0};
    long n = c->speeds, points = c->points, known = 0;
    double *ring = ring_quantities(c), *known_forces = NULL;
    for (long k = 0; k < points; k++) known |= chosen[k] && is_always(c->point + k);
    if (known) ask(c, c->quantities, known_forces = numbers(c, 6 * points));
    m.chosen = wholes(c, 4 * points), m.first = m.chosen + points, m.normals = m.first + points;
    m.tangents = m.normals + points;
    m.arms = numbers(c, 2 * AROUND * points), m.loads = numbers(c, points), m.radii = numbers(c, points);
    m.terms = terms_of(c, 1, -1);
    for (long k = 0; k < points; k++) {
        if (!chosen[k]) continue;
        const Point *p = c->point + k;
        long i = m.count++;
        m.chosen[i] = k, m.first[i] = m.rows, m.normals[i] = is_always(p) ? 0 : 1, m.tangents[i] = slips_of(p);
        if (is_always(p) && known_forces) m.loads[i] = known_forces[k];
        if (c->modes.flat[k] && ring && is_ring(p)) {
            double towards[2] = {-m.terms.psi[p->level[0]], -m.terms.psi[p->level[1]]};
            m.radii[i] = ring[k], m.normals[i] = AROUND, m.is_armed = 1;
            around(ring[k], towards, m.arms + 2 * AROUND * i);
        }
        m.rows += m.normals[i] + m.tangents[i];
    }
    m.D = numbers(c, m.rows * n), m.change = numbers(c, m.rows * n);
    m.velocity = numbers(c, m.rows), m.size = numbers(c, m.rows), m.c = numbers(c, m.rows);
    m.Y = numbers(c, m.rows * m.rows), m.W = numbers(c, m.rows * m.rows);
    place_rows(c, &m);
    return m;
}

/* Turn the points of flat rings, one of them towards the pressure that forces x make. */
static void align(Contacts *c, ContactInstant *m, const double *x) {
    double most = largest(m->rows, x);
    for (long i = 0; i < m->count; i++) {
        if (!(m->radii[i] > 0)) continue;
        double *arms = m->arms + 2 * AROUND * i, pressure[2] = {0, 0}, first[2] = {arms[0], arms[1]};
        for (int k = 0; k < AROUND; k++)
            for (int j = 0; j < 2; j++) pressure[j] += x[m->first[i] + k] * arms[2 * k + j];
        int far = hypot(pressure[0], pressure[1]) > GIVEN * m->radii[i] * most;
        around(m->radii[i], far ? pressure : first, arms);
    }
    if (m->is_armed) place_rows(c, m);
}
