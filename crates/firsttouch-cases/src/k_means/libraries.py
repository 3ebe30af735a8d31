import numpy

points, clusters, rounds = map(int, arguments[:3])
moving, library = arguments[3] == "moving", arguments[4]
threads = int(os.environ["OMP_NUM_THREADS"])

numbers = numpy.arange(3 * points, dtype=numpy.uint64)
x = ((mix(numbers) >> numpy.uint64(40)).astype(numpy.float32) / numpy.float32(1 << 24)).reshape(points, 3)
first = x[numpy.arange(clusters) * points // clusters]


def with_sklearn():
    from sklearn.cluster import KMeans

    def fitted(iterations):
        model = KMeans(clusters, init=first, n_init=1, max_iter=iterations, tol=0, algorithm="lloyd")
        return model.fit(x)

    if moving:
        # It labels points once more where it has not converged.
        return lambda: (lambda model: (model.cluster_centers_, model.labels_))(fitted(rounds))
    model = KMeans(clusters, init=first, n_init=1, max_iter=1, algorithm="lloyd").fit(first)
    model.cluster_centers_ = first

    def predictions():
        for _ in range(rounds):
            labels = model.predict(x)
        return first, labels

    return predictions


def with_faiss():
    import faiss

    faiss.omp_set_num_threads(threads)

    def fit():
        model = faiss.Kmeans(3, clusters, niter=rounds, min_points_per_centroid=1, max_points_per_centroid=points)
        model.train(x, init_centroids=first)
        return model.centroids, model.index.search(x, 1)[1][:, 0]

    index = faiss.IndexFlatL2(3)
    index.add(first)

    def searches():
        for _ in range(rounds):
            labels = index.search(x, 1)[1][:, 0]
        return first, labels

    return fit if moving else searches


def checksum(result):
    centres, labels = result
    squares = ((x.astype(float) - centres.astype(float)[labels]) ** 2).sum(axis=1)
    return near((numpy.sqrt(squares) * (1 + numpy.arange(points) % 7)).sum(), 1e-5 if moving else 1e-7)


report({"scikit-learn": with_sklearn, "faiss": with_faiss}[library](), checksum, warm=True)
