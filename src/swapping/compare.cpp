#include "swapping/compare.hpp"

#include <algorithm>

#include "base/statistics.hpp"

namespace plimsoll::swapping {

Summary summary(const Packed& packed, std::span<const Request> requests, const Outcome& outcome,
                std::span<const std::optional<double>> accuracies) {
  Summary out{.all = {.frames = requests.size(), .blocks = outcome.blocks},
              .models = std::vector<FramesMet>(packed.models.size()),
              .moved = packed.bytes(outcome.blocks),
              .waited = outcome.waited};
  std::vector<double> latencies;
  double right = 0, could_be = 0;
  bool known = !accuracies.empty();
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const Frame& frame = outcome.frames[i];
    const std::size_t model = requests[i].model;
    for (FramesMet* const of : {&out.all, &out.models[model]}) {
      of->frames += of != &out.all;
      of->ran += frame.finish.has_value();
      of->met += frame.met;
    }
    if (frame.finish) latencies.push_back((*frame.finish - requests[i].arrival).value());
    known = known && accuracies[model].has_value();
    if (!known) continue;
    could_be += *accuracies[model];
    right += frame.met ? *accuracies[model] : 0;
  }
  for (std::size_t model = 0; model < out.models.size(); ++model)
    out.models[model].blocks = outcome.moved[model];
  if (!latencies.empty()) {
    std::ranges::sort(latencies);
    out.median = Seconds(quantile_of(latencies, 0.5, 0.95).value);
    out.late = Seconds(quantile_of(latencies, 0.99, 0.95).value);
  }
  if (outcome.end > Seconds()) {
    out.copying = outcome.copying / outcome.end;
    out.computing = outcome.computing / outcome.end;
  }
  if (known && !requests.empty()) {
    out.accuracy = right / static_cast<double>(requests.size());
    out.accuracy_lost = (could_be - right) / static_cast<double>(requests.size());
  }
  return out;
}

Outcome without_swapping(const Question& question, std::span<const Request> requests) {
  Question all = question;
  all.capacity = question.packed.blocks;
  all.warm = true;
  return simulate(all, requests);
}

Misses misses(const Summary& of, const Summary& without_swapping) {
  const std::size_t missed = of.all.frames - of.all.met;
  const std::size_t anyway = without_swapping.all.frames - without_swapping.all.met;
  return {.computing = std::min(missed, anyway), .copies = missed - std::min(missed, anyway)};
}

bool is_better(const Summary& a, const Summary& b) {
  return a.all.met != b.all.met ? a.all.met > b.all.met : a.moved < b.moved;
}

}  // namespace plimsoll::swapping
