import numpy

rows, columns = map(int, arguments[:2])
correlation, library = arguments[2] == "correlation", arguments[3]


def chance(numbers):
    return (mix(numbers) >> numpy.uint64(11)).astype(float) / 2.0**53 - 0.5


column = numpy.arange(columns)
common = chance(numpy.arange(rows, dtype=numpy.uint64) + numpy.uint64(1 << 48))
x = chance(numpy.arange(rows * columns, dtype=numpy.uint64)).reshape(rows, columns)
x += numpy.outer(common, 2.0 * (column + 1) / columns)
x *= 1 + column % 5
x += column


def largest_first(matrix):
    values, vectors = numpy.linalg.eigh(numpy.atleast_2d(matrix))
    return values[::-1], vectors.T[::-1]


def with_numpy():
    return largest_first((numpy.corrcoef if correlation else numpy.cov)(x, rowvar=False))


def with_gram():
    means = x.mean(axis=0)
    covariances = (x.T @ x - rows * numpy.outer(means, means)) / (rows - 1)
    if correlation:
        scales = numpy.sqrt(numpy.diag(covariances))
        covariances /= numpy.outer(scales, scales)
    return largest_first(covariances)


def with_sklearn(solver):
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import StandardScaler

    def fit():
        model = PCA(svd_solver=solver).fit(StandardScaler().fit_transform(x) if correlation else x)
        # The scaler divides by deviations of all rows, not of all but one.
        share = (rows - 1) / rows if correlation else 1
        return model.explained_variance_ * share, model.components_

    return fit


def checksum(result):
    values, vectors = result
    squares = vectors**2 @ (column + 1) / columns
    return near(((column + 1) * (values + squares)).sum(), 1e-8)


steps = {
    "numpy": lambda: with_numpy,
    "numpy-gram": lambda: with_gram,
    "scikit-learn": lambda: with_sklearn("covariance_eigh"),
    "scikit-learn-svd": lambda: with_sklearn("full"),
}
report(steps[library](), checksum, warm=True)
