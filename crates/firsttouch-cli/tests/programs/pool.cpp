// Every worker of TBB's pool says where it may run; the work waits until as many have come as there are CPUs.
#include <atomic>
#include <cstdio>
#include <set>
#include <sys/syscall.h>
#include <tbb/info.h>
#include <tbb/parallel_for.h>
#include <thread>
#include <unistd.h>

int main() {
    const int count = tbb::info::default_concurrency();
    std::printf("processors %d\n", count);
    std::atomic<int> there{0};
    tbb::parallel_for(0, count, [&](int) {
        there++;
        while (there < count) std::this_thread::yield();
        unsigned long set[128] = {};
        syscall(SYS_sched_getaffinity, 0, sizeof set, set);
        char line[4096];
        int length = std::snprintf(line, sizeof line, "thread %d on", static_cast<int>(gettid()));
        for (int cpu = 0; cpu < 8192; cpu++)
            if (set[cpu / 64] >> (cpu % 64) & 1) length += std::snprintf(line + length, 16, " %d", cpu);
        std::snprintf(line + length, 2, "\n");
        std::fputs(line, stdout);
    }, tbb::simple_partitioner());
}
