/* What weather stations measured: for each its readings, their mean and the latest one. The program of
 * doc/TUTORIAL.md: it is right, and it takes six hundred times the memory that it needs.
 *
 *   g++ -std=c++17 -g -O2 weather.cpp -o weather
 *   ./weather --make 300000 >readings.txt
 *   ./weather readings.txt
 */
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

struct Reading {
    std::string time;
    double celsius;
};

struct Station {
    long count = 0;
    double sum = 0;
    Reading *latest = nullptr;
};

static std::vector<std::string> split(const std::string &text, char separator)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);)
        parts.push_back(part);
    return parts;
}

static std::string read_file(const char *name)
{
    std::ifstream file(name);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

static void note(std::map<std::string, Station> &stations, const std::string &line)
{
    std::vector<std::string> fields = split(line, ';');
    if (fields.size() != 3)
        return;
    Station &station = stations[fields[0]];
    double celsius = std::atof(fields[2].c_str());
    station.count++;
    station.sum += celsius;
    station.latest = new Reading{fields[1], celsius};
}

/* Readings of 40 stations, the same ones each time. */
static void make(long count)
{
    unsigned state = 1;
    for (long i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        std::printf("station-%02u;2026-%02ld-%02ldT%02ld:%02ld:00;%.1f\n", (state >> 16) % 40,
            i / 43200 % 12 + 1, i / 1440 % 28 + 1, i / 60 % 24, i % 60, (state >> 8) % 400 / 10.0 - 10);
    }
}

int main(int argc, char **argv)
{
    if (argc == 3 && std::string(argv[1]) == "--make") {
        make(std::atol(argv[2]));
        return 0;
    }
    if (argc != 2) {
        std::cerr << "weather FILE, or weather --make LINES\n";
        return 2;
    }
    std::map<std::string, Station> stations;
    std::string text = read_file(argv[1]);
    for (const std::string &line : split(text, '\n'))
        note(stations, line);
    for (const auto &[name, station] : stations)
        std::printf("%s  %6ld readings, mean %5.2f, last %5.1f at %s\n", name.c_str(), station.count,
            station.sum / station.count, station.latest->celsius, station.latest->time.c_str());
}
