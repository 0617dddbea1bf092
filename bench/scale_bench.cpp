// How inspecting scales, against its limits: graphs of 1,000, 10,000 and 100,000 operators (time per operator
// should stay level), a model with 3 GB of weights inside (the bytes that are read should be the graph's
// alone), and the whole command on ResNet-50's graph.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.hpp"
#include "network/builder.hpp"
#include "network/inference.hpp"
#include "onnx/reader.hpp"
#include "onnx/writer.hpp"
#include "program/count.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plimsoll;
using Clock = std::chrono::steady_clock;

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// A chain of residual blocks, as a real network's graph is made.
network::Network chain(std::size_t operators) {
  network::Builder b("chain");
  b.opset("", 17);
  network::TensorId x =
      b.input("input", network::DataType::float32,
              {b.symbol("batch"), network::Dim::of(64), network::Dim::of(56), network::Dim::of(56)});
  for (std::size_t i = 0; i + 3 <= operators; i += 3) {
    const std::string name = fmt::format("layer{}", i / 3);
    const network::TensorId w = b.parameter(name + ".conv.weight", {64, 64, 3, 3});
    const network::TensorId y =
        b.add("Conv", "/" + name + "/conv/Conv", {x, w}, {{"kernel_shape", {3, 3}}, {"pads", {1, 1, 1, 1}}});
    const network::TensorId z = b.add("Relu", "/" + name + "/relu/Relu", {y});
    x = b.add("Add", "/" + name + "/Add", {z, x});
  }
  b.output(x);
  return std::move(b).finish();
}

/// A few operators and `bytes` of weights in the file: sparse on disk, whole in the format.
void write_large(const fs::path& path, std::int64_t megabytes) {
  constexpr std::int64_t kSide = 5120;  // 100 MiB of float32 each
  network::Builder b("large");
  b.opset("", 17);
  network::TensorId x =
      b.input("input", network::DataType::float32, {b.symbol("batch"), network::Dim::of(kSide)});
  for (std::int64_t i = 0; i * 100 < megabytes; ++i)
    x = b.add("MatMul", fmt::format("matmul{}", i), {x, b.parameter(fmt::format("w{}", i), {kSide, kSide})});
  b.output(x);
  const network::Network network = std::move(b).finish();
  std::vector<std::byte> zeros(static_cast<std::size_t>(kSide * kSide * 4));
  const onnx::WeightSource source = [&zeros](network::TensorId) -> Result<onnx::WeightBytes> {
    return onnx::WeightBytes{zeros, {}};
  };
  if (const Status written = onnx::write(network, source, path); !written)
    fmt::print("cannot write: {}\n", written.error().text());
}

/// Does what needs much memory in a process of its own. A program that is started from here inherits the most
/// that this process ever held as its own peak, so this one has to stay small.
template <class F>
void apart(F&& work) {
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    work();
    std::fflush(stdout);
    _exit(0);
  }
  waitpid(child, nullptr, 0);
}

struct Run {
  double seconds = 0;
  long resident_kib = 0;
  int status = 0;
};

/// The real command in a process of its own, its answer thrown away.
Run run_command(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  Run run;
  pid_t child = 0;
  const auto start = Clock::now();
  if (posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ) != 0) run.status = 127;
  posix_spawn_file_actions_destroy(&actions);
  rusage usage{};
  wait4(child, &run.status, 0, &usage);
  run.seconds = seconds_since(start);
  run.resident_kib = usage.ru_maxrss;
  return run;
}

Run best_of(int rounds, const std::vector<std::string>& arguments) {
  std::vector<Run> runs;
  for (int i = 0; i < rounds; ++i) runs.push_back(run_command(arguments));
  return std::ranges::min(runs, {}, &Run::seconds);
}

void print_command(std::string_view what, const Run& run, double limit_seconds, long limit_mib) {
  const double mib = static_cast<double>(run.resident_kib) / 1024;
  fmt::print("{:<44} {:>8.1f} ms of {:>4.0f} allowed ({:.2f})", what, 1e3 * run.seconds, 1e3 * limit_seconds,
             run.seconds / limit_seconds);
  if (limit_mib > 0)
    fmt::print(", {:>5.1f} MiB of {} ({:.2f})", mib, limit_mib, mib / static_cast<double>(limit_mib));
  fmt::print("{}\n", run.status == 0 ? "" : "  FAILED");
}

void growth(const fs::path& folder) {
  fmt::print("{:>10} {:>12} {:>14} {:>16}\n", "operators", "file", "inspect", "per operator");
  double first = 0;
  for (const std::size_t n : {1000u, 10000u, 100000u}) {
    const fs::path path = folder / fmt::format("chain{}.onnx", n);
    if (!onnx::write(chain(n), {}, path)) return;
    std::vector<double> times;
    for (int i = 0; i < 9; ++i) {
      const double start = processor_seconds();
      const auto model = onnx::read(path);
      const auto binding = network::bind(model->network, {});
      const auto shapes = network::infer(model->network, *binding);
      const auto counts = program::count(model->network, *shapes, {});
      times.push_back(processor_seconds() - start);
    }
    const double best = std::ranges::min(times);
    const double each = best / static_cast<double>(n);
    if (first == 0) first = each;
    fmt::print("{:>10} {:>8.1f} MiB {:>11.2f} ms {:>11.0f} ns ({:.2f} of the first)\n", n,
               static_cast<double>(fs::file_size(path)) / (1 << 20), 1e3 * best, 1e9 * each, each / first);
  }
}

}  // namespace

int main() {
  const Result<TemporaryDirectory> folder = TemporaryDirectory::make("plimsoll-bench");
  if (!folder) return 1;
  apart([&] { growth(folder->path()); });
  const fs::path large = folder->path() / "large.onnx";
  apart([&] { write_large(large, 3000); });
  print_command(
      fmt::format("inspect, {:.2f} GB of weights inside", static_cast<double>(fs::file_size(large)) / 1e9),
      best_of(9, {PLIMSOLL_BINARY, "inspect", large.string()}), 0.050, 64);
  fs::remove(large);
  const char* given = std::getenv("PLIMSOLL_SHARED");
  const fs::path resnet =
      fs::path(given != nullptr ? given : PLIMSOLL_SOURCE_DIR "/../shared") / "data/onnx/resnet50.train.onnx";
  if (fs::exists(resnet))
    print_command("the whole command, ResNet-50's graph",
                  best_of(21, {PLIMSOLL_BINARY, "inspect", resnet.string()}), 0.010, 0);
  print_command("the whole command, resnet50 of the zoo",
                best_of(21, {PLIMSOLL_BINARY, "inspect", "resnet50"}), 0.010, 0);
  return 0;
}
