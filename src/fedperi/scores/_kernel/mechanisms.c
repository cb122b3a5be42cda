/* How well a variable's mechanism explains several sites, when some of them share it and others do not.

   A family is a node and a set of parents. At every site the node is regressed on its parents. Sites whose regressions
   agree are joined into groups, and each group pays for one set of parameters instead of one per site. A site or a
   group may use fewer parents, if a policy cut off the others. docs/explanation/method.md derives the score. */

#include "loops.h"

#include <math.h>
#include <string.h>

#define TOO_FEW -1e9  /* score of a single site that has too few rows for the family: it must join others */
#define LEAST_GAIN 1e-7
#define NEAR 3.0 /* nats: compute a move exactly if its estimated loss is not larger */
#define ROUNDING 1e-3 /* nats added to an upper bound, so that rounding cannot make it too low */
#define NOT_CUT SIZE_MAX
#define LANES 8 /* sites that are processed in parallel by vector instructions */
#define MANY 128 /* in groups of at least this size, several sites leave in one step: */
#define AT_ONCE 16 /* one in 16 of them */
#define CONSTANT 1e-10 /* share of a column's spread over all sites below which it is constant at one of them */

typedef struct {
    const Sites *sites;
    int64_t node;
    ptrdiff_t own, parts;  /* columns of the node (one if spreads are shared); matrices per group: one, or one per
                              column if every site has its own spread */
    const int64_t *parents;
    size_t set;            /* current family: bit set of its parents */
    ptrdiff_t regressors;  /* current family: the constant and the columns of the parents */
    int64_t columns[MOST_COLUMNS];
    ptrdiff_t packed;      /* size of the largest packed matrix */
    double *root;          /* [part, packed]: factors of the last group that was scored */
    double *joint;         /* [part, packed]: summed moments of several sites */
    double *some;          /* [2, packed]: moments of some of these columns, and their factor */
    double *single;        /* [site, part, packed]: moments of the sites */
    double *sums;          /* [site, part, packed]: moments of the groups; at first each site is a group */
    double *weights;       /* weights of the columns of one regression */
    double *left;          /* [column of the node]: residual sums of squares of the last group that was scored */
    double *gain;          /* [site, site]: gain from joining two groups */
    double *score, *value; /* [site]: score of a group with all parents; best value, after prices, with all or fewer */
    double *rows, *fixed;  /* [site]: weighted rows of a group; part of the score that joining does not change */
    double *alone;         /* [site]: value of a single site */
    double *own_score;     /* [site]: score of a single site with all parents */
    double *own_fit;       /* [site]: fit of a single site with all parents */
    double *own_rows, *own_fixed;
    size_t *cut, *own_cut; /* [site]: parents that a group, or a single site, keeps; NOT_CUT if it keeps all */
    double tau;            /* how much sites may differ and still share a mechanism */
    int64_t *members;      /* [site]: number of sites in a group; 0 if it was joined to another group */
    ptrdiff_t *list;       /* [site]: groups that may be joined */
    ptrdiff_t blocks;      /* number of blocks of LANES sites; the last one may not be full */
    ptrdiff_t local[MOST_COLUMNS]; /* position of each column of the current family among those of the largest family */
    ptrdiff_t same[MOST_COLUMNS];  /* 0, 1, 2, ...: the same for `pairs`, which holds no other columns */
    double *cells;         /* [block, cell of the largest family, lane]: moments of the sites */
    double *packs;         /* [site, cell of the largest family]: the same, by site */
    double *totals;        /* [cell of the largest family, lane]: the same, summed over all sites in groups, with the
                              weights of one tolerance per lane */
    double *grown_totals, *left_totals, *rank_totals, *least_totals; /* as for the sites */
    double *shared;        /* [site, rounded up]: weight of a row in a group */
    ptrdiff_t grouped;     /* number of sites in groups: they did not set the node, nor declare it a target */
    int few;               /* whether one of these has too few rows for the current family */
    int gathered;          /* whether `single` belongs to the current family and tolerance */
    ptrdiff_t factored;    /* group whose factors are in `root`; -1 if there is none */
    double fit;            /* log-likelihood of the last group that was scored, before any penalty */
    ptrdiff_t rank;        /* rank of its regressors */
    double differ;         /* nats by which separate fits of all sites are better than a joint fit */
    double *step;          /* [tolerance, site]: see `most_possible` */
    double *weight;        /* [tolerance]: summed weighted rows of all sites in groups */
    double *factor;        /* [cell, lane]: factors of groups that are scored in parallel */
    double *pairs;         /* [cell, lane]: moments of these groups */
    double *grown;         /* [block, see `grow`]: factors of the sites */
    ptrdiff_t widest;      /* columns of the largest family */
    uint32_t *gain_time;   /* [site, site]: when the gain from joining two groups was computed; NULL if sites are few */
    uint32_t *changed;     /* [site]: when a group was last changed */
    uint32_t now;          /* counts changes */
    double *least, *around; /* [site, rounded up]: pivots up to this are zero; squares, then fits, around a group */
    double *leaving;       /* [site]: gain if it leaves its group; later the score of its group without it */
    double *others, *others_refund; /* [site]: total score, and refund, of all other groups */
    ptrdiff_t *leavers;    /* [site / AT_ONCE + 1]: sites that leave their group */
    double *log_n, *log_c; /* [site], [tolerance, site]: logarithms of rows, and of their divisor due to tolerance */
    ptrdiff_t at;          /* index of the current tolerance */
} Work;

static inline double larger(double a, double b) { return a > b ? a : b; }

/* Number of tolerances, including those that are only tried alone. */
static inline ptrdiff_t all_tolerances(const Sites *sites) { return sites->tolerances + sites->others; }

static inline ptrdiff_t triangle(ptrdiff_t rows) { return rows * (rows + 1) / 2; }

static ptrdiff_t size_of(const Work *work, ptrdiff_t part)
{
    return work->regressors + (work->sites->spread[work->node] ? work->own : part + 1);
}

/* Return how many of the allocated moments of a group the current family uses. */
static size_t used(const Work *work)
{
    return (size_t)(work->parts > 1 ? work->parts * work->packed : triangle(size_of(work, 0)));
}

/* Factor a packed lower triangle into `root`. Write the residual sums of squares of the `last` columns to `left`.
   Return the rank of the columns before them. A column that is a linear combination of earlier ones is ignored. */
static ptrdiff_t residual_squares(const double *packed, double *root, ptrdiff_t size, ptrdiff_t last, double least,
                                  double *left)
{
    ptrdiff_t rank = 0;
    for (ptrdiff_t i = 0; i < size; i++) {
        double *row = root + triangle(i);
        const double *from = packed + triangle(i);
        double pivot = from[i];
        for (ptrdiff_t j = 0; j < i; j++) {
            const double *other = root + triangle(j);
            double sum = from[j];
            for (ptrdiff_t l = 0; l < j; l++)
                sum -= row[l] * other[l];
            row[j] = sum * other[j]; /* the diagonal holds the inverse root of the pivot, or zero */
            pivot -= row[j] * row[j];
        }
        if (i >= size - last)
            left[i - (size - last)] = larger(pivot, 0.0);
        int kept = pivot > least;
        row[i] = kept ? 1.0 / sqrt(pivot) : 0.0;
        rank += kept && i < size - last;
    }
    return rank;
}

/* From a factor, write (-weights, 1) of the regression of a column on those before it. */
static void weights_of(const double *root, ptrdiff_t column, double *v)
{
    const double *row = root + triangle(column);
    for (ptrdiff_t i = column - 1; i >= 0; i--) {
        double sum = row[i];
        for (ptrdiff_t j = i + 1; j < column; j++)
            sum += root[triangle(j) + i] * v[j];
        v[i] = -sum * root[triangle(i) + i];
    }
    v[column] = 1.0;
}

/* Sum of squares of a column around its prediction from a factor, but with the moments A of other data: v'Av, where v
   is (-weights, 1). */
static double squares_around(const double *packed, const double *root, ptrdiff_t column, double *v)
{
    double total = 0.0;
    weights_of(root, column, v);
    for (ptrdiff_t i = 0; i <= column; i++) {
        const double *from = packed + triangle(i);
        double sum = 0.5 * from[i] * v[i];
        for (ptrdiff_t j = 0; j < i; j++)
            sum += from[j] * v[j];
        total += 2.0 * sum * v[i];
    }
    return larger(total, 0.0);
}

/* Compute `residual_squares` for LANES sites in parallel, by the same operations. Cells of a site lie LANES apart. */
VECTORS static void residual_lanes(const double *cells, const ptrdiff_t *local, ptrdiff_t size, ptrdiff_t last,
                                   const double *least, double *restrict root, double *restrict left,
                                   double *restrict rank)
{
    for (int lane = 0; lane < LANES; lane++)
        rank[lane] = 0.0;
    for (ptrdiff_t i = 0; i < size; i++) {
        double *row = root + triangle(i) * LANES, pivot[LANES];
        const double *from = cells + triangle(local[i]) * LANES;
        for (int lane = 0; lane < LANES; lane++)
            pivot[lane] = from[local[i] * LANES + lane];
        for (ptrdiff_t j = 0; j < i; j++) {
            const double *other = root + triangle(j) * LANES, *begin = from + local[j] * LANES;
            double sum[LANES];
            for (int lane = 0; lane < LANES; lane++)
                sum[lane] = begin[lane];
            for (ptrdiff_t l = 0; l < j; l++)
                for (int lane = 0; lane < LANES; lane++)
                    sum[lane] -= row[l * LANES + lane] * other[l * LANES + lane];
            for (int lane = 0; lane < LANES; lane++) {
                double value = sum[lane] * other[j * LANES + lane];
                row[j * LANES + lane] = value;
                pivot[lane] -= value * value;
            }
        }
        if (i >= size - last)
            for (int lane = 0; lane < LANES; lane++)
                left[(i - (size - last)) * LANES + lane] = larger(pivot[lane], 0.0);
        double regressor = i < size - last ? 1.0 : 0.0;
        for (int lane = 0; lane < LANES; lane++) {
            double inverse = 1.0 / sqrt(larger(pivot[lane], TINY));
            row[i * LANES + lane] = pivot[lane] > least[lane] ? inverse : 0.0;
            rank[lane] += pivot[lane] > least[lane] ? regressor : 0.0;
        }
    }
}

/* The same for a family with one more parent than a family that was factored before: only rows from `from` on are new.
   `grown` holds a packed triangle with the rows of the regressors; the rows of the node's own columns; their pivots
   after each regressor; and the rank up to each regressor. */
INLINED void grow_beside(const double *cells, const ptrdiff_t *local, ptrdiff_t from, ptrdiff_t regressors, ptrdiff_t own,
                         ptrdiff_t widest, const double *least, double *restrict grown, double *restrict left,
                         double *restrict rank, const int lanes)
{
    double *owns = grown + triangle(widest) * LANES, *pivots = owns + own * widest * LANES,
           *ranks = pivots + own * (widest + 1) * LANES;
    for (int lane = 0; lane < lanes && !from; lane++)
        ranks[lane] = 0.0;
    for (ptrdiff_t i = from; i < regressors + own; i++) {
        ptrdiff_t c = i - regressors, begin = c < 0 ? 0 : from;
        double *row = c < 0 ? grown + triangle(i) * LANES : owns + c * widest * LANES, pivot[LANES];
        double *after = pivots + c * (widest + 1) * LANES;
        const double *cell = cells + triangle(local[i]) * LANES;
        for (int lane = 0; lane < lanes; lane++)
            pivot[lane] = begin ? after[begin * LANES + lane] : cell[local[i] * LANES + lane];
        for (int lane = 0; lane < lanes && c >= 0; lane++)
            after[begin * LANES + lane] = pivot[lane];
        for (ptrdiff_t j = begin; j < i; j++) {
            const double *other = j < regressors ? grown + triangle(j) * LANES : owns + (j - regressors) * widest * LANES;
            double sum[LANES];
            for (int lane = 0; lane < lanes; lane++)
                sum[lane] = cell[local[j] * LANES + lane];
            for (ptrdiff_t l = 0; l < j; l++)
                for (int lane = 0; lane < lanes; lane++)
                    sum[lane] -= row[l * LANES + lane] * other[l * LANES + lane];
            for (int lane = 0; lane < lanes; lane++) {
                double value = sum[lane] * other[j * LANES + lane];
                row[j * LANES + lane] = value;
                pivot[lane] -= value * value;
            }
            for (int lane = 0; lane < lanes && c >= 0 && j < regressors; lane++)
                after[(j + 1) * LANES + lane] = pivot[lane];
        }
        for (int lane = 0; lane < lanes; lane++) {
            double inverse = 1.0 / sqrt(larger(pivot[lane], TINY));
            row[i * LANES + lane] = pivot[lane] > least[lane] ? inverse : 0.0;
        }
        for (int lane = 0; lane < lanes && c < 0; lane++)
            ranks[(i + 1) * LANES + lane] = ranks[i * LANES + lane] + (pivot[lane] > least[lane] ? 1.0 : 0.0);
        for (int lane = 0; lane < lanes && c >= 0; lane++)
            left[c * LANES + lane] = larger(pivot[lane], 0.0);
    }
    for (int lane = 0; lane < lanes; lane++)
        rank[lane] = ranks[regressors * LANES + lane];
}

VECTORS static void grow(const double *cells, const ptrdiff_t *local, ptrdiff_t from, ptrdiff_t regressors, ptrdiff_t own,
                         ptrdiff_t widest, const double *least, double *restrict grown, double *restrict left,
                         double *restrict rank, int half)
{
    if (half)
        grow_beside(cells, local, from, regressors, own, widest, least, grown, left, rank, LANES / 2);
    else
        grow_beside(cells, local, from, regressors, own, widest, least, grown, left, rank, LANES);
}

/* Size of a block in `grown`. */
static ptrdiff_t size_grown(ptrdiff_t own, ptrdiff_t widest)
{
    return (triangle(widest) + own * widest + (own + 1) * (widest + 1)) * LANES;
}

VECTORS static void add_cells(double *restrict to, const double *restrict from, ptrdiff_t count)
{
    for (ptrdiff_t at = 0; at < count; at++)
        to[at] += from[at];
}

/* Compute v'Av with the moments of the first `lanes` of LANES sites. `shared` is the weight of a site's rows. */
INLINED void squares_beside(const double *cells, const ptrdiff_t *local, ptrdiff_t column, const double *v,
                            const double *shared, double *restrict out, const int lanes, const int weighted)
{
    double total[LANES] = {0.0};
    for (ptrdiff_t i = 0; i <= column; i++) {
        const double *from = cells + triangle(local[i]) * LANES, *own = from + local[i] * LANES;
        double sum[LANES];
        for (int lane = 0; lane < lanes; lane++)
            sum[lane] = 0.5 * (weighted ? own[lane] * shared[lane] : own[lane]) * v[i];
        for (ptrdiff_t j = 0; j < i; j++) {
            const double *cell = from + local[j] * LANES;
            for (int lane = 0; lane < lanes; lane++)
                sum[lane] += (weighted ? cell[lane] * shared[lane] : cell[lane]) * v[j];
        }
        for (int lane = 0; lane < lanes; lane++)
            total[lane] += 2.0 * sum[lane] * v[i];
    }
    for (int lane = 0; lane < lanes; lane++)
        out[lane] = larger(total[lane], 0.0);
}

VECTORS static void squares_lanes(const double *cells, const ptrdiff_t *local, ptrdiff_t column, const double *v,
                                  const double *shared, double *restrict out, int half, int weighted)
{
    if (half && weighted)
        squares_beside(cells, local, column, v, shared, out, LANES / 2, 1);
    else if (half)
        squares_beside(cells, local, column, v, shared, out, LANES / 2, 0);
    else if (weighted)
        squares_beside(cells, local, column, v, shared, out, LANES, 1);
    else
        squares_beside(cells, local, column, v, shared, out, LANES, 0);
}

/* Number of parameters that sites share: coefficients, means, covariances of the node's own columns, and the spread. */
static double parameters(const Work *work, ptrdiff_t rank)
{
    double own = (double)work->own;
    return own * (double)rank + own * (own - 1) / 2 + (work->sites->spread[work->node] ? own : 0.0);
}

static void gather(const Work *work, ptrdiff_t site, double *packed)
{
    ptrdiff_t size = work->regressors + work->own, q = work->sites->columns;
    const double *moments = work->sites->moments + site * q * q;
    for (ptrdiff_t i = 0; i < size; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            *packed++ = moments[work->columns[i] * q + work->columns[j]];
}

/* Whether at most half of the lanes of a block are in use. */
static int half_full(const Work *work, ptrdiff_t block) { return work->sites->count - block * LANES <= LANES / 2; }

/* Make this the current family, and list its columns. */
static void choose_family(Work *work, const int64_t *parents, int count, size_t set)
{
    const int64_t *first = work->sites->first;
    ptrdiff_t at = 0, place = 0;
    work->parents = parents;
    work->set = set;
    work->local[at] = place;
    work->columns[at++] = 0;
    for (int t = 0; t < count; t++)
        for (int64_t c = first[parents[t]]; c < first[parents[t] + 1]; c++) {
            place++;
            if (set >> t & 1) {
                work->local[at] = place;
                work->columns[at++] = c;
            }
        }
    work->regressors = at;
    for (int64_t c = first[work->node]; c < first[work->node] + work->own; c++) {
        work->local[at] = ++place;
        work->columns[at++] = c;
    }
}

static int in_groups(const Work *work, ptrdiff_t site)
{
    ptrdiff_t at = site * work->sites->variables + work->node;
    return !work->sites->constant[at] && !work->sites->declared[at];
}

/* Compute everything that depends on a tolerance but not on the family. */
static void gather_tolerance(Work *work, ptrdiff_t t, ptrdiff_t cells)
{
    const Sites *sites = work->sites;
    double *total = work->totals + t % LANES, *step = work->step + t * sites->count;
    double tau = sites->tolerance[t];
    work->weight[t] = 0.0;
    double smallest = HUGE_VAL;
    for (ptrdiff_t k = 0; k < sites->count; k++) {
        double c = 1.0 + sites->n[k] * tau * tau, shared = 1.0 / c, rows = sites->n[k] * shared;
        work->log_c[t * sites->count + k] = log(c);
        if (!in_groups(work, k))
            continue;
        for (ptrdiff_t cell = 0; cell < cells; cell++)
            total[cell * LANES] += work->packs[k * cells + cell] * shared;
        work->weight[t] += rows;
        smallest = rows < smallest ? rows : smallest;
    }
    work->least_totals[t % LANES] = CONSTANT * work->weight[t];
    for (ptrdiff_t k = 0; k < sites->count; k++)
        step[k] = log(1.0 + sites->n[k] / (1.0 + sites->n[k] * tau * tau) / (2.0 * smallest));
}

/* Number of regressors shared with the family without the last parent, which was fitted before. */
static ptrdiff_t known_columns(const Work *work)
{
    ptrdiff_t last = -1;
    for (int t = 0; work->set >> t; t++)
        last = (ptrdiff_t)work->parents[t];
    return last < 0 ? 0 : work->regressors - (ptrdiff_t)(work->sites->first[last + 1] - work->sites->first[last]);
}

/* Gather the moments of the largest family, by lane and by site, and everything that does not depend on the family. */
static void gather_cells(Work *work)
{
    const Sites *sites = work->sites;
    ptrdiff_t cells = triangle(work->regressors + work->own);
    for (ptrdiff_t k = 0; k < work->blocks * LANES; k++) {
        double *to = work->cells + k / LANES * cells * LANES + k % LANES;
        work->least[k] = k < sites->count ? CONSTANT * sites->n[k] : 0.0;
        work->shared[k] = 1.0;
        if (k < sites->count)
            gather(work, k, work->packs + k * cells);
        for (ptrdiff_t cell = 0; cell < cells; cell++)
            to[cell * LANES] = k < sites->count ? work->packs[k * cells + cell] : 0.0;
    }
    for (ptrdiff_t k = 0; k < sites->count; k++) {
        work->log_n[k] = log(sites->n[k]);
        work->grouped += in_groups(work, k);
    }
    for (ptrdiff_t t = 0; t < all_tolerances(sites); t++)
        gather_tolerance(work, t, cells);
}

/* Return the log-likelihood of a family at one site. `variance` holds the residual sums of squares, and is replaced by
   the residual variances. */
static double fit_alone(const Work *work, ptrdiff_t site, double *variance)
{
    const Sites *sites = work->sites;
    double n = sites->n[site], sum = 0.0;
    for (ptrdiff_t j = 0; j < work->own; j++) {
        double least = sites->floor[site * sites->columns + sites->first[work->node] + j];
        variance[j] = larger(variance[j] / n, least);
        sum += log(variance[j]);
    }
    return -0.5 * n * (sum + (double)work->own);
}

/* Score a group that has been factored, where spreads are shared. */
static double score_factored(Work *work, double rows, double fixed)
{
    double total = 0.0;
    for (ptrdiff_t j = 0; j < work->own; j++)
        total -= 0.5 * rows * (log(larger(work->left[j] / rows, TINY)) + 1.0);
    work->fit = total;
    return total + fixed - 0.5 * parameters(work, work->rank) * log(rows);
}

/* Score a group with the moments `sums`. Its factors and residual squares are kept in `root` and `left`. */
static double score_group(Work *work, const double *sums, double rows, double fixed)
{
    double total = 0.0;
    work->factored = -1;
    if (work->sites->spread[work->node]) {
        work->rank = residual_squares(sums, work->root, size_of(work, 0), work->own, CONSTANT * rows, work->left);
        return score_factored(work, rows, fixed);
    }
    for (ptrdiff_t part = 0; part < work->parts; part++) {
        const double *from = sums + part * work->packed;
        ptrdiff_t found = residual_squares(from, work->root + part * work->packed, size_of(work, part), 1,
                                           CONSTANT * from[0], work->left + part);
        work->rank = part ? work->rank : found;
        total -= 0.5 * work->left[part];
    }
    work->fit = total;
    return total + fixed - 0.5 * parameters(work, work->rank) * log(rows);
}

/* Score all sites in groups as one group, whose factors are known. */
static double score_all(Work *work, double rows, double fixed)
{
    const double *grown = work->grown_totals + work->at, *own = grown + triangle(work->widest) * LANES;
    double *to = work->root;
    for (ptrdiff_t cell = 0; cell < triangle(work->regressors); cell++)
        *to++ = grown[cell * LANES];
    for (ptrdiff_t j = 0; j <= work->regressors; j++)
        *to++ = own[j * LANES];
    work->factored = -1;
    work->left[0] = work->left_totals[work->at];
    work->rank = (ptrdiff_t)work->rank_totals[work->at];
    return score_factored(work, rows, fixed);
}

/* Score a group that keeps only some of its parents. */
static double score_some(Work *work, const double *sums, double rows, size_t parents)
{
    const int64_t *first = work->sites->first;
    ptrdiff_t columns[MOST_COLUMNS], size = 0, at = 1;
    double *packed = work->some, left[MOST_COLUMNS], total = 0.0;
    columns[size++] = 0;
    for (size_t t = 0; work->set >> t; t++)
        if (work->set >> t & 1)
            for (int64_t c = first[work->parents[t]]; c < first[work->parents[t] + 1]; c++, at++)
                if (parents >> t & 1)
                    columns[size++] = at;
    for (ptrdiff_t j = 0; j < work->own; j++)
        columns[size++] = at++;
    for (ptrdiff_t i = 0; i < size; i++)
        for (ptrdiff_t j = 0; j <= i; j++)
            *packed++ = sums[triangle(columns[i]) + columns[j]];
    ptrdiff_t rank = residual_squares(work->some, packed, size, work->own, CONSTANT * rows, left);
    for (ptrdiff_t j = 0; j < work->own; j++)
        total -= 0.5 * rows * (log(larger(left[j] / rows, TINY)) + 1.0);
    return total - 0.5 * parameters(work, rank) * log(rows);
}

/* Number of columns of some of the parents, plus the constant. */
static ptrdiff_t columns_of(const Work *work, size_t parents)
{
    const int64_t *first = work->sites->first;
    ptrdiff_t columns = 1;
    for (size_t t = 0; parents >> t; t++)
        if (parents >> t & 1)
            columns += (ptrdiff_t)(first[work->parents[t] + 1] - first[work->parents[t]]);
    return columns;
}

/* Index, among the regressors, of the last column of the last of some parents. */
static ptrdiff_t last_column(const Work *work, size_t parents)
{
    const int64_t *first = work->sites->first;
    ptrdiff_t at = 0, last = 0;
    for (size_t t = 0; parents >> t; t++)
        if (work->set >> t & 1) {
            at += (ptrdiff_t)(first[work->parents[t] + 1] - first[work->parents[t]]);
            last = parents >> t & 1 ? at : last;
        }
    return last;
}

/* Upper bound of the value of a group that keeps only some of its parents: it fits no better than with all regressors
   up to the last one that it keeps. The node's row of the factor gives that fit; its cells lie `lanes` apart. */
static double most_cut(const Work *work, const double *row, ptrdiff_t lanes, ptrdiff_t rank, double left, double rows,
                       size_t parents)
{
    if (parents == NOT_CUT)
        return -HUGE_VAL;
    if (rank < work->regressors) /* the row has no information on columns that were dropped */
        return HUGE_VAL;
    double price = parents ? work->sites->price_some : work->sites->price_cut;
    double free = 0.5 * parameters(work, columns_of(work, parents));
    for (ptrdiff_t j = work->regressors - 1; j > last_column(work, parents); j--)
        left += row[j * lanes] * row[j * lanes];
    return -0.5 * rows * (log(larger(left / rows, TINY)) + 1.0) - free * log(rows) - price + ROUNDING;
}

/* Value of a group of several sites: `value` with all parents or, if better, the value with only the given parents,
   which one of its parts keeps. `most` is an upper bound of the latter. Only where `may_cut` holds. */
static double value_cut(Work *work, const double *sums, double rows, double value, double most, size_t parents,
                        size_t *cut)
{
    if (most < value)
        return value;
    double price = parents ? work->sites->price_some : work->sites->price_cut;
    double found = score_some(work, sums, rows, parents) - price;
    if (found <= value)
        return value;
    *cut = parents;
    return found;
}

/* Whether groups may be cut off from parents: the tolerance is zero, and spreads are shared. */
static int may_cut(const Work *work) { return work->tau == 0.0 && work->sites->spread[work->node]; }

/* The same as `value_cut`, for the group that was scored last. */
static double value_cut_scored(Work *work, const double *sums, double rows, double value, size_t parents, size_t *cut)
{
    if (parents == NOT_CUT || !may_cut(work))
        return value;
    double most = most_cut(work, work->root + triangle(work->regressors), 1, work->rank, work->left[0], rows, parents);
    return value_cut(work, sums, rows, value, most, parents, cut);
}

static double score_joint(Work *work, ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t stride = work->parts * work->packed;
    const double *one = work->sums + a * stride, *other = work->sums + b * stride;
    for (ptrdiff_t part = 0; part < work->parts; part++) {
        ptrdiff_t begin = part * work->packed, count = triangle(size_of(work, part));
        for (ptrdiff_t at = begin; at < begin + count; at++)
            work->joint[at] = one[at] + other[at];
    }
    return score_group(work, work->joint, work->rows[a] + work->rows[b], work->fixed[a] + work->fixed[b]);
}

/* Value of the group that two groups would form. Its moments are kept in `joint`. */
static double value_joint(Work *work, ptrdiff_t a, ptrdiff_t b, double *score, size_t *cut)
{
    *score = score_joint(work, a, b);
    *cut = NOT_CUT;
    double rows = work->rows[a] + work->rows[b], value = *score - work->sites->price_own;
    value = value_cut_scored(work, work->joint, rows, value, work->cut[a], cut);
    return work->cut[b] == work->cut[a] ? value : value_cut_scored(work, work->joint, rows, value, work->cut[b], cut);
}

static void join(Work *work, ptrdiff_t a, ptrdiff_t b, int64_t *labels)
{
    size_t cut;
    work->value[a] = value_joint(work, a, b, work->score + a, &cut);
    work->cut[a] = cut;
    memcpy(work->sums + a * work->parts * work->packed, work->joint, used(work) * sizeof(double));
    work->rows[a] += work->rows[b];
    work->fixed[a] += work->fixed[b];
    work->members[a] += work->members[b];
    work->members[b] = 0;
    work->changed[a] = ++work->now;
    for (ptrdiff_t k = 0; k < work->sites->count; k++)
        if (labels[k] == b)
            labels[k] = a;
}

/* Score the groups in `pairs`, one per lane, where spreads are shared. Also write ranks and residual squares. */
static void score_lanes(Work *work, const double *rows, const double *fixed, double *scores, double *left, double *rank)
{
    double least[LANES];
    for (int lane = 0; lane < LANES; lane++)
        least[lane] = CONSTANT * rows[lane];
    residual_lanes(work->pairs, work->same, size_of(work, 0), work->own, least, work->factor, left, rank);
    for (int lane = 0; lane < LANES; lane++) {
        double fit = fixed[lane] - 0.5 * rows[lane] * (log(larger(left[lane] / rows[lane], TINY)) + 1.0);
        scores[lane] = fit - 0.5 * parameters(work, (ptrdiff_t)rank[lane]) * log(rows[lane]);
    }
}

static void compute_gain(Work *work, ptrdiff_t a, ptrdiff_t b)
{
    ptrdiff_t count = work->sites->count;
    double score;
    size_t cut;
    double gain = value_joint(work, a, b, &score, &cut) - work->value[a] - work->value[b];
    work->gain[a * count + b] = work->gain[b * count + a] = gain;
}

/* The same for up to LANES pairs, where spreads are shared. */
static void compute_gains(Work *work, const ptrdiff_t *ones, const ptrdiff_t *others, int count)
{
    ptrdiff_t cells = triangle(size_of(work, 0)), sites = work->sites->count;
    double rows[LANES], fixed[LANES], scores[LANES], left[LANES], rank[LANES];
    const double *row = work->factor + triangle(work->regressors) * LANES;
    for (int lane = 0; lane < LANES; lane++) {
        ptrdiff_t a = ones[lane < count ? lane : 0], b = others[lane < count ? lane : 0];
        const double *one = work->sums + a * work->packed, *other = work->sums + b * work->packed;
        for (ptrdiff_t cell = 0; cell < cells; cell++)
            work->pairs[cell * LANES + lane] = one[cell] + other[cell];
        rows[lane] = work->rows[a] + work->rows[b];
        fixed[lane] = work->fixed[a] + work->fixed[b];
    }
    score_lanes(work, rows, fixed, scores, left, rank);
    for (int lane = 0; lane < count; lane++) {
        ptrdiff_t a = ones[lane], b = others[lane], gathered = 0;
        double value = scores[lane] - work->sites->price_own, apart = work->value[a] + work->value[b];
        for (int side = 0; side < 2 && may_cut(work); side++) {
            size_t cut = work->cut[side ? b : a];
            double most = side && cut == work->cut[a]
                              ? -HUGE_VAL
                              : most_cut(work, row + lane, LANES, (ptrdiff_t)rank[lane], left[lane], rows[lane], cut);
            if (most <= apart - LEAST_GAIN || most < value) /* the size of a negative gain does not matter */
                continue;
            for (ptrdiff_t cell = 0; cell < cells && !gathered; cell++)
                work->joint[cell] = work->pairs[cell * LANES + lane];
            gathered = 1;
            value = value_cut(work, work->joint, rows[lane], value, most, cut, &cut);
        }
        work->gain[a * sites + b] = work->gain[b * sites + a] = value - work->value[a] - work->value[b];
    }
}

/* Pairs whose gain is still to be computed. */
typedef struct {
    ptrdiff_t ones[LANES], others[LANES];
    int count;
} Waiting;

static void compute_waiting(Work *work, Waiting *waiting)
{
    if (waiting->count)
        compute_gains(work, waiting->ones, waiting->others, waiting->count);
    waiting->count = 0;
}

/* Compute the gain of a pair if it is not known: at once, or later together with other pairs. */
static void request_gain(Work *work, ptrdiff_t a, ptrdiff_t b, Waiting *waiting)
{
    if (work->gain_time) {
        uint32_t *when = work->gain_time + (a > b ? a * work->sites->count + b : b * work->sites->count + a);
        if (*when >= work->changed[a] && *when >= work->changed[b])
            return;
        *when = work->now;
    }
    if (!work->sites->spread[work->node]) {
        compute_gain(work, a, b);
        return;
    }
    waiting->ones[waiting->count] = a;
    waiting->others[waiting->count++] = b;
    if (waiting->count == LANES)
        compute_waiting(work, waiting);
}

/* Join pairs of the listed groups, the pair with the largest gain first, while there is a gain. Return the number of
   groups left. */
static ptrdiff_t agglomerate(Work *work, ptrdiff_t *list, ptrdiff_t count, int64_t *labels)
{
    ptrdiff_t stride = work->sites->count;
    Waiting waiting = {.count = 0};
    for (ptrdiff_t x = 0; x < count; x++)
        for (ptrdiff_t y = 0; y < x; y++)
            request_gain(work, list[x], list[y], &waiting);
    compute_waiting(work, &waiting);
    while (count > 1) {
        double best = 0.0;
        ptrdiff_t at = -1, with = -1;
        for (ptrdiff_t x = 0; x < count; x++)
            for (ptrdiff_t y = 0; y < x; y++)
                if (work->gain[list[x] * stride + list[y]] > best) {
                    best = work->gain[list[x] * stride + list[y]];
                    at = y;
                    with = x;
                }
        if (at < 0)
            break;
        join(work, list[at], list[with], labels);
        list[with] = list[--count];
        for (ptrdiff_t x = 0; x < count; x++)
            if (x != at)
                request_gain(work, list[at], list[x], &waiting);
        compute_waiting(work, &waiting);
    }
    return count;
}

/* Log-likelihood of a site under the mechanism of the group that was scored last, which has `rows` weighted rows. */
static double fit_around(Work *work, ptrdiff_t site, double rows)
{
    double total = 0.0;
    for (ptrdiff_t j = 0; j < work->own; j++) {
        ptrdiff_t part = work->parts > 1 ? j : 0;
        const double *sums = work->single + (site * work->parts + part) * work->packed;
        double squares = squares_around(sums, work->root + part * work->packed, work->regressors + j, work->weights);
        double variance = work->sites->spread[work->node] ? larger(work->left[j] / rows, TINY) : 1.0;
        total -= 0.5 * (work->own_rows[site] * log(variance) + squares / variance);
    }
    return total;
}

/* The same for all listed sites, in `around`; its values for other sites have no meaning. */
static void fits_around(Work *work, const ptrdiff_t *list, ptrdiff_t count, double rows)
{
    if (!work->sites->spread[work->node]) {
        for (ptrdiff_t x = 0; x < count; x++)
            work->around[list[x]] = fit_around(work, list[x], rows);
        return;
    }
    double variance = larger(work->left[0] / rows, TINY), logarithm = log(variance);
    weights_of(work->root, work->regressors, work->weights);
    for (ptrdiff_t block = 0; block < work->blocks; block++)
        squares_lanes(work->cells + block * work->packed * LANES, work->local, work->regressors, work->weights,
                      work->shared + block * LANES, work->around + block * LANES, half_full(work, block),
                      work->tau > 0.0);
    for (ptrdiff_t x = 0; x < count; x++) {
        ptrdiff_t k = list[x];
        work->around[k] = -(0.5 * (work->own_rows[k] * logarithm + work->around[k] / variance));
    }
}

/* Gather the weighted moments of single sites for the current family. */
static void gather_single(Work *work)
{
    ptrdiff_t size = size_of(work, 0);
    if (work->gathered)
        return;
    for (ptrdiff_t k = 0; k < work->sites->count; k++) {
        double *to = work->single + k * work->packed, shared = work->shared[k];
        if (!in_groups(work, k))
            continue;
        for (ptrdiff_t i = 0; i < size; i++) {
            const double *from = work->packs + k * work->packed + triangle(work->local[i]);
            for (ptrdiff_t j = 0; j <= i; j++)
                *to++ = from[work->local[j]] * shared;
        }
    }
    work->gathered = 1;
}

/* Whether the list has all sites in groups, in ascending order, and their summed moments are known. */
static int all_listed(const Work *work, const ptrdiff_t *list, ptrdiff_t count)
{
    int all = work->sites->spread[work->node] && count == work->grouped && (!work->few || work->tau == 0.0) &&
              all_tolerances(work->sites) <= LANES;
    for (ptrdiff_t x = 1; x < count && all; x++)
        all = list[x - 1] < list[x];
    return all;
}

/* Add up the moments, rows and fixed scores of the listed sites. Return whether the sum is that of all sites, whose
   factors are known. */
static int add_listed(Work *work, const ptrdiff_t *list, ptrdiff_t count, double *rows, double *fixed)
{
    ptrdiff_t stride = work->parts * work->packed, size = size_of(work, 0);
    double *joint = work->joint;
    *rows = *fixed = 0.0;
    for (ptrdiff_t x = 0; x < count; x++) {
        *rows += work->own_rows[list[x]];
        *fixed += work->own_fixed[list[x]];
    }
    if (all_listed(work, list, count)) {
        for (ptrdiff_t i = 0; i < size; i++) {
            const double *from = work->totals + triangle(work->local[i]) * LANES + work->at;
            for (ptrdiff_t j = 0; j <= i; j++)
                *joint++ = from[work->local[j] * LANES];
        }
        return 1;
    }
    gather_single(work);
    memset(joint, 0, used(work) * sizeof(double));
    for (ptrdiff_t x = 0; x < count; x++)
        add_cells(joint, work->single + list[x] * stride, (ptrdiff_t)used(work));
    return 0;
}

/* Score the listed sites as one group. Its moments, factors and residual squares are kept. */
static double score_listed(Work *work, const ptrdiff_t *list, ptrdiff_t count, double *rows, double *fixed)
{
    int all = add_listed(work, list, count, rows, fixed);
    return all ? score_all(work, *rows, *fixed) : score_group(work, work->joint, *rows, *fixed);
}

/* Value of the listed sites as one group, which was just scored. */
static double value_scored(Work *work, const ptrdiff_t *list, ptrdiff_t count, double score, double rows, size_t *cut)
{
    double value = score - work->sites->price_own;
    *cut = NOT_CUT;
    for (ptrdiff_t x = 0; x < count; x++) {
        int known = 0;
        for (ptrdiff_t y = 0; y < x && !known; y++)
            known = work->own_cut[list[y]] == work->own_cut[list[x]];
        if (!known)
            value = value_cut_scored(work, work->joint, rows, value, work->own_cut[list[x]], cut);
    }
    return value;
}

/* The same for sites that were not just scored. Their moments are kept in `joint`. */
static double value_listed(Work *work, const ptrdiff_t *list, ptrdiff_t count, double *score, double *rows,
                           double *fixed, size_t *cut)
{
    if (count == 1) {
        add_listed(work, list, count, rows, fixed);
        *cut = work->own_cut[list[0]];
        *score = work->own_score[list[0]];
        return work->alone[list[0]];
    }
    *score = score_listed(work, list, count, rows, fixed);
    return value_scored(work, list, count, *score, *rows, cut);
}

/* Make the listed sites a group, stored at the index of the first of them. Its moments were added up; the caller sets
   its score, rows and so on. */
static void make_scored_group(Work *work, const ptrdiff_t *list, ptrdiff_t count, int64_t *labels)
{
    ptrdiff_t group = list[0];
    for (ptrdiff_t x = 0; x < count; x++) {
        work->members[list[x]] = 0;
        labels[list[x]] = group;
    }
    work->members[group] = count;
    work->changed[group] = ++work->now;
    memcpy(work->sums + group * work->parts * work->packed, work->joint, used(work) * sizeof(double));
    work->factored = count > 1 ? group : -1;
}

static void make_group(Work *work, const ptrdiff_t *list, ptrdiff_t count, int64_t *labels)
{
    ptrdiff_t group = list[0];
    work->value[group] = value_listed(work, list, count, work->score + group, work->rows + group, work->fixed + group,
                                      work->cut + group);
    make_scored_group(work, list, count, labels);
}

/* Find the listed sites that gain most by leaving their group, which was scored last: at most `most` of them, the
   largest gain first. Return their number. If a site with n of the N rows leaves, its distance from the mechanism of
   the others is N / (N - n) times as large, as for a mean. */
static ptrdiff_t best_leavers(Work *work, const ptrdiff_t *list, ptrdiff_t count, double rows, ptrdiff_t most,
                              ptrdiff_t *leavers)
{
    double price = 0.5 * parameters(work, work->regressors);
    ptrdiff_t found = 0;
    fits_around(work, list, count, rows);
    for (ptrdiff_t x = 0; x < count; x++) {
        ptrdiff_t k = list[x], place = found;
        if (work->alone[k] == TOO_FEW)
            continue;
        double farther = rows / (rows - work->own_rows[k]);
        double apart = work->own_fit[k] - work->own_fixed[k] - work->around[k];
        double gain = work->alone[k] - work->own_fit[k] + farther * apart;
        if (gain + price * (farther - 1.0) < -LEAST_GAIN) /* log x <= x - 1 */
            continue;
        gain += price * log(farther);
        work->leaving[k] = gain;
        if (!(gain > 0.0))
            continue;
        while (place > 0 && gain > work->leaving[leavers[place - 1]])
            place--;
        if (place == most)
            continue;
        found += found < most;
        memmove(leavers + place + 1, leavers + place, (size_t)(found - 1 - place) * sizeof(ptrdiff_t));
        leavers[place] = k;
    }
    return found;
}

/* Take sites out of the group of all sites, those with the largest gain first, while there is a gain: one at a time, or
   several at a time if there are many. The remaining group comes first in the list. Return the number of groups. */
static ptrdiff_t take_out_sites(Work *work, ptrdiff_t *list, ptrdiff_t count, int64_t *labels)
{
    ptrdiff_t inside = count, *leavers = work->leavers, single = 0, scored = 1;
    double rows, fixed, score = score_listed(work, list, inside, &rows, &fixed);
    work->differ = -(work->fit + fixed);
    for (ptrdiff_t x = 0; x < count; x++)
        work->differ += work->own_fit[list[x]];
    while (inside > 1) {
        ptrdiff_t most = single || inside < MANY ? 1 : inside / AT_ONCE;
        ptrdiff_t out = best_leavers(work, list, inside, rows, most, leavers);
        if (!out)
            break;
        double before = score, after = 0.0;
        for (ptrdiff_t x = 0; x < out; x++) {
            ptrdiff_t at = 0;
            while (list[at] != leavers[x])
                at++;
            list[at] = list[--inside];
            list[inside] = leavers[x];
            after += work->alone[leavers[x]];
        }
        score = score_listed(work, list, inside, &rows, &fixed);
        score = inside > 1 ? score : work->own_score[list[0]];
        if (score + after <= before) { /* the estimated gain was wrong: put them back */
            inside += out;
            scored = out > 1; /* else the order of the sites has changed, and with it perhaps the last digit of sums */
            if (out == 1)
                break;
            single = 1;
            score = score_listed(work, list, inside, &rows, &fixed);
        }
    }
    if (inside < 2)
        return count;
    if (scored) {
        work->score[*list] = score;
        work->rows[*list] = rows;
        work->fixed[*list] = fixed;
        work->value[*list] = value_scored(work, list, inside, score, rows, work->cut + *list);
        make_scored_group(work, list, inside, labels);
    } else
        make_group(work, list, inside, labels);
    memmove(list + 1, list + inside, (size_t)(count - inside) * sizeof(ptrdiff_t));
    return count - inside + 1;
}

/* List the sites of a group except `but`. If `add`, append `but` at the end. */
static ptrdiff_t list_group(const Work *work, const int64_t *labels, int64_t group, ptrdiff_t but, int add,
                            ptrdiff_t *list)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < work->sites->count; k++)
        if (labels[k] == group && k != but)
            list[count++] = k;
    if (add)
        list[count++] = but;
    return count;
}

static double value_of(Work *work, const ptrdiff_t *list, ptrdiff_t count)
{
    double score, rows, fixed;
    size_t cut;
    return count > 1 ? value_listed(work, list, count, &score, &rows, &fixed, &cut) : count ? work->alone[*list] : 0.0;
}

/* Estimate what each listed site adds to a group that was scored (or to its other sites, if it is in the group), with
   the mechanism of the group unchanged. Squares around a mean grow by N / (N - n) if n of N rows leave, and shrink by N
   / (N + n) if n rows join. */
static void estimate_moves_to(Work *work, ptrdiff_t group, const ptrdiff_t *sites, ptrdiff_t count,
                              const int64_t *labels)
{
    ptrdiff_t stride = work->sites->count;
    double price = 0.5 * parameters(work, work->regressors), rows = work->rows[group];
    fits_around(work, sites, count, rows);
    for (ptrdiff_t x = 0; x < count; x++) {
        ptrdiff_t k = sites[x];
        int inside = labels[k] == group;
        double other = inside ? rows - work->own_rows[k] : rows + work->own_rows[k];
        double apart = work->own_fit[k] - work->own_fixed[k] - work->around[k];
        double sign = inside ? -1.0 : 1.0;
        work->gain[k * stride + group] =
            other > 0.0 ? work->own_fit[k] - apart * rows / other - sign * price * log(other / rows) : 0.0;
    }
}

/* The same for all groups that were changed after `since`. */
static void estimate_moves(Work *work, const ptrdiff_t *sites, ptrdiff_t count, const int64_t *labels, uint32_t since)
{
    ptrdiff_t groups[MOST_TOGETHER], found = 0, cells = triangle(size_of(work, 0));
    double least[LANES], left[LANES], rank[LANES];
    for (ptrdiff_t y = 0; y < count; y++)
        if (labels[sites[y]] == sites[y] && work->changed[sites[y]] > since)
            groups[found++] = sites[y];
    for (ptrdiff_t y = 0; y < found; y++) {
        ptrdiff_t lane = y % LANES, group = groups[y];
        if (!work->sites->spread[work->node] || (found == 1 && work->factored != group))
            score_group(work, work->sums + group * work->parts * work->packed, work->rows[group], 0.0);
        else if (found > 1) {
            for (int at = 0; at < LANES && !lane; at++) { /* factor several groups in parallel */
                ptrdiff_t one = groups[y + at < found ? y + at : y];
                for (ptrdiff_t cell = 0; cell < cells; cell++)
                    work->pairs[cell * LANES + at] = work->sums[one * work->packed + cell];
                least[at] = CONSTANT * work->rows[one];
            }
            if (!lane)
                residual_lanes(work->pairs, work->same, size_of(work, 0), 1, least, work->factor, left, rank);
            for (ptrdiff_t cell = 0; cell < cells; cell++)
                work->root[cell] = work->factor[cell * LANES + lane];
            work->left[0] = left[lane];
            work->factored = -1;
        }
        estimate_moves_to(work, group, sites, count, labels);
    }
}

/* Move single sites to another group, or out of their group, the largest gain first, while there is a gain. */
static void move_sites(Work *work, ptrdiff_t *sites, ptrdiff_t count, int64_t *labels)
{
    ptrdiff_t *list = work->list, stride = work->sites->count;
    for (ptrdiff_t x = 0; x < count; x++) /* each group may be cut off in the same way as any of its sites */
        if (work->members[sites[x]] > 1)
            make_group(work, list, list_group(work, labels, sites[x], -1, 0, list), labels);
    uint32_t since = 0;
    for (ptrdiff_t moves = 0; moves < count; moves++) {
        double best = LEAST_GAIN;
        ptrdiff_t mover = -1, to = -1;
        estimate_moves(work, sites, count, labels, since);
        since = work->now;
        for (ptrdiff_t x = 0; x < count; x++) {
            ptrdiff_t k = sites[x], from = (ptrdiff_t)labels[k];
            int several = work->members[from] > 1, known = !several;
            double loss = several ? work->gain[k * stride + from] : work->alone[k], seems = loss;
            for (ptrdiff_t y = -1; y < count; y++) {
                ptrdiff_t other = y < 0 ? k : sites[y];
                if (y < 0 ? !several : labels[other] != other || other == from)
                    continue;
                if ((y < 0 ? work->alone[k] : work->gain[k * stride + other]) + NEAR < seems)
                    continue;
                if (!known) {
                    ptrdiff_t left = list_group(work, labels, from, k, 0, list);
                    loss = work->value[from] - value_of(work, list, left);
                    known = 1;
                }
                double gain = y < 0 ? work->alone[k]
                                    : value_of(work, list, list_group(work, labels, other, k, 1, list)) -
                                          work->value[other];
                if (gain - loss > best) {
                    best = gain - loss;
                    mover = k;
                    to = other;
                }
            }
        }
        if (mover < 0)
            return;
        int64_t from = labels[mover];
        ptrdiff_t left = list_group(work, labels, from, mover, 0, list);
        if (left)
            make_group(work, list, left, labels);
        make_group(work, list, list_group(work, labels, to == mover ? -1 : to, mover, 1, list), labels);
    }
}

/* Split the sites into groups. Sites leave the group of all sites, and are joined again if there is a gain. If there
   are many, they are first joined in batches, so that the work is linear in their number. Finally, single sites are
   moved. */
static void find_groups(Work *work, int64_t *labels)
{
    ptrdiff_t count = 0, all = 0, *list = work->list, sites[MOST_TOGETHER];
    for (ptrdiff_t k = 0; k < work->sites->count; k++)
        if (work->members[k])
            list[count++] = k;
    if (count <= MOST_TOGETHER)
        for (; all < count; all++)
            sites[all] = list[all];
    if (count > 1)
        count = take_out_sites(work, list, count, labels);
    for (ptrdiff_t x = 0; x < count && count > 1 && work->sites->spread[work->node]; x++)
        if (work->members[list[x]] == 1) {
            gather_single(work);
            memcpy(work->sums + list[x] * work->packed, work->single + list[x] * work->packed,
                   used(work) * sizeof(double));
        }
    while (count > MOST_TOGETHER) {
        ptrdiff_t left = 0, before = count;
        for (ptrdiff_t from = 0; from < count; from += MOST_TOGETHER) {
            ptrdiff_t some = count - from < MOST_TOGETHER ? count - from : MOST_TOGETHER;
            some = agglomerate(work, list + from, some, labels);
            memmove(list + left, list + from, (size_t)some * sizeof(ptrdiff_t));
            left += some;
        }
        count = left;
        if (count == before)
            return;
    }
    count = agglomerate(work, list, count, labels);
    if (count > 1)
        move_sites(work, sites, all, labels);
}

/* Separate fit of a family at each site: [site]. */
typedef struct {
    const double *alone, *cut, *likelihood, *parameters, *variance;
    const uint32_t *left; /* parents that a site keeps where it is cut off from others */
} Fits;

static double score_declared(const Work *work, const Fits *fits, ptrdiff_t site)
{
    size_t at = (size_t)site;
    return larger(fits->alone[at], fits->cut[at] + work->sites->price_cut);
}

/* Compute the weighted moments of a site for the current family, where every site has its own spread. */
static void gather_parts(Work *work, ptrdiff_t site, double shared, const double *left)
{
    double *single = work->single + site * work->parts * work->packed;
    gather(work, site, work->joint);
    for (ptrdiff_t part = 0; part < work->parts; part++)
        for (ptrdiff_t cell = 0; cell < triangle(size_of(work, part)); cell++)
            single[part * work->packed + cell] = work->joint[cell] * shared / left[part];
    memcpy(work->sums + site * work->parts * work->packed, single,
           (size_t)(work->parts * work->packed) * sizeof(double));
    work->gathered = 1;
}

/* Make every site a group of its own, for the current tolerance. Return the score of the sites that declare the node a
   target, which are in no group. */
static double prepare(Work *work, const Fits *fits, int64_t *labels)
{
    const Sites *sites = work->sites;
    double total = 0.0;
    const double *log_c = work->log_c + work->at * sites->count;
    work->now++;
    work->few = work->gathered = 0;
    work->factored = -1;
    work->differ = 0.0;
    for (ptrdiff_t k = 0; k < sites->count; k++) {
        size_t at = (size_t)k;
        work->changed[k] = work->now;
        double c = 1.0 + sites->n[k] * work->tau * work->tau;
        work->members[k] = 0;
        labels[k] = k;
        if (sites->constant[k * sites->variables + work->node])
            continue; /* the site sets the node: its data have no information on the mechanism */
        if (sites->declared[k * sites->variables + work->node]) {
            total += score_declared(work, fits, k);
            continue;
        }
        int few = fits->alone[at] == TOO_FEW;
        double shared = few ? 1.0 : 1.0 / c;
        work->few |= few;
        work->shared[k] = shared;
        work->members[k] = 1;
        work->score[k] = fits->alone[at];
        work->value[k] = few ? TOO_FEW : larger(fits->alone[at] - sites->price_own, fits->cut[at]);
        work->alone[k] = work->value[k];
        work->own_score[k] = work->score[k];
        work->own_cut[k] = !few && fits->cut[at] > fits->alone[at] - sites->price_own ? fits->left[at] : NOT_CUT;
        work->cut[k] = work->own_cut[k];
        work->own_rows[k] = work->rows[k] = sites->n[k] * shared;
        work->fixed[k] = few ? 0.0 : -0.5 * fits->parameters[at] * log_c[k];
        work->own_fit[k] = fits->likelihood[at] + work->fixed[k];
        if (sites->spread[work->node])
            work->fixed[k] += (1.0 - shared) * fits->likelihood[at];
        else {
            work->fixed[k] += fits->likelihood[at] + 0.5 * sites->n[k] * shared * (double)work->own;
            gather_parts(work, k, shared, fits->variance + at * (size_t)work->own);
        }
        work->own_fixed[k] = work->fixed[k];
    }
    return total;
}

/* List the groups, each by its first site. */
static ptrdiff_t list_groups(const Work *work, ptrdiff_t *list)
{
    ptrdiff_t count = 0;
    for (ptrdiff_t k = 0; k < work->sites->count; k++)
        if (work->members[k])
            list[count++] = k;
    return count;
}

/* Add up the values of the listed groups except `but`. One of them may have all parents without paying the price:
   `refund` is the largest gain from that. */
static double add_groups(const Work *work, const ptrdiff_t *list, ptrdiff_t count, ptrdiff_t but, double *refund)
{
    double total = 0.0;
    for (ptrdiff_t x = 0; x < count; x++)
        if (list[x] != but) {
            total += work->value[list[x]];
            *refund = larger(*refund, work->score[list[x]] - work->value[list[x]]);
        }
    return total;
}

/* Score the current family with the current tolerance. */
static double score_family(Work *work, const Fits *fits, int64_t *labels)
{
    double refund = -HUGE_VAL, total = prepare(work, fits, labels);
    if (work->sites->share)
        find_groups(work, labels);
    total += add_groups(work, work->list, list_groups(work, work->list), -1, &refund);
    return refund == -HUGE_VAL ? total : total + refund;
}

static double price_of(const Sites *sites, double tau, ptrdiff_t count)
{
    return tau > 0.0 ? sites->price_tolerance * (double)count : 0.0;
}

/* What a site with few rows adds to the group that fits it best, except the group `but`. */
static double join_others(Work *work, const int64_t *labels, ptrdiff_t but, ptrdiff_t site)
{
    double best = TOO_FEW;
    for (ptrdiff_t g = 0; g < work->sites->count; g++)
        if (work->members[g] && g != but) {
            ptrdiff_t count = list_group(work, labels, g, site, 1, work->list);
            best = larger(best, value_of(work, work->list, count) - work->value[g]);
        }
    return best;
}

static void choose_tolerance(Work *work, double tau)
{
    work->tau = tau;
    for (work->at = 0; work->at < all_tolerances(work->sites) - 1 && work->sites->tolerance[work->at] != tau;)
        work->at++;
}

/* For each site in a group of at least three, write the score of the group without that site to `leaving`. Only where
   spreads are shared. */
static void scores_without(Work *work, const int64_t *labels)
{
    ptrdiff_t cells = triangle(size_of(work, 0)), count = work->sites->count, sites[LANES];
    double rows[LANES], fixed[LANES], scores[LANES], left[LANES], rank[LANES];
    int waiting = 0;
    for (ptrdiff_t k = 0; k <= count; k++) {
        if (k < count && work->members[labels[k]] > 2)
            sites[waiting++] = k;
        if (!waiting || (waiting < LANES && k < count))
            continue;
        gather_single(work);
        for (int lane = 0; lane < LANES; lane++) {
            ptrdiff_t site = sites[lane < waiting ? lane : 0], group = (ptrdiff_t)labels[site];
            const double *all = work->sums + group * work->packed, *own = work->single + site * work->packed;
            for (ptrdiff_t cell = 0; cell < cells; cell++)
                work->pairs[cell * LANES + lane] = all[cell] - own[cell];
            rows[lane] = work->rows[group] - work->own_rows[site];
            fixed[lane] = work->fixed[group] - work->own_fixed[site];
        }
        score_lanes(work, rows, fixed, scores, left, rank);
        for (int lane = 0; lane < waiting; lane++) {
            work->leaving[sites[lane]] = scores[lane];
            work->around[sites[lane]] = /* upper bound of its value if it is cut off */
                may_cut(work) ? most_cut(work, work->factor + triangle(work->regressors) * LANES + lane, LANES,
                                         (ptrdiff_t)rank[lane], left[lane], rows[lane], work->cut[labels[sites[lane]]])
                              : -HUGE_VAL;
        }
        waiting = 0;
    }
}

/* Score a family without each of the sites in turn. The other sites stay in their groups. */
static void leave_out(Work *work, const Fits *fits, const int64_t *labels, int64_t *scratch, double tau, double *out)
{
    const Sites *sites = work->sites;
    ptrdiff_t count = sites->count, stride = work->parts * work->packed;
    double everywhere = -HUGE_VAL, declared, total;
    choose_tolerance(work, tau);
    declared = prepare(work, fits, scratch);
    for (ptrdiff_t k = 0; k < count; k++)
        if (work->members[k] && labels[k] == k && sites->share) {
            work->list[0] = k; /* the group keeps its index */
            ptrdiff_t inside = 1;
            for (ptrdiff_t other = 0; other < count; other++)
                if (labels[other] == k && other != k)
                    work->list[inside++] = other;
            make_group(work, work->list, inside, scratch);
        }
    ptrdiff_t *groups = work->leavers + count / AT_ONCE + 1, found = list_groups(work, groups);
    total = declared + add_groups(work, groups, found, -1, &everywhere);
    for (ptrdiff_t x = 0; x < found; x++) { /* all sites of a group have the same total of the other groups */
        work->others_refund[groups[x]] = -HUGE_VAL;
        work->others[groups[x]] = add_groups(work, groups, found, groups[x], work->others_refund + groups[x]);
    }
    if (sites->spread[work->node])
        scores_without(work, labels);
    for (ptrdiff_t k = 0; k < count; k++) {
        ptrdiff_t group = (ptrdiff_t)labels[k];
        double refund = -HUGE_VAL, left = total, price = price_of(sites, tau, count - 1);
        out[k] = total + (everywhere == -HUGE_VAL ? 0.0 : everywhere) - price;
        if (sites->constant[k * sites->variables + work->node])
            continue;
        if (sites->declared[k * sites->variables + work->node]) {
            out[k] -= score_declared(work, fits, k);
            continue;
        }
        left = declared + work->others[group];
        refund = work->others_refund[group];
        if (work->members[group] > 1) {
            double rows = work->rows[group] - work->own_rows[k], score, value;
            size_t cut = NOT_CUT;
            ptrdiff_t rest = -1;
            for (ptrdiff_t other = 0; other < count && work->members[group] == 2; other++)
                rest = labels[other] == group && other != k ? other : rest;
            if (rest < 0 && (!sites->spread[work->node] || work->cut[group] != NOT_CUT))
                for (size_t at = 0; at < used(work); at++)
                    work->joint[at] = work->sums[group * stride + (ptrdiff_t)at] - work->single[k * stride + (ptrdiff_t)at];
            score = sites->spread[work->node] || rest >= 0
                        ? work->leaving[k]
                        : score_group(work, work->joint, rows, work->fixed[group] - work->own_fixed[k]);
            value = score - sites->price_own;
            if (rest >= 0)
                value = work->alone[rest];
            else if (sites->spread[work->node] && work->around[k] > -HUGE_VAL)
                value = value_cut(work, work->joint, rows, value, work->around[k], work->cut[group], &cut);
            if (rest >= 0)
                score = fits->alone[rest];
            if (rest >= 0 && value == TOO_FEW) /* it must join another group, if there is one */
                left += join_others(work, labels, group, rest);
            else {
                left += value;
                refund = larger(refund, score - value);
            }
        }
        out[k] = left + (refund == -HUGE_VAL ? 0.0 : refund) - price;
    }
}

/* Upper bound of the score with the current tolerance. Either every site is alone; or some are in groups, each site
   fits as well as with its own mechanism, and at least one group pays for its parameters. A negative price is a bonus
   for every group.

   The bound is tighter if all sites have the same number q of parameters. Then the penalty q / 2 log(rows) of a group
   grows by at most q / 2 times `step` if a site joins. So the groups lose at least q / 2 log(rows of all sites), minus
   what is saved by sites that are better alone. Added to this loss is: for one group of all sites, a share of the loss
   due to their differences; if some sites are alone, the least cost of that; for several groups, the penalty of a
   second group. */
static double most_possible(const Work *work, const Fits *fits, double differ)
{
    const Sites *sites = work->sites;
    const double *step = work->step + work->at * sites->count, *log_c = work->log_c + work->at * sites->count;
    double apart = larger(sites->price_own, sites->price_cut), together = apart;
    double bonus = larger(0.0, larger(-sites->price_own, -sites->price_cut));
    double fewest = HUGE_VAL, smallest = HUGE_VAL; /* smallest numbers of parameters and of weighted rows of a site */
    double half = 0.5 * parameters(work, work->regressors), saved = 0.0, cost = HUGE_VAL, share = 1.0;
    int alike = sites->spread[work->node] && work->tau > 0.0;
    for (ptrdiff_t k = 0; k < sites->count; k++) {
        size_t at = (size_t)k;
        if (sites->constant[k * sites->variables + work->node])
            continue;
        if (fits->alone[at] == TOO_FEW)
            return HUGE_VAL;
        double alone = larger(fits->alone[at], fits->cut[at] + sites->price_cut) + bonus;
        double shared = larger(fits->likelihood[at] - 0.5 * fits->parameters[at] * log_c[k] + bonus, alone);
        double c = 1.0 + sites->n[k] * work->tau * work->tau, own = shared - alone - half * step[k];
        apart += alone;
        together += shared;
        fewest = fits->parameters[at] < fewest ? fits->parameters[at] : fewest;
        smallest = sites->n[k] / c < smallest ? sites->n[k] / c : smallest;
        alike &= in_groups(work, k) && 0.5 * fits->parameters[at] == half &&
                 fits->variance[at] > sites->floor[k * sites->columns + sites->first[work->node]];
        saved += larger(0.0, -own);
        cost = own < cost ? own : cost;
        share = 1.0 / c < share ? 1.0 / c : share;
    }
    double most = together - 0.5 * fewest * log(larger(2.0 * smallest, 1.0));
    if (alike && smallest >= 1.0) {
        double all = together - half * log(work->weight[work->at]) + ROUNDING;
        double some = larger(all - larger(cost, 0.0) + saved, all + saved - half * log(smallest));
        double found = larger(all - share * larger(differ, 0.0), some);
        most = found < most ? found : most;
    }
    return larger(apart, most);
}

/* Score the current family with the best tolerance. A tolerance above zero has a price, and is not tried if its upper
   bound is too low. `labels` and `tau` are those of the best tolerance; `first` is the score with the first one. */
static double score_tolerant(Work *work, const Fits *fits, int64_t *labels, int64_t *scratch, double *tau,
                             double *first)
{
    const Sites *sites = work->sites;
    double best = -HUGE_VAL, differ = 0.0;
    for (ptrdiff_t t = 0; t < sites->tolerances; t++) {
        double price = price_of(sites, sites->tolerance[t], sites->count);
        choose_tolerance(work, sites->tolerance[t]);
        if (t && best >= most_possible(work, fits, differ) - price)
            continue;
        double found = score_family(work, fits, scratch) - price;
        if (sites->tolerance[t] == 0.0)
            differ = work->differ;
        if (!t)
            *first = found;
        if (found > best) {
            best = found;
            *tau = work->tau;
            memcpy(labels, scratch, (size_t)sites->count * sizeof(int64_t));
        }
    }
    return best;
}

/* Score the current family with one tolerance. `first` is the known score with the first tolerance. */
static double score_with(Work *work, const Fits *fits, double tau, double first, int64_t *scratch)
{
    if (tau == work->sites->tolerance[0])
        return first;
    choose_tolerance(work, tau);
    return score_family(work, fits, scratch) - price_of(work->sites, tau, work->sites->count);
}

static void free_work(Work *work)
{
    free(work->root);
    free(work->sums);
    free(work->gain);
    free(work->members);
    free(work->list);
    free(work->cut);
    free(work->cells);
    free(work->changed);
    free(work->gain_time);
}

static int allocate_work(Work *work, ptrdiff_t widest)
{
    size_t count = (size_t)work->sites->count, part = (size_t)triangle(widest), stride = (size_t)work->parts * part;
    work->packed = (ptrdiff_t)part;
    work->widest = widest;
    for (ptrdiff_t at = 0; at < widest; at++)
        work->same[at] = at;
    work->root = malloc((2 * stride + 3 * part + (size_t)(widest + work->own)) * sizeof(double));
    work->sums = malloc(2 * count * stride * sizeof(double));
    work->gain = malloc(count * (count + 9) * sizeof(double));
    work->members = malloc(2 * count * sizeof(int64_t));
    work->list = malloc((2 * count + count / AT_ONCE + 2) * sizeof(ptrdiff_t)); /* also `leavers`, and groups */
    work->cut = malloc(2 * count * sizeof(size_t));
    work->blocks = (work->sites->count + LANES - 1) / LANES;
    size_t places = (size_t)work->blocks * LANES, logs = (size_t)(all_tolerances(work->sites) + 4) * count;
    size_t tolerances = (size_t)all_tolerances(work->sites), grown = (size_t)(work->blocks * size_grown(work->own, widest));
    logs += tolerances * (count + 1) + (part + 3) * LANES + (size_t)size_grown(work->own, widest);
    work->cells = calloc((places + count) * part + 2 * part * LANES + 3 * places + logs + grown, sizeof(double));
    work->changed = calloc(count, sizeof(uint32_t));
    int many = count > MOST_TOGETHER;
    work->gain_time = many ? calloc(count * count, sizeof(uint32_t)) : NULL;
    if (!work->changed || (many && !work->gain_time))
        return NO_MEMORY;
    if (!work->root || !work->sums || !work->gain || !work->members || !work->list || !work->cut || !work->cells)
        return NO_MEMORY;
    work->grown = work->cells + places * part;
    work->packs = work->grown + grown;
    work->totals = work->packs + count * part;
    work->grown_totals = work->totals + part * LANES;
    work->left_totals = work->grown_totals + size_grown(work->own, widest);
    work->rank_totals = work->left_totals + LANES;
    work->least_totals = work->rank_totals + LANES;
    work->step = work->least_totals + LANES;
    work->weight = work->step + tolerances * count;
    work->shared = work->weight + tolerances;
    work->factor = work->shared + places;
    work->pairs = work->factor + part * LANES;
    work->least = work->pairs + part * LANES;
    work->around = work->least + places;
    work->log_n = work->around + places;
    work->leaving = work->log_n + count;
    work->others = work->leaving + count;
    work->others_refund = work->others + count;
    work->log_c = work->others_refund + count;
    work->leavers = work->list + count;
    work->own_cut = work->cut + count;
    work->joint = work->root + stride;
    work->some = work->joint + stride + part;
    work->weights = work->some + 2 * part;
    work->left = work->weights + widest;
    work->score = work->gain + count * count;
    work->value = work->score + count;
    work->rows = work->value + count;
    work->fixed = work->rows + count;
    work->alone = work->fixed + count;
    work->own_fit = work->alone + count;
    work->own_rows = work->own_fit + count;
    work->own_fixed = work->own_rows + count;
    work->own_score = work->own_fixed + count;
    work->single = work->sums + count * stride;
    return 0;
}

/* Separate fits of all subsets of the parents at each site: [subset, site]. */
typedef struct {
    int all;               /* number of parents */
    size_t subsets, cells; /* number of their subsets; sites times subsets */
    double *alone, *cut, *likelihood, *parameters, *variance;
    double *fewer;                  /* the best score of a proper subset */
    uint32_t *fewer_left, *left;    /* that subset; parents that a site keeps where it is cut off from others */
    double *best;                   /* [subset]: best score of a family whose parents are within it */
    uint8_t *hopeless;              /* [subset]: skip it and all its supersets, see `mechanism_scores` */
    double *scores;                 /* [site] */
    int64_t *groups;                /* [2, site] */
} Subsets;

static void free_table(Subsets *table)
{
    free(table->alone);
    free(table->left);
    free(table->best);
    free(table->hopeless);
    free(table->groups);
}

static int allocate_table(Subsets *table, int all, ptrdiff_t count, ptrdiff_t own)
{
    size_t subsets = (size_t)1 << all, cells = (size_t)count * subsets;
    table->all = all;
    table->subsets = subsets;
    table->cells = cells;
    table->alone = malloc(cells * (5 + (size_t)own) * sizeof(double));
    table->left = malloc(2 * cells * sizeof(uint32_t));
    table->best = malloc((subsets + (size_t)count) * sizeof(double));
    table->hopeless = calloc(subsets, 1);
    table->groups = malloc(2 * (size_t)count * sizeof(int64_t));
    if (!table->alone || !table->left || !table->best || !table->hopeless || !table->groups)
        return NO_MEMORY;
    table->cut = table->alone + cells;
    table->likelihood = table->cut + cells;
    table->parameters = table->likelihood + cells;
    table->fewer = table->parameters + cells;
    table->variance = table->fewer + cells;
    table->fewer_left = table->left + cells;
    table->scores = table->best + subsets;
    return 0;
}

/* For every site, update the best proper subset by a set with one parent less, or the best subset of that set. */
VECTORS static void best_of_fewer(double *restrict best, uint32_t *restrict left, const double *alone,
                                  const double *fewer, const uint32_t *within, uint32_t set, ptrdiff_t count)
{
    for (ptrdiff_t k = 0; k < count; k++) {
        double found = alone[k] > fewer[k] ? alone[k] : fewer[k];
        uint32_t which = alone[k] > fewer[k] ? set : within[k];
        left[k] = found > best[k] ? which : left[k];
        best[k] = found > best[k] ? found : best[k];
    }
}

/* Fit every site alone, and find its best score with fewer parents: none or some. The subsets of the set were fitted
   before. */
static void fit_sites(Work *work, Subsets *table, size_t set, ptrdiff_t from)
{
    const Sites *sites = work->sites;
    size_t own = (size_t)work->own, count = (size_t)sites->count, begin = set * count;
    double left[MOST_COLUMNS * LANES], rank[LANES];
    if (sites->spread[work->node] && all_tolerances(sites) <= LANES)
        grow(work->totals, work->local, from, work->regressors, 1, work->widest, work->least_totals, work->grown_totals,
             work->left_totals, work->rank_totals, all_tolerances(sites) <= LANES / 2);
    for (size_t k = 0; k < count; k++) {
        size_t at = begin + k;
        ptrdiff_t block = (ptrdiff_t)k / LANES;
        if (k % LANES == 0)
            grow(work->cells + block * work->packed * LANES, work->local, from, work->regressors, work->own, work->widest,
                 work->least + k, work->grown + block * size_grown(work->own, work->widest), left, rank,
                 half_full(work, block));
        table->fewer[at] = table->cut[at] = -HUGE_VAL;
        table->fewer_left[at] = table->left[at] = 0;
        table->alone[at] = -HUGE_VAL;
        if (sites->constant[(ptrdiff_t)k * sites->variables + work->node])
            continue;
        for (size_t j = 0; j < own; j++)
            table->variance[at * own + j] = left[j * LANES + k % LANES];
        table->parameters[at] = parameters(work, (ptrdiff_t)rank[k % LANES]);
        table->likelihood[at] = fit_alone(work, (ptrdiff_t)k, table->variance + at * own);
        table->alone[at] = table->likelihood[at] - 0.5 * table->parameters[at] * work->log_n[k];
        if (sites->n[k] < 2.0 * (double)(work->regressors + work->own)) {
            table->alone[at] = TOO_FEW; /* it would overfit: use its spread without parents */
            table->likelihood[at] = table->likelihood[k];
            memcpy(table->variance + at * own, table->variance + k * own, own * sizeof(double));
        }
    }
    for (int t = 0; t < table->all; t++)
        if (set >> t & 1) {
            size_t one = set ^ (size_t)1 << t, there = one * count;
            best_of_fewer(table->fewer + begin, table->fewer_left + begin, table->alone + there, table->fewer + there,
                          table->fewer_left + there, (uint32_t)one, sites->count);
        }
    for (size_t k = 0; k < count && set; k++) {
        double some = table->fewer[begin + k] - sites->price_some, none = table->alone[k] - sites->price_cut;
        table->cut[begin + k] = larger(none, some);
        table->left[begin + k] = some > none ? table->fewer_left[begin + k] : 0;
    }
}

/* Whether a set can be skipped because a subset of it is hopeless. If not, write the best score of its subsets to
   `best`. */
static int has_hopeless_subset(Subsets *table, size_t set)
{
    table->best[set] = -HUGE_VAL;
    for (int t = 0; t < table->all; t++)
        if (set >> t & 1) {
            size_t one = set ^ (size_t)1 << t;
            if (table->hopeless[one])
                return 1;
            table->best[set] = larger(table->best[set], table->best[one]);
        }
    return 0;
}

/* Score a node for its `fixed` first parents together with every subset of the `open` others. Sets that are not in
   `wanted`, if it is given, are skipped. If no parent is fixed, all supersets of a skipped set are skipped too, and so
   are sets that score far below one of their subsets. Sets whose score is `known`, and not NaN, are not scored again.

   Written for each other set: `labels`, the group of every site; `taus`, the tolerance; `without`, the scores without
   each site; `others`, the scores with each other tolerance alone. All but `taus` may be NULL. */
int mechanism_scores(const Sites *sites, int64_t node, const int64_t *parents, int fixed, int open,
                     const uint8_t *wanted, const double *known, double *out, int64_t *labels, double *taus,
                     double *without, double *others)
{
    int all = fixed + open, fault = 0;
    Work work = {.sites = sites, .node = node};
    Subsets table = {0};
    ptrdiff_t widest = 1, count = sites->count;
    work.own = sites->spread[node] ? 1 : (ptrdiff_t)(sites->first[node + 1] - sites->first[node]);
    work.parts = sites->spread[node] ? 1 : work.own;
    for (int t = 0; t < all; t++)
        widest += (ptrdiff_t)(sites->first[parents[t] + 1] - sites->first[parents[t]]);
    widest += work.own;
    if (all > MOST_BLOCKS || widest > MOST_COLUMNS)
        return OUT_OF_RANGE;
    if (allocate_table(&table, all, count, work.own) || allocate_work(&work, widest)) {
        fault = NO_MEMORY;
        goto done;
    }
    choose_family(&work, parents, all, table.subsets - 1);
    gather_cells(&work);
    size_t always = ((size_t)1 << fixed) - 1, shown = (size_t)1 << open;
    for (size_t turn = 0; turn < table.subsets; turn++) {
        /* Reverse the bits, so that sets with the same first parents are consecutive, and share factors. */
        size_t set = 0;
        for (int t = 0; t < all; t++)
            set |= (turn >> t & 1) << (all - 1 - t);
        size_t at = set >> fixed;
        int asked = (set & always) == always;
        if (asked) {
            out[at] = -HUGE_VAL;
            taus[at] = 0.0;
            for (ptrdiff_t k = 0; k < count && labels; k++)
                labels[at * (size_t)count + (size_t)k] = k;
            for (ptrdiff_t k = 0; k < count && without; k++)
                without[(size_t)k * shown + at] = -HUGE_VAL;
            for (ptrdiff_t t = 0; t < sites->others && others; t++)
                others[(size_t)t * shown + at] = -HUGE_VAL;
        }
        if (!fixed && (has_hopeless_subset(&table, set) || (wanted && !wanted[set]))) {
            table.hopeless[set] = 1;
            continue;
        }
        choose_family(&work, parents, all, set);
        fit_sites(&work, &table, set, known_columns(&work));
        if (!asked || (wanted && !wanted[at]))
            continue;
        size_t begin = set * (size_t)count;
        Fits fits = {table.alone + begin,      table.cut + begin,
                     table.likelihood + begin, table.parameters + begin,
                     table.variance + begin * (size_t)work.own, table.left + begin};
        int64_t *found = labels ? labels + at * (size_t)count : table.groups + count;
        int again = !known || isnan(known[at]);
        double first = -HUGE_VAL;
        out[at] = again ? score_tolerant(&work, &fits, found, table.groups, taus + at, &first) : known[at];
        for (ptrdiff_t t = 0; t < sites->others && others; t++)
            others[(size_t)t * shown + at] =
                score_with(&work, &fits, sites->tolerance[sites->tolerances + t], first, table.groups);
        if (without) {
            leave_out(&work, &fits, found, table.groups, taus[at], table.scores);
            for (ptrdiff_t k = 0; k < count; k++)
                without[(size_t)k * shown + at] = table.scores[k];
        }
        if (!fixed) {
            table.hopeless[set] = out[at] < table.best[set] - sites->margin;
            table.best[set] = larger(table.best[set], out[at]);
        }
    }
done:
    free_table(&table);
    free_work(&work);
    return fault;
}
