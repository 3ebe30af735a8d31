//! The cube: where its points lie, what they begin with, and what is told of them.

/// Points that differences reach to each side.
pub(super) const REACH: usize = 4;

/// A cube of points, rows along x, planes across z. Zeroes surround it, as far as differences reach.
#[derive(Debug)]
pub(super) struct Cube {
    /// Points along each side.
    pub(super) n: usize,
    /// Numbers of a row that are computed: whole vectors. Those beyond the cube have no speed, and so remain zero.
    pub(super) width: usize,
    /// From a row to the next. What lies between is zero: the right neighbours of one row and the left ones of the next.
    pub(super) stride: usize,
    /// From a plane to the next.
    pub(super) plane: usize,
    /// How much of a movement a time step takes, by the place along each side.
    pub(super) damping: Vec<f32>,
}

/// Numbers of a cache line, which are those of the widest vector.
const LINE: usize = 16;

/// How many points a wave passes in a time step where it is fastest. Differences of this order are stable below 0.45.
const FASTEST: f64 = 0.4;
/// Damping next to the faces: what is reflected by the end of a border of 20 points is a thousandth (Collino and Tsogka's rule).
const DAMPING: f64 = 0.2;
/// What the field begins with, so that no point can be left out unnoticed.
const BACKGROUND: f64 = 1e-3;
/// Time steps of the source's period: ten points are the shortest wavelength in the slowest layer.
const PERIOD: f64 = 75.0;

impl Cube {
    pub(super) fn new(n: usize, border: usize) -> Cube {
        let width = n.next_multiple_of(LINE);
        let stride = width + LINE;
        let depth =
            |place: usize| border.saturating_sub(place.min(n - 1 - place)) as f64 / border.max(1) as f64;
        let mut damping: Vec<f32> = (0..n).map(|place| (DAMPING * depth(place).powi(2)) as f32).collect();
        damping.resize(width, 0.0);
        Cube { n, width, stride, plane: stride * (n + 2 * REACH), damping }
    }

    /// Numbers of an array that holds the cube.
    pub(super) fn length(&self) -> usize {
        self.plane * (self.n + 2 * REACH) + LINE
    }

    /// The planes of the cube, without those before and behind.
    pub(super) fn inner<'a>(&self, array: &'a mut [f32]) -> &'a mut [f32] {
        &mut array[REACH * self.plane..(REACH + self.n) * self.plane]
    }

    /// Where the row of that number begins in its plane.
    pub(super) fn row(&self, y: usize) -> usize {
        (y + REACH) * self.stride + LINE
    }

    /// Where a point lies in an array.
    pub(super) fn at(&self, [x, y, z]: [usize; 3]) -> usize {
        (z + REACH) * self.plane + self.row(y) + x
    }

    /// The source: in the middle, a quarter of the way down.
    pub(super) fn source(&self) -> [usize; 3] {
        [self.n / 2, self.n / 2, self.n / 4]
    }

    /// Sets the points of some planes, from number `first` on.
    fn fill(&self, first: usize, planes: &mut [f32], point: impl Fn([usize; 3]) -> f64) {
        for (z, plane) in (first..).zip(planes.chunks_exact_mut(self.plane)) {
            for y in 0..self.n {
                let row = &mut plane[self.row(y)..][..self.n];
                row.iter_mut().enumerate().for_each(|(x, value)| *value = point([x, y, z]) as f32);
            }
        }
    }

    /// Three layers of rock, faster with depth, which slope: 1500, 2500 and 4500 m/s.
    pub(super) fn fill_speed(&self, first: usize, planes: &mut [f32]) {
        self.fill(first, planes, |[x, _, z]| {
            let depth = (4 * z + x) as f64 / (4 * self.n) as f64;
            let speed = [(0.35, 1500.0), (0.7, 2500.0)].iter().find(|(below, _)| depth < *below);
            (FASTEST * speed.map_or(4500.0, |(_, speed)| *speed) / 4500.0).powi(2)
        });
    }

    /// A weak wave that stands, over the whole cube.
    pub(super) fn fill_field(&self, first: usize, planes: &mut [f32]) {
        let wave: Vec<f64> = (0..self.n).map(|place| ((place + 1) as f64 * 0.25).sin()).collect();
        self.fill(first, planes, |[x, y, z]| BACKGROUND * wave[x] * wave[y] * wave[z]);
    }

    /// The squares of all points, each with a weight of its place.
    pub(super) fn weighted_energy(&self, field: &[f32]) -> f64 {
        let n = self.n;
        let mut sum = 0.0;
        for (z, y) in (0..n).flat_map(|z| (0..n).map(move |y| (z, y))) {
            let row = &field[self.at([0, y, z])..][..n];
            let place = (z * n + y) * n;
            sum += (place..)
                .zip(row)
                .map(|(place, value)| weight(place) * f64::from(*value).powi(2))
                .sum::<f64>();
        }
        sum
    }

    /// The plane through the source, depth downwards, as a Portable Graymap: grey is rest.
    pub(super) fn picture(&self, field: &[f32]) -> Vec<u8> {
        let [_, y, _] = self.source();
        let rows = || (0..self.n).map(|z| &field[self.at([0, y, z])..][..self.n]);
        let most = rows().flatten().fold(f32::MIN_POSITIVE, |most, value| most.max(value.abs()));
        let mut picture = format!("P5\n{0} {0}\n255\n", self.n).into_bytes();
        picture.extend(rows().flatten().map(|value| (128.0 + 127.0 * value / most) as u8));
        picture
    }
}

/// What a point of that number counts.
fn weight(place: usize) -> f64 {
    1.0 + (place % 1021) as f64 / 1021.0
}

/// The source: a Ricker wavelet that begins in silence.
pub(super) fn ricker(time: usize) -> f32 {
    let phase = (std::f64::consts::PI * (time as f64 / PERIOD - 1.0)).powi(2);
    ((1.0 - 2.0 * phase) * (-phase).exp()) as f32
}
