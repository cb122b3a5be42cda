/* Sums over all DAGs: the loops of search/layers.py, which explains them. */

#include "loops.h"

#include <string.h>

#define LANES 8 /* sums of a dot product that run side by side */

/* Two to the power of something that is not positive. What is too small for a double is zero. */
static inline double two_to(int64_t power)
{
    union {
        uint64_t bits;
        double value;
    } number = {power < -1022 ? 0 : (uint64_t)(power + 1023) << 52};
    return number.value;
}

typedef struct {
    ptrdiff_t p;
    const double *sum;          /* [set, node]: weights of the parent sets within a set, added up, over 2^power */
    const int64_t *power;       /* [set, node] */
    const int64_t *best;        /* [set]: power of the best DAG on a set */
    size_t three[MOST_LAYERED]; /* powers of three: a state has one digit per variable */
    size_t *code;               /* [set]: the digits of a set, all 1 */
    size_t *spread, *then;      /* by subset of what is left: its code, twice; all that is placed with it */
    double *factor;             /* by subset of what is left: 2^(best here + powers of those added - best there) */
    double *product, *fold;     /* by subset of what is left */
    int64_t *powers;
    double own[MOST_LAYERED]; /* of each variable that is left: weights of the sets that meet the last layer */
    int left[MOST_LAYERED];
    int count;
} Layers;

/* Prepare for the layers that may follow when `placed` is the set of variables placed so far. */
static void look_ahead(Layers *layers, size_t placed)
{
    const int64_t *power = layers->power + placed * (size_t)layers->p;
    size_t sets = 1;
    layers->count = 0;
    layers->spread[0] = 0;
    layers->powers[0] = layers->best[placed];
    layers->then[0] = placed;
    for (int v = 0; v < layers->p; v++) {
        if (placed >> v & 1)
            continue;
        layers->left[layers->count++] = v;
        for (size_t s = 0; s < sets; s++) {
            layers->spread[sets + s] = layers->spread[s] + 2 * layers->three[v];
            layers->powers[sets + s] = layers->powers[s] + power[v];
            layers->then[sets + s] = layers->then[s] | (size_t)1 << v;
        }
        sets *= 2;
    }
    for (size_t s = 0; s < sets; s++) /* where there is no DAG at all, the sum of powers is below any difference */
        layers->factor[s] =
            layers->powers[s] < NO_POWER / 2 ? 0.0 : two_to(layers->powers[s] - layers->best[layers->then[s]]);
}

/* Weights of the parent sets within `placed` that are not within `earlier`, for each variable that is left. */
static void weigh(Layers *layers, size_t placed, size_t earlier)
{
    size_t p = (size_t)layers->p;
    const double *all = layers->sum + placed * p, *some = layers->sum + earlier * p;
    const int64_t *high = layers->power + placed * p, *low = layers->power + earlier * p;
    for (int t = 0; t < layers->count; t++) {
        int v = layers->left[t];
        double rest = all[v] - some[v] * two_to(low[v] - high[v]);
        layers->own[t] = rest > 0.0 ? rest : 0.0;
    }
}

/* Products of the weights over each subset of the first `count` variables, times the first product. */
VECTORS static void multiply(double *restrict product, const double *own, int count)
{
    size_t sets = 1;
    for (int t = 0; t < count; t++, sets *= 2)
        for (size_t s = 0; s < sets; s++)
            product[sets + s] = product[s] * own[t];
}

VECTORS static void add(double *restrict to, const double *restrict from, size_t count)
{
    for (size_t s = 0; s < count; s++)
        to[s] += from[s];
}

/* Sum over subsets of coefficient times product: take the variables in, last one first. Level t, of 2^t sums, begins at
   fold + 2^t; the coefficients are the last level. */
VECTORS static double sum_up(double *fold, const double *own, int count)
{
    for (int t = count - 1; t >= 0; t--) {
        size_t sets = (size_t)1 << t;
        double *restrict to = fold + sets;
        const double *restrict from = fold + 2 * sets;
        for (size_t s = 0; s < sets; s++)
            to[s] = from[s] + own[t] * from[sets + s];
    }
    return fold[1];
}

VECTORS static double dot(const double *restrict a, const double *restrict b, size_t count)
{
    double sums[LANES] = {0.0}, total = 0.0;
    if (count < LANES) {
        for (size_t s = 0; s < count; s++)
            total += a[s] * b[s];
        return total;
    }
    for (size_t s = 0; s < count; s += LANES)
        for (size_t lane = 0; lane < LANES; lane++)
            sums[lane] += a[s + lane] * b[s + lane];
    for (size_t lane = 0; lane < LANES; lane++)
        total += sums[lane];
    return total;
}

/* Sums over what may have come before each state. */
static void look_back(Layers *layers, double *before)
{
    size_t all = ((size_t)1 << layers->p) - 1;
    double *row = layers->fold;
    for (size_t placed = 0; placed < all; placed++) {
        look_ahead(layers, placed);
        size_t sets = (size_t)1 << layers->count;
        memset(row, 0, sets * sizeof(double));
        for (size_t last = placed; last || !placed; last = (last - 1) & placed) {
            double state = placed ? before[layers->code[placed ^ last] + 2 * layers->code[last]] : 1.0;
            if (state > 0.0) {
                if (placed)
                    weigh(layers, placed, placed ^ last);
                else
                    for (int t = 0; t < layers->count; t++)
                        layers->own[t] = layers->sum[layers->left[t]];
                layers->product[0] = state;
                multiply(layers->product, layers->own, layers->count);
                add(row, layers->product, sets);
            }
            if (!placed)
                break;
        }
        for (size_t s = 1; s < sets; s++)
            before[layers->code[placed] + layers->spread[s]] = row[s] * layers->factor[s];
    }
}

/* Sums over what may come after each state; with them, the weights of all DAGs with a node in the next layer. */
static double look_on(Layers *layers, const double *before, double *after, double *within, double *earlier)
{
    size_t p = (size_t)layers->p, all = ((size_t)1 << p) - 1;
    double total = 0.0;
    for (size_t last = all; last; last = (last - 1) & all) {
        after[layers->code[all ^ last] + 2 * layers->code[last]] = 1.0;
        total += before[layers->code[all ^ last] + 2 * layers->code[last]];
    }
    for (size_t placed = all; placed-- > 1;) {
        look_ahead(layers, placed);
        size_t sets = (size_t)1 << layers->count;
        double *next = layers->fold + sets;
        next[0] = 0.0; /* a layer is not empty */
        for (size_t s = 1; s < sets; s++)
            next[s] = layers->factor[s] * after[layers->code[placed] + layers->spread[s]];
        for (size_t last = placed; last; last = (last - 1) & placed) {
            size_t sooner = placed ^ last, state = layers->code[sooner] + 2 * layers->code[last];
            after[state] = 0.0;
            if (!(before[state] > 0.0))
                continue; /* then it does not matter what comes after */
            weigh(layers, placed, sooner);
            after[state] = sum_up(layers->fold, layers->own, layers->count);
            layers->product[0] = before[state];
            multiply(layers->product, layers->own, layers->count - 1);
            for (int t = 0; t < layers->count; t++) {
                size_t half = (size_t)1 << t, here = placed * p + (size_t)layers->left[t],
                       there = sooner * p + (size_t)layers->left[t];
                double weight = dot(layers->product, layers->fold + 3 * half, half);
                within[here] += weight;
                earlier[there] += weight * two_to(layers->power[there] - layers->power[here]);
            }
        }
    }
    return total;
}

/* Weight of all DAGs over 2^best[all variables]; and, by set and node, what parent sets within a set are multiplied
   with: `within` if the layers so far are that set, `earlier` if those before the last one are. All [set, node]. */
int layers(ptrdiff_t p, const double *sum, const int64_t *power, const int64_t *best, double *within, double *earlier,
           double *total)
{
    Layers work = {.p = p, .sum = sum, .power = power, .best = best};
    size_t sets = (size_t)1 << p, states = 1;
    for (ptrdiff_t v = 0; v < p; v++, states *= 3)
        work.three[v] = states;
    work.code = malloc(sets * sizeof(size_t));
    work.spread = malloc(sets * sizeof(size_t));
    work.then = malloc(sets * sizeof(size_t));
    work.powers = malloc(sets * sizeof(int64_t));
    work.factor = malloc(sets * sizeof(double));
    work.product = malloc(sets * sizeof(double));
    work.fold = malloc(2 * sets * sizeof(double));
    double *before = malloc(states * sizeof(double)), *after = malloc(states * sizeof(double));
    int fault = NO_MEMORY;
    if (work.code && work.spread && work.then && work.powers && work.factor && work.product && work.fold && before &&
        after) {
        work.code[0] = 0;
        for (ptrdiff_t v = 0; v < p; v++)
            for (size_t s = 0; s < (size_t)1 << v; s++)
                work.code[((size_t)1 << v) + s] = work.code[s] + work.three[v];
        look_back(&work, before);
        *total = look_on(&work, before, after, within, earlier);
        fault = 0;
    }
    free(work.code);
    free(work.spread);
    free(work.then);
    free(work.powers);
    free(work.factor);
    free(work.product);
    free(work.fold);
    free(before);
    free(after);
    return fault;
}
