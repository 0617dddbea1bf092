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
  Folder(Plan& plan, std::vector<HostWeight>& weights) : plan_(plan), weights_(weights) {
    for (const Step& step : plan.graphs[0])
      if (plan.network->type_of(operator_of(step)) == "Identity") behind_[step.outputs[0]] = step.inputs[0];
    for (const auto& steps : plan.graphs)
      for (const Step& step : steps)
        for (const TensorId id : step.inputs)
          if (id != kNoTensor) ++uses_[stored(id)];
    for (const TensorId id : plan.network->main().outputs) ++uses_[stored(id)];
  }

  std::int64_t run() {
    std::vector<Step>& steps = plan_.graphs[0];
    std::int64_t folded = 0;
    for (std::size_t i = 0; i + 1 < steps.size(); ++i) {
      if (!folds(steps[i], steps[i + 1])) continue;
      fold(steps[i], steps[i + 1]);
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      ++folded;
    }
    return folded;
  }

 private:
  const network::Operator& operator_of(const Step& step) const {
    return plan_.network->main().operators[step.op];
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

  bool folds(const Step& convolution, const Step& normalization) {
    if (plan_.network->type_of(operator_of(convolution)) != "Conv" || convolution.inputs.size() < 2)
      return false;
    if (plan_.network->type_of(operator_of(normalization)) != "BatchNormalization") return false;
    if (normalization.inputs[0] != convolution.outputs[0] || uses_[convolution.outputs[0]] != 1) return false;
    if (uses_[stored(convolution.inputs[1])] != 1 || contents(convolution.inputs[1]) == nullptr) return false;
    if (has_bias(convolution) && contents(convolution.inputs[2]) == nullptr) return false;
    return normalization.inputs.size() >= 5 &&
           std::ranges::all_of(std::span(normalization.inputs).subspan(1, 4),
                               [&](TensorId id) { return contents(id) != nullptr; });
  }
  static bool has_bias(const Step& convolution) {
    return convolution.inputs.size() > 2 && convolution.inputs[2] != kNoTensor;
  }

  void fold(Step& convolution, Step& normalization) {
    const network::Attribute* given = plan_.network->find(operator_of(normalization), "epsilon");
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
    for (Step& step : plan_.graphs[0]) std::erase(step.releases, place);
    weights_.push_back({place, bias});
    plan_.weights.push_back(place);
    convolution.inputs.resize(3, kNoTensor);
    convolution.inputs[2] = place;
    convolution.outputs[0] = normalization.outputs[0];
    convolution.releases.insert(convolution.releases.end(), normalization.releases.begin(),
                                normalization.releases.end());
  }

  Plan& plan_;
  std::vector<HostWeight>& weights_;
  std::map<TensorId, int> uses_;
  std::map<TensorId, TensorId> behind_;
};

}  // namespace

std::int64_t fold_normalizations(Plan& plan, std::vector<HostWeight>& weights) {
  return Folder(plan, weights).run();
}

}  // namespace plimsoll::engine
