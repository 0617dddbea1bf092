// The task "examine": what a network takes examples for, and what its tensors hold meanwhile.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include <ATen/ops/cat.h>
#include <ATen/ops/histc.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include "dataset/fit.hpp"
#include "dataset/image.hpp"
#include "dataset/split.hpp"
#include "engine/arrays.hpp"
#include "engine/batches.hpp"
#include "engine/precision.hpp"
#include "engine/session.hpp"
#include "engine/student.hpp"
#include "engine/training.hpp"

namespace plimsoll::engine {
namespace {

using Clock = std::chrono::steady_clock;
using network::TensorId;

std::vector<std::int64_t> all_of(const dataset::Part& part) {
  std::vector<std::int64_t> examples(static_cast<std::size_t>(part.count()));
  std::iota(examples.begin(), examples.end(), 0);
  return examples;
}

/// A tensor that is looked at while examples go through.
struct Observed {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  at::Tensor counts;

  void widen(const at::Tensor& x) {
    if (x.numel() == 0) return;
    low = std::min(low, x.min().to(at::kDouble).item().toDouble());
    high = std::max(high, x.max().to(at::kDouble).item().toDouble());
  }
  void count(const at::Tensor& x) {
    if (x.numel() == 0 || !(high > low)) return;
    const at::Tensor more =
        at::histc(x.to(at::kFloat).flatten(), job::kHistogramBins, low, high).to(at::kDouble).cpu();
    counts = counts.defined() ? counts.add(more) : more;
  }
};

class Examination {
 public:
  Examination(Session& session, const Emit& emit) : session_(session), job_(session.job), emit_(emit) {}

  Status run() {
    PLIMSOLL_TRY(prepare());
    std::vector<std::pair<TensorId, Observed>> observed;
    for (const TensorId id : job_.examining.observed) observed.push_back({id, {}});
    rounds_ = observed.empty() ? 1 : 2;
    go_through([&](TensorId id, const at::Tensor& x) {
      for (auto& [tensor, held] : observed)
        if (tensor == id) held.widen(x);
    });
    for (const auto& [id, held] : observed)
      if (!std::isfinite(held.low) || !std::isfinite(held.high))
        return fail("'{}' holds no numbers, or infinite ones, on these examples", job_.network.name_of(id));
    if (!observed.empty())
      go_through([&](TensorId id, const at::Tensor& x) {
        for (auto& [tensor, held] : observed)
          if (tensor == id) held.count(x);
      });
    return store(observed);
  }

 private:
  using See = std::function<void(TensorId, const at::Tensor&)>;

  Status prepare() {
    if (!job_.data) return fail("the job names no data to look at");
    if (job_.setting.mode != network::Mode::infer) return fail("examples are looked at in the mode infer");
    const job::Data& data = *job_.data;
    Result<dataset::Dataset> opened =
        dataset::Dataset::open(data.file, {data.inputs, data.labels, data.test_inputs, data.test_labels});
    PLIMSOLL_TRY(opened);
    data_ = *std::move(opened);
    dataset::Split parts{.training = all_of(data_.training()), .held_out = {}};
    if (!data_.test() && data.held_out > 0)
      parts = dataset::split(data_.training().count(), data.held_out, job_.execution.seed);
    const bool apart = job_.examining.test && data_.test();
    const dataset::Part& part = apart ? *data_.test() : data_.training();
    std::vector<std::int64_t> examples = apart                 ? all_of(part)
                                         : job_.examining.test ? std::move(parts.held_out)
                                                               : std::move(parts.training);
    if (const auto& places = job_.examining.places; job_.examining.test && !places.empty()) {
      std::vector<std::int64_t> chosen;
      for (const std::int64_t place : places) {
        if (place >= std::ssize(examples)) return fail("there is no example {} to look at", place);
        chosen.push_back(examples[static_cast<std::size_t>(place)]);
      }
      examples = std::move(chosen);
    }
    if (examples.empty()) return fail("there are no examples to look at");
    if (data.examples > 0)
      examples = dataset::some_of(std::move(examples), data.examples, job_.execution.seed);
    // The last batch need not be full.
    const Result<dataset::Ends> ends =
        dataset::check_fit(job_.network, session_.shapes, data_, network::Loss::cross_entropy,
                           session_.job.setting.batch.value_or(1));
    PLIMSOLL_TRY(ends);
    PLIMSOLL_TRY(dataset::check_augmentation(part.inputs, job_.learning.augmentation));
    input_ = ends->input;
    input_type_ = scalar_type(session_.shapes.type(input_)).value_or(at::kFloat);
    batches_.emplace(part, std::move(examples), ends->batch, job_.learning.augmentation, job_.execution.seed);
    return {};
  }

  void go_through(const See& see) {
    const c10::NoGradGuard no_gradients;
    Executor& executor = *session_.executor;
    const bool first = round_++ == 0;
    if (!job_.examining.observed.empty())
      executor.after_instruction = [&](std::size_t i) {
        for (const TensorId id : executor.instructions()[i].outputs)
          if (id != network::kNoTensor && executor.value(id).tensor.defined())
            look(id, executor.value(id).tensor, see);
      };
    auto told = Clock::now();
    for (std::int64_t number = 0; number < batches_->all(); ++number) {
      const ExampleBatch batch = batches_->batch(number);
      counted_ = batch.counted;
      const at::Tensor inputs = batch.inputs.to(session_.device->torch_device(),
                                                numbers_of(job_.setting.precision).stored(input_type_));
      look(input_, inputs, see);
      const at::Tensor output = run(executor, inputs).slice(0, 0, batch.counted).to(at::kFloat);
      if (first) judge(output, batch.labels.slice(0, 0, batch.counted).to(output.device()));
      if (Clock::now() - told < kBetweenAnswers) continue;
      told = Clock::now();
      emit_(job::Progress{.phase = "examining",
                          .done = (static_cast<double>(round_ - 1) +
                                   static_cast<double>(number + 1) / static_cast<double>(batches_->all())) /
                                  rounds_,
                          .seconds_left = {}});
    }
    executor.after_instruction = {};
  }

  at::Tensor run(Executor& executor, const at::Tensor& inputs) {
    const Autocast autocast(job_.setting.precision, session_.device->torch_device());
    const bool images = job_.setting.layout == network::Layout::channels_last && inputs.dim() == 4;
    const GivenInputs given = {{input_, images ? inputs.contiguous(at::MemoryFormat::ChannelsLast) : inputs}};
    return executor.run(given)[0].tensor;
  }

  /// What fills a batch up is no example: of a tensor that counts them it is left out.
  void look(TensorId id, const at::Tensor& x, const See& see) const {
    if (std::ranges::find(job_.examining.observed, id) == job_.examining.observed.end()) return;
    const bool counts_examples = x.dim() > 0 && x.size(0) == batches_->size();
    see(id, counts_examples ? x.slice(0, 0, counted_) : x);
  }

  void judge(const at::Tensor& output, const at::Tensor& labels) {
    predicted_.push_back(output.argmax(1).to(at::kLong).cpu());
    labels_.push_back(labels.cpu());
    losses_.push_back(output.log_softmax(1).gather(1, labels.unsqueeze(1)).squeeze(1).neg().cpu());
  }

  Status store(const std::vector<std::pair<TensorId, Observed>>& observed) const {
    if (job_.outputs_file.empty()) return {};
    std::map<std::string, at::Tensor> arrays = {
        {"predicted", at::cat(predicted_)}, {"labels", at::cat(labels_)}, {"losses", at::cat(losses_)}};
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const Observed& held = observed[i].second;
      arrays[fmt::format("range/{}", i)] =
          at::tensor(std::vector<double>{held.low, held.high}, at::TensorOptions().dtype(at::kDouble));
      arrays[fmt::format("histogram/{}", i)] =
          held.counts.defined() ? held.counts
                                : at::zeros({job::kHistogramBins}, at::TensorOptions().dtype(at::kDouble));
    }
    return write_arrays(job_.outputs_file, arrays);
  }

  Session& session_;
  const job::Job& job_;
  const Emit& emit_;
  dataset::Dataset data_;
  TensorId input_ = network::kNoTensor;
  at::ScalarType input_type_ = at::kFloat;
  std::optional<Batches> batches_;
  std::int64_t counted_ = 0;
  double rounds_ = 1;
  int round_ = 0;
  std::vector<at::Tensor> predicted_, labels_, losses_;
};

}  // namespace

Status examine(Session& session, const Emit& emit) {
  session.phase = "running";
  return Examination(session, emit).run();
}

}  // namespace plimsoll::engine
