/* Error-controlled integration of ydot = f(t, y) in steps that know nothing of the output.

   Three methods. `rk8`: the explicit Runge-Kutta method of order 8 by Dormand and Prince with error estimates of orders 5
   and 3 and dense output of order 7 (Hairer, Norsett, Wanner, Solving Ordinary Differential Equations I, code DOP853).
   `radau`: the implicit method Radau IIA of order 5 for stiff systems (Hairer, Wanner, Solving Ordinary Differential
   Equations II, section IV.8), with Jacobians by differences. `rk45`: the explicit method of order 5 by Dormand and Prince
   (the code DOPRI5, its dense output of order 4 by Shampine as in SciPy's RK45). Where samples come so often that `rk8`
   would be too good for the steps between them, it makes these steps at half the price, or the one of order 4 by Kutta
   with Zonneveld's error estimate of order 3 (Hairer, Norsett, Wanner, table II.4.2) at less than that.

   After every step the state is brought back to its constraints by `project` (one step of Newton's method, enough for the
   little that a step drifts). *Surfaces* are functions whose changes of sign no step may go over without a word: each
   step is searched for them along its dense output, in parts as fine as the surfaces ask for, and ends where one of them asks
   for it (events.h). *Samplers* are functions
   that are asked at given moments, at which a step ends, and whose values are held in between. */
#include "run.h"
#include "rk8.h"
#include "rk45.h"
#include "radau.h"
#include "control.h"
#include "surfaces.h"

static void remember(Run *r) {
    if (++r->since < r->stride) return;
    r->since = 0;
    if (r->traced == r->rows) { /* every other one is enough */
        for (long k = 0; k < r->rows / 2; k++)
            memcpy(r->trace + k * (r->n + 1), r->trace + (2 * k + 1) * (r->n + 1), (r->n + 1) * sizeof(double));
        r->traced = r->rows / 2, r->stride *= 2;
    }
    double *row = r->trace + r->traced++ * (r->n + 1);
    row[0] = r->t;
    memcpy(row + 1, r->y, r->n * sizeof(double));
}

static double moment(const Sampler *s) { return s->start + s->tick / s->rate; }

/* The next moment at which something is sampled. */
static double due(const Run *r) {
    double next = INFINITY;
    for (long k = 0; k < r->samplers; k++) next = fmin(next, moment(r->sampler + k));
    return next;
}

/* Ask the samplers whose moment has come, but for rounding; 1 if there are any. */
static int sample(Run *r) {
    int any = 0;
    for (Sampler *s = r->sampler; s < r->sampler + r->samplers; s++) {
        if (moment(s) > r->t + 1e-9 / s->rate) continue;
        place(r, r->t, r->y, 1);
        if (!r->stopped) r->stopped = s->call(r->x, r->work, r->result);
        for (long i = 0; i < s->count && !r->stopped; i++) r->x[r->n + 1 + s->place[i]] = r->result[i];
        s->tick++, any = 1;
    }
    if (any && !r->stopped && r->logged < r->log_rows) {
        double *row = r->log + r->logged++ * (r->held + 1);
        row[0] = r->t;
        memcpy(row + 1, r->x + r->width - r->held, r->held * sizeof(double));
    }
    return any;
}

/* Take what was attempted: outputs within it, then the state goes on to its end, at the time `end`. */
static void steps_accept(Run *r, double end) {
    for (; r->done < r->count && r->times[r->done] <= end; r->done++) {
        double *to = r->out + r->done * r->n;
        if (r->times[r->done] == end) memcpy(to, r->projected, r->n * sizeof(double));
        else {
            within(r, (r->times[r->done] - r->t) / r->step, to);
            project_state(r, r->times[r->done], to);
        }
    }
    if (r->method == RADAU && r->is_explicit) r->guessed = r->current = r->factored = 0;
    else if (r->method == RADAU) {
        if (!r->dense) radau_dense(r);
        memcpy(r->P, r->F, 3 * r->n * sizeof(double));
        r->guessed = r->step;
        r->current = r->iterations <= 2 || r->rate <= 0.1 ? 2 : 0; /* the Jacobian may do for another step */
    }
    memcpy(r->y, r->projected, r->n * sizeof(double));
    r->t = end, r->h = r->next, r->steps++, r->rejections = 0;
    int sampled = sample(r);
    if (sampled) r->guessed = 0; /* the slopes jump */
    int stage = r->short_step == RK5 ? 6 : 12; /* the slopes that are those at the end */
    if (r->method != RADAU && !r->project && !sampled && r->short_step != RK4)
        memcpy(r->ydot, r->K + stage * r->n, r->n * sizeof(double));
    else slopes(r, r->t, r->y, r->ydot);
    remember(r);
}

/* Begin anew at the state: with other slopes, or another method. */
EXPORT void steps_begin(Run *r) {
    r->h = r->before = r->guessed = r->level = r->wanted = 0;
    r->rejections = r->current = r->factored = r->stiff = r->calm = r->rounding_steps = 0;
    sample(r);
    slopes(r, r->t, r->y, r->ydot);
    take_sides(r);
}

#include "events.h"

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Whether the explicit method would have been stable for the last twenty steps, or would have cost less since it was left:
   then it is not left again so soon. */
static int is_no_longer_stiff(Run *r) {
    r->stiff = r->next * r->spectral < 0.5 * STABLE ? r->stiff + 1 : 0;
    if (r->stiff >= 20) return 1;
    double gone = r->t + r->step - r->since_time;
    if ((r->steps - r->since_steps) % 20 != 19 || r->evaluations - r->paid < r->price * gone) return 0;
    r->patience *= 4;
    return 1;
}

/* Whether an error above the tolerance is nothing but rounding. It is looked at where steps fail again and again, or by
   more than a step that is a little too long. */
static int is_rounding(Run *r, double error) {
    int suspect = r->rejections || r->rounding_steps || error > 30;
    if (!suspect || r->stages || !(error * r->rtol < LARGEST_ROUNDING) || !(error < rounding(r))) return 0;
    r->rounding_steps = 4, r->wanted = fmax(r->wanted, r->step);
    return 1;
}

/* Whether the way back to the constraints is so long that no drift explains it, for a constraint has jumped; or, with
   rigid contacts, does not lead there, for a ring has tipped over: another way from its end is as long. */
static int is_lost(Run *r) {
    double way = apart(r->n, r->fresh, r->projected), *next = r->F;
    if (!r->project || way <= DRIFT) return 0;
    if (!(way <= JUMP) || !r->margins) return !(way <= JUMP);
    memcpy(next, r->projected, r->n * sizeof(double));
    project_state(r, r->t + r->step, next);
    return !(apart(r->n, r->projected, next) < 0.9 * way);
}

/* Whether the step is to be taken; if not, another one is to be tried. Where the slopes are not known well enough (near
   singular positions), no much shorter step would be better: it would only be nearer. Steps of about the same length,
   whose stages are elsewhere, are tried then, and the less is asked of them the more have failed. */
static int is_good(Run *r, double error) {
    if (!(error < 1)) {
        int rough = is_rounding(r, error);
        if (!rough || error > pow(10, r->rejections)) {
            r->h = rough ? 0.85 * r->step : after(r, error, 0);
            return 0;
        }
        if (error > r->rough) r->rough = error, r->rough_at = r->t;
        error = 0.5;
    }
    if (is_lost(r)) {
        r->h = 0.2 * r->step;
        return 0;
    }
    r->next = fmax(r->wanted, after(r, error, 1)), r->wanted = 0;
    if (!r->rounding_steps || !--r->rounding_steps) r->level = 0;
    return 1;
}

/* Step after step up to `end`, for some seconds. */
EXPORT int steps_integrate(Run *r, double end, double seconds) {
    double until = seconds_now() + seconds;
    int late = 0; /* one step is always tried */
    while (r->t < end) {
        if (r->h <= 0) r->h = first_step(r);
        if (r->stopped) return STOPPED;
        if (late || (r->samplers && r->logged >= r->log_rows - 8) || r->noted > NOTES - CROSSINGS) return GO_ON;
        double stop = fmin(end, due(r)), left = stop - r->t, h = fmin(r->h, r->longest);
        if (r->searchable > 0) h = fmin(h, r->searchable);
        if (!(h > 2e-15 * fabs(r->t) + 1e-20 * left) || r->crawling > CRAWLING) return TOO_SMALL;
        int last = h > left * 0.999999;
        late = seconds_now() > until;
        r->whole = last ? left : h, r->until = last ? stop : r->t + h;
        r->try_short = last && r->method == RK8 && stop < end;
        double error = steps_attempt(r, r->whole);
        if (r->stopped) return STOPPED;
        if (!is_good(r, error)) {
            r->rejections++;
            continue;
        }
        int changed = r->watching && !r->rounding_steps && !r->short_step && (r->method == RK8 ? rk8_is_stiff(r) : is_no_longer_stiff(r));
        if (r->surfaces) {
            if (is_lucky(r)) {
                r->h = 0.5 * r->step, r->rejections++;
                continue;
            }
            long found = look(r);
            if (is_crowded(r)) continue;
            if (found && !r->stopped) {
                int met = meet(r);
                if (met == KINK) steps_begin(r);
                if (met == KINK || met == GO_ON) continue;
                return met == STOPPED && r->stopped == NOT_A_NUMBER ? NOT_A_NUMBER : met;
            }
            memcpy(r->side, r->after, r->surfaces * sizeof(long));
        }
        double part = r->step / fabs(r->t); /* where rounding has to do with it, that is seen sooner */
        r->crawling = part < 1e-8 ? r->crawling + (r->rounding_steps ? 200 : part < 1e-12 ? 40 : part < 1e-9) : 0;
        steps_accept(r, r->until);
        if (changed) return r->method == RK8 ? STIFF : NOT_STIFF;
    }
    return r->stopped ? STOPPED : END;
}
