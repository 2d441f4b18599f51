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
static void least(Contacts *c, const double *inverse, long count, const double *B, const double *wanted, double *x) {
    Mark mark = marked(c);
    long n = c->speeds;
    double *columns = numbers(c, count * n), *Y = numbers(c, count * count), *Z = numbers(c, count * count), *force = numbers(c, count), *units = numbers(c, count);
    times_transposed(count, n, n, B, inverse, columns);
    times_transposed(count, count, n, B, columns, Y);
    own_units(count, Y, units);
    inverted(c, count, Y, units, Z);
    applied(count, count, Z, wanted, force);
    memset(x, 0, (size_t)n * sizeof(double));
    for (long k = 0; k < count; k++)
        for (long i = 0; i < n; i++) x[i] += force[k] * columns[k * n + i];
    back_to(c, mark);
}

/* The step x with A x = -phi that has the least kinetic energy. With x, M and A in units, R the independent combinations of
   the rows of A, made orthonormal, and K = M + R^T R: x = K^-1 R^T (R K^-1 R^T)^-1 r; what has no inertia, and nothing to
   hold it, stays put. */
static void least_step(Contacts *c, const double *phi, double *step) {
    Mark mark = marked(c);
    long n = c->speeds, m = c->held, kept = 0;
    Terms a = terms_of(c, 0, -1);
    double *R = numbers(c, m * n), *V = numbers(c, m * m), *units = numbers(c, m), *r = numbers(c, m), *K = numbers(c, n * n);
    double *inverse = numbers(c, n * n), *ones = numbers(c, n), most = 0;
    const double *speeds = c->size.speeds;
    for (long i = 0; i < n; i++) ones[i] = 1;
    for (long i = 0; i < m; i++) {
        double squared = 0;
        for (long k = 0; k < n; k++) squared += pow(a.A[i * n + k] * speeds[k], 2);
        units[i] = 1 / sqrt(squared + pow(FADING * c->size.rows[i], 2));
    }
    in_units(m, n, a.A, units, speeds, R);
    in_units(n, n, a.M, speeds, speeds, K);
    double size = fmax(largest(n * n, K), TINY);
    orthogonalize(m, n, R, V);
    for (long i = 0; i < m; i++) most = fmax(most, sqrt(dotted(n, R + i * n, R + i * n)));
    for (long i = 0; i < m; i++) {
        double length = sqrt(dotted(n, R + i * n, R + i * n)), sum = 0;
        if (!(length > RANK * most)) continue;
        for (long k = 0; k < m; k++) sum += V[i * m + k] * units[k] * phi[k];
        for (long k = 0; k < n; k++) R[kept * n + k] = R[i * n + k] / length;
        r[kept++] = -sum / length;
    }
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++) {
            K[i * n + k] /= size;
            for (long j = 0; j < kept; j++) K[i * n + k] += R[j * n + i] * R[j * n + k];
        }
    inverted(c, n, K, ones, inverse);
    least(c, inverse, kept, R, r, step);
    for (long i = 0; i < n; i++) step[i] *= speeds[i];
    back_to(c, mark);
}

/* The nearest positions that satisfy all constraints, to well below what is no gap. */
static void project(Contacts *c) {
    Mark mark = marked(c);
    double *phi = numbers(c, c->held), *step = numbers(c, c->speeds);
    shift(c, step); /* by nothing: to the manifold */
    for (int k = 0; k < PROJECTIONS && c->held && !c->stopped; k++) {
        ask(c, c->places, phi);
        double off = 0;
        for (long i = 0; i < c->held; i++) off = fmax(off, fabs(phi[i]) / c->size.places[i]);
        if (off < MET / 10) break;
        least_step(c, phi, step);
        shift(c, step);
    }
    back_to(c, mark);
}
