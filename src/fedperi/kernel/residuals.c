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

static void keep_least(double *least, ptrdiff_t rows, const double *values, const uint8_t *members, size_t count,
                       int more)
{
    for (size_t s = 0; s < count; s++) {
        double *at = least + (members[s] + more) * rows;
        *at = values[s] < *at ? values[s] : *at;
    }
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
    double *memory = malloc((3 * subsets + k + 1) * sizeof(double));
    uint8_t *members = malloc(subsets);
    if (!memory || !members || make(&lattice, k)) {
        free(memory);
        free(members);
        return NO_MEMORY;
    }
    double *left = memory, *alone = memory + 3 * subsets; /* the smallest of each size, without the last column */
    double *near[MOST_COLUMNS + 1]; /* covariance of the last column with each other one, as the cells have it */
    for (int i = 0; i <= k; i++)
        near[i] = memory + subsets + ((size_t)1 << i) - 1;
    members[0] = 0;
    for (size_t s = 1; s < subsets; s++)
        members[s] = members[s >> 1] + (s & 1);
    *smallest = 1.0;
    for (ptrdiff_t row = 0; row < rows; row++) {
        const int64_t *these = columns + row * (m + 1);
        int64_t shared[MOST_COLUMNS + 1];
        int same = row > 0 && these[m] == these[-1];
        for (int i = 0; i < k; i++) {
            shared[i] = these[i];
            same = same && these[i] == these[i - m - 1];
        }
        shared[k] = these[m];
        if (!same) {
            fill(&lattice, correlation, p, shared);
            double found = eliminate(&lattice);
            *smallest = found < *smallest ? found : *smallest;
            for (int size = 0; size <= k; size++)
                alone[size] = HUGE_VAL;
            keep_least(alone, 1, lattice.cell[k][k], members, subsets, 0);
        }
        for (int i = 0; i <= k; i++)
            near[i][0] = correlation[shared[i] * p + these[k]];
        left[0] = 1.0;
        for (int t = 0; t < k; t++) {
            size_t size = (size_t)1 << t;
            const double *pivot = lattice.cell[t][t], *first = near[t];
            double *restrict rest = left + size;
            for (size_t s = 0; s < size; s++)
                rest[s] = left[s] - first[s] * first[s] / (pivot[s] > TINY ? pivot[s] : TINY);
            for (int i = t + 1; i <= k; i++) {
                const double *share = lattice.share[t][i], *before = near[i];
                double *restrict after = near[i] + size;
                for (size_t s = 0; s < size; s++)
                    after[s] = before[s] - share[s] * first[s];
            }
        }
        const double *own = lattice.cell[k][k];
        double *restrict mine = near[k];
        for (size_t s = 0; s < subsets; s++) {
            double variance = left[s] > TINY ? left[s] : TINY;
            mine[s] = own[s] - mine[s] * mine[s] / variance;
            *smallest = variance < *smallest ? variance : *smallest;
            *smallest = mine[s] < *smallest ? mine[s] : *smallest;
        }
        for (int size = 0; size <= k; size++)
            least[size * rows + row] = alone[size];
        least[m * rows + row] = HUGE_VAL;
        keep_least(least + row, rows, mine, members, subsets, 1);
    }
    free(lattice.memory);
    free(memory);
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
