// Which calls belong together: a module, by the names of its operators.
#include <algorithm>
#include <cctype>

#include "program/lowering.hpp"

namespace plimsoll::program {
namespace {

using network::kNoTensor;
using network::TensorId;

bool is_number(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](unsigned char c) { return std::isdigit(c) != 0; });
}

/// "transformer.h.3.mlp.c_fc" is of "transformer.h.3": modules of a list are what is repeated, and what
/// frameworks wrap. Without a number it is of the module around it, or by itself.
std::string_view layer_of(std::string_view name) {
  constexpr std::string_view kSeparators = "./";
  std::size_t end = std::string_view::npos;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t stop = std::min(name.find_first_of(kSeparators, begin), name.size());
    if (is_number(name.substr(begin, stop - begin)))
      end = stop;
    else if (end != std::string_view::npos)
      break;
    begin = stop + 1;
  }
  if (end != std::string_view::npos) return name.substr(0, end);
  const std::size_t last = name.find_last_of(kSeparators);
  return last == std::string_view::npos || last == 0 ? name : name.substr(0, last);
}

}  // namespace

void Lowering::find_layers() {
  std::vector<bool> parameter(program_.storages.size(), false);
  for (const ValueId id : program_.parameters) parameter[static_cast<std::size_t>(at(id).storage)] = true;
  const auto& operators = network_.main().operators;
  std::string_view current;
  std::vector<StorageId> read;
  std::vector<std::size_t> seen_in(program_.storages.size(), 0);  // layer, from 1
  for (std::uint32_t i = 0; i < program_.calls.size(); ++i) {
    const std::uint32_t op = program_.calls[i].op;
    if (op >= operators.size()) continue;
    const std::string_view name = layer_of(network_.name_of(operators[op]));
    const bool same = !program_.layers.empty() && !name.empty() && name == current;
    const bool goes_on = i > 0 && program_.calls[i - 1].op == op;
    if (goes_on && !program_.layers.empty() && program_.layers.back().last + 1 == i) {
      program_.layers.back().last = i;
      continue;
    }
    const bool fused = fusions_[op].kind != Fusion::Kind::none;
    read.clear();
    for (const TensorId id :
         fused ? std::span<const TensorId>(fusions_[op].inputs) : network_.inputs(operators[op])) {
      if (id == kNoTensor || bound_[static_cast<std::size_t>(id)] == kNoValue) continue;
      const StorageId storage = at(bound_[static_cast<std::size_t>(id)]).storage;
      if (parameter[static_cast<std::size_t>(storage)]) read.push_back(storage);
    }
    if (read.empty() && !same) continue;
    if (!same) {
      program_.layers.push_back(
          {.first = i, .weights = {static_cast<std::uint32_t>(program_.weights_of.size()), 0}});
      current = name;
    }
    Layer& layer = program_.layers.back();
    layer.last = i;
    for (const StorageId storage : read) {
      std::size_t& seen = seen_in[static_cast<std::size_t>(storage)];
      if (seen == program_.layers.size()) continue;
      seen = program_.layers.size();
      program_.weights_of.push_back(storage);
      ++layer.weights.count;
    }
  }
}

}  // namespace plimsoll::program
