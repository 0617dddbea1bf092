// Inspecting a model in this process (read, bind, infer, count) against libonnx's load and InferShapes, on
// every real graph of ../shared/data/onnx (or $PLIMSOLL_SHARED). Both read the file from the page cache. The
// least processor time of all rounds is compared: wall time on a shared machine measures the neighbours.
#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <vector>

#include <fmt/format.h>

#include "libonnx_peer.hpp"
#include "network/inference.hpp"
#include "onnx/reader.hpp"
#include "program/count.hpp"

namespace {

namespace fs = std::filesystem;
using namespace plimsoll;

struct Inspected {
  bool done = false;
  std::size_t outputs = 0, shaped = 0;
  std::int64_t macs = 0;
};

Inspected inspect(const std::string& path, bool look) {
  Inspected result;
  const Result<onnx::Model> model = onnx::read(path);
  if (!model) return result;
  const Result<network::Binding> binding = network::bind(model->network, {});
  if (!binding) return result;
  const Result<network::Shapes> shapes = network::infer(model->network, *binding);
  if (!shapes) return result;
  const program::Counts counts = program::count(model->network, *shapes, {});
  result.done = true;
  result.macs = counts.forward.macs.high;
  if (!look) return result;
  for (const network::Operator& op : model->network.main().operators)
    for (const network::TensorId id : model->network.outputs(op)) {
      if (id == network::kNoTensor) continue;
      ++result.outputs;
      if (shapes->ranked(id)) ++result.shaped;
    }
  return result;
}

/// Processor time of this thread: what other programs do meanwhile does not count.
double processor_microseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e6 * static_cast<double>(now.tv_sec) + 1e-3 * static_cast<double>(now.tv_nsec);
}

/// The least time of one call in so many rounds.
template <class F>
double least_microseconds(int rounds, F&& f) {
  double least = 1e18;
  for (int i = 0; i < rounds; ++i) {
    const double start = processor_microseconds();
    f();
    least = std::min(least, processor_microseconds() - start);
  }
  return least;
}

}  // namespace

int main() {
  const char* given = std::getenv("PLIMSOLL_SHARED");
  const fs::path folder = fs::path(given != nullptr ? given : PLIMSOLL_SOURCE_DIR "/../shared") / "data/onnx";
  if (!fs::exists(folder)) {
    fmt::print("skipped: {} is not there\n", folder.string());
    return 0;
  }
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  std::ranges::sort(files);
  double ours_total = 0, theirs_total = 0, worst = 1e9;
  std::size_t ours_shaped = 0, theirs_shaped = 0, outputs = 0;
  fmt::print("{:<36} {:>8} {:>10} {:>12} {:>7} {:>9} {:>9}\n", "file", "outputs", "plimsoll", "libonnx",
             "ratio", "shaped", "libonnx");
  for (const std::string& file : files) {
    const Inspected ours = inspect(file, true);
    const PeerResult theirs = peer_coverage(file);
    if (!ours.done) {
      fmt::print("{}: plimsoll failed\n", file);
      return 1;
    }
    // A virtual machine's processor is slow for a tenth of a second and then fast again: both sides take
    // turns, equally often and in stretches, so that a first round alone pays for the memory that the other
    // gave back.
    const double once = least_microseconds(1, [&] { (void)peer_inspect(file); });
    const int rounds = std::max(5, static_cast<int>(4e4 / once));
    double x = 1e18, y = 1e18;
    for (int turn = 0; turn < 8; ++turn) {
      x = std::min(x, least_microseconds(rounds, [&] { (void)inspect(file, false); }));
      y = std::min(y, least_microseconds(rounds, [&] { (void)peer_inspect(file); }));
    }
    ours_total += x;
    theirs_total += y;
    worst = std::min(worst, y / x);
    ours_shaped += ours.shaped;
    theirs_shaped += theirs.shaped;
    outputs += ours.outputs;
    fmt::print("{:<36} {:>8} {:>7.0f} us {:>9.0f} us {:>6.1f}x {:>8.1f}% {:>8.1f}%{}\n",
               fs::path(file).filename().string(), ours.outputs, x, y, y / x,
               100.0 * static_cast<double>(ours.shaped) / static_cast<double>(ours.outputs),
               100.0 * static_cast<double>(theirs.shaped) /
                   static_cast<double>(std::max<std::size_t>(1, theirs.outputs)),
               theirs.inferred ? "" : "  (libonnx: error)");
  }
  fmt::print("{:<36} {:>8} {:>7.0f} us {:>9.0f} us {:>6.1f}x {:>8.1f}% {:>8.1f}%\n", "all together", outputs,
             ours_total, theirs_total, theirs_total / ours_total,
             100.0 * static_cast<double>(ours_shaped) / static_cast<double>(outputs),
             100.0 * static_cast<double>(theirs_shaped) / static_cast<double>(outputs));
  fmt::print("smallest ratio of any file: {:.2f}x\n", worst);
  return 0;
}
