#include "engine/folding.hpp"

#include <algorithm>
#include <map>

#include <ATen/ops/zeros.h>

namespace plimsoll::engine {
namespace {

using network::kNoTensor;
using network::TensorId;

class Folder {
 public:
  Folder(Routine& routine, std::vector<HostWeight>& weights) : routine_(routine), weights_(weights) {
    for (const Instruction& instruction : routine.graphs[0])
      if (routine.network->type_of(operator_of(instruction)) == "Identity")
        behind_[instruction.outputs[0]] = instruction.inputs[0];
    for (const auto& instructions : routine.graphs)
      for (const Instruction& instruction : instructions)
        for (const TensorId id : instruction.inputs)
          if (id != kNoTensor) ++uses_[stored(id)];
    for (const TensorId id : routine.network->main().outputs) ++uses_[stored(id)];
  }

  std::int64_t run() {
    std::vector<Instruction>& instructions = routine_.graphs[0];
    std::int64_t folded = 0;
    for (std::size_t i = 0; i + 1 < instructions.size(); ++i) {
      if (!folds(instructions[i], instructions[i + 1])) continue;
      fold(instructions[i], instructions[i + 1]);
      instructions.erase(instructions.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      ++folded;
    }
    return folded;
  }

 private:
  const network::Operator& operator_of(const Instruction& instruction) const {
    return routine_.network->main().operators[instruction.op];
  }
  /// Exporters store equal weights once, and hand them on by Identity.
  [[nodiscard]] TensorId stored(TensorId id) const {
    const auto it = behind_.find(id);
    return it == behind_.end() ? id : it->second;
  }
  [[nodiscard]] at::Tensor* contents(TensorId id) {
    const auto found = std::ranges::find(weights_, stored(id), &HostWeight::tensor);
    return found == weights_.end() ? nullptr : &found->contents;
  }

  bool folds(const Instruction& convolution, const Instruction& normalization) {
    if (routine_.network->type_of(operator_of(convolution)) != "Conv" || convolution.inputs.size() < 2)
      return false;
    if (routine_.network->type_of(operator_of(normalization)) != "BatchNormalization") return false;
    if (normalization.inputs[0] != convolution.outputs[0] || uses_[convolution.outputs[0]] != 1) return false;
    if (uses_[stored(convolution.inputs[1])] != 1 || contents(convolution.inputs[1]) == nullptr) return false;
    if (has_bias(convolution) && contents(convolution.inputs[2]) == nullptr) return false;
    return normalization.inputs.size() >= 5 &&
           std::ranges::all_of(std::span(normalization.inputs).subspan(1, 4),
                               [&](TensorId id) { return contents(id) != nullptr; });
  }
  static bool has_bias(const Instruction& convolution) {
    return convolution.inputs.size() > 2 && convolution.inputs[2] != kNoTensor;
  }

  void fold(Instruction& convolution, Instruction& normalization) {
    const network::Attribute* given = routine_.network->find(operator_of(normalization), "epsilon");
    const double epsilon = given == nullptr ? 1e-5 : given->real;
    const auto number = [&](TensorId id) { return contents(id)->to(at::kDouble); };
    const at::Tensor factor =
        number(normalization.inputs[1]).div(number(normalization.inputs[4]).add(epsilon).sqrt());
    at::Tensor& weight = *contents(convolution.inputs[1]);
    std::vector<std::int64_t> per_channel(static_cast<std::size_t>(weight.dim()), 1);
    per_channel[0] = -1;
    at::Tensor shift = number(normalization.inputs[3]).neg();
    if (has_bias(convolution)) shift = shift.add(number(convolution.inputs[2]));
    const at::Tensor bias = shift.mul(factor).add(number(normalization.inputs[2])).to(weight.scalar_type());
    weight = weight.to(at::kDouble).mul(factor.reshape(per_channel)).to(weight.scalar_type());
    // What the convolution used to make is made no more: its place holds the new bias.
    const TensorId place = convolution.outputs[0];
    for (Instruction& instruction : routine_.graphs[0]) std::erase(instruction.releases, place);
    weights_.push_back({place, bias});
    routine_.weights.push_back(place);
    convolution.inputs.resize(3, kNoTensor);
    convolution.inputs[2] = place;
    convolution.outputs[0] = normalization.outputs[0];
    convolution.releases.insert(convolution.releases.end(), normalization.releases.begin(),
                                normalization.releases.end());
  }

  Routine& routine_;
  std::vector<HostWeight>& weights_;
  std::map<TensorId, int> uses_;
  std::map<TensorId, TensorId> behind_;
};

}  // namespace

std::int64_t fold_normalizations(Routine& routine, std::vector<HostWeight>& weights) {
  return Folder(routine, weights).run();
}

}  // namespace plimsoll::engine
