// Every worker of TBB's pool says where it may run; the work waits until as many have come as there are CPUs.
#include "kernel_cpus.h"
#include <atomic>
#include <cstdio>
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
        char cpus[65536];
        kernel_cpus(cpus);
        std::printf("thread %d on%s\n", static_cast<int>(gettid()), cpus);
    }, tbb::simple_partitioner());
}
