/* Residual variance of a node given every subset of some columns.

   Of m + 1 columns, the node last, cell (i, j) with i <= j holds the covariance of columns i and j given each subset of
   the columns before i: 2^i numbers, bit t of the index for column t. Taking column t as a parent doubles what is known
   of all columns behind it, in place. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>

typedef struct {
    int m;
    double *cell[MOST_COLUMNS + 1][MOST_COLUMNS + 1];
    double *share[MOST_COLUMNS][MOST_COLUMNS + 1]; /* of pivot t in column j: cell (t, j) over cell (t, t) */
    double *memory;
} Lattice;

static int make(Lattice *lattice, int m)
{
    size_t numbers = 0;
    for (int i = 0; i <= m; i++)
        numbers += ((size_t)(2 * (m - i) + 1)) << i;
    lattice->m = m;
    lattice->memory = malloc(numbers * sizeof(double));
    if (!lattice->memory)
        return NO_MEMORY;
    double *next = lattice->memory;
    for (int i = 0; i <= m; i++)
        for (int j = i; j <= m; j++) {
            lattice->cell[i][j] = next;
            next += (size_t)1 << i;
            if (j > i) {
                lattice->share[i][j] = next;
                next += (size_t)1 << i;
            }
        }
    return 0;
}

static void fill(Lattice *lattice, const double *correlation, int64_t p, const int64_t *columns)
{
    for (int i = 0; i <= lattice->m; i++)
        for (int j = i; j <= lattice->m; j++)
            lattice->cell[i][j][0] = correlation[columns[i] * p + columns[j]];
}

/* Return the smallest pivot, the node's own residuals among them. */
static double eliminate(Lattice *lattice)
{
    int m = lattice->m;
    double smallest = 1.0;
    for (int t = 0; t < m; t++) {
        size_t size = (size_t)1 << t;
        const double *pivot = lattice->cell[t][t];
        for (size_t s = 0; s < size; s++)
            smallest = pivot[s] < smallest ? pivot[s] : smallest;
        for (int j = t + 1; j <= m; j++) {
            const double *row = lattice->cell[t][j];
            double *restrict share = lattice->share[t][j];
            for (size_t s = 0; s < size; s++)
                share[s] = row[s] / (pivot[s] > TINY ? pivot[s] : TINY);
            for (int i = t + 1; i <= j; i++) {
                const double *left = lattice->cell[t][i], *before = lattice->cell[i][j];
                double *restrict after = lattice->cell[i][j] + size;
                for (size_t s = 0; s < size; s++)
                    after[s] = before[s] - left[s] * share[s];
            }
        }
    }
    const double *own = lattice->cell[m][m];
    for (size_t s = 0; s < (size_t)1 << m; s++)
        smallest = own[s] < smallest ? own[s] : smallest;
    return smallest;
}

static int within(const int64_t *columns, ptrdiff_t count, int64_t p)
{
    for (ptrdiff_t at = 0; at < count; at++)
        if (columns[at] < 0 || columns[at] >= p)
            return 0;
    return 1;
}

/* columns: [rows, m + 1], the node last; residual: [rows, 2^m]; smallest: [rows] */
int lattices(const double *correlation, int64_t p, const int64_t *columns, ptrdiff_t rows, int m, double *residual,
             double *smallest)
{
    Lattice lattice;
    if (!within(columns, rows * (m + 1), p))
        return OUT_OF_RANGE;
    if (make(&lattice, m))
        return NO_MEMORY;
    for (ptrdiff_t row = 0; row < rows; row++) {
        lattice.cell[m][m] = residual + (row << m);
        fill(&lattice, correlation, p, columns + row * (m + 1));
        smallest[row] = eliminate(&lattice);
    }
    free(lattice.memory);
    return 0;
}

/* least: [size] */
static void keep_least(double *least, const double *values, const uint8_t *members, size_t count)
{
    for (size_t s = 0; s < count; s++) {
        double *at = least + members[s];
        *at = values[s] < *at ? values[s] : *at;
    }
}

/* Residual variances of the node with one column more, into near[m], and those of that column itself, into left.

   near[i] holds the covariance of that column with column i as cell (i, j) does: the first number is there. */
static void eliminate_beside(const Lattice *lattice, double **near, double *left)
{
    int m = lattice->m;
    left[0] = 1.0;
    for (int t = 0; t < m; t++) {
        size_t size = (size_t)1 << t;
        const double *pivot = lattice->cell[t][t], *first = near[t];
        double *restrict rest = left + size;
        for (size_t s = 0; s < size; s++)
            rest[s] = left[s] - first[s] * first[s] / (pivot[s] > TINY ? pivot[s] : TINY);
        for (int i = t + 1; i <= m; i++) {
            const double *share = lattice->share[t][i], *before = near[i];
            double *restrict after = near[i] + size;
            for (size_t s = 0; s < size; s++)
                after[s] = before[s] - share[s] * first[s];
        }
    }
    const double *alone = lattice->cell[m][m];
    double *restrict joined = near[m];
    for (size_t s = 0; s < (size_t)1 << m; s++)
        joined[s] = alone[s] - joined[s] * joined[s] / (left[s] > TINY ? left[s] : TINY);
}

/* The smallest residual variance among the subsets of each size: least[size, row].

   columns: [rows, m + 1]; the node comes last, and before it the column in which rows that follow each other may differ
   alone. Such rows share the work on all their other columns. */
int least_residuals(const double *correlation, int64_t p, const int64_t *columns, ptrdiff_t rows, int m, double *least,
                    double *smallest)
{
    Lattice lattice;
    int k = m - 1; /* columns that rows share, beside the node */
    size_t subsets = (size_t)1 << k;
    if (!within(columns, rows * (m + 1), p))
        return OUT_OF_RANGE;
    double *left = malloc(3 * subsets * sizeof(double));
    uint8_t *members = malloc(subsets);
    if (!left || !members || make(&lattice, k)) {
        free(left);
        free(members);
        return NO_MEMORY;
    }
    double *near[MOST_COLUMNS + 1], alone[MOST_COLUMNS + 1], found[MOST_COLUMNS + 1];
    for (int i = 0; i <= k; i++)
        near[i] = left + subsets + ((size_t)1 << i) - 1;
    members[0] = 0;
    for (size_t s = 1; s < subsets; s++)
        members[s] = members[s >> 1] + (s & 1);
    *smallest = 1.0;
    for (ptrdiff_t row = 0; row < rows; row++) {
        const int64_t *these = columns + row * (m + 1), *before = these - (m + 1);
        int64_t shared[MOST_COLUMNS + 1];
        int same = row > 0 && these[m] == before[m];
        for (int i = 0; i <= k; i++) {
            shared[i] = these[i < k ? i : m];
            same = same && (i == k || these[i] == before[i]);
        }
        double pivot = 1.0;
        if (!same) {
            fill(&lattice, correlation, p, shared);
            pivot = eliminate(&lattice);
            for (int size = 0; size <= m; size++)
                alone[size] = HUGE_VAL;
            keep_least(alone, lattice.cell[k][k], members, subsets);
        }
        for (int i = 0; i <= k; i++)
            near[i][0] = correlation[shared[i] * p + these[k]];
        eliminate_beside(&lattice, near, left);
        for (size_t s = 0; s < subsets; s++)
            pivot = left[s] < pivot ? left[s] : pivot;
        for (int size = 0; size <= m; size++)
            found[size] = alone[size];
        keep_least(found + 1, near[k], members, subsets);
        for (int size = 0; size <= m; size++) {
            least[size * rows + row] = found[size];
            pivot = found[size] < pivot ? found[size] : pivot;
        }
        *smallest = pivot < *smallest ? pivot : *smallest;
    }
    free(lattice.memory);
    free(left);
    free(members);
    return 0;
}

/* Replace each value by the largest among the subsets of its set, itself included. values: [rows, subsets] */
void best_of_subsets(double *values, ptrdiff_t rows, size_t subsets)
{
    for (ptrdiff_t row = 0; row < rows; row++, values += subsets)
        for (size_t step = 1; step < subsets; step *= 2)
            for (size_t block = 0; block < subsets; block += 2 * step) {
                const double *without = values + block;
                double *restrict with = values + block + step;
                for (size_t s = 0; s < step; s++)
                    with[s] = without[s] > with[s] ? without[s] : with[s];
            }
}
