/* Operations of sites and coordinator on the scores of lattices: the best of all subsets, the adaptive mask, and sums
   that do not depend on the order of the sites. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ENDLESS 1e200 /* values of this size or more count as infinite, so that no sum of smaller ones can overflow */
#define CELLS 512     /* cells per pass: few enough that those of all sites fit into the processor's cache */

VECTORS static void best_in_row(double *values, size_t subsets)
{
    for (size_t step = 1; step < subsets; step *= 2)
        for (size_t block = 0; block < subsets; block += 2 * step) {
            const double *without = values + block;
            double *restrict with = values + block + step;
            for (size_t s = 0; s < step; s++)
                with[s] = without[s] > with[s] ? without[s] : with[s];
        }
}

/* Replace the value of each set by the largest value among its subsets, itself included. values: [rows, subsets] */
void best_of_subsets(double *values, ptrdiff_t rows, size_t subsets)
{
    for (ptrdiff_t row = 0; row < rows; row++)
        best_in_row(values + row * (ptrdiff_t)subsets, subsets);
}

VECTORS static void mask_row(double *restrict values, const double *restrict whole, size_t subsets, double all, double some)
{
    double none = whole[0] - all;
    for (size_t s = 0; s < subsets; s++) {
        double best = values[s] - some;
        best = none > best ? none : best;
        values[s] = whole[s] > best ? whole[s] : best;
    }
}

/* Replace the score of each set by the best of three: its own score; that of the empty set, minus `all`; and the best
   of its subsets, minus `some`. */
int adaptive(double *values, ptrdiff_t rows, size_t subsets, double all, double some)
{
    double *whole = malloc(subsets * sizeof(double));
    if (!whole)
        return NO_MEMORY;
    for (ptrdiff_t row = 0; row < rows; row++, values += subsets) {
        memcpy(whole, values, subsets * sizeof(double));
        best_in_row(values, subsets);
        mask_row(values, whole, subsets, all, some);
    }
    free(whole);
    return 0;
}

/* Return a number that, added and subtracted, splits values at a digit such that a sum of `count` upper parts is exact:
   see add_up. */
static double unit(double value, double count)
{
    int exponent;
    frexp(value * count, &exponent);
    return ldexp(1.5, exponent + 1);
}

/* Add the upper parts of the values to `sum`, which is exact, and subtract them from the values. */
VECTORS static void add_parts(double *restrict values, ptrdiff_t sites, size_t count, const double *restrict units,
                              double *restrict sum)
{
    for (ptrdiff_t site = 0; site < sites; site++) {
        double *mine = values + (size_t)site * CELLS;
        for (size_t s = 0; s < count; s++) {
            double part = (mine[s] + units[s]) - units[s];
            sum[s] += part;
            mine[s] -= part;
        }
    }
}

VECTORS static void most_of(const double *values, ptrdiff_t sites, ptrdiff_t cells, size_t count, double *restrict most)
{
    for (size_t s = 0; s < count; s++)
        most[s] = 0.0;
    for (ptrdiff_t site = 0; site < sites; site++)
        for (size_t s = 0; s < count; s++) {
            double size = fabs(values[site * cells + (ptrdiff_t)s]);
            most[s] = size > most[s] ? size : most[s];
        }
}

/* Sum over sites, the same to the last bit for any order of the sites. values: [sites, cells]; out: [cells]

   Every value is split into two parts at a digit that depends on the largest value of the sites. The upper parts are
   added without rounding, so that their order does not matter; then the lower parts, in the same way. The remainder is
   below the last digit, and is dropped. An infinite value makes its sum infinite. */
int add_up(const double *values, ptrdiff_t sites, ptrdiff_t cells, double *out)
{
    double *copy = malloc((size_t)sites * CELLS * sizeof(double));
    double most[CELLS], units[CELLS], upper[CELLS], lower[CELLS];
    if (!copy)
        return NO_MEMORY;
    for (ptrdiff_t at = 0; at < cells; at += CELLS) {
        size_t count = (size_t)(cells - at < CELLS ? cells - at : CELLS);
        most_of(values + at, sites, cells, count, most);
        for (ptrdiff_t site = 0; site < sites; site++)
            memcpy(copy + site * CELLS, values + site * cells + at, count * sizeof(double));
        for (size_t s = 0; s < count; s++) {
            units[s] = unit(most[s], (double)sites);
            upper[s] = lower[s] = 0.0;
        }
        add_parts(copy, sites, count, units, upper);
        for (size_t s = 0; s < count; s++)
            units[s] = unit(units[s] * 0x1p-52, (double)sites);
        add_parts(copy, sites, count, units, lower);
        for (size_t s = 0; s < count; s++)
            out[at + (ptrdiff_t)s] = most[s] < ENDLESS ? upper[s] + lower[s] : HUGE_VAL;
    }
    free(copy);
    return 0;
}
