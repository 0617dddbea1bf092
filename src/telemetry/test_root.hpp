#pragma once
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/files.hpp"
#include "telemetry/sampler.hpp"

namespace plimsoll::telemetry {

/// A machine for tests: its /proc and /sys as folders of plain files.
class TestRoot {
 public:
  TestRoot() : directory_(TemporaryDirectory::make("telemetry").value()) {
    std::filesystem::create_directories(proc());
    std::filesystem::create_directories(sys());
  }
  [[nodiscard]] std::filesystem::path proc() const { return directory_.path() / "proc"; }
  [[nodiscard]] std::filesystem::path sys() const { return directory_.path() / "sys"; }

  /// `path` from the root: "proc/stat". The file stays the same one, as those of the kernel do.
  void write(const std::string& path, std::string_view text) {
    const std::filesystem::path file = directory_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::trunc) << text;
  }
  void remove(const std::string& path) { std::filesystem::remove_all(directory_.path() / path); }

  struct Process {
    int pid = 0;
    int parent = 1;
    std::uint64_t ticks = 0;
    std::uint64_t children_ticks = 0;
    std::uint64_t start = 1000;
    std::uint64_t pages = 100;
    std::string name = "python";
    char state = 'S';
    int threads = 1;
  };
  void process(const Process& p) {
    write(fmt::format("proc/{}/stat", p.pid),
          fmt::format("{} ({}) {} {} 1 1 0 -1 4194560 1 2 3 4 {} 0 {} 0 20 0 {} 0 {} 123456789 {} 184467\n",
                      p.pid, p.name, p.state, p.parent, p.ticks, p.children_ticks, p.threads, p.start,
                      p.pages));
  }
  /// A process that is gone says nothing any more, also to those who have its files open.
  void end(int pid) {
    write(fmt::format("proc/{}/stat", pid), "");
    remove(fmt::format("proc/{}", pid));
  }

  [[nodiscard]] SamplerOptions options(double rate = 10) const {
    return {.rate = rate, .proc = proc(), .sys = sys()};
  }

 private:
  TemporaryDirectory directory_;
};

/// The values of a frame by the name of their series; of a run with "#RUN" after it.
inline std::map<std::string, double> named_values(const Sampler& sampler, const Frame& frame) {
  std::map<std::string, double> out;
  for (const Reading& value : frame.values) {
    const Series& series = sampler.series().at(value.series);
    out[series.run ? fmt::format("{}#{}", series.name, *series.run) : series.name] = value.value;
  }
  return out;
}

}  // namespace plimsoll::telemetry
