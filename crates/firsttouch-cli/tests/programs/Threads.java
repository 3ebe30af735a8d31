import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;

/** Prints name and CPUs of every thread of the virtual machine, while a pool of threads works. */
public final class Threads {
    public static void main(String[] words) throws Exception {
        int count = 6;
        CountDownLatch started = new CountDownLatch(count);
        CountDownLatch end = new CountDownLatch(1);
        ExecutorService pool = Executors.newFixedThreadPool(count);
        for (int i = 0; i < count; i++) {
            pool.submit(() -> {
                started.countDown();
                end.await();
                return null;
            });
        }
        started.await();
        System.out.println("processors " + Runtime.getRuntime().availableProcessors());
        try (DirectoryStream<Path> tasks = Files.newDirectoryStream(Paths.get("/proc/self/task"))) {
            for (Path task : tasks) {
                String name = "";
                String cpus = "";
                for (String line : Files.readAllLines(task.resolve("status"))) {
                    if (line.startsWith("Name:")) name = line.substring(5).trim().replace(' ', '_');
                    if (line.startsWith("Cpus_allowed_list:")) cpus = line.substring(18).trim();
                }
                System.out.println("thread " + name + " on " + cpus);
            }
        }
        end.countDown();
        pool.shutdown();
    }
}
