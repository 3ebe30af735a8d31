import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.stream.IntStream;

/** Fills a few hundred MiB of heap, collects it several times, and prints what only the numbers decide. */
public class Numbers {
    public static void main(String[] words) throws Exception {
        List<long[]> kept = new ArrayList<>();
        long state = 123, sum = 0;
        for (int round = 0; round < 300; round++) {
            long[] block = new long[1 << 17];
            for (int at = 0; at < block.length; at++) {
                if (block[at] != 0) throw new IllegalStateException("not cleared");
                state ^= state << 13;
                state ^= state >>> 7;
                state ^= state << 17;
                block[at] = state;
            }
            sum += block[round];
            if (round % 3 != 0) kept.add(block);
        }
        HashMap<String, Integer> words_seen = new HashMap<>();
        for (int i = 0; i < 400_000; i++) words_seen.merge("word" + i % 50_000, 1, Integer::sum);
        long parallel = IntStream.range(0, kept.size()).parallel().mapToLong(i -> kept.get(i)[i]).sum();
        System.out.println(sum + " " + parallel + " " + kept.size() + " " + words_seen.get("word7"));

        java.nio.ByteBuffer direct = java.nio.ByteBuffer.allocateDirect(64 << 20);
        for (int at = 0; at < direct.capacity(); at += 8) direct.putLong(at, kept.get(at % kept.size())[at >> 10]);
        long folded = 0;
        for (int at = 0; at < direct.capacity(); at += 8) folded = folded * 31 + direct.getLong(at);
        System.out.println(folded);
        Process child = new ProcessBuilder("sh", "-c", "env | grep -c -e LD_PRELOAD -e FIRSTTOUCH").start();
        System.out.println(new String(child.getInputStream().readAllBytes()).trim() + " " + child.waitFor());
        System.exit(5);
    }
}
