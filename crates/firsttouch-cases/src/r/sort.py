import numpy

N = int(arguments[0])
x = numpy.arange(1, N + 1, dtype=numpy.int32)
if arguments[1] == "shuffled":
    numpy.random.default_rng(123).shuffle(x)


def checksum(result):
    """The sum of all values, each times its place modulo 61, modulo 2^32."""
    places = numpy.arange(1, N + 1, dtype=numpy.int64)
    places %= 61
    places *= result
    return {"exact": f"{int(places.sum()) % 2**32:08x}"}


report(lambda: numpy.sort(x), checksum)
