/* Impulses x at rows that move with v before and v+ = v + W x after: 0 <= normal x, v+ + e v >= 0 with one of the two zero, x
   within its cone. Without restitution (p in place of x) energy cannot grow: p (v + W p / 2) = p v+ - p W p / 2 <= 0. Where
   friction and restitution together would gain some, there is as much restitution as gains none: cones and half spaces are
   convex, so that all between p and x is allowed. Where no x turns all points back, p is made larger by e, or by as much as
   lets nothing approach; up to 2 p that gains nothing, because p v <= -p W p. */

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
            if (change < -MET * fast) most = fmin(most, fmax(v[row] + change, 0) / -change);
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
