import numpy

n = int(arguments[0])


def there_and_back():
    x = numpy.arange(1, n + 1).astype(complex)
    back = numpy.fft.ifft(numpy.fft.fft(x))
    # What all.equal() of R compares.
    return back, numpy.abs(back - x).sum() / numpy.abs(back).sum() < 1.5e-8


def checksum(result):
    back, equal = result
    assert equal
    return near(((numpy.arange(1, n + 1) % 7 + 1) * (back.real + back.imag)).sum(), 1e-10)


report(there_and_back, checksum)
