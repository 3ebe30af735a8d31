import numpy

function, variant, elements = arguments[0], arguments[1], int(arguments[2])


def numbers(array):
    half = 2.0 ** -(52 if function == "log-log" else 49)
    mixed = mix(numpy.arange(array, 2 * elements, 2, dtype=numpy.uint64))
    return (mixed >> numpy.uint64(11)).astype(numpy.float64) * half - (1.0 if function == "log-log" else 8.0)


x, y = numbers(0), numbers(1) if function == "log-log" else None
result = numpy.zeros(elements)


def by_numpy():
    with numpy.errstate(all="ignore"):
        if function == "log-log":
            numpy.multiply(numpy.log(x), numpy.log(y), out=result)
        elif function == "masked-exp":
            result[:] = numpy.where(x > 0.0, numpy.exp(x), 0.0)
        else:
            result[:] = numpy.where(x > 1.0, numpy.arccosh(x), 0.0)
    return result


def by_numba():
    loop(x, x if y is None else y, result)
    return result


if variant == "numba":
    import math
    import numba

    @numba.njit
    def element(x, y):
        if function == "log-log":
            return math.log(x) * math.log(y)
        if function == "masked-exp":
            return math.exp(x) if x > 0.0 else 0.0
        return math.acosh(x) if x > 1.0 else 0.0

    @numba.njit(parallel=True, error_model="numpy")
    def loop(x, y, result):
        for place in numba.prange(result.size):
            result[place] = element(x[place], y[place])


def checksum(result):
    weights = numpy.arange(elements) % 7 + 1.0
    result = numpy.where(numpy.isfinite(result), result, numpy.where(numpy.isnan(result), 2.0, 3.0))
    return near((weights * result).sum(), 1e-11)


report(by_numba if variant == "numba" else by_numpy, checksum, warm=True)
