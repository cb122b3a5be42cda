/* Scores of a table of categories: BDeu and the multinomial BIC, from its distinct rows and their counts.

   Both are sums over the parent configurations that occur: a term for the count of each level of the node, minus a term
   for the total count. Only counts matter, so rows that agree in all variables of a family are merged.

   A single set is scored by numbering the configurations that occur, one variable after the other. All subsets of some
   candidates are scored by a recursion that decides about one candidate after the other, beginning with the last. It
   keeps the distinct rows of the node and the undecided candidates, in groups, one group for each configuration of the
   candidates in the set. If a candidate is left out, rows that differ only in it are merged; if it is included, the
   groups are divided by its levels. So one branch has fewer rows, and the other has smaller groups. A group of one row
   cannot change any more, and is set aside. If most combinations occur in most groups, the counts of all combinations
   are stored in order: then including a candidate costs nothing, and leaving it out is a sum of vectors. */

#include "loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FEW 128      /* terms of smaller counts are in a table */
#define SLOTS 32     /* number of such tables, one per prior: four are used at the same time */
#define SPARE 16384  /* combinations for which there is always space, in addition to DENSE per row */
#define DENSE 4      /* all combinations are counted if there are at most this many per row */
#define MOST_ROWS ((size_t)1 << 28)
#define MOST_COUNTED ((int64_t)1 << 53) /* largest integer that a double represents exactly */

struct Discrete {
    size_t rows, p;
    uint32_t *codes;  /* [variable, row]: number of the level, among levels that occur */
    uint32_t *widths; /* number of levels that occur */
    double *levels;   /* number of possible levels */
    int64_t *counts;
};

/* -- the term of a count ------------------------------------------------------------------------------------------- */

typedef struct {
    double prior, log_prior;
    uint64_t used; /* time of the last use; zero if never used */
    double few[FEW];
} Terms;

/* Number of possible configurations of some variables. It may overflow to infinity, its logarithm does not. */
typedef struct {
    double number, log;
} Possible;

static Possible times(Possible possible, double levels)
{
    return (Possible){possible.number * levels, possible.log + log(levels)};
}

static double stirling_rest(double x)
{
    double y = 1.0 / (x * x);
    return (1.0 / 12 - y * (1.0 / 360 - y * (1.0 / 1260 - y / 1680))) / x;
}

/* The logarithm of prior (prior + 1) ... (prior + count - 1), or count log count without a prior, for counts from FEW
   on. It is the difference of two Stirling series, arranged so that large terms do not cancel. */
static double term_of_large(const Terms *terms, int64_t count)
{
    if (terms->prior < 0)
        return (double)count * log((double)count);
    double from = terms->prior + (FEW - 1), more = (double)(count - (FEW - 1)), to = from + more;
    return terms->few[FEW - 1] + (from - 0.5) * log1p(more / from) + more * (log(to) - 1) + stirling_rest(to) -
           stirling_rest(from);
}

static inline double term_of(const Terms *terms, int64_t count)
{
    return count < FEW ? terms->few[count] : term_of_large(terms, count);
}

static double sum_of_terms(const Terms *terms, const int64_t *counts, size_t size)
{
    double sums[4] = {0.0, 0.0, 0.0, 0.0}; /* independent sums, which the processor can add in parallel */
    size_t at = 0;
    for (; at + 4 <= size; at += 4)
        for (size_t k = 0; k < 4; k++)
            sums[k] += term_of(terms, counts[at + k]);
    for (; at < size; at++)
        sums[0] += term_of(terms, counts[at]);
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static void fill(Terms *terms, double prior, double log_prior)
{
    terms->prior = prior;
    terms->log_prior = log_prior;
    terms->few[0] = 0.0;
    terms->few[1] = prior < 0 ? 0.0 : log_prior;
    for (int count = 2; count < FEW; count++)
        terms->few[count] = prior < 0 ? count * log(count) : terms->few[count - 1] + log(count - 1 + prior);
}

/* -- work ---------------------------------------------------------------------------------------------------------- */

typedef struct {
    const Discrete *table;
    Judge judge;
    size_t bound; /* if there are more combinations, only those that occur are numbered */
    uint64_t clock;
    Terms *terms;
    int64_t *cells, *totals;       /* [bound] */
    uint32_t *starts;              /* [bound + 1] */
    uint32_t *order, *key, *other; /* [rows] */
    uint32_t *group, *number;      /* [largest number of levels that occur] */
} Work;

static void release_work(Work *work)
{
    free(work->terms);
    free(work->cells);
    free(work->totals);
    free(work->starts);
    free(work->order);
    free(work->key);
    free(work->other);
    free(work->group);
    free(work->number);
}

static int make_work(Work *work, const Discrete *table, Judge judge)
{
    size_t rows = table->rows + 1, bound = DENSE * table->rows + SPARE;
    *work = (Work){.table = table, .judge = judge, .bound = bound};
    work->terms = calloc(SLOTS, sizeof(Terms));
    work->cells = malloc(bound * sizeof(int64_t));
    work->totals = malloc(bound * sizeof(int64_t));
    work->starts = malloc((bound + 1) * sizeof(uint32_t));
    work->order = malloc(rows * sizeof(uint32_t));
    work->key = malloc(rows * sizeof(uint32_t));
    work->other = malloc(rows * sizeof(uint32_t));
    work->group = malloc(rows * sizeof(uint32_t));
    work->number = malloc(rows * sizeof(uint32_t));
    if (work->terms && work->cells && work->totals && work->starts && work->order && work->key && work->other &&
        work->group && work->number)
        return 0;
    release_work(work);
    return NO_MEMORY;
}

/* Find or fill the table of terms for a prior divided by the number of possible cells. The last SLOTS ones are kept. */
static const Terms *terms_of(Work *work, Possible possible)
{
    double prior = -1.0, log_prior = 0.0;
    if (work->judge.prior > 0) {
        prior = work->judge.prior / possible.number;
        log_prior = log(work->judge.prior) - (possible.number < 1e300 ? log(possible.number) : possible.log);
    }
    Terms *oldest = work->terms;
    for (Terms *one = work->terms; one < work->terms + SLOTS; one++) {
        if (one->used && one->prior == prior && one->log_prior == log_prior) {
            one->used = ++work->clock;
            return one;
        }
        if (one->used < oldest->used)
            oldest = one;
    }
    oldest->used = ++work->clock;
    fill(oldest, prior, log_prior);
    return oldest;
}

/* The penalty of a family. It is zero if the node has one level, even if the number of configurations is infinite. */
static double price(const Work *work, int64_t node, Possible possible)
{
    double each = work->judge.prior > 0 ? 0.0 : work->judge.price, others = work->table->levels[node] - 1;
    return each == 0 || others == 0 ? 0.0 : each * (possible.number * others);
}

/* -- numbers for combinations that occur --------------------------------------------------------------------------- */

/* For each number of a combination: the level of its last variable, and the number of the combination of the others. */
typedef struct {
    uint32_t *code, *rest;
} Parts;

static const uint32_t *codes_of(const Discrete *table, int64_t variable)
{
    return table->codes + (size_t)variable * table->rows;
}

static size_t every_pair(const Discrete *table, const uint32_t *key, size_t count, int64_t variable, uint32_t *out)
{
    const uint32_t *codes = codes_of(table, variable);
    for (size_t row = 0; row < table->rows; row++)
        out[row] = key[row] + (uint32_t)count * codes[row];
    return count * table->widths[variable];
}

/* Number the pairs of a key and a code that occur: by key, then in order of appearance. */
static size_t pairs_that_occur(Work *work, const uint32_t *key, size_t count, int64_t variable, uint32_t *out,
                               Parts *parts)
{
    const Discrete *table = work->table;
    const uint32_t *codes = codes_of(table, variable);
    uint32_t *starts = work->starts, next = 0;
    memset(starts, 0, (count + 1) * sizeof(uint32_t));
    for (size_t row = 0; row < table->rows; row++)
        starts[key[row] + 1]++;
    for (size_t at = 0; at < count; at++)
        starts[at + 1] += starts[at];
    for (size_t row = 0; row < table->rows; row++)
        work->order[starts[key[row]]++] = (uint32_t)row; /* each start becomes the end of its key */
    memset(work->group, 0, table->widths[variable] * sizeof(uint32_t));
    for (size_t at = 0; at < table->rows; at++) {
        uint32_t row = work->order[at], code = codes[row], mine = key[row];
        if (work->group[code] != mine + 1) {
            work->group[code] = mine + 1;
            work->number[code] = next;
            if (parts) {
                parts->code[next] = code;
                parts->rest[next] = mine;
            }
            next++;
        }
        out[row] = work->number[code];
    }
    return next;
}

static int fits(const Work *work, size_t count, int64_t variable)
{
    return (uint64_t)count * work->table->widths[variable] <= work->bound;
}

/* Number the rows by their key, which has `count` values, and one more variable. Return the new count. */
static size_t number(Work *work, const uint32_t *key, size_t count, int64_t variable, uint32_t *out)
{
    return fits(work, count, variable) ? every_pair(work->table, key, count, variable, out)
                                       : pairs_that_occur(work, key, count, variable, out, NULL);
}

static void tally(const Discrete *table, const uint32_t *key, size_t count, int64_t *sums)
{
    memset(sums, 0, count * sizeof(int64_t));
    for (size_t row = 0; row < table->rows; row++)
        sums[key[row]] += table->counts[row];
}

/* -- single sets --------------------------------------------------------------------------------------------------- */

/* Score a node whose parents' configurations are numbered. */
static double score(Work *work, int64_t node, const uint32_t *key, size_t count, Possible possible)
{
    const Discrete *table = work->table;
    const Terms *in_rows = terms_of(work, possible), *in_cells = terms_of(work, times(possible, table->levels[node]));
    int together = fits(work, count, node);
    size_t cells = number(work, key, count, node, work->other);
    tally(table, work->other, cells, work->cells);
    if (together) /* the number of a configuration determines the numbers of its cells */
        for (size_t at = 0; at < count; at++) {
            work->totals[at] = 0;
            for (size_t cell = at; cell < cells; cell += count)
                work->totals[at] += work->cells[cell];
        }
    else
        tally(table, key, count, work->totals);
    return sum_of_terms(in_cells, work->cells, cells) - sum_of_terms(in_rows, work->totals, count) -
           price(work, node, possible);
}

/* Number the configurations of all parents except one, into work->key. */
static size_t configurations(Work *work, const int64_t *parents, size_t size, int64_t but, Possible *possible)
{
    size_t count = 1;
    memset(work->key, 0, work->table->rows * sizeof(uint32_t));
    *possible = (Possible){1.0, 0.0};
    for (size_t at = 0; at < size; at++)
        if (parents[at] != but) {
            count = number(work, work->key, count, parents[at], work->key);
            *possible = times(*possible, work->table->levels[parents[at]]);
        }
    return count;
}

static int all_known(const int64_t *some, size_t count, size_t p)
{
    for (size_t at = 0; at < count; at++)
        if (some[at] < 0 || (uint64_t)some[at] >= p)
            return 0;
    return 1;
}

/* Query q is about nodes[q] with the parents from first[q] to first[q + 1], each listed once. */
int discrete_scores(const Discrete *table, Judge judge, const int64_t *nodes, const int64_t *first, size_t queries,
                    const int64_t *parents, size_t all, double *out)
{
    Work work;
    if (!all_known(nodes, queries, table->p) || !all_known(parents, all, table->p))
        return OUT_OF_RANGE;
    for (size_t q = 0; q < queries; q++)
        if (first[q] < 0 || first[q] > first[q + 1] || (uint64_t)first[q + 1] > all)
            return OUT_OF_RANGE;
    if (make_work(&work, table, judge))
        return NO_MEMORY;
    for (size_t q = 0; q < queries; q++) {
        Possible possible;
        size_t count = configurations(&work, parents + first[q], (size_t)(first[q + 1] - first[q]), -1, &possible);
        out[q] = score(&work, nodes[q], work.key, count, possible);
    }
    release_work(&work);
    return 0;
}

/* Score a node after each other variable has been added to its parents, or removed if it is one. */
int discrete_flips(const Discrete *table, Judge judge, int64_t node, const int64_t *parents, size_t size,
                   const int64_t *others, size_t count, double *out)
{
    Work work;
    Possible possible;
    if (!all_known(&node, 1, table->p) || !all_known(parents, size, table->p) || !all_known(others, count, table->p))
        return OUT_OF_RANGE;
    uint32_t *joined = malloc((table->rows + 1) * sizeof(uint32_t));
    uint8_t *inside = calloc(table->p, 1);
    if (!joined || !inside || make_work(&work, table, judge)) {
        free(joined);
        free(inside);
        return NO_MEMORY;
    }
    for (size_t at = 0; at < size; at++)
        inside[parents[at]] = 1;
    size_t before = configurations(&work, parents, size, -1, &possible);
    for (size_t at = 0; at < count; at++)
        if (!inside[others[at]]) {
            size_t after = number(&work, work.key, before, others[at], joined);
            out[at] = score(&work, node, joined, after, times(possible, table->levels[others[at]]));
        }
    for (size_t at = 0; at < count; at++) /* last, because this overwrites the key of all parents */
        if (inside[others[at]]) {
            size_t after = configurations(&work, parents, size, others[at], &possible);
            out[at] = score(&work, node, work.key, after, possible);
        }
    release_work(&work);
    free(joined);
    free(inside);
    return 0;
}

/* -- all subsets --------------------------------------------------------------------------------------------------- */

/* The node and the first candidates: a number for each row of the table, and the parts of each number. */
typedef struct {
    int64_t variable; /* the last candidate; the node itself if there are none */
    int every;        /* all combinations are numbered, ordered by their levels, beginning with the last variable */
    int apart;        /* whether the parts have been computed */
    size_t count, room;
    uint32_t *key;
    Parts parts;
} Level;

/* Distinct rows of the node and the first candidates, in groups of at least two rows. In a group, rows are sorted by
   the node, then by the first candidate, and so on. */
typedef struct {
    size_t groups, entries;
    uint32_t *number, *starts; /* numbers at the level; [groups + 1] */
    int64_t *count;
    int64_t few_alone[FEW], largest; /* number of one-row groups by count, and the largest of these counts */
    size_t many_alone;               /* one-row groups with larger counts: the first entries of `large` */
} Rows;

typedef struct {
    Work work;
    int m;
    size_t room; /* largest number of distinct rows */
    Level levels[MOST_BLOCKS + 1];
    Rows rows[MOST_BLOCKS + 1];
    uint32_t same[MOST_BLOCKS];   /* other positions of the same candidate, as a bit set */
    uint32_t *size, *where, *seen; /* [largest number of levels that occur]: sizes are zero between groups */
    int64_t *by_code, *by_own;     /* the same */
    int64_t *large;                /* [rows]: counts of groups of one row, from FEW on */
    int64_t *dense;                /* [2 * DENSE * room] */
    double *out;
} Walk;

static void put_aside(Walk *walk, Rows *rows, int64_t count)
{
    if (count >= FEW) {
        walk->large[rows->many_alone++] = count;
        return;
    }
    rows->few_alone[count]++;
    rows->largest = count > rows->largest ? count : rows->largest;
}

static Rows *begin_rows(Walk *walk, int t)
{
    const Rows *before = &walk->rows[t + 1];
    Rows *rows = &walk->rows[t];
    rows->groups = rows->entries = 0;
    rows->largest = before->largest;
    rows->many_alone = before->many_alone;
    memcpy(rows->few_alone, before->few_alone, sizeof(rows->few_alone));
    return rows;
}

/* Make a group of the rows written after the last group, or set a single row aside. */
static void close_group(Walk *walk, Rows *rows, size_t end)
{
    if (end == rows->entries + 1) {
        put_aside(walk, rows, rows->count[rows->entries]);
        return;
    }
    rows->entries = end;
    rows->starts[++rows->groups] = (uint32_t)end;
}

/* Leave a candidate out: rows of a group that differ only in it are adjacent, and are merged. There is no branch, since
   the processor could hardly predict which rows are merged. */
static void leave_out(Walk *walk, int t)
{
    const Rows *before = &walk->rows[t];
    const uint32_t *rest = walk->levels[t].parts.rest, *from = before->number;
    const int64_t *mine = before->count;
    Rows *after = begin_rows(walk, t - 1);
    uint32_t *numbers = after->number;
    int64_t *counts = after->count;
    for (size_t group = 0; group < before->groups; group++) {
        uint32_t row = before->starts[group], end = before->starts[group + 1], at = (uint32_t)after->entries;
        int64_t count = mine[row];
        numbers[at] = rest[from[row]];
        for (row++; row < end; row++) {
            uint32_t number = rest[from[row]];
            int other = number != numbers[at];
            counts[at] = count;
            count = mine[row] + (other ? 0 : count);
            at += (uint32_t)other;
            numbers[at] = number;
        }
        counts[at] = count;
        close_group(walk, after, at + 1);
    }
}

/* Include a candidate: groups are divided by its levels. Single rows are written from the end, then set aside. */
static void include(Walk *walk, int t)
{
    const Rows *before = &walk->rows[t];
    const uint32_t *codes = walk->levels[t].parts.code, *rest = walk->levels[t].parts.rest, *from = before->number;
    uint32_t *size = walk->size, *where = walk->where, width = walk->work.table->widths[walk->levels[t].variable];
    Rows *after = begin_rows(walk, t - 1);
    uint32_t *numbers = after->number;
    int64_t *counts = after->count;
    for (size_t group = 0; group < before->groups; group++) {
        uint32_t begin = before->starts[group], end = before->starts[group + 1], last = (uint32_t)walk->room, seen = 0;
        if (end - begin >= width)
            for (uint32_t row = begin; row < end; row++)
                size[codes[from[row]]]++;
        else
            for (uint32_t row = begin; row < end; row++)
                if (!size[codes[from[row]]]++)
                    walk->seen[seen++] = codes[from[row]];
        for (uint32_t at = 0; at < (seen ? seen : width); at++) {
            uint32_t code = seen ? walk->seen[at] : at, mine = size[code];
            where[code] = mine == 1 ? --last : (uint32_t)after->entries;
            size[code] = 0;
            if (mine > 1) {
                after->entries += mine;
                after->starts[++after->groups] = (uint32_t)after->entries;
            }
        }
        for (uint32_t row = begin; row < end; row++) {
            uint32_t number = from[row], at = where[codes[number]]++;
            numbers[at] = rest[number];
            counts[at] = before->count[row];
        }
        for (uint32_t at = last; at < walk->room; at++)
            put_aside(walk, after, counts[at]);
    }
}

/* Sum of the terms of the one-row groups. */
static double score_aside(const Walk *walk, const Rows *rows, const Terms *in_cells, const Terms *in_rows)
{
    double sum = 0.0;
    if (in_cells == in_rows)
        return sum;
    for (int64_t count = 1; count <= rows->largest; count++)
        sum += (double)rows->few_alone[count] * (in_cells->few[count] - in_rows->few[count]);
    for (size_t at = 0; at < rows->many_alone; at++)
        sum += term_of_large(in_cells, walk->large[at]) - term_of_large(in_rows, walk->large[at]);
    return sum;
}

/* Score the node without and with the first candidate, the last one to be decided. */
static void score_both(Walk *walk, uint32_t set, Possible without, Possible with)
{
    Work *work = &walk->work;
    const Rows *rows = &walk->rows[1];
    const Parts *parts = &walk->levels[1].parts;
    int64_t node = walk->levels[0].variable, *by_code = walk->by_code, *by_own = walk->by_own;
    double levels = work->table->levels[node];
    const Terms *rows_without = terms_of(work, without), *cells_without = terms_of(work, times(without, levels));
    const Terms *rows_with = terms_of(work, with), *cells_with = terms_of(work, times(with, levels));
    double sum_without = score_aside(walk, rows, cells_without, rows_without) - price(work, node, without);
    double sum_with = score_aside(walk, rows, cells_with, rows_with) - price(work, node, with);
    for (size_t group = 0; group < rows->groups; group++) {
        uint32_t begin = rows->starts[group], end = rows->starts[group + 1];
        int64_t total = 0;
        for (uint32_t row = begin; row < end; row++) {
            int64_t count = rows->count[row];
            by_code[parts->code[rows->number[row]]] += count;
            by_own[parts->rest[rows->number[row]]] += count;
            sum_with += term_of(cells_with, count);
            total += count;
        }
        sum_without -= term_of(rows_without, total);
        for (uint32_t row = begin; row < end; row++) { /* cells are set to zero once read, so that they count once */
            int64_t *in_row = by_code + parts->code[rows->number[row]];
            int64_t *in_cell = by_own + parts->rest[rows->number[row]];
            sum_with -= term_of(rows_with, *in_row);
            sum_without += term_of(cells_without, *in_cell);
            *in_row = *in_cell = 0;
        }
    }
    walk->out[set] = sum_without;
    walk->out[set | 1] = sum_with;
}

/* Counts of all combinations are [group, levels of the last undecided candidate, ..., of the first, of the node]. */

static void score_dense(Walk *walk, const int64_t *cells, size_t groups, const Rows *alone, uint32_t set,
                        Possible possible)
{
    Work *work = &walk->work;
    int64_t node = walk->levels[0].variable;
    size_t width = walk->levels[0].count;
    const Terms *in_rows = terms_of(work, possible);
    const Terms *in_cells = terms_of(work, times(possible, work->table->levels[node]));
    for (size_t group = 0; group < groups; group++) {
        work->totals[group] = 0;
        for (size_t own = 0; own < width; own++)
            work->totals[group] += cells[group * width + own];
    }
    walk->out[set] = sum_of_terms(in_cells, cells, groups * width) - sum_of_terms(in_rows, work->totals, groups) +
                     score_aside(walk, alone, in_cells, in_rows) - price(work, node, possible);
}

/* Sum over the levels of a candidate. */
static void leave_out_dense(const int64_t *cells, size_t groups, size_t width, size_t block, int64_t *restrict less)
{
    for (size_t group = 0; group < groups; group++, less += block) {
        memcpy(less, cells, block * sizeof(int64_t));
        cells += block;
        for (size_t code = 1; code < width; code++, cells += block)
            for (size_t at = 0; at < block; at++)
                less[at] += cells[at];
    }
}

static Possible joined(const Walk *walk, int t, uint32_t set, Possible possible)
{
    if (set & walk->same[t - 1]) /* a candidate that is listed twice is included once */
        return possible;
    return times(possible, walk->work.table->levels[walk->levels[t].variable]);
}

static void decide_dense(Walk *walk, int t, int64_t *cells, size_t groups, int64_t *spare, const Rows *alone,
                         uint32_t set, Possible possible)
{
    if (t == 0) {
        score_dense(walk, cells, groups, alone, set, possible);
        return;
    }
    size_t block = walk->levels[t - 1].count, width = walk->work.table->widths[walk->levels[t].variable];
    Possible with = joined(walk, t, set, possible);
    decide_dense(walk, t - 1, cells, groups * width, spare, alone, set | (uint32_t)1 << (t - 1), with);
    if (width > 1) {
        leave_out_dense(cells, groups, width, block, spare);
        cells = spare;
        spare += groups * block;
    }
    decide_dense(walk, t - 1, cells, groups, spare, alone, set, possible);
}

/* Whether counting all combinations is faster. Each step at least halves their number, so twice the space is enough. */
static int is_dense(const Walk *walk, int t)
{
    const Rows *rows = &walk->rows[t];
    return walk->levels[t].every && (uint64_t)rows->groups * walk->levels[t].count <= DENSE * (uint64_t)rows->entries;
}

static void count_combinations(const Rows *rows, size_t count, int64_t *cells)
{
    memset(cells, 0, rows->groups * count * sizeof(int64_t));
    for (size_t group = 0; group < rows->groups; group++, cells += count)
        for (uint32_t row = rows->starts[group]; row < rows->starts[group + 1]; row++)
            cells[rows->number[row]] = rows->count[row];
}

/* Decide about candidate t and all earlier ones: first leave it out, then include it. */
static void decide(Walk *walk, int t, uint32_t set, Possible possible)
{
    const Rows *rows = &walk->rows[t];
    if (is_dense(walk, t)) {
        size_t count = walk->levels[t].count;
        count_combinations(rows, count, walk->dense);
        decide_dense(walk, t, walk->dense, rows->groups, walk->dense + rows->groups * count, rows, set, possible);
        return;
    }
    Possible with = joined(walk, t, set, possible);
    if (t == 1) {
        score_both(walk, set, possible, with);
        return;
    }
    leave_out(walk, t);
    decide(walk, t - 1, set, possible);
    include(walk, t);
    decide(walk, t - 1, set | (uint32_t)1 << (t - 1), with);
}

static void *allocate_again(void *array, size_t size)
{
    free(array);
    return malloc(size);
}

static int reserve_parts(Level *level, size_t count)
{
    if (count < level->room)
        return 0;
    level->parts.code = allocate_again(level->parts.code, (count + 1) * sizeof(uint32_t));
    level->parts.rest = allocate_again(level->parts.rest, (count + 1) * sizeof(uint32_t));
    if (!level->parts.code || !level->parts.rest)
        return NO_MEMORY;
    level->room = count + 1;
    return 0;
}

/* Number the rows by the previous level and the candidate of this one. */
static int make_level(Walk *walk, int t, int64_t variable)
{
    Level *level = &walk->levels[t];
    const Level *before = level - 1;
    const Discrete *table = walk->work.table;
    level->variable = variable;
    if (!level->key && !(level->key = malloc((table->rows + 1) * sizeof(uint32_t))))
        return NO_MEMORY;
    if (t == 0) {
        memcpy(level->key, codes_of(table, variable), table->rows * sizeof(uint32_t));
        level->count = table->widths[variable];
        level->every = 1;
        return 0;
    }
    int every = fits(&walk->work, before->count, variable);
    level->every = every && before->every;
    level->apart = !every;
    if (every)
        level->count = every_pair(table, before->key, before->count, variable, level->key);
    else if (reserve_parts(level, table->rows))
        return NO_MEMORY;
    else
        level->count = pairs_that_occur(&walk->work, before->key, before->count, variable, level->key, &level->parts);
    return 0;
}

/* Compute the parts of all pairs; needed only if not all combinations are counted. */
static int find_parts(Walk *walk, int t)
{
    Level *level = &walk->levels[t];
    uint32_t step = (uint32_t)walk->levels[t - 1].count, next = 0;
    if (level->apart)
        return 0;
    if (reserve_parts(level, level->count))
        return NO_MEMORY;
    for (uint32_t code = 0; code < walk->work.table->widths[level->variable]; code++)
        for (uint32_t rest = 0; rest < step; rest++, next++) {
            level->parts.code[next] = code;
            level->parts.rest[next] = rest;
        }
    level->apart = 1;
    return 0;
}

static int reserve_rows(Walk *walk, size_t room)
{
    for (int t = 1; t <= walk->m; t++) {
        Rows *rows = &walk->rows[t];
        rows->number = allocate_again(rows->number, room * sizeof(uint32_t));
        rows->starts = allocate_again(rows->starts, (room + 1) * sizeof(uint32_t));
        rows->count = allocate_again(rows->count, room * sizeof(int64_t));
        if (!rows->number || !rows->starts || !rows->count)
            return NO_MEMORY;
        rows->starts[0] = 0;
    }
    walk->dense = allocate_again(walk->dense, 2 * DENSE * room * sizeof(int64_t));
    if (!walk->dense)
        return NO_MEMORY;
    walk->room = room;
    return 0;
}

/* Sort the rows of the first group, beginning with the last candidate: later sorts are stable. */
static void sort_rows(Walk *walk)
{
    Rows *rows = &walk->rows[walk->m];
    uint32_t *starts = walk->where, *now = walk->work.order, *then = walk->work.key, *number = walk->work.other;
    size_t size = rows->entries;
    for (size_t row = 0; row < size; row++) {
        now[row] = (uint32_t)row;
        number[row] = rows->number[row];
    }
    for (int t = walk->m; t >= 0; t--) {
        const Parts *parts = &walk->levels[t].parts;
        const uint32_t width = walk->work.table->widths[walk->levels[t].variable];
        memset(starts, 0, (width + 1) * sizeof(uint32_t));
        for (size_t row = 0; row < size; row++)
            starts[(t ? parts->code[number[row]] : number[row]) + 1]++;
        for (uint32_t code = 0; code < width; code++)
            starts[code + 1] += starts[code];
        for (size_t at = 0; at < size; at++)
            then[starts[t ? parts->code[number[now[at]]] : number[now[at]]]++] = now[at];
        for (size_t row = 0; t && row < size; row++)
            number[row] = parts->rest[number[row]];
        uint32_t *swap = now;
        now = then;
        then = swap;
    }
    for (size_t at = 0; at < size; at++)
        then[at] = rows->number[now[at]];
    memcpy(rows->number, then, size * sizeof(uint32_t));
    for (size_t at = 0; at < size; at++) /* a row has the number of its cell */
        rows->count[at] = walk->work.cells[rows->number[at]];
}

/* Start the recursion, with the distinct rows of the node and all candidates as one group. */
static int score_lattice(Walk *walk)
{
    const Work *work = &walk->work;
    const Level *top = &walk->levels[walk->m];
    Rows *rows = &walk->rows[walk->m];
    size_t found = 0, end = 0;
    tally(work->table, top->key, top->count, work->cells);
    for (size_t at = 0; at < top->count; at++)
        found += work->cells[at] > 0;
    if (found >= walk->room && reserve_rows(walk, found + 1))
        return NO_MEMORY;
    rows->groups = rows->entries = rows->many_alone = 0;
    rows->largest = 0;
    memset(rows->few_alone, 0, sizeof(rows->few_alone));
    if (top->every && top->count <= DENSE * found) {
        decide_dense(walk, walk->m, work->cells, 1, walk->dense, rows, 0, (Possible){1.0, 0.0});
        return 0;
    }
    for (int t = 1; t <= walk->m; t++)
        if (find_parts(walk, t))
            return NO_MEMORY;
    for (size_t at = 0; at < top->count; at++)
        if (work->cells[at]) {
            rows->number[end] = (uint32_t)at;
            rows->count[end++] = work->cells[at];
        }
    if (end)
        close_group(walk, rows, end);
    sort_rows(walk);
    decide(walk, walk->m, 0, (Possible){1.0, 0.0});
    return 0;
}

static int one_lattice(Walk *walk, int64_t node, const int64_t *candidates, double *out)
{
    int known = 0; /* levels that are the same as for the previous lattice */
    while (known <= walk->m && walk->levels[known].key &&
           walk->levels[known].variable == (known ? candidates[known - 1] : node))
        known++;
    for (int t = known; t <= walk->m; t++)
        if (make_level(walk, t, t ? candidates[t - 1] : node))
            return NO_MEMORY;
    for (int t = 0; t < walk->m; t++) {
        walk->same[t] = 0;
        for (int other = 0; other < walk->m; other++)
            if (other != t && candidates[other] == candidates[t])
                walk->same[t] |= (uint32_t)1 << other;
    }
    walk->out = out;
    return score_lattice(walk);
}

static void release_walk(Walk *walk)
{
    for (int t = 0; t <= walk->m; t++) {
        free(walk->levels[t].key);
        free(walk->levels[t].parts.code);
        free(walk->levels[t].parts.rest);
        free(walk->rows[t].number);
        free(walk->rows[t].starts);
        free(walk->rows[t].count);
    }
    free(walk->size);
    free(walk->where);
    free(walk->seen);
    free(walk->by_code);
    free(walk->by_own);
    free(walk->large);
    free(walk->dense);
    release_work(&walk->work);
    free(walk);
}

static Walk *make_walk(const Discrete *table, Judge judge, int m)
{
    size_t rows = table->rows + 1;
    Walk *walk = calloc(1, sizeof(Walk));
    if (!walk)
        return NULL;
    walk->m = m;
    if (make_work(&walk->work, table, judge)) {
        free(walk);
        return NULL;
    }
    walk->size = calloc(rows, sizeof(uint32_t));
    walk->where = malloc(rows * sizeof(uint32_t));
    walk->seen = malloc(rows * sizeof(uint32_t));
    walk->by_code = calloc(rows, sizeof(int64_t));
    walk->by_own = calloc(rows, sizeof(int64_t));
    walk->large = malloc(rows * sizeof(int64_t));
    if (walk->size && walk->where && walk->seen && walk->by_code && walk->by_own && walk->large)
        return walk;
    release_walk(walk);
    return NULL;
}

/* candidates: [count, m]; out: [count, 2^m]. Work on the same node and first candidates as in the previous lattice is
   shared. */
int discrete_lattices(const Discrete *table, Judge judge, const int64_t *nodes, const int64_t *candidates, size_t count,
                      int m, double *out)
{
    if (!all_known(nodes, count, table->p) || !all_known(candidates, count * (size_t)m, table->p))
        return OUT_OF_RANGE;
    if (m == 0) {
        int64_t *first = calloc(count + 1, sizeof(int64_t));
        int fault = first ? discrete_scores(table, judge, nodes, first, count, NULL, 0, out) : NO_MEMORY;
        free(first);
        return fault;
    }
    Walk *walk = make_walk(table, judge, m);
    int fault = walk ? 0 : NO_MEMORY;
    for (size_t at = 0; at < count && !fault; at++)
        fault = one_lattice(walk, nodes[at], candidates + at * (size_t)m, out + (at << m));
    if (walk)
        release_walk(walk);
    return fault;
}

/* -- the table ----------------------------------------------------------------------------------------------------- */

void discrete_free(Discrete *table)
{
    if (!table)
        return;
    free(table->codes);
    free(table->widths);
    free(table->levels);
    free(table->counts);
    free(table);
}

static int allocate(Discrete *table)
{
    table->codes = malloc((table->rows * table->p + 1) * sizeof(uint32_t));
    table->widths = malloc((table->p + 1) * sizeof(uint32_t));
    table->levels = malloc((table->p + 1) * sizeof(double));
    table->counts = malloc((table->rows + 1) * sizeof(int64_t));
    return table->codes && table->widths && table->levels && table->counts ? 0 : NO_MEMORY;
}

/* Number the levels of a variable that occur. Codes beyond its levels are out of range. */
static int copy_variable(Discrete *table, const int64_t *codes, size_t variable, int64_t levels)
{
    size_t p = table->p;
    uint32_t *mine = table->codes + variable * table->rows, width = 0;
    if (levels < 1)
        return OUT_OF_RANGE;
    uint32_t *number = calloc((size_t)levels, sizeof(uint32_t));
    if (!number)
        return NO_MEMORY;
    for (size_t row = 0; row < table->rows; row++) {
        int64_t code = codes[row * p + variable];
        if (code < 0 || code >= levels) {
            free(number);
            return OUT_OF_RANGE;
        }
        if (!number[code])
            number[code] = ++width;
        mine[row] = number[code] - 1;
    }
    free(number);
    table->widths[variable] = width;
    table->levels[variable] = (double)levels;
    return 0;
}

/* codes: [rows, p], positions among the levels; counts: [rows]; levels: [p]. The arrays are copied. */
int discrete_make(const int64_t *codes, const int64_t *counts, const int64_t *levels, size_t rows, size_t p,
                  Discrete **made)
{
    int64_t total = 0;
    if (rows > MOST_ROWS)
        return OUT_OF_RANGE;
    for (size_t row = 0; row < rows; row++) {
        if (counts[row] < 1 || counts[row] > MOST_COUNTED - total)
            return OUT_OF_RANGE;
        total += counts[row];
    }
    Discrete *table = calloc(1, sizeof(Discrete));
    if (!table)
        return NO_MEMORY;
    table->rows = rows;
    table->p = p;
    int fault = allocate(table);
    if (!fault && rows)
        memcpy(table->counts, counts, rows * sizeof(int64_t));
    for (size_t variable = 0; variable < p && !fault; variable++)
        fault = copy_variable(table, codes, variable, levels[variable]);
    if (fault)
        discrete_free(table);
    else
        *made = table;
    return fault;
}
