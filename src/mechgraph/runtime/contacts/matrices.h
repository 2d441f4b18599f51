/* Small matrices, row by row. */

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
        if (off <= EPSILON * EPSILON * all) return;
        for (long i = 0; i < n; i++)
            for (long k = i + 1; k < n; k++) {
                double a = A[i * n + i], b = A[k * n + k], between = A[i * n + k];
                if (between == 0) continue;
                double theta = (b - a) / (2 * between), tangent = 1 / (fabs(theta) + sqrt(theta * theta + 1));
                if (theta < 0) tangent = -tangent;
                double cosine = 1 / sqrt(tangent * tangent + 1), sine = tangent * cosine;
                rotate(n, A + i * n, A + k * n, cosine, sine);
                for (long j = 0; j < n; j++) rotate(1, A + j * n + i, A + j * n + k, cosine, sine);
                rotate(n, V + i * n, V + k * n, cosine, sine);
            }
    }
}

/* out = A with its rows and columns in units: they are multiplied by these sizes. */
static void in_units(long rows, long columns, const double *A, const double *down, const double *across, double *out) {
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < columns; k++) out[i * columns + k] = A[i * columns + k] * down[i] * across[k];
}

/* The units in which the diagonal of a matrix is one. */
static void own_units(long n, const double *A, double *units) {
    for (long i = 0; i < n; i++) units[i] = A[i * (n + 1)] > 0 ? 1 / sqrt(A[i * (n + 1)]) : 1;
}

/* The pseudo-inverse of a symmetric matrix: in these units, without eigenvalues that are nothing beside the largest. */
static void inverted(Contacts *c, long n, const double *A, const double *units, double *out) {
    Mark mark = marked(c);
    double *diagonal = numbers(c, n * n), *V = numbers(c, n * n), most = 0;
    in_units(n, n, A, units, units, diagonal);
    diagonalize(n, diagonal, V);
    for (long i = 0; i < n; i++) most = fmax(most, fabs(diagonal[i * n + i]));
    memset(out, 0, (size_t)(n * n) * sizeof(double));
    for (long k = 0; k < n; k++) {
        double value = diagonal[k * n + k];
        if (!(fabs(value) > MET * most)) continue;
        for (long i = 0; i < n; i++)
            for (long j = 0; j < n; j++) out[i * n + j] += V[k * n + i] * V[k * n + j] / value;
    }
    in_units(n, n, out, units, units, out);
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
                if (fabs(between) <= 4 * EPSILON * sqrt(a * b) || fmin(a, b) <= EPSILON * EPSILON * all) continue;
                double theta = (b - a) / (2 * between), tangent = 1 / (fabs(theta) + sqrt(theta * theta + 1));
                if (theta < 0) tangent = -tangent;
                double cosine = 1 / sqrt(tangent * tangent + 1), sine = tangent * cosine;
                rotate(n, one, other, cosine, sine);
                rotate(count, V + i * count, V + k * count, cosine, sine);
                rotated = 1;
            }
    }
}

/* x of least norm with A x = b as nearly as possible, A with rows and columns, without singular values that are nothing
   beside the largest. The columns are made orthogonal: with A^T = V^T U, x = V^T diag(1/s^2) U b. */
static void least_squares(Contacts *c, long rows, long columns, const double *A, const double *b, double *x) {
    Mark mark = marked(c);
    double *U = numbers(c, rows * columns), *V = numbers(c, columns * columns), most = 0;
    for (long i = 0; i < rows; i++)
        for (long k = 0; k < columns; k++) U[k * rows + i] = A[i * columns + k];
    orthogonalize(columns, rows, U, V);
    for (long k = 0; k < columns; k++) most = fmax(most, dotted(rows, U + k * rows, U + k * rows));
    memset(x, 0, (size_t)columns * sizeof(double));
    for (long k = 0; k < columns; k++) {
        double squared = dotted(rows, U + k * rows, U + k * rows);
        if (!(squared > MET * MET * most)) continue;
        double size = dotted(rows, U + k * rows, b) / squared;
        for (long i = 0; i < columns; i++) x[i] += size * V[k * columns + i];
    }
    back_to(c, mark);
}

/* The first rows, `count` of them, of the pseudo-inverse of a square matrix, in these units. */
static void some_inverted(Contacts *c, long n, const double *A, const double *units, long count, double *out) {
    Mark mark = marked(c);
    double *U = numbers(c, n * n), *V = numbers(c, n * n), most = 0;
    for (long i = 0; i < n; i++)
        for (long k = 0; k < n; k++) U[k * n + i] = A[i * n + k] * units[i] * units[k];
    orthogonalize(n, n, U, V);
    for (long k = 0; k < n; k++) most = fmax(most, dotted(n, U + k * n, U + k * n));
    memset(out, 0, (size_t)(count * n) * sizeof(double));
    for (long k = 0; k < n; k++) {
        double squared = dotted(n, U + k * n, U + k * n);
        if (!(squared > MET * MET * most)) continue;
        for (long i = 0; i < count; i++)
            for (long j = 0; j < n; j++) out[i * n + j] += V[k * n + i] * U[k * n + j] / squared;
    }
    in_units(count, n, out, units, units, out);
    back_to(c, mark);
}
