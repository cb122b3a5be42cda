/* Steps of EM for a hidden common cause: the loops of methods/mperi/hidden/latent.py, which explains them. */

#include "loops.h"

#include <math.h>
#include <string.h>

#define CONSTANT 1e-10   /* smallest residual variance */
/* Least share of a column's squares that earlier columns do not explain. Below it, numpy decides what to drop. */
#define CLEAR 1e-6
#define CLEAR_OF_ALL 1e-8 /* the same, as a share of the largest squares */

/* The regression of an effect on observed columns and the hidden cause, which comes last; or of the hidden cause on
   observed columns. Only products with the hidden cause change from step to step. */
typedef struct {
    ptrdiff_t size;            /* number of observed columns */
    const int64_t *columns;
    double *root;              /* [row, column]: factor of their products, with one more row for the cause; the
                                  diagonal holds the inverse roots of the pivots */
    double *with_own;          /* products of these columns, then of the cause, with the explained column */
    double own, rows;
} Regression;

/* Factor row `at` of a matrix in place. Return 0 if earlier rows leave too little of it. */
static int factor_row(double *root, ptrdiff_t at, ptrdiff_t stride, double most)
{
    double *row = root + at * stride, squares = row[at], pivot = squares;
    for (ptrdiff_t j = 0; j < at; j++) {
        const double *other = root + j * stride;
        double sum = row[j];
        for (ptrdiff_t l = 0; l < j; l++)
            sum -= row[l] * other[l];
        row[j] = sum * other[j];
        pivot -= row[j] * row[j];
    }
    if (!(pivot > CLEAR * squares) || !(pivot > CLEAR_OF_ALL * most))
        return 0;
    row[at] = 1.0 / sqrt(pivot);
    return 1;
}

/* Compute the slopes of a regression from a factor. */
static void solve(const double *root, ptrdiff_t size, ptrdiff_t stride, const double *with_own, double *slopes)
{
    for (ptrdiff_t i = 0; i < size; i++) {
        double sum = with_own[i];
        for (ptrdiff_t j = 0; j < i; j++)
            sum -= root[i * stride + j] * slopes[j];
        slopes[i] = sum * root[i * stride + i];
    }
    for (ptrdiff_t i = size - 1; i >= 0; i--) {
        double sum = slopes[i];
        for (ptrdiff_t j = i + 1; j < size; j++)
            sum -= root[j * stride + i] * slopes[j];
        slopes[i] = sum * root[i * stride + i];
    }
}

static double explained(const double *with_own, const double *slopes, ptrdiff_t size)
{
    double sum = 0.0;
    for (ptrdiff_t i = 0; i < size; i++)
        sum += with_own[i] * slopes[i];
    return sum;
}

static double at_least(double variance) { return variance > CONSTANT ? variance : CONSTANT; }

/* Work space of a step of EM. */
typedef struct {
    const Latent *latent;
    ptrdiff_t stride;          /* length of a row of the factors */
    double *across, *squares;  /* [site, column], [site]: products of the hidden cause with the columns and itself */
    double *weights, *precision;
    double *slopes;
} Step;

static int takes_part(const Latent *latent, ptrdiff_t effect, ptrdiff_t group, ptrdiff_t site)
{
    return effect < 0 || latent->groups[effect * latent->sites + site] == group;
}

/* Factor the observed columns, which do not change from step to step. Return 0 if numpy has to do it. */
static int prepare(Step *step, Regression *one, ptrdiff_t effect, ptrdiff_t group)
{
    const Latent *latent = step->latent;
    ptrdiff_t q = latent->columns, stride = step->stride;
    double most = 0.0;
    one->size = latent->first[effect + 2] - latent->first[effect + 1];
    one->columns = latent->before + latent->first[effect + 1];
    one->own = one->rows = 0.0;
    memset(one->root, 0, (size_t)(stride * stride) * sizeof(double));
    memset(one->with_own, 0, (size_t)stride * sizeof(double));
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        const double *moments = latent->moments + k * q * q;
        if (!takes_part(latent, effect, group, k))
            continue;
        one->rows += latent->n[k];
        for (ptrdiff_t i = 0; i < one->size; i++) {
            for (ptrdiff_t j = 0; j <= i; j++)
                one->root[i * stride + j] += moments[one->columns[i] * q + one->columns[j]];
            if (effect >= 0)
                one->with_own[i] += moments[one->columns[i] * q + latent->effects[effect]];
        }
        if (effect >= 0)
            one->own += moments[latent->effects[effect] * q + latent->effects[effect]];
    }
    for (ptrdiff_t i = 0; i < one->size; i++)
        most = one->root[i * stride + i] > most ? one->root[i * stride + i] : most;
    for (ptrdiff_t i = 0; i < one->size; i++)
        if (!factor_row(one->root, i, stride, most))
            return 0;
    return 1;
}

/* Regress the hidden cause on its own causes. Return its variance given them. */
static double cause_step(Step *step, Regression *one)
{
    const Latent *latent = step->latent;
    double squares = 0.0, spread;
    memset(one->with_own, 0, (size_t)step->stride * sizeof(double));
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        squares += step->squares[k];
        for (ptrdiff_t i = 0; i < one->size; i++)
            one->with_own[i] += step->across[k * latent->columns + one->columns[i]];
    }
    solve(one->root, one->size, step->stride, one->with_own, step->slopes);
    spread = at_least((squares - explained(one->with_own, step->slopes, one->size)) / one->rows);
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        step->precision[k] = 1.0 / spread;
        for (ptrdiff_t i = 0; i < one->size; i++)
            step->weights[k * latent->columns + one->columns[i]] = step->slopes[i] / spread;
    }
    return spread;
}

/* Regress an effect at the sites of a group. Return 0 if numpy has to do it. */
static int effect_step(Step *step, Regression *one, ptrdiff_t effect, ptrdiff_t group)
{
    const Latent *latent = step->latent;
    ptrdiff_t size = one->size, own = latent->effects[effect];
    double *row = one->root + size * step->stride, *slopes = step->slopes, most;
    memset(row, 0, (size_t)step->stride * sizeof(double));
    one->with_own[size] = 0.0;
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        const double *across = step->across + k * latent->columns;
        if (!takes_part(latent, effect, group, k))
            continue;
        for (ptrdiff_t i = 0; i < size; i++)
            row[i] += across[one->columns[i]];
        row[size] += step->squares[k];
        one->with_own[size] += across[own];
    }
    most = row[size];
    if (!factor_row(one->root, size, step->stride, most > one->rows ? most : one->rows))
        return 0;
    solve(one->root, size + 1, step->stride, one->with_own, slopes);
    double noise = at_least((one->own - explained(one->with_own, slopes, size + 1)) / one->rows);
    double strength = slopes[size] / noise;
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        double *weights = step->weights + k * latent->columns;
        if (!takes_part(latent, effect, group, k))
            continue;
        step->precision[k] += strength * slopes[size];
        weights[own] += strength;
        for (ptrdiff_t i = 0; i < size; i++)
            weights[one->columns[i]] -= strength * slopes[i];
    }
    return 1;
}

/* Compute the products of the hidden cause with the columns and with itself. */
static void compute_products(Step *step, const double *weights, const double *variance)
{
    const Latent *latent = step->latent;
    ptrdiff_t q = latent->columns;
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        double *across = step->across + k * q, total = 0.0;
        memset(across, 0, (size_t)q * sizeof(double));
        for (ptrdiff_t j = 0; j < q; j++) {
            const double *from = latent->moments + (k * q + j) * q; /* the moments are symmetric */
            double weight = weights[k * q + j];
            for (ptrdiff_t i = 0; i < q && weight != 0.0; i++)
                across[i] += from[i] * weight;
        }
        for (ptrdiff_t i = 0; i < q; i++)
            total += across[i] * weights[k * q + i];
        step->squares[k] = total + latent->n[k] * variance[k];
    }
}

/* Make one step of EM with all regressions, that of the cause first. Replace `weights` and `variance`. */
static int one_step(Step *step, Regression *all, const int64_t *of, ptrdiff_t count, double *weights, double *variance)
{
    const Latent *latent = step->latent;
    ptrdiff_t q = latent->columns;
    compute_products(step, weights, variance);
    memset(step->weights, 0, (size_t)(latent->sites * q) * sizeof(double));
    double spread = cause_step(step, all);
    for (ptrdiff_t at = 1; at < count; at++)
        if (!effect_step(step, all + at, of[2 * at], of[2 * at + 1]))
            return 0;
    for (ptrdiff_t k = 0; k < latent->sites; k++) {
        for (ptrdiff_t i = 0; i < q; i++) /* the unit of the cause is arbitrary: its conditional deviation */
            weights[k * q + i] = step->weights[k * q + i] / step->precision[k] / sqrt(spread);
        variance[k] = 1.0 / step->precision[k] / spread;
    }
    return 1;
}

/* List the regressions as pairs of an effect and a group. The first one is that of the cause: (-1, -1). */
static ptrdiff_t list_regressions(const Latent *latent, int64_t *of)
{
    ptrdiff_t count = 1;
    of[0] = of[1] = -1;
    for (ptrdiff_t effect = 0; effect < latent->count; effect++)
        for (ptrdiff_t k = 0; k < latent->sites; k++) {
            const int64_t *groups = latent->groups + effect * latent->sites;
            int known = groups[k] < 0;
            for (ptrdiff_t other = 0; other < k && !known; other++)
                known = groups[other] == groups[k];
            if (known)
                continue;
            of[2 * count] = effect;
            of[2 * count++ + 1] = groups[k];
        }
    return count;
}

/* Make some steps of EM, which replace `weights` and `variance`. If columns are nearly collinear, leave them to numpy,
   with nothing written. */
int latent_steps(const Latent *latent, int64_t steps)
{
    ptrdiff_t q = latent->columns, stride = 0, most = latent->count * latent->sites + 1;
    size_t cells = (size_t)(latent->sites * q);
    for (ptrdiff_t at = 0; at <= latent->count; at++)
        if (latent->first[at + 1] - latent->first[at] + 1 > stride)
            stride = latent->first[at + 1] - latent->first[at] + 1;
    int64_t *of = malloc(2 * (size_t)most * sizeof(int64_t));
    ptrdiff_t count = of ? list_regressions(latent, of) : 0;
    size_t each = (size_t)(stride * stride + stride);
    Regression *all = malloc((size_t)(count + 1) * sizeof(Regression));
    double *room = malloc(((size_t)count * each + 3 * cells + 3 * (size_t)latent->sites + (size_t)stride) * sizeof(double));
    int fault = of && all && room ? 0 : NO_MEMORY;
    if (!fault) {
        double *weights = room + (size_t)count * each, *variance = weights + cells;
        Step step = {.latent = latent, .stride = stride, .across = variance + latent->sites};
        step.squares = step.across + cells;
        step.weights = step.squares + latent->sites;
        step.precision = step.weights + cells;
        step.slopes = step.precision + latent->sites;
        memcpy(weights, latent->weights, cells * sizeof(double));
        memcpy(variance, latent->variance, (size_t)latent->sites * sizeof(double));
        for (ptrdiff_t at = 0; at < count && !fault; at++) {
            all[at].root = room + (size_t)at * each;
            all[at].with_own = all[at].root + stride * stride;
            fault = prepare(&step, all + at, of[2 * at], of[2 * at + 1]) ? 0 : NOT_FOR_LOOPS;
        }
        for (int64_t turn = 0; turn < steps && !fault; turn++)
            fault = one_step(&step, all, of, count, weights, variance) ? 0 : NOT_FOR_LOOPS;
        if (!fault) {
            memcpy(latent->weights, weights, cells * sizeof(double));
            memcpy(latent->variance, variance, (size_t)latent->sites * sizeof(double));
        }
    }
    free(of);
    free(all);
    free(room);
    return fault;
}

/* Estimate the correlations of variables with their common factor, by steps of EM that begin with `out`. */
int one_factor(const double *correlation, ptrdiff_t size, double strongest, int64_t steps, double *out)
{
    double *weights = malloc(2 * (size_t)size * sizeof(double)), *with_it = weights + size;
    if (!weights)
        return NO_MEMORY;
    for (int64_t step = 0; step < steps; step++) {
        double precision = 1.0, squares = 0.0;
        for (ptrdiff_t i = 0; i < size; i++)
            precision += out[i] * out[i] / (1.0 - out[i] * out[i]);
        for (ptrdiff_t i = 0; i < size; i++)
            weights[i] = out[i] / (1.0 - out[i] * out[i]) / precision;
        for (ptrdiff_t i = 0; i < size; i++) {
            with_it[i] = explained(correlation + i * size, weights, size);
            squares += weights[i] * with_it[i];
        }
        for (ptrdiff_t i = 0; i < size; i++) {
            double value = with_it[i] / sqrt(squares + 1.0 / precision);
            out[i] = value > strongest ? strongest : value < -strongest ? -strongest : value;
        }
    }
    free(weights);
    return 0;
}
