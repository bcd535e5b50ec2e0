// The libsonde example in C++: a counter that is created on first use, by several threads.
//
//     g++ -O2 -pthread heat.cpp $(pkg-config --cflags --libs sonde) -o heat
#include <sonde.h>

#include <cstdio>
#include <thread>
#include <vector>

static const sonde_counter &cells()
{
    static const sonde_counter made = [] {
        const char *const labels[] = { "phase", "solve", "language", "C++", nullptr };
        sonde_counter counter;
        sonde_counter_make(&counter, "heat_cells_total", labels, "", "Cells that were computed");
        return counter;
    }();
    return made;
}

static void part(std::vector<double> &rod)
{
    for (int step = 0; step < 1000; step++)
        for (std::size_t i = 1; i + 1 < rod.size(); i++) {
            rod[i] = (rod[i - 1] + rod[i + 1]) / 2;
            sonde_add(&cells(), 1);
        }
}

int main()
{
    std::vector<std::vector<double>> rods(4, std::vector<double>(102, 1.0));
    std::vector<std::thread> threads;
    for (auto &rod : rods)
        threads.emplace_back(part, std::ref(rod));
    for (auto &thread : threads)
        thread.join();
    std::printf("%g\n", rods[0][50]);
}
