/* The way back to the constraints of positions. */

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
