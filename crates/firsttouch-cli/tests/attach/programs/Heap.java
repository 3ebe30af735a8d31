import java.nio.file.Files;
import java.nio.file.Path;

/** Heap ROUNDS MIB: arrays on the heap, read and written at random places, and garbage for the collector. Talks as gather.c does. */
public final class Heap {
    private static long state = 88172645463325252L;

    private static long next() {
        state ^= state << 13;
        state ^= state >>> 7;
        return state ^= state << 17;
    }

    private static long round(long[][] blocks, long done) {
        long sum = 0;
        for (int step = 0; step < 1 << 20; step++) {
            long random = next();
            long[] block = blocks[(int) Math.floorMod(random, blocks.length)];
            int at = (int) (random >>> 40) & block.length - 1;
            sum += block[at];
            block[at] ^= random;
        }
        byte[][] garbage = new byte[64][];
        for (int at = 0; at < 4096; at++) garbage[at % garbage.length] = new byte[1024 + at % 512];
        return sum * 31 + garbage[(int) (done % garbage.length)].length;
    }

    public static void main(String[] words) throws Exception {
        long rounds = Long.parseLong(words[0]), digest = 0;
        // Small enough to lie next to each other in the collector's regions.
        long[][] blocks = new long[Integer.parseInt(words[1]) * 16][1 << 13];
        for (long[] block : blocks)
            for (int at = 0; at < block.length; at++) block[at] = next();
        System.out.println("ready " + ProcessHandle.current().pid());
        for (long done = 1; rounds > 0 ? done <= rounds : !Files.exists(Path.of("stop")); done++) {
            digest = digest * 31 + round(blocks, done);
            System.out.println("round " + done + " " + Long.toHexString(digest));
        }
    }
}
