#include "cuda/study_sizes.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <fmt/format.h>

#include "base/files.hpp"
#include "base/text.hpp"

namespace plimsoll::cuda {
namespace {

constexpr double kFloat = 4;  // B

double cube(std::int64_t size) {
  const auto n = static_cast<double>(size);
  return n * n * n;
}
double square(std::int64_t size) {
  const auto n = static_cast<double>(size);
  return n * n;
}

}  // namespace

std::vector<std::int64_t> sizes_between(std::int64_t first, std::int64_t last, int factor,
                                        std::int64_t most) {
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = first; size <= std::min(last, most); size *= factor) sizes.push_back(size);
  return sizes;
}

Sweep sweep_over(std::int64_t bytes, int arrays, std::int64_t threads, std::int64_t least_bytes) {
  const std::int64_t items = std::max<std::int64_t>(bytes / kSweepItem, 1);
  const std::int64_t least = std::max(items, least_bytes / (kSweepItem * arrays));
  const std::int64_t turn = threads * kSweepUnroll;
  const std::int64_t turns = (least + turn - 1) / turn;
  return {.items = static_cast<std::uint32_t>(items),
          .step = static_cast<std::uint32_t>(threads % items),
          .steps = static_cast<std::uint32_t>(turns * kSweepUnroll),
          .passes = static_cast<double>(turns * turn) / static_cast<double>(items)};
}

double square_product_flops(std::int64_t size) {
  return 2 * cube(size);
}
double naive_bytes(std::int64_t size) {
  return kFloat * (2 * cube(size) + square(size));
}
double blocked_bytes(std::int64_t size, int tile) {
  // Tiles at the edges are read by as many as full ones.
  const std::int64_t blocks = (size + tile - 1) / tile;
  return kFloat * (2 * square(size) * static_cast<double>(blocks) + square(size));
}
double library_bytes(std::int64_t size) {
  return kFloat * 3 * square(size);
}

bool takes_too_long(std::int64_t elements, double seconds_per_element) {
  return static_cast<double>(elements) * seconds_per_element > kLongestStep;
}

std::int64_t memory_available_in(std::string_view meminfo) {
  constexpr std::string_view kKey = "MemAvailable:";
  const auto at = meminfo.find(kKey);
  if (at == meminfo.npos) return 0;
  std::string_view rest = meminfo.substr(at + kKey.size());
  rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
  std::int64_t kib = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), kib);
  return read.ec == std::errc() && kib > 0 && kib < (std::int64_t{1} << 50) ? kib * 1024 : 0;
}

std::int64_t host_memory_available() {
  const auto text = read_file("/proc/meminfo", 1 << 20);
  return text ? memory_available_in(*text) : 0;
}

std::string phase_of(std::int64_t elements) {
  return fmt::format("vector add of {}", count_text(elements));
}

std::string phase_of(Place place, Workers workers, std::int64_t elements) {
  static constexpr std::array<std::string_view, 3> kPlaces{"explicit copies", "managed",
                                                           "managed, prefetched"};
  static constexpr std::array<std::string_view, 3> kWorkers{"one thread", "one block", "many blocks"};
  return fmt::format("{}, {}, {}", phase_of(elements), kPlaces[static_cast<std::size_t>(place)],
                     kWorkers[static_cast<std::size_t>(workers)]);
}

std::string phase_of(Method method, std::int64_t size) {
  static constexpr std::array<std::string_view, 3> kMethods{"naive", "blocked", "library"};
  return fmt::format("matrix product of {0} x {0}, {1}", size, kMethods[static_cast<std::size_t>(method)]);
}

std::string phase_of(std::string_view rate, double bytes) {
  return bytes > 0 ? fmt::format("{} at {}", rate, text(Bytes::rounded(bytes))) : std::string(rate);
}

std::string left_out(std::string_view what, std::int64_t needs, std::int64_t has, std::string_view where) {
  return fmt::format("{} was left out: it needs {}, and {} has {} free", what, text(Bytes(needs)), where,
                     text(Bytes(has)));
}

std::string left_out_as_slow(std::string_view what) {
  return fmt::format("{} was left out: it would take longer than {}", what, text(Seconds(kLongestStep)));
}

std::string version_text(std::int64_t number, std::int64_t major_unit, std::int64_t minor_unit) {
  return fmt::format("{}.{}", number / major_unit, number % major_unit / minor_unit);
}

std::string uuid_text(const unsigned char (&bytes)[16]) {
  std::string out = "GPU-";
  for (int i = 0; i < 16; ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) out += '-';
    out += fmt::format("{:02x}", bytes[i]);
  }
  return out;
}

}  // namespace plimsoll::cuda
