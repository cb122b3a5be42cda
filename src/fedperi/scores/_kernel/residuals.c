/* BIC of a node given every subset of some variables, each of which is a block of columns.

   Columns are ordered by block; the node's block is last. Cell (i, j) with i <= j holds the covariance of columns i and
   j given each subset of the blocks before the block of i: one number per subset, with bit t of the index for block t.
   Each block doubles, in place, the numbers in the cells of every later column. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    int m;                         /* number of blocks, without the node's */
    int begin[MOST_BLOCKS + 2];    /* first column of each block, including the node's, and one more */
    ptrdiff_t room, cells;         /* numbers of columns and of values for which memory is allocated */
    double **cell, **share;        /* [column, column]; a share is cell (a, j) divided by the pivot (a, a) */
    double **inverse;              /* [column]: inverse of the pivot */
    double *memory;
} Lattice;

static ptrdiff_t columns_of(const Lattice *lattice) { return lattice->begin[lattice->m + 1]; }

static void free_lattice(Lattice *lattice)
{
    free(lattice->cell);
    free(lattice->memory);
    memset(lattice, 0, sizeof(Lattice));
}

/* Lay out the cells for m blocks and a node, with these widths. Do nothing if the layout is the same as before. */
static int lay_out(Lattice *lattice, int m, const int64_t *widths)
{
    int same = lattice->memory && lattice->m == m;
    for (int t = 0; t <= m && same; t++)
        same = lattice->begin[t + 1] - lattice->begin[t] == widths[t];
    if (same)
        return 0;
    lattice->m = m;
    for (int t = 0; t <= m; t++)
        lattice->begin[t + 1] = lattice->begin[t] + (int)widths[t];
    ptrdiff_t q = columns_of(lattice), numbers = 0;
    for (int t = 0; t <= m; t++)
        for (ptrdiff_t i = lattice->begin[t]; i < lattice->begin[t + 1]; i++)
            numbers += (2 * (q - i)) << t;
    if (q > lattice->room || numbers > lattice->cells) {
        free_lattice(lattice);
        lattice->cell = malloc((size_t)(q * (2 * q + 1)) * sizeof(double *));
        lattice->memory = malloc((size_t)numbers * sizeof(double));
        if (!lattice->cell || !lattice->memory)
            return NO_MEMORY;
        lattice->room = q;
        lattice->cells = numbers;
        return lay_out(lattice, m, widths);
    }
    lattice->share = lattice->cell + q * q;
    lattice->inverse = lattice->share + q * q;
    double *next = lattice->memory;
    for (int t = 0; t <= m; t++)
        for (ptrdiff_t i = lattice->begin[t]; i < lattice->begin[t + 1]; i++) {
            ptrdiff_t size = (ptrdiff_t)1 << t;
            for (ptrdiff_t j = i; j < q; j++, next += size)
                lattice->cell[i * q + j] = next;
            for (ptrdiff_t j = i + 1; j < q; j++, next += size)
                lattice->share[i * q + j] = next;
            lattice->inverse[i] = next;
            next += size;
        }
    return 0;
}

static void fill(const Lattice *lattice, const Table *table, const int64_t *columns)
{
    ptrdiff_t q = columns_of(lattice);
    for (ptrdiff_t i = 0; i < q; i++)
        for (ptrdiff_t j = i; j < q; j++)
            lattice->cell[i * q + j][0] = table->correlation[columns[i] * table->columns + columns[j]];
}

static inline double smaller(double a, double b) { return a < b ? a : b; }

static inline void invert(double *restrict out, const double *pivot, size_t size)
{
    for (size_t s = 0; s < size; s++)
        out[s] = 1.0 / (pivot[s] > TINY ? pivot[s] : TINY);
}

static inline void multiply(double *out, const double *a, const double *b, size_t size)
{
    for (size_t s = 0; s < size; s++)
        out[s] = a[s] * b[s];
}

/* out = from - a b; out may be from */
static inline void subtract_product(double *out, const double *from, const double *a, const double *b, size_t size)
{
    for (size_t s = 0; s < size; s++)
        out[s] = from[s] - a[s] * b[s];
}

/* Eliminate the columns of one block from each other, given each subset of the earlier blocks.

   Return the smallest pivot. For each column it is the last one, given all earlier blocks, since a residual variance
   decreases when more columns are given. So the first block that is collinear with earlier ones is found here, before
   any division by its pivot. */
VECTORS static double eliminate_within(const Lattice *lattice, int t)
{
    ptrdiff_t q = columns_of(lattice), end = lattice->begin[t + 1];
    size_t size = (size_t)1 << t;
    double least = 1.0;
    for (ptrdiff_t a = lattice->begin[t]; a < end; a++) {
        double **row = lattice->cell + a * q, **share = lattice->share + a * q;
        least = smaller(least, row[a][size - 1]);
        invert(lattice->inverse[a], row[a], size);
        for (ptrdiff_t j = a + 1; j < q; j++) {
            multiply(share[j], row[j], lattice->inverse[a], size);
            for (ptrdiff_t b = a + 1; b <= j && b < end; b++)
                subtract_product(lattice->cell[b * q + j], lattice->cell[b * q + j], row[b], share[j], size);
        }
    }
    return least;
}

/* Compute the covariances of the columns after a block, given the subsets that contain it. */
VECTORS static void eliminate_behind(const Lattice *lattice, int t)
{
    ptrdiff_t q = columns_of(lattice), first = lattice->begin[t], end = lattice->begin[t + 1];
    size_t size = (size_t)1 << t;
    for (ptrdiff_t i = end; i < q; i++)
        for (ptrdiff_t j = i; j < q; j++) {
            const double *from = lattice->cell[i * q + j];
            double *to = lattice->cell[i * q + j] + size;
            for (ptrdiff_t a = first; a < end; a++, from = to)
                subtract_product(to, from, lattice->cell[a * q + i], lattice->share[a * q + j], size);
        }
}

/* Eliminate all blocks. Return the smallest pivot. The diagonal of the node's block holds the node's pivots. */
static double eliminate(const Lattice *lattice)
{
    double least = 1.0;
    for (int t = 0; t <= lattice->m; t++) {
        least = smaller(least, eliminate_within(lattice, t));
        if (t < lattice->m)
            eliminate_behind(lattice, t);
    }
    return least;
}

/* -- columns of a query -------------------------------------------------------------------------------------------- */

static int all_known(const Table *table, const int64_t *variables, ptrdiff_t count)
{
    for (ptrdiff_t at = 0; at < count; at++)
        if (variables[at] < 0 || variables[at] >= table->variables)
            return 0;
    return 1;
}

int64_t *append_columns(const Table *table, int64_t variable, int64_t *out)
{
    for (int64_t c = table->first[variable]; c < table->first[variable + 1]; c++)
        *out++ = c;
    return out;
}

/* Lay out a lattice for m variables and the node, which is last, and fill it. */
static int begin_lattice(Lattice *lattice, const Table *table, const int64_t *variables, int m)
{
    int64_t widths[MOST_BLOCKS + 1], columns[MOST_COLUMNS], *next = columns, count = 0;
    for (int t = 0; t <= m; t++) {
        widths[t] = width_of(table, variables[t]);
        count += widths[t];
    }
    if (count > MOST_COLUMNS)
        return NOT_FOR_LOOPS;
    for (int t = 0; t <= m; t++)
        next = append_columns(table, variables[t], next);
    if (lay_out(lattice, m, widths))
        return NO_MEMORY;
    fill(lattice, table, columns);
    return 0;
}

/* Count the columns of each subset of the blocks. */
static void count_columns(const Lattice *lattice, int32_t *count)
{
    count[0] = 0;
    for (int t = 0; t < lattice->m; t++)
        for (size_t s = 0; s < (size_t)1 << t; s++)
            count[((size_t)1 << t) + s] = count[s] + lattice->begin[t + 1] - lattice->begin[t];
}

/* -- all subsets --------------------------------------------------------------------------------------------------- */

/* variables: [rows, m + 1], the node last; out: [rows, 2^m]; smallest: [rows] */
int scores(const Table *table, const int64_t *variables, ptrdiff_t rows, int m, double *out, double *smallest)
{
    Lattice lattice = {0};
    size_t subsets = (size_t)1 << m;
    if (!all_known(table, variables, rows * (m + 1)))
        return OUT_OF_RANGE;
    int32_t *count = malloc(subsets * sizeof(int32_t));
    int fault = count ? 0 : NO_MEMORY;
    for (ptrdiff_t row = 0; row < rows && !fault; row++, out += subsets, variables += m + 1) {
        fault = begin_lattice(&lattice, table, variables, m);
        if (fault)
            break;
        smallest[row] = eliminate(&lattice);
        ptrdiff_t q = columns_of(&lattice), own = q - lattice.begin[m];
        double price = table->price * (double)own, half = -table->n / 2;
        count_columns(&lattice, count);
        for (ptrdiff_t a = q - own; a < q; a++) {
            const double *pivot = lattice.cell[a * q + a];
            for (size_t s = 0; s < subsets; s++)
                out[s] = (a > q - own ? out[s] : 0.0) + log(pivot[s] > TINY ? pivot[s] : TINY);
        }
        for (size_t s = 0; s < subsets; s++)
            out[s] = half * out[s] - price * count[s];
    }
    free_lattice(&lattice);
    free(count);
    return fault;
}

/* -- with one more variable ---------------------------------------------------------------------------------------- */

#define LANES 16 /* additional variables that are processed together, each on its own */

/* Additional variables of a lattice, all of the same width. `near` holds the covariances of their columns with those of
   the lattice, laid out like the cells; `left` the covariances between their own columns, above the diagonal, given
   each subset of the blocks processed so far. There is one number per lane. */
typedef struct {
    int width;
    double **near; /* [own column, column of the lattice] */
    double **left; /* [own column, own column] */
    double *memory;
} Beside;

static void free_beside(Beside *beside)
{
    free(beside->near);
    free(beside->memory);
    memset(beside, 0, sizeof(Beside));
}

static int lay_out_beside(Beside *beside, const Lattice *lattice, int width)
{
    ptrdiff_t q = columns_of(lattice), each = 0, subsets = (ptrdiff_t)1 << lattice->m;
    for (int t = 0; t <= lattice->m; t++)
        each += (ptrdiff_t)(lattice->begin[t + 1] - lattice->begin[t]) << t;
    free_beside(beside);
    beside->width = width;
    beside->near = malloc((size_t)(width * (q + width)) * sizeof(double *));
    beside->memory = malloc((size_t)((width * each + width * width * 2 * subsets) * LANES) * sizeof(double));
    if (!beside->near || !beside->memory)
        return NO_MEMORY;
    beside->left = beside->near + width * q;
    double *next = beside->memory;
    for (int c = 0; c < width; c++)
        for (int t = 0; t <= lattice->m; t++)
            for (ptrdiff_t i = lattice->begin[t]; i < lattice->begin[t + 1]; i++, next += LANES << t)
                beside->near[c * q + i] = next;
    for (int c = 0; c < width * width; c++, next += 2 * subsets * LANES)
        beside->left[c] = next;
    return 0;
}

/* Write the covariances of one variable into a lane. */
static void fill_lane(const Beside *beside, const Table *table, const int64_t *columns, ptrdiff_t q, int64_t variable,
                      int lane)
{
    for (int c = 0; c < beside->width; c++) {
        const double *mine = table->correlation + (table->first[variable] + c) * table->columns;
        for (ptrdiff_t i = 0; i < q; i++)
            beside->near[c * q + i][lane] = mine[columns[i]];
        for (int d = 0; d <= c; d++)
            beside->left[d * beside->width + c][lane] = mine[table->first[variable] + d];
    }
}

/* out = from - share a, in each lane; out may be from */
static inline void subtract_share(double *out, const double *from, const double *share, const double *a, size_t size)
{
    for (size_t s = 0; s < size; s++, out += LANES, from += LANES, a += LANES)
        for (int lane = 0; lane < LANES; lane++)
            out[lane] = from[lane] - share[s] * a[lane];
}

/* Process one block. The numbers in `left` are doubled: given the subsets without the block, and with it. */
VECTORS static void eliminate_beside(const Beside *beside, const Lattice *lattice, int t)
{
    ptrdiff_t q = columns_of(lattice), first = lattice->begin[t], end = lattice->begin[t + 1];
    size_t size = (size_t)1 << t;
    for (int c = 0; c < beside->width; c++) {
        double **near = beside->near + c * q;
        for (ptrdiff_t a = first; a < end; a++)
            for (ptrdiff_t b = a + 1; b < end; b++)
                subtract_share(near[b], near[b], lattice->share[a * q + b], near[a], size);
        for (ptrdiff_t i = end; i < q; i++) {
            double *from = near[i], *to = near[i] + size * LANES;
            for (ptrdiff_t a = first; a < end; a++, from = to)
                subtract_share(to, from, lattice->share[a * q + i], near[a], size);
        }
        for (int d = 0; d <= c; d++) {
            double *from = beside->left[d * beside->width + c], *to = from + size * LANES;
            for (ptrdiff_t a = first; a < end; a++, from = to)
                for (size_t s = 0; s < size; s++) {
                    const double *mine = near[a] + s * LANES, *others = beside->near[d * q + a] + s * LANES;
                    for (int lane = 0; lane < LANES; lane++)
                        to[s * LANES + (size_t)lane] =
                            from[s * LANES + (size_t)lane] - mine[lane] * others[lane] * lattice->inverse[a][s];
                }
        }
    }
}

/* Write the determinants of `left`, for `count` numbers from `from` on, into its first diagonal cell. Return the
   smallest pivot given the last subset, which is the largest one. */
VECTORS static double determinant_left(const Beside *beside, size_t from, size_t count)
{
    int width = beside->width;
    double least = 1.0, *product = beside->left[0] + from;
    for (int a = 0; a < width; a++) {
        const double *pivot = beside->left[a * width + a] + from;
        for (size_t lane = count - LANES; lane < count; lane++)
            least = smaller(least, pivot[lane]);
        for (int c = a + 1; c < width; c++)
            for (int d = c; d < width; d++) {
                const double *one = beside->left[a * width + c] + from, *other = beside->left[a * width + d] + from;
                double *cell = beside->left[c * width + d] + from;
                for (size_t s = 0; s < count; s++)
                    cell[s] -= one[s] * other[s] / (pivot[s] > TINY ? pivot[s] : TINY);
            }
    }
    for (int a = 1; a < width; a++)
        multiply(product, product, beside->left[a * width + a] + from, count);
    return least;
}

/* Compute the determinant of the node's residual covariance, given each subset of the lattice. */
static void determinants(const Lattice *lattice, double *out)
{
    ptrdiff_t q = columns_of(lattice), first = lattice->begin[lattice->m];
    size_t subsets = (size_t)1 << lattice->m;
    memcpy(out, lattice->cell[first * q + first], subsets * sizeof(double));
    for (ptrdiff_t a = first + 1; a < q; a++)
        multiply(out, out, lattice->cell[a * q + a], subsets);
}

/* Best score, from the smallest determinant for each number of columns: subsets with equally many columns have the same
   penalty. So few logarithms are needed. */
static double best_score(const Table *table, const double *least, ptrdiff_t step, ptrdiff_t columns, ptrdiff_t more,
                         ptrdiff_t own)
{
    double best = -HUGE_VAL;
    for (ptrdiff_t count = 0; count <= columns; count++)
        if (least[count * step] < HUGE_VAL) {
            double score = -table->n / 2 * log(least[count * step]) - table->price * (double)(own * (count + more));
            best = score > best ? score : best;
        }
    return best;
}

typedef struct {
    const Table *table;
    int k;                         /* number of variables, without the node, that the rows share */
    Lattice lattice;
    Beside beside;
    int64_t columns[MOST_COLUMNS]; /* of the lattice */
    int32_t *count;                /* columns of each subset */
    double *alone;                 /* determinants for each subset */
    double *least;                 /* [number of columns, lane]: smallest determinants */
    double none, best;             /* scores of the empty set, and of the best subset without a further variable */
    double smallest;
} Extremes;

static void free_extremes(Extremes *self)
{
    free_lattice(&self->lattice);
    free_beside(&self->beside);
    free(self->count);
    free(self->alone);
    free(self->least);
}

static void fill_infinite(double *values, ptrdiff_t count)
{
    for (ptrdiff_t at = 0; at < count; at++)
        values[at] = HUGE_VAL;
}

/* Compute the part that consecutive rows share: all variables except the one just before the node. */
static int begin_extremes(Extremes *self, const int64_t *variables)
{
    const Lattice *lattice = &self->lattice;
    int k = self->k, fault = begin_lattice(&self->lattice, self->table, variables, k);
    if (fault)
        return fault;
    int64_t *next = self->columns;
    for (int t = 0; t <= k; t++)
        next = append_columns(self->table, variables[t], next);
    ptrdiff_t given = lattice->begin[k], own = columns_of(lattice) - given;
    double pivot = eliminate(lattice), *least;
    free(self->least);
    if (!(least = self->least = malloc((size_t)((given + 1) * LANES) * sizeof(double))))
        return NO_MEMORY;
    free_beside(&self->beside);
    determinants(lattice, self->alone);
    count_columns(lattice, self->count);
    fill_infinite(least, given + 1);
    for (size_t s = 0; s < (size_t)1 << k; s++) {
        double *at = least + self->count[s];
        *at = self->alone[s] < *at ? self->alone[s] : *at;
    }
    self->none = best_score(self->table, least, 1, 0, 0, own);
    self->best = best_score(self->table, least, 1, given, 0, own);
    self->smallest = smaller(pivot, self->smallest);
    return 0;
}

/* Compute the determinants of the node given one more variable j, as det(node | S, j) = det(node | S) det(j | S, node)
   / det(j | S), in place of det(j | S, node). Keep the smallest for each number of columns. */
VECTORS static void keep_least(const Extremes *self, size_t subsets)
{
    const double *without = self->beside.left[0];
    double *with = self->beside.left[0] + subsets * LANES;
    for (size_t s = 0; s < subsets; s++, with += LANES, without += LANES) {
        double *least = self->least + self->count[s] * LANES;
        for (int lane = 0; lane < LANES; lane++) {
            with[lane] = self->alone[s] * (with[lane] / (without[lane] > TINY ? without[lane] : TINY));
            least[lane] = with[lane] < least[lane] ? with[lane] : least[lane];
        }
    }
}

/* Score the whole set, and the best subset, with each of some additional variables of the same width, one per lane. */
static int add_variables(Extremes *self, const int64_t *more, int count, double *whole, double *best)
{
    const Lattice *lattice = &self->lattice;
    ptrdiff_t q = columns_of(lattice), given = lattice->begin[self->k], own = q - given;
    size_t subsets = (size_t)1 << self->k;
    int width = (int)width_of(self->table, more[0]);
    if (q + width > MOST_COLUMNS)
        return NOT_FOR_LOOPS;
    if (self->beside.width != width && lay_out_beside(&self->beside, lattice, width))
        return NO_MEMORY;
    for (int lane = 0; lane < LANES; lane++)
        fill_lane(&self->beside, self->table, self->columns, q, more[lane < count ? lane : count - 1], lane);
    for (int t = 0; t <= self->k; t++)
        eliminate_beside(&self->beside, lattice, t);
    self->smallest = smaller(self->smallest, determinant_left(&self->beside, 0, subsets * LANES));
    self->smallest = smaller(self->smallest, determinant_left(&self->beside, subsets * LANES, subsets * LANES));
    fill_infinite(self->least, (given + 1) * LANES);
    keep_least(self, subsets);
    const double *full = self->beside.left[0] + (2 * subsets - 1) * LANES;
    for (int lane = 0; lane < count; lane++) {
        if (own == 1)
            self->smallest = smaller(self->smallest, full[lane]);
        whole[lane] = -self->table->n / 2 * log(full[lane]) - self->table->price * (double)(own * (given + width));
        best[lane] = best_score(self->table, self->least + lane, LANES, given, width, own);
        best[lane] = self->best > best[lane] ? self->best : best[lane];
    }
    return 0;
}

/* Score rows that share all variables except one. Rows whose variable has the same width are processed together. */
static int score_run(Extremes *self, const int64_t *variables, ptrdiff_t count, double *none, double *whole,
                     double *best)
{
    int64_t shared[MOST_BLOCKS + 1], more[LANES];
    int k = self->k, length = k + 2;
    ptrdiff_t place[LANES], left = count;
    memcpy(shared, variables, (size_t)k * sizeof(int64_t));
    shared[k] = variables[k + 1];
    int fault = begin_extremes(self, shared);
    for (int64_t width = 1; left && !fault; width++)
        for (ptrdiff_t at = 0, lanes = 0; at < count && !fault; at++) {
            int64_t variable = variables[at * length + k];
            if (width_of(self->table, variable) == width) {
                more[lanes] = variable;
                place[lanes++] = at;
                left--;
            }
            if (lanes == LANES || (lanes && at == count - 1)) {
                double wholes[LANES], bests[LANES];
                fault = add_variables(self, more, (int)lanes, wholes, bests);
                for (ptrdiff_t lane = 0; lane < lanes; lane++) {
                    none[place[lane]] = self->none;
                    whole[place[lane]] = wholes[lane];
                    best[place[lane]] = bests[lane];
                }
                lanes = 0;
            }
        }
    return fault;
}

/* Scores of the empty set, of the whole set and of the best subset: out[3, rows].

   variables: [rows, m + 1], the node last. Consecutive rows that differ only in the variable just before the node share
   the work on all other variables. */
int extremes(const Table *table, const int64_t *variables, ptrdiff_t rows, int m, double *out, double *smallest)
{
    Extremes self = {.table = table, .k = m - 1, .smallest = 1.0};
    size_t subsets = (size_t)1 << self.k;
    ptrdiff_t length = m + 1;
    if (!all_known(table, variables, rows * length))
        return OUT_OF_RANGE;
    self.count = malloc(subsets * sizeof(int32_t));
    self.alone = malloc(subsets * sizeof(double));
    int fault = self.count && self.alone ? 0 : NO_MEMORY;
    for (ptrdiff_t row = 0, end; row < rows && !fault; row = end) {
        const int64_t *first = variables + row * length;
        for (end = row + 1; end < rows; end++) {
            const int64_t *other = variables + end * length;
            if (other[m] != first[m] || memcmp(other, first, (size_t)self.k * sizeof(int64_t)))
                break;
        }
        fault = score_run(&self, first, end - row, out + row, out + rows + row, out + 2 * rows + row);
    }
    *smallest = self.smallest;
    free_extremes(&self);
    return fault;
}

/* -- single sets --------------------------------------------------------------------------------------------------- */

/* Factor the covariance of some columns, row by row from row `from` on, into the lower triangle of root: [count,
   stride]. Return the smallest pivot of these rows. Stop at a singular one. */
double factor(const Table *table, const int64_t *columns, ptrdiff_t from, ptrdiff_t count, double *root, ptrdiff_t stride)
{
    double least = 1.0;
    for (ptrdiff_t i = from; i < count; i++) {
        const double *mine = table->correlation + columns[i] * table->columns;
        double *row = root + i * stride;
        for (ptrdiff_t j = 0; j <= i; j++) {
            const double *other = root + j * stride;
            double sum = mine[columns[j]];
            for (ptrdiff_t t = 0; t < j; t++)
                sum -= row[t] * other[t];
            row[j] = j < i ? sum / other[j] : sum;
        }
        least = row[i] < least ? row[i] : least;
        if (!(least > table->singular))
            return least;
        row[i] = sqrt(row[i]);
    }
    return least;
}

/* Score the node whose columns are the last `own` columns of a factor. */
double score_of(const Table *table, const double *root, ptrdiff_t count, ptrdiff_t stride, ptrdiff_t own)
{
    double sum = 0.0;
    for (ptrdiff_t i = count - own; i < count; i++)
        sum += log(root[i * stride + i] * root[i * stride + i]);
    return -table->n / 2 * sum - table->price * (double)(own * (count - own));
}

/* Score some queries. The variables of query q begin at variables[starts[q]]; the node is the last of them. smallest:
   [queries]. The score is minus infinity if there are more columns, with the node's, than half the number of rows. */
int local(const Table *table, const int64_t *variables, const int64_t *starts, ptrdiff_t queries, double *out,
          double *smallest)
{
    ptrdiff_t room = 0;
    int64_t *columns = NULL;
    double *root = NULL;
    int fault = all_known(table, variables, starts[queries]) ? 0 : OUT_OF_RANGE;
    for (ptrdiff_t at = 0; at < queries && !fault; at++) {
        ptrdiff_t count = 0, own = width_of(table, variables[starts[at + 1] - 1]);
        for (int64_t v = starts[at]; v < starts[at + 1]; v++)
            count += width_of(table, variables[v]);
        smallest[at] = 1.0;
        out[at] = -HUGE_VAL;
        if (2.0 * (double)count > table->n)
            continue;
        if (count > room) {
            free(columns);
            free(root);
            room = 2 * count;
            columns = malloc((size_t)room * sizeof(int64_t));
            root = malloc((size_t)(room * room) * sizeof(double));
            if (!columns || !root) {
                fault = NO_MEMORY;
                break;
            }
        }
        int64_t *next = columns;
        for (int64_t v = starts[at]; v < starts[at + 1]; v++)
            next = append_columns(table, variables[v], next);
        smallest[at] = factor(table, columns, 0, count, root, room);
        if (smallest[at] > table->singular)
            out[at] = score_of(table, root, count, room, own);
    }
    free(columns);
    free(root);
    return fault;
}
