#include "probe/chains.hpp"

#include <algorithm>
#include <iterator>
#include <optional>

#include "hardware/operator_place.hpp"
#include "probe/operator_names.hpp"

namespace plimsoll::probe {
namespace {

using hardware::Arithmetic;
using hardware::OperatorCase;
using hardware::OperatorClass;
using enum hardware::OperatorClass;

constexpr std::size_t kOfEachKind = 24;
// A few microseconds on any GPU: of long kernels the change of code is no part worth measuring.
constexpr double kMostFlops = 1e9, kMostBytes = 4e6;

constexpr OperatorClass kProducts[] = {convolution, matrix,    convolution, depthwise,
                                       convolution, attention, convolution, matrix};
constexpr OperatorClass kOthers[] = {batch_norm, unary,   layer_norm, binary,    function,
                                     batch_norm, softmax, unary,      transpose, broadcast};

struct Kind {
  std::string_view name;
  Arithmetic arithmetic, of_convolutions;
};
constexpr Kind kKinds[] = {{"fp32", Arithmetic::fp32, Arithmetic::tf32},
                           {"bf16", Arithmetic::bf16, Arithmetic::bf16}};

bool is_small(const OperatorCase& c) {
  const hardware::OperatorWork work = work_of(c);
  return work.flops_at_peak() <= kMostFlops && work.bytes() <= kMostBytes;
}

/// The grid's small cases of these classes in turn, each once.
std::vector<OperatorCase> chosen(std::span<const OperatorCase> grid, const Kind& kind,
                                 std::span<const OperatorClass> classes) {
  std::map<OperatorClass, std::size_t> at;  // in the grid
  std::vector<OperatorCase> out;
  for (std::size_t i = 0; i < kOfEachKind; ++i) {
    const OperatorClass wanted = classes[i % classes.size()];
    const Arithmetic arithmetic = is_convolution(wanted) ? kind.of_convolutions : kind.arithmetic;
    std::size_t& next = at[wanted];
    while (next < grid.size() &&
           !(grid[next].operator_class == wanted && grid[next].arithmetic == arithmetic &&
             grid[next].direction == hardware::Direction::forward && is_small(grid[next])))
      ++next;
    if (next < grid.size()) out.push_back(grid[next++]);
  }
  return out;
}

std::string others_of(const Kind& kind) {
  return fmt::format("{}-others", kind.name);
}
std::string mixed_of(const Kind& kind) {
  return fmt::format("{}-mixed", kind.name);
}

std::optional<hardware::KernelChange> change_of(const Kind& kind,
                                                const std::map<std::string, job::ChainTime>& chains) {
  const auto others = chains.find(others_of(kind)), mixed = chains.find(mixed_of(kind));
  if (others == chains.end() || mixed == chains.end()) return std::nullopt;
  if (others->second.calls == 0 || mixed->second.calls == 0) return std::nullopt;
  const auto longer = [](const job::ChainTime& chain) {
    return chain.together_seconds - chain.alone_seconds;
  };
  const double other = std::max(0.0, longer(others->second) / static_cast<double>(others->second.calls));
  const double half = static_cast<double>(mixed->second.calls) / 2;
  return hardware::KernelChange{kind.arithmetic, std::max(0.0, longer(mixed->second) / half - other), other};
}

}  // namespace

std::vector<job::OperatorChain> designed_chains(std::span<const OperatorCase> grid) {
  std::vector<job::OperatorChain> out;
  for (const Kind& kind : kKinds) {
    const std::vector<OperatorCase> products = chosen(grid, kind, kProducts),
                                    others = chosen(grid, kind, kOthers);
    job::OperatorChain plain{others_of(kind), {}}, mixed{mixed_of(kind), {}};
    for (const OperatorCase& c : others) plain.cases.push_back(engine_case(c));
    for (std::size_t i = 0; i < std::min(products.size(), others.size()); ++i) {
      mixed.cases.push_back(engine_case(products[i]));
      mixed.cases.push_back(engine_case(others[i]));
    }
    if (mixed.cases.empty()) continue;
    out.push_back(std::move(plain));
    out.push_back(std::move(mixed));
  }
  return out;
}

std::vector<hardware::KernelChange> kernel_changes(const std::map<std::string, job::ChainTime>& chains) {
  std::vector<hardware::KernelChange> out;
  for (const Kind& kind : kKinds)
    if (const auto change = change_of(kind, chains)) out.push_back(*change);
  return out;
}

}  // namespace plimsoll::probe
