/* Arithmetic on LANES states at once. V is a double, or a vector of LANES doubles (GCC and Clang vector extensions).
   Sines and cosines share one argument reduction and are good to about one unit in the last place; NaN and infinities
   are handled as by the C library. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __GNUC__
#define INLINE static inline __attribute__((unused))
#define NOINLINE __attribute__((noinline))
#define UNLIKELY(condition) __builtin_expect(condition, 0)
#else
#define INLINE static inline
#define NOINLINE
#define UNLIKELY(condition) (condition)
#endif

#if LANES == 1
typedef double V;
typedef int64_t VI;
#define S(c) (c)
INLINE VI bits(V a) { VI i; memcpy(&i, &a, 8); return i; }
INLINE V from_bits(VI i) { V a; memcpy(&a, &i, 8); return a; }
#define LANE(a, i) (a)
#define TRUTH(mask) ((V)(mask))
#define MASK(condition) (-(VI)(condition))
#else
typedef double V __attribute__((vector_size(8 * LANES)));
typedef int64_t VI __attribute__((vector_size(8 * LANES)));
#define S(c) ((c) - (V){0}) /* spread; minus because 0 + -0 would be 0 */
INLINE VI bits(V a) { return (VI)a; }
INLINE V from_bits(VI i) { return (V)i; }
#define LANE(a, i) ((a)[i])
#define TRUTH(mask) ((V)((mask) & bits(S(1.0))))
#define MASK(condition) (condition)
#endif

#define EACH(name, expression)                                      \
    INLINE V name(V a) {                                     \
        V r;                                                        \
        for (int i = 0; i < LANES; i++) { double x = LANE(a, i); LANE(r, i) = (expression); } \
        return r;                                                   \
    }
#define EACH2(name, expression)                                     \
    INLINE V name(V a, V b) {                                \
        V r;                                                        \
        for (int i = 0; i < LANES; i++) { double x = LANE(a, i), y = LANE(b, i); LANE(r, i) = (expression); } \
        return r;                                                   \
    }

/* How many of the n knots are not above x. */
INLINE double search(const double *knots, long n, double x) {
    long low = 0, high = n;
    while (low < high) {
        const long middle = (low + high) / 2;
        if (x < knots[middle]) high = middle;
        else low = middle + 1;
    }
    return (double)low;
}

INLINE V choose(VI mask, V a, V b) { return from_bits((bits(a) & mask) | (bits(b) & ~mask)); }

INLINE V v_fabs(V a) { return from_bits(bits(a) & INT64_MAX); }
INLINE V v_lt(V a, V b) { return TRUTH(a < b); }
INLINE V v_le(V a, V b) { return TRUTH(a <= b); }
INLINE V v_eq(V a, V b) { return TRUTH(a == b); }
INLINE V v_ne(V a, V b) { return TRUTH(a != b); }
INLINE V v_and(V a, V b) { return TRUTH((a != 0.0) & (b != 0.0)); }
INLINE V v_or(V a, V b) { return TRUTH((a != 0.0) | (b != 0.0)); }
INLINE V v_not(V a) { return TRUTH(a == 0.0); }
INLINE V v_if_else_zero(V a, V b) { return choose(MASK(a != 0.0), b, S(0.0)); }
INLINE V v_fmin(V a, V b) { return choose(MASK((a < b) | (b != b)), a, b); }
INLINE V v_fmax(V a, V b) { return choose(MASK((a > b) | (b != b)), a, b); }
INLINE V v_sign(V a) { return choose(MASK(a == 0.0) | MASK(a != a), a, TRUTH(a > 0.0) - TRUTH(a < 0.0)); }
INLINE V v_copysign(V a, V b) { return from_bits((bits(a) & INT64_MAX) | (bits(b) & INT64_MIN)); }

#if defined(__AVX512F__) && LANES == 8
#include <immintrin.h>
INLINE V v_sqrt(V a) { return (V)_mm512_sqrt_pd((__m512d)a); }
#elif defined(__AVX__) && LANES == 4
#include <immintrin.h>
INLINE V v_sqrt(V a) { return (V)_mm256_sqrt_pd((__m256d)a); }
#else
EACH(v_sqrt, sqrt(x))
#endif

EACH(v_exp, exp(x))
EACH(v_log, log(x))
EACH(v_log1p, log1p(x))
EACH(v_expm1, expm1(x))
EACH(v_tan, tan(x))
EACH(v_asin, asin(x))
EACH(v_acos, acos(x))
EACH(v_atan, atan(x))
EACH(v_sinh, sinh(x))
EACH(v_cosh, cosh(x))
EACH(v_tanh, tanh(x))
EACH(v_asinh, asinh(x))
EACH(v_acosh, acosh(x))
EACH(v_atanh, atanh(x))
EACH(v_floor, floor(x))
EACH(v_ceil, ceil(x))
EACH(v_erf, erf(x))
EACH2(v_pow, pow(x, y))
EACH2(v_atan2, atan2(x, y))
EACH2(v_fmod, fmod(x, y))
EACH2(v_remainder, remainder(x, y))
EACH2(v_hypot, hypot(x, y))

/* a - b as r + e exactly (Knuth). */
INLINE V difference(V a, V b, V *e) {
    V r = a - b, z = r - a;
    *e = (a - (r - z)) - (b + z);
    return r;
}

INLINE int all_within(V a, double limit) {
    for (int i = 0; i < LANES; i++)
        if (!(fabs(LANE(a, i)) < limit)) return 0;
    return 1;
}

/* Sine and cosine: reduction by pi/2 in pieces of 33 bits (exact products up to 2^20 quarter turns), then the minimax
   polynomials of the Sun C library with the low part of the reduced argument. Beyond, the C library, for those lanes. */
#define LARGE 1.6e6
static NOINLINE void large_sincos(const V *a, V *sine, V *cosine) {
    for (int i = 0; i < LANES; i++)
        if (!(fabs(LANE(*a, i)) < LARGE)) { LANE(*sine, i) = sin(LANE(*a, i)); LANE(*cosine, i) = cos(LANE(*a, i)); }
}

INLINE void v_sincos(V a, V *sine, V *cosine) {
    V shifted = a * 6.36619772367581382433e-01 + 0x1.8p52;
    V k = shifted - 0x1.8p52;
    VI n = bits(shifted);
    V e1, e2, r = a - k * 1.57079632673412561417e+00;
    r = difference(r, k * 6.07710050630396597660e-11, &e1);
    r = difference(r, k * 2.02226624871116645580e-21, &e2);
    V y = (e1 + e2) - k * 8.47842766036889956997e-32;
    V z = r * r, v = z * r;
    V ps = 8.33333333332248946124e-03 + z * (-1.98412698298579493134e-04 + z * (2.75573137070700676789e-06
         + z * (-2.50507602534068634195e-08 + z * 1.58969099521155010221e-10)));
    V s = r - ((z * (0.5 * y - v * ps) - y) - v * -1.66666666666666324348e-01);
    V pc = z * (4.16666666666666019037e-02 + z * (-1.38888888888741095749e-03 + z * (2.48015872894767294178e-05
         + z * (-2.75573143513906633035e-07 + z * (2.08757232129817482790e-09 + z * -1.13596475577881948265e-11)))));
    V hz = 0.5 * z, w = 1.0 - hz;
    V c = w + (((1.0 - w) - hz) + (z * pc - r * y));
    VI odd = -(n & 1);
    *sine = from_bits(bits(choose(odd, c, s)) ^ (INT64_MIN & -(n >> 1 & 1)));
    *cosine = from_bits(bits(choose(odd, s, c)) ^ (INT64_MIN & -((n + 1) >> 1 & 1)));
    if (UNLIKELY(!all_within(a, LARGE))) large_sincos(&a, sine, cosine);
}
INLINE V v_sin(V a) { V s, c; v_sincos(a, &s, &c); return s; }
INLINE V v_cos(V a) { V s, c; v_sincos(a, &s, &c); return c; }
