/* The Python interface of the loops: arrays are checked for type, shape and order, and results are written in place.

   It uses only the stable ABI of Python 3.11, and no header of numpy, so that one binary serves all later versions. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#include "loops.h"

#ifndef MOST_ARRAYS
#define MOST_ARRAYS 16 /* most arrays in one call: `chain` has the most */
#endif

typedef struct {
    int count;
    Py_buffer views[MOST_ARRAYS];
} Arrays;

static void release_arrays(Arrays *arrays)
{
    while (arrays->count)
        PyBuffer_Release(&arrays->views[--arrays->count]);
}

/* Read an array of doubles ('d'), 8-byte integers ('i') or booleans ('b') with the given lengths; -1 means any length.
   A capital letter is for arrays that are written to. Return NULL, with an exception, if the array does not fit. */
static void *take(Arrays *arrays, PyObject *object, char kind, int dimensions, Py_ssize_t first, Py_ssize_t second)
{
    int write = kind < 'a';
    char type = write ? (char)(kind - 'A' + 'a') : kind;
    if (arrays->count == MOST_ARRAYS) {
        PyErr_Format(PyExc_ValueError, "a loop takes at most %d arrays", MOST_ARRAYS);
        return NULL;
    }
    Py_buffer *view = &arrays->views[arrays->count];
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (write ? PyBUF_WRITABLE : 0)))
        return NULL;
    arrays->count++;
    const char *known = type == 'd' ? "d" : type == 'i' ? "lq" : "?B";
    const char *format = view->format;
    if (strlen(format) != 1 || !strchr(known, format[0]) || view->itemsize != (type == 'b' ? 1 : 8)) {
        PyErr_Format(PyExc_TypeError, "a loop over numbers of type '%c' got an array of type '%s'", type, format);
        return NULL;
    }
    if (view->ndim != dimensions || (first >= 0 && view->shape[0] != first) ||
        (dimensions > 1 && second >= 0 && view->shape[1] != second)) {
        PyErr_SetString(PyExc_ValueError, "a loop got an array of another shape than the others call for");
        return NULL;
    }
    return view->buf;
}

static Py_ssize_t length(const Arrays *arrays, int dimension)
{
    return arrays->views[arrays->count - 1].shape[dimension];
}

/* The result of a loop: True, False if the case is left to numpy, or an exception. */
static PyObject *ended(Arrays *arrays, int fault)
{
    release_arrays(arrays);
    if (fault == NO_MEMORY)
        return PyErr_NoMemory();
    if (fault == OUT_OF_RANGE) {
        PyErr_SetString(PyExc_IndexError, "a loop was asked about a variable that is not there");
        return NULL;
    }
    return PyBool_FromLong(fault != NOT_FOR_LOOPS);
}

/* Run a loop over `arrays` while other threads continue, and end the call. */
#define RETURN_WITHOUT_GIL(loop)                                                                                       \
    do {                                                                                                               \
        int fault;                                                                                                     \
        Py_BEGIN_ALLOW_THREADS                                                                                         \
        fault = (loop);                                                                                                \
        Py_END_ALLOW_THREADS                                                                                           \
        return ended(&arrays, fault);                                                                                  \
    } while (0)

static PyObject *refused(Arrays *arrays)
{
    release_arrays(arrays);
    return NULL;
}

/* Read the arguments (correlation, first, n, price, singular). Return 0, with an exception, if they are wrong. */
static int take_table(Arrays *arrays, PyObject *correlation, PyObject *first, Table *table)
{
    if (!(table->correlation = take(arrays, correlation, 'd', 2, -1, -1)))
        return 0;
    table->columns = length(arrays, 0);
    int square = length(arrays, 1) == table->columns;
    if (!(table->first = take(arrays, first, 'i', 1, -1, -1)))
        return 0;
    table->variables = length(arrays, 0) - 1;
    square = square && table->variables >= 0 && table->first[0] == 0;
    for (Py_ssize_t v = 0; v < table->variables && square; v++)
        square = table->first[v + 1] > table->first[v] && table->first[v + 1] <= table->columns;
    if (!square || table->first[table->variables] != table->columns)
        PyErr_SetString(PyExc_ValueError, "a score takes a square matrix, and the columns of each variable in turn");
    return !PyErr_Occurred();
}

/* (correlation, first, n, price, singular, variables, out, smallest): all subsets, or only their extremes. */
static PyObject *over_subsets(PyObject *args, int all)
{
    PyObject *o[5];
    Arrays arrays = {0};
    Table table;
    if (!PyArg_ParseTuple(args, "OOdddOOO", o, o + 1, &table.n, &table.price, &table.singular, o + 2, o + 3, o + 4) ||
        !take_table(&arrays, o[0], o[1], &table))
        return refused(&arrays);
    const int64_t *variables = take(&arrays, o[2], 'i', 2, -1, -1);
    if (!variables)
        return refused(&arrays);
    Py_ssize_t rows = length(&arrays, 0), m = length(&arrays, 1) - 1;
    if (m > MOST_BLOCKS || m < !all) {
        PyErr_Format(PyExc_ValueError, "a loop over subsets takes at most %d variables and a node", MOST_BLOCKS);
        return refused(&arrays);
    }
    double *out = take(&arrays, o[3], 'D', 2, all ? rows : 3, all ? (Py_ssize_t)1 << m : rows);
    double *smallest = out ? take(&arrays, o[4], 'D', 1, all ? rows : 1, -1) : NULL;
    if (!smallest)
        return refused(&arrays);
    RETURN_WITHOUT_GIL((all ? scores : extremes)(&table, variables, rows, (int)m, out, smallest));
}

static PyObject *py_scores(PyObject *self, PyObject *args) { return over_subsets(args, 1); }

static PyObject *py_extremes(PyObject *self, PyObject *args) { return over_subsets(args, 0); }

/* (correlation, first, n, price, singular, variables, starts, out, smallest) */
static PyObject *py_local(PyObject *self, PyObject *args)
{
    PyObject *o[6];
    Arrays arrays = {0};
    Table table;
    if (!PyArg_ParseTuple(args, "OOdddOOOO", o, o + 1, &table.n, &table.price, &table.singular, o + 2, o + 3, o + 4,
                          o + 5) ||
        !take_table(&arrays, o[0], o[1], &table))
        return refused(&arrays);
    const int64_t *variables = take(&arrays, o[2], 'i', 1, -1, -1);
    Py_ssize_t count = variables ? length(&arrays, 0) : 0;
    const int64_t *starts = variables ? take(&arrays, o[3], 'i', 1, -1, -1) : NULL;
    if (!starts)
        return refused(&arrays);
    Py_ssize_t queries = length(&arrays, 0) - 1;
    int good = queries >= 0 && starts[0] == 0 && starts[queries] == count;
    for (Py_ssize_t at = 0; at < queries && good; at++) /* every query has a node */
        good = starts[at + 1] > starts[at] && starts[at + 1] <= count;
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "queries must follow each other, and each must have a node");
        return refused(&arrays);
    }
    double *out = take(&arrays, o[4], 'D', 1, queries, -1);
    double *smallest = out ? take(&arrays, o[5], 'D', 1, queries, -1) : NULL;
    if (!smallest)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(local(&table, variables, starts, queries, out, smallest));
}

/* Read lattices, one per row; the number of values in a row is a power of two. */
static double *take_lattices(Arrays *arrays, PyObject *object)
{
    double *values = take(arrays, object, 'D', 2, -1, -1);
    Py_ssize_t subsets = values ? length(arrays, 1) : 0;
    if (values && (subsets < 1 || subsets & (subsets - 1))) {
        PyErr_SetString(PyExc_ValueError, "a lattice has a power of two of values");
        return NULL;
    }
    return values;
}

static PyObject *py_best_of_subsets(PyObject *self, PyObject *args)
{
    PyObject *object;
    Arrays arrays = {0};
    double *values = PyArg_ParseTuple(args, "O", &object) ? take_lattices(&arrays, object) : NULL;
    if (!values)
        return refused(&arrays);
    Py_BEGIN_ALLOW_THREADS
    best_of_subsets(values, arrays.views[0].shape[0], (size_t)arrays.views[0].shape[1]);
    Py_END_ALLOW_THREADS
    return ended(&arrays, 0);
}

static PyObject *py_adaptive(PyObject *self, PyObject *args)
{
    PyObject *object;
    double all, some;
    Arrays arrays = {0};
    double *values = PyArg_ParseTuple(args, "Odd", &object, &all, &some) ? take_lattices(&arrays, object) : NULL;
    if (!values)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(adaptive(values, arrays.views[0].shape[0], (size_t)arrays.views[0].shape[1], all, some));
}

static PyObject *py_add_up(PyObject *self, PyObject *args)
{
    PyObject *o[2];
    Arrays arrays = {0};
    const double *values = PyArg_ParseTuple(args, "OO", o, o + 1) ? take(&arrays, o[0], 'd', 2, -1, -1) : NULL;
    if (!values)
        return refused(&arrays);
    Py_ssize_t sites = length(&arrays, 0), cells = length(&arrays, 1);
    double *out = take(&arrays, o[1], 'D', 1, cells, -1);
    if (!out)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(add_up(values, sites, cells, out));
}

/* (correlation, first, n, price, singular, resolution, most steps, into) */
static PyObject *py_climb(PyObject *self, PyObject *args)
{
    PyObject *o[3];
    double resolution;
    long long most_steps;
    Arrays arrays = {0};
    Table table;
    if (!PyArg_ParseTuple(args, "OOddddLO", o, o + 1, &table.n, &table.price, &table.singular, &resolution, &most_steps,
                          o + 2) ||
        !take_table(&arrays, o[0], o[1], &table))
        return refused(&arrays);
    uint8_t *into = take(&arrays, o[2], 'B', 2, table.variables, table.variables);
    if (!into)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(climb(&table, resolution, most_steps, into));
}

/* -- orders: a capsule holds the arrays, which `search.orders.Order` keeps and reads ------------------------------- */

#define ORDER "fedperi.order"
#define MECHANISMS "fedperi.mechanisms"

/* Arrays that are borrowed for the lifetime of the capsule, and the structure that the loops use. */
typedef struct {
    Arrays arrays;
    union {
        Order order;
        Sites sites;
    } as;
} Lent;

static void release_lent(PyObject *capsule)
{
    Lent *lent = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    release_arrays(&lent->arrays);
    PyMem_Free(lent);
}

/* Put borrowed arrays into a capsule if they were accepted. Otherwise release them; the exception stays set. */
static PyObject *lend(Lent *lent, const char *name, int accepted)
{
    PyObject *capsule = accepted ? PyCapsule_New(lent, name, release_lent) : NULL;
    if (!capsule) {
        release_arrays(&lent->arrays);
        PyMem_Free(lent);
    }
    return capsule;
}

/* The contents of the arrays are trusted, since `Order` made them; their shapes are checked. */
static int take_order(Lent *lent, PyObject **objects)
{
    Order *order = &lent->as.order;
    Arrays *arrays = &lent->arrays;
    if (!(order->score = take(arrays, objects[0], 'd', 1, -1, -1)) ||
        !(order->bit = take(arrays, objects[1], 'i', 2, -1, -1)))
        return 0;
    Py_ssize_t count = length(arrays, 0), p = length(arrays, 1);
    if (!(order->lattice = take(arrays, objects[2], 'i', 1, -1, -1)))
        return 0;
    Py_ssize_t pairs = length(arrays, 0);
    order->p = p;
    return (order->head = take(arrays, objects[3], 'i', 1, pairs, -1)) &&
           (order->begin = take(arrays, objects[4], 'i', 1, count, -1)) &&
           (order->first = take(arrays, objects[5], 'i', 1, p + 1, -1)) &&
           (order->tail_first = take(arrays, objects[6], 'i', 1, p + 1, -1)) &&
           (order->candidates = take(arrays, objects[7], 'b', 2, p, p)) &&
           (order->nodes = take(arrays, objects[8], 'I', 1, p, -1)) &&
           (order->place = take(arrays, objects[9], 'I', 1, p, -1)) &&
           (order->at = take(arrays, objects[10], 'I', 1, count, -1)) &&
           (order->value = take(arrays, objects[11], 'D', 1, p, -1));
}

static PyObject *py_order(PyObject *self, PyObject *args)
{
    PyObject *o[12];
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOO", o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7, o + 8, o + 9,
                          o + 10, o + 11))
        return NULL;
    Lent *lent = PyMem_Calloc(1, sizeof(Lent));
    return lent ? lend(lent, ORDER, take_order(lent, o)) : PyErr_NoMemory();
}

static const Order *order_in(PyObject *capsule)
{
    const Lent *lent = PyCapsule_GetPointer(capsule, ORDER);
    return lent ? &lent->as.order : NULL;
}

/* Read an array of variables whose smallest allowed value is `least`. If `count` is -1, it may have any length. */
static const int64_t *take_nodes(Arrays *arrays, PyObject *object, const Order *order, int64_t least, Py_ssize_t count)
{
    const int64_t *nodes = take(arrays, object, 'i', 1, count, -1);
    for (Py_ssize_t at = 0; nodes && at < length(arrays, 0); at++)
        if (nodes[at] < least || nodes[at] >= order->p) {
            PyErr_SetString(PyExc_IndexError, "an order was asked about a variable that is not there");
            return NULL;
        }
    return nodes;
}

static PyObject *py_best_places(PyObject *self, PyObject *args)
{
    PyObject *capsule, *o[3];
    double resolution;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OOdOO", &capsule, o, &resolution, o + 1, o + 2))
        return NULL;
    const Order *order = order_in(capsule);
    const int64_t *some = order ? take_nodes(&arrays, o[0], order, 0, -1) : NULL;
    if (!some)
        return refused(&arrays);
    Py_ssize_t count = length(&arrays, 0);
    double *gains = take(&arrays, o[1], 'D', 1, count, -1);
    int64_t *behind = gains ? take(&arrays, o[2], 'I', 1, count, -1) : NULL;
    return behind ? ended(&arrays, best_places(order, some, count, resolution, gains, behind)) : refused(&arrays);
}

static PyObject *py_move(PyObject *self, PyObject *args)
{
    PyObject *capsule, *object;
    Py_ssize_t node, to;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OnnO", &capsule, &node, &to, &object))
        return NULL;
    const Order *order = order_in(capsule);
    uint8_t *stale = order ? take(&arrays, object, 'B', 1, order->p, -1) : NULL;
    return stale ? ended(&arrays, move(order, node, to, stale)) : refused(&arrays);
}

static PyObject *py_move_in_turn(PyObject *self, PyObject *args)
{
    PyObject *capsule, *o[3];
    double resolution;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OOOdO", &capsule, o, o + 1, &resolution, o + 2))
        return NULL;
    const Order *order = order_in(capsule);
    const int64_t *some = order ? take_nodes(&arrays, o[0], order, 0, -1) : NULL;
    if (!some)
        return refused(&arrays);
    Py_ssize_t count = length(&arrays, 0);
    const int64_t *behind = take_nodes(&arrays, o[1], order, -1, count);
    uint8_t *stale = behind ? take(&arrays, o[2], 'B', 1, order->p, -1) : NULL;
    return stale ? ended(&arrays, move_in_turn(order, some, behind, count, resolution, stale)) : refused(&arrays);
}

/* -- tables of categories: a capsule holds a copy, which cannot change after it was checked ------------------------ */

static void free_table(PyObject *capsule) { discrete_free(PyCapsule_GetPointer(capsule, "fedperi.discrete")); }

static PyObject *py_discrete(PyObject *self, PyObject *args)
{
    PyObject *o[3];
    Arrays arrays = {0};
    Discrete *table = NULL;
    int fault;
    if (!PyArg_ParseTuple(args, "OOO", o, o + 1, o + 2))
        return NULL;
    const int64_t *codes = take(&arrays, o[0], 'i', 2, -1, -1);
    if (!codes)
        return refused(&arrays);
    Py_ssize_t rows = length(&arrays, 0), p = length(&arrays, 1);
    const int64_t *counts = take(&arrays, o[1], 'i', 1, rows, -1);
    const int64_t *levels = counts ? take(&arrays, o[2], 'i', 1, p, -1) : NULL;
    if (!levels)
        return refused(&arrays);
    Py_BEGIN_ALLOW_THREADS
    fault = discrete_make(codes, counts, levels, (size_t)rows, (size_t)p, &table);
    Py_END_ALLOW_THREADS
    release_arrays(&arrays);
    if (fault == NO_MEMORY)
        return PyErr_NoMemory();
    if (fault) {
        PyErr_SetString(PyExc_ValueError, "a table of categories has positive counts, and codes from 0 to its levels");
        return NULL;
    }
    PyObject *capsule = PyCapsule_New(table, "fedperi.discrete", free_table);
    if (!capsule)
        discrete_free(table);
    return capsule;
}

static PyObject *py_discrete_scores(PyObject *self, PyObject *args)
{
    PyObject *capsule, *o[4];
    Judge judge;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OddOOOO", &capsule, &judge.prior, &judge.price, o, o + 1, o + 2, o + 3))
        return NULL;
    const Discrete *table = PyCapsule_GetPointer(capsule, "fedperi.discrete");
    const int64_t *nodes = table ? take(&arrays, o[0], 'i', 1, -1, -1) : NULL;
    if (!nodes)
        return refused(&arrays);
    Py_ssize_t queries = length(&arrays, 0);
    const int64_t *first = take(&arrays, o[1], 'i', 1, queries + 1, -1);
    const int64_t *parents = first ? take(&arrays, o[2], 'i', 1, -1, -1) : NULL;
    if (!parents)
        return refused(&arrays);
    Py_ssize_t all = length(&arrays, 0);
    double *out = take(&arrays, o[3], 'D', 1, queries, -1);
    if (!out)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(discrete_scores(table, judge, nodes, first, (size_t)queries, parents, (size_t)all, out));
}

static PyObject *py_discrete_flips(PyObject *self, PyObject *args)
{
    PyObject *capsule, *o[3];
    Judge judge;
    long long node;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OddLOOO", &capsule, &judge.prior, &judge.price, &node, o, o + 1, o + 2))
        return NULL;
    const Discrete *table = PyCapsule_GetPointer(capsule, "fedperi.discrete");
    const int64_t *parents = table ? take(&arrays, o[0], 'i', 1, -1, -1) : NULL;
    if (!parents)
        return refused(&arrays);
    Py_ssize_t size = length(&arrays, 0);
    const int64_t *others = take(&arrays, o[1], 'i', 1, -1, -1);
    if (!others)
        return refused(&arrays);
    Py_ssize_t count = length(&arrays, 0);
    double *out = take(&arrays, o[2], 'D', 1, count, -1);
    if (!out)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(discrete_flips(table, judge, node, parents, (size_t)size, others, (size_t)count, out));
}

static PyObject *py_discrete_lattices(PyObject *self, PyObject *args)
{
    PyObject *capsule, *o[3];
    Judge judge;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OddOOO", &capsule, &judge.prior, &judge.price, o, o + 1, o + 2))
        return NULL;
    const Discrete *table = PyCapsule_GetPointer(capsule, "fedperi.discrete");
    const int64_t *nodes = table ? take(&arrays, o[0], 'i', 1, -1, -1) : NULL;
    if (!nodes)
        return refused(&arrays);
    Py_ssize_t count = length(&arrays, 0);
    const int64_t *candidates = take(&arrays, o[1], 'i', 2, count, -1);
    if (!candidates)
        return refused(&arrays);
    Py_ssize_t m = length(&arrays, 1);
    if (m > MOST_BLOCKS) {
        PyErr_Format(PyExc_ValueError, "a loop over subsets takes at most %d candidates", MOST_BLOCKS);
        return refused(&arrays);
    }
    double *out = take(&arrays, o[2], 'D', 2, count, (Py_ssize_t)1 << m);
    if (!out)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(discrete_lattices(table, judge, nodes, candidates, (size_t)count, (int)m, out));
}

/* -- sums over all DAGs -------------------------------------------------------------------------------------------- */

/* (sum, power, best, within, earlier, total) */
static PyObject *py_layers(PyObject *self, PyObject *args)
{
    PyObject *o[6];
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OOOOOO", o, o + 1, o + 2, o + 3, o + 4, o + 5))
        return NULL;
    const double *sum = take(&arrays, o[0], 'd', 2, -1, -1);
    if (!sum)
        return refused(&arrays);
    Py_ssize_t sets = length(&arrays, 0), p = length(&arrays, 1);
    if (p < 1 || p > MOST_LAYERED || sets != (Py_ssize_t)1 << p) {
        PyErr_Format(PyExc_ValueError, "a sum over DAGs takes every set of 1 to %d variables", MOST_LAYERED);
        return refused(&arrays);
    }
    const int64_t *power = take(&arrays, o[1], 'i', 2, sets, p);
    const int64_t *best = power ? take(&arrays, o[2], 'i', 1, sets, -1) : NULL;
    double *within = best ? take(&arrays, o[3], 'D', 2, sets, p) : NULL;
    double *earlier = within ? take(&arrays, o[4], 'D', 2, sets, p) : NULL;
    double *total = earlier ? take(&arrays, o[5], 'D', 1, 1, -1) : NULL;
    if (!total)
        return refused(&arrays);
    RETURN_WITHOUT_GIL(layers(p, sum, power, best, within, earlier, total));
}

/* -- mechanisms that sites share: a capsule holds the arrays, which `scores.mechanisms.Mechanisms` keeps ----------- */

static int take_sites(Lent *lent, PyObject **objects)
{
    Arrays *arrays = &lent->arrays;
    Sites *sites = &lent->as.sites;
    if (!(sites->moments = take(arrays, objects[0], 'd', 2, -1, -1)))
        return 0;
    Py_ssize_t lines = length(arrays, 0);
    sites->columns = length(arrays, 1);
    if (!(sites->first = take(arrays, objects[1], 'i', 1, -1, -1)))
        return 0;
    sites->variables = length(arrays, 0) - 1;
    if (!(sites->n = take(arrays, objects[2], 'd', 1, -1, -1)))
        return 0;
    sites->count = length(arrays, 0);
    int good = sites->count > 0 && sites->variables > 0 && lines == sites->count * sites->columns &&
               sites->first[0] == 1 && sites->first[sites->variables] == sites->columns;
    for (Py_ssize_t v = 0; v < sites->variables && good; v++)
        good = sites->first[v + 1] > sites->first[v];
    if (!good) {
        PyErr_SetString(PyExc_ValueError, "the moments of the sites and the columns of the variables do not fit");
        return 0;
    }
    if (!(sites->floor = take(arrays, objects[3], 'd', 2, sites->count, sites->columns)) ||
        !(sites->spread = take(arrays, objects[4], 'b', 1, sites->variables, -1)) ||
        !(sites->constant = take(arrays, objects[5], 'b', 2, sites->count, sites->variables)) ||
        !(sites->declared = take(arrays, objects[6], 'b', 2, sites->count, sites->variables)) ||
        !(sites->tolerance = take(arrays, objects[7], 'd', 1, -1, -1)))
        return 0;
    sites->tolerances = length(arrays, 0) - sites->others;
    if (sites->others < 0 || sites->tolerances < 1) {
        PyErr_SetString(PyExc_ValueError, "at least one tolerance is needed");
        return 0;
    }
    return 1;
}

/* (moments, first, n, floor, spread, constant, declared, tolerances, number of tolerances that are only tried alone,
   prices of an own mechanism, of a cut from all parents, of a cut from some, of a tolerance, margin, whether sites may
   share mechanisms) */
static PyObject *py_mechanisms(PyObject *self, PyObject *args)
{
    PyObject *o[8];
    Lent *lent = PyMem_Calloc(1, sizeof(Lent));
    if (!lent)
        return PyErr_NoMemory();
    Sites *sites = &lent->as.sites;
    int accepted = PyArg_ParseTuple(args, "OOOOOOOOndddddp", o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7,
                                    &sites->others, &sites->price_own, &sites->price_cut, &sites->price_some,
                                    &sites->price_tolerance, &sites->margin, &sites->share) &&
                   take_sites(lent, o);
    return lend(lent, MECHANISMS, accepted);
}

/* (mechanisms, node, parents, number of fixed parents, wanted or None, known or None, out, groups or None,
   tolerances, without or None, scores with each other tolerance alone or None) */
static PyObject *py_mechanism_scores(PyObject *self, PyObject *args)
{
    PyObject *capsule, *o[8];
    long long node;
    int fixed;
    Arrays arrays = {0};
    if (!PyArg_ParseTuple(args, "OLOiOOOOOOO", &capsule, &node, o, &fixed, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6,
                          o + 7))
        return NULL;
    const Lent *lent = PyCapsule_GetPointer(capsule, MECHANISMS);
    const int64_t *parents = lent ? take(&arrays, o[0], 'i', 1, -1, -1) : NULL;
    if (!parents)
        return refused(&arrays);
    const Sites *sites = &lent->as.sites;
    Py_ssize_t count = length(&arrays, 0);
    int good = node >= 0 && node < sites->variables && fixed >= 0 && fixed <= count && count <= MOST_BLOCKS;
    for (Py_ssize_t t = 0; t < count && good; t++)
        good = parents[t] >= 0 && parents[t] < sites->variables && parents[t] != node;
    if (!good)
        return ended(&arrays, OUT_OF_RANGE);
    Py_ssize_t subsets = (Py_ssize_t)1 << (count - fixed);
    const uint8_t *wanted = NULL;
    const double *known = NULL;
    double *out, *taus, *without = NULL, *others = NULL;
    int64_t *groups = NULL;
    if ((o[1] != Py_None && !(wanted = take(&arrays, o[1], 'b', 1, subsets, -1))) ||
        (o[2] != Py_None && !(known = take(&arrays, o[2], 'd', 1, subsets, -1))) ||
        !(out = take(&arrays, o[3], 'D', 1, subsets, -1)) ||
        (o[4] != Py_None && !(groups = take(&arrays, o[4], 'I', 2, subsets, sites->count))) ||
        !(taus = take(&arrays, o[5], 'D', 1, subsets, -1)) ||
        (o[6] != Py_None && !(without = take(&arrays, o[6], 'D', 2, sites->count, subsets))) ||
        (o[7] != Py_None && !(others = take(&arrays, o[7], 'D', 2, sites->others, subsets))))
        return refused(&arrays);
    RETURN_WITHOUT_GIL(mechanism_scores(sites, node, parents, fixed, (int)count - fixed, wanted, known, out, groups, taus,
                                        without, others));
}

/* (moments, n, columns that explain the hidden cause and each effect, where each begins, effects, groups, weights,
   variance, steps) */
static PyObject *py_latent_steps(PyObject *self, PyObject *args)
{
    PyObject *o[8];
    Arrays arrays = {0};
    Latent made;
    long long steps;
    if (!PyArg_ParseTuple(args, "OOOOOOOOL", o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7, &steps) ||
        !(made.weights = take(&arrays, o[6], 'D', 2, -1, -1)))
        return refused(&arrays);
    made.sites = length(&arrays, 0);
    made.columns = length(&arrays, 1);
    if (!(made.moments = take(&arrays, o[0], 'd', 2, made.sites * made.columns, made.columns)) ||
        !(made.n = take(&arrays, o[1], 'd', 1, made.sites, -1)) ||
        !(made.variance = take(&arrays, o[7], 'D', 1, made.sites, -1)) ||
        !(made.groups = take(&arrays, o[5], 'i', 2, -1, made.sites)))
        return refused(&arrays);
    made.count = length(&arrays, 0);
    if (!(made.effects = take(&arrays, o[4], 'i', 1, made.count, -1)) ||
        !(made.first = take(&arrays, o[3], 'i', 1, made.count + 2, -1)) ||
        !(made.before = take(&arrays, o[2], 'i', 1, -1, -1)))
        return refused(&arrays);
    int good = made.first[0] == 0 && made.first[made.count + 1] == length(&arrays, 0) && made.sites > 0;
    for (Py_ssize_t at = 0; at <= made.count && good; at++)
        good = made.first[at + 1] >= made.first[at];
    for (Py_ssize_t at = 0; at < length(&arrays, 0) && good; at++)
        good = made.before[at] >= 0 && made.before[at] < made.columns;
    for (Py_ssize_t at = 0; at < made.count && good; at++)
        good = made.effects[at] >= 0 && made.effects[at] < made.columns;
    if (!good)
        return ended(&arrays, OUT_OF_RANGE);
    RETURN_WITHOUT_GIL(latent_steps(&made, steps));
}

/* (correlation, strongest, steps, out) */
static PyObject *py_one_factor(PyObject *self, PyObject *args)
{
    PyObject *o[2];
    Arrays arrays = {0};
    double strongest, *out;
    long long steps;
    const double *correlation;
    if (!PyArg_ParseTuple(args, "OdLO", o, &strongest, &steps, o + 1) || !(out = take(&arrays, o[1], 'D', 1, -1, -1)))
        return refused(&arrays);
    Py_ssize_t size = length(&arrays, 0);
    if (!(correlation = take(&arrays, o[0], 'd', 2, size, size)))
        return refused(&arrays);
    return ended(&arrays, one_factor(correlation, size, strongest, steps, out));
}

/* (value, power): sums over subsets, in place. */
static PyObject *py_subset_sums(PyObject *self, PyObject *args)
{
    PyObject *o[2];
    Arrays arrays = {0};
    double *value;
    int64_t *power;
    if (!PyArg_ParseTuple(args, "OO", o, o + 1) || !(value = take(&arrays, o[0], 'D', 1, -1, -1)))
        return refused(&arrays);
    Py_ssize_t sets = length(&arrays, 0);
    if (!(power = take(&arrays, o[1], 'I', 1, sets, -1)))
        return refused(&arrays);
    if (sets < 1 || sets & (sets - 1)) /* the number of subsets is a power of two */
        return ended(&arrays, OUT_OF_RANGE);
    subset_sums(value, power, (size_t)sets);
    return ended(&arrays, 0);
}

/* (first, free, begin, value, power, set_first, sets, set_value, set_power, near_first, near, reach, sizes, random,
   now, sums, sweeps). The contents of the arrays are trusted, since search/chains.py made them; shapes are checked. */
static PyObject *py_chain(PyObject *self, PyObject *args)
{
    PyObject *o[16];
    Arrays arrays = {0};
    Chain made;
    long long sweeps;
    if (!PyArg_ParseTuple(args, "OOOOOOOOOOOOOOOOL", o, o + 1, o + 2, o + 3, o + 4, o + 5, o + 6, o + 7, o + 8, o + 9,
                          o + 10, o + 11, o + 12, o + 13, o + 14, o + 15, &sweeps))
        return NULL;
    if (!(made.now = take(&arrays, o[14], 'I', 1, -1, -1)))
        return refused(&arrays);
    made.p = length(&arrays, 0);
    if (!(made.first = take(&arrays, o[0], 'i', 1, made.p + 1, -1)) ||
        !(made.begin = take(&arrays, o[2], 'i', 1, made.p + 1, -1)) ||
        !(made.set_first = take(&arrays, o[5], 'i', 1, made.p + 1, -1)) ||
        !(made.near_first = take(&arrays, o[9], 'i', 1, made.p + 1, -1)))
        return refused(&arrays);
    Py_ssize_t candidates = made.first[made.p], sums = made.begin[made.p], near = made.near_first[made.p],
               sets = made.set_first[made.p];
    if (candidates < 0 || sums < 0 || near < 0 || sets < 0) /* `take` would accept any length */
        return ended(&arrays, OUT_OF_RANGE);
    if (!(made.free = take(&arrays, o[1], 'i', 1, candidates, -1)) ||
        !(made.value = take(&arrays, o[3], 'd', 1, sums, -1)) ||
        !(made.power = take(&arrays, o[4], 'i', 1, sums, -1)) || !(made.set = take(&arrays, o[6], 'i', 1, sets, -1)) ||
        !(made.set_value = take(&arrays, o[7], 'd', 1, sets, -1)) ||
        !(made.set_power = take(&arrays, o[8], 'i', 1, sets, -1)) ||
        !(made.near = take(&arrays, o[10], 'i', 1, near, -1)) ||
        !(made.reach = take(&arrays, o[11], 'd', 1, near, -1)) ||
        !(made.sizes = take(&arrays, o[12], 'd', 1, MOST_REDRAWN, -1)) ||
        !(made.random = take(&arrays, o[13], 'I', 1, 4, -1)) ||
        !(made.sums = take(&arrays, o[15], 'D', 1, candidates, -1)))
        return refused(&arrays);
    RETURN_WITHOUT_GIL(chain(&made, sweeps));
}

static PyMethodDef methods[] = {
    {"scores", py_scores, METH_VARARGS, NULL},
    {"extremes", py_extremes, METH_VARARGS, NULL},
    {"local", py_local, METH_VARARGS, NULL},
    {"best_of_subsets", py_best_of_subsets, METH_VARARGS, NULL},
    {"adaptive", py_adaptive, METH_VARARGS, NULL},
    {"add_up", py_add_up, METH_VARARGS, NULL},
    {"climb", py_climb, METH_VARARGS, NULL},
    {"order", py_order, METH_VARARGS, NULL},
    {"best_places", py_best_places, METH_VARARGS, NULL},
    {"move", py_move, METH_VARARGS, NULL},
    {"move_in_turn", py_move_in_turn, METH_VARARGS, NULL},
    {"discrete", py_discrete, METH_VARARGS, NULL},
    {"discrete_scores", py_discrete_scores, METH_VARARGS, NULL},
    {"discrete_flips", py_discrete_flips, METH_VARARGS, NULL},
    {"discrete_lattices", py_discrete_lattices, METH_VARARGS, NULL},
    {"mechanisms", py_mechanisms, METH_VARARGS, NULL},
    {"mechanism_scores", py_mechanism_scores, METH_VARARGS, NULL},
    {"latent_steps", py_latent_steps, METH_VARARGS, NULL},
    {"one_factor", py_one_factor, METH_VARARGS, NULL},
    {"subset_sums", py_subset_sums, METH_VARARGS, NULL},
    {"layers", py_layers, METH_VARARGS, NULL},
    {"chain", py_chain, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#ifndef SOURCES
#define SOURCES 0
#endif

/* Add the checksum of these sources from setup.py. With it `_kernel/__init__.py` detects later changes. */
static int add_version(PyObject *module) { return PyModule_AddIntConstant(module, "version", SOURCES); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, add_version}, {0, NULL}};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_loops", NULL, 0, methods, slots, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__loops(void) { return PyModuleDef_Init(&definition); }
